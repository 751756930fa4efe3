// One text read by one model: its maps, its weights to change, its prediction.
import { decodeAffine, draggedWeights, jsdOf, normalisedWeights, permutedWeights, topDropped, tvdOf, uniformWeights } from "./affine.js";
import { packWeights, unpackWeights } from "./address.js";
import { sentenceOf } from "./asking.js";
import { measureChoice, paneControls } from "./controls.js";
import { made, oncePerFrame, pressable, shortNumber } from "./dom.js";
import { draggable } from "./drag.js";
import { headsPanel } from "./heads.js";
import { heatMap, largestOf, legendOfScores, legendOfWeights } from "./maps.js";
import { copyPicture, svgOf } from "./picture.js";
import { predictionView } from "./prediction.js";
import { readingLine } from "./reading.js";
import { stepsPanel } from "./steps.js";

const REFERENCE = ["row", "text", "second", "window", "site", "head", "query", "view", "special"]; // what the server knows a text by
const IN_PARTS = " Weights sum to 1 within each sentence.";
const HINT = "Drag a word of the first map up or down. With keys: ← → choose a word, ↑ ↓ change its weight, or type a number. On a touch screen: tap a word, then drag it.";
const UNFIT = "The weights in this address do not fit the text; the model's own are shown.";

const unknownWords = (count) => (count ? `${count} ${count === 1 ? "word" : "words"} unknown to the model (dotted)` : null);
const aboutText = (state) => [state.id === null ? "your own text" : `text ${state.id}`, state.label === null || state.label === undefined ? null : `label ${state.label}`, `${state.tokens.length.toLocaleString("en")} tokens`, state.windows > 1 ? `part ${state.window + 1} of ${state.windows}` : null, state.queries && state.query !== null ? `row of “${state.tokens[state.query]}”` : null, unknownWords(state.unknown?.filter(Boolean).length), state.cut ? `${state.cut.toLocaleString("en")} more were not read: the model takes no more` : null].filter(Boolean).join(" · ");
const nameOfAdversary = (state, source) => (!source.live && !source.hasAdversary) || state.adversary === null ? null : state.adversary === "search" ? "Adversary (search)" : "Exact adversary";
const withTitle = (title, map, ...more) => made("section", { className: "one-map", "aria-label": title }, made("h3", {}, title), ...more, map.map);

// `given` is what an address holds of a pane; `changed` is called whenever that would be another
export const textPane = (run, given, source, changed) => {
  const wish = { ...given };
  const box = made("article", { className: "pane", "aria-label": `Attention of ${run.name}` });
  const said = made("p", { className: "notice", role: "status" });
  const title = made("h2", { dir: "auto" }, run.name);
  const pane = { box, run, wish, state: null, own: null, weights: null };
  box.pane = pane; // for scripts
  let view = null; // of the state at hand
  let base = null; // the weights that a drag starts from, so that on its way back the others get their proportions again
  let chosen = null;
  let seed = 0;
  let good = null; // what was last shown
  let loading = false;

  const say = (words) => { said.textContent = words; };
  const tell = (error) => say(sentenceOf(error) ?? said.textContent);
  const attempt = (task) => async (...values) => { try { return await task(...values); } catch (error) { return tell(error); } };
  const reference = (changes = {}) => {
    const asked = { ...wish, row: wish.text === null ? wish.row : null, ...changes };
    return Object.fromEntries(REFERENCE.map((name) => [name, asked[name]]).filter(([, value]) => ![null, undefined, false].includes(value) && value !== ""));
  };
  const isHidden = (i) => Boolean(wish.sinks && pane.state.sink?.[i]);
  const everyMap = () => [view.changed, view.own, ...view.scores.values()];
  const packed = () => (loading ? wish.packed : packWeights(pane.own, pane.weights));
  pane.address = () => ({ ...wish, packed: packed(), at: loading ? wish.at : (chosen ?? wish.at) });

  const follow = (probabilities, weights) => {
    const parts = pane.state.within ? new Set(pane.state.within).size : 1;
    view.prediction.update({ probabilities, tvd: tvdOf(view.before, probabilities), jsd: jsdOf(pane.own, weights, parts) });
  };
  const farDecoder = (mine) => source.decoder(({ probabilities }, asked, isOld) => {
    if (view !== mine) return;
    follow(probabilities, asked.weights);
    if (isOld) view.prediction.waits();
    else say("");
  }, (error) => view === mine && tell(error));
  const decode = () => {
    if (pane.state.affine) return follow(decodeAffine(pane.state.affine, pane.weights), pane.weights);
    view.prediction.waits();
    view.decoder ??= farDecoder(view);
    return view.decoder(reference(), pane.weights);
  };
  const read = () => {
    if (chosen === null) return;
    const scores = [...view.scores].map(([name, map]) => [name, map.values[chosen]]);
    const own = pane.state.shares && !view.can ? pane.state.shares : pane.own;
    view.reading.show(pane.state.tokens[chosen], pane.weights[chosen], [[view.can ? "model's own" : "weight", own[chosen]], ...scores], view.can);
    const word = view.can ? view.changed.words[chosen] : null;
    word?.setAttribute("aria-valuenow", pane.weights[chosen].toFixed(4));
    word?.setAttribute("aria-valuetext", `${shortNumber(pane.weights[chosen], 4)}, model's own ${shortNumber(pane.own[chosen], 4)}`);
  };
  const redraw = oncePerFrame(() => {
    view.changed.paint(pane.weights);
    read();
    decode();
    box.dispatchEvent(new Event("drawn"));
  });
  const setWeights = (weights) => {
    pane.weights = weights;
    redraw();
    changed();
  };
  const replaceWeights = (weights) => {
    base = weights;
    setWeights(weights);
  };
  const choose = (at) => {
    if (chosen !== null) view.changed.words[chosen]?.setAttribute("tabindex", "-1");
    [chosen, base] = [at, pane.weights];
    for (const map of everyMap()) mark(map);
    if (view.can) view.changed.words[at]?.setAttribute("tabindex", "0");
    view.rowOf.disabled = false;
    read();
    changed();
  };
  const mark = (map) => {
    map.marked?.classList.remove("at");
    map.marked = map.words[chosen];
    map.marked?.classList.add("at");
  };
  const setOne = (at, value) => setWeights(draggedWeights(base, at, value, pane.state.within));
  const slider = (word, i) => {
    const names = { role: "slider", tabindex: i === 0 ? 0 : -1, "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": pane.weights[i].toFixed(4), "aria-label": `weight of ${pane.state.tokens[i]}`, "aria-orientation": "vertical" };
    for (const [name, value] of Object.entries(names)) word.setAttribute(name, value);
  };

  const measure = attempt(async (name) => {
    const at = pane.state;
    const scores = await source.measure(reference(), name);
    if (at !== pane.state || !wish.measures.includes(name) || view.scores.has(name)) return;
    const largest = largestOf(scores);
    const map = heatMap(pane.state, scores, { largest });
    view.scores.set(name, map);
    map.section = withTitle(name, map, legendOfScores(scores, largest));
    map.done.then(hide);
    view.maps.append(map.section);
    if (chosen !== null) mark(map);
    read();
  });
  const toggle = (name, on) => {
    wish.measures = on ? [...wish.measures, name] : wish.measures.filter((other) => other !== name);
    if (on) measure(name);
    else {
      view.scores.get(name)?.section.remove();
      view.scores.delete(name);
      read();
    }
    changed();
  };
  const hide = () => {
    for (const map of everyMap()) map.words.forEach((word, i) => word.classList.toggle("gone", isHidden(i)));
  };
  const adversary = attempt(async () => {
    say("Searching…");
    const found = await source.adversary(reference());
    replaceWeights(Float64Array.from(found.weights));
    say(`${found.exact ? "These are the weights furthest from the model's own" : "These are the furthest weights that a search found"} that move the prediction by at most ${found.within_tvd} (TVD).`);
  });
  const steps = attempt(async () => {
    wish.step = view.steps.open ? (wish.step ?? 0) : null;
    changed();
    if (!view.steps.open || view.stepsOf === pane.state) return;
    view.stepsOf = pane.state;
    const found = await source.steps(reference());
    const panel = stepsPanel(found, pane.state, pane.own, { first: wish.step, look: choose, moved: (step) => { wish.step = step; changed(); } });
    view.steps.replaceChildren(view.steps.firstChild, panel);
  });
  const heads = () => {
    if (!view.heads.open || view.heads.children.length > 1) return;
    const fetchRow = (site, head) => source.row(reference({ site, head, query: null, view: null }));
    view.heads.append(headsPanel(run, pane.state, fetchRow, (site, head) => reload({ site, head, query: null, view: null, packed: "", at: null })));
  };
  const picture = attempt(async (kind) => {
    const maps = [{ name: packed() ? "Attention, changed" : "Attention", values: pane.weights, largest: 1 }, ...(packed() ? [{ name: "Attention, the model's own", values: pane.own, largest: 1 }] : []), ...[...view.scores].map(([name, map]) => ({ name, values: map.values, largest: map.largest }))];
    say(await copyPicture(svgOf(pane.state.tokens, maps, isHidden, getComputedStyle(view.changed.map).direction === "rtl"), kind));
  });

  const buttons = (within, adversaryName) => [
    ["Uniform", "Every word gets the same weight", () => replaceWeights(uniformWeights(pane.own, within))],
    ["Permuted", "The model's weights in a random order", () => replaceWeights(permutedWeights(pane.own, (seed += 1), within))],
    ["Top dropped", "The heaviest word gets no weight; the others share it", () => replaceWeights(topDropped(pane.weights, within, pane.state.shares))],
    ...(adversaryName ? [[adversaryName, "The most different weights that keep the prediction", adversary]] : []),
    ["Reset", "The model's own weights", () => { say(""); replaceWeights(Float64Array.from(pane.own)); }],
  ].map(([words, about, press]) => pressable(words, press, { title: about }));

  const draw = (state) => {
    pane.state = state;
    pane.own = Float64Array.from(state.weights);
    const asked = unpackWeights(pane.own, wish.packed);
    const fits = asked && (wish.packed === "" ? asked : normalisedWeights(asked, state.within));
    pane.weights = base = fits ?? Float64Array.from(pane.own);
    chosen = null;
    const can = state.draggable !== false;
    view = { can, scores: new Map(), reading: readingLine((value) => setOne(chosen, value)), maps: made("div", { className: "maps" }) };
    view.before = state.affine ? decodeAffine(state.affine, pane.own) : state.probabilities;
    view.own = heatMap(state, can ? pane.own : (state.shares ?? pane.own));
    view.changed = can ? heatMap(state, pane.weights, { each: slider }) : view.own;
    view.prediction = predictionView(state.classes, view.before, can);
    view.steps = made("details", { className: "how", ontoggle: steps }, made("summary", {}, "How the weights came about"));
    view.heads = made("details", { className: "how", ontoggle: heads }, made("summary", {}, "All layers and heads"));
    view.reading.hint.append(can ? HINT + (state.within ? IN_PARTS : "") : (state.why ?? "These weights cannot be changed."));
    const last = run.sites.at(-1);
    if (!can && source.live && run.heads[last]) view.reading.box.append(pressable("Take one head to change", () => reload({ site: last, head: 0, query: null, view: null })));
    view.rowOf = pressable("Row of the chosen word", () => reload({ query: chosen, at: chosen, head: wish.head ?? 0, packed: "" }), { disabled: true, title: "In this layer every word has weights of its own" });
    const rows = state.queries ? [view.rowOf, ...(state.query === null ? [] : [pressable("Rows of all words", () => reload({ query: null, packed: "" }))])] : [];
    if (can) view.maps.append(withTitle("Attention: drag a word to change it", view.changed));
    view.maps.append(withTitle(can ? "The model's own attention" : "Attention", view.own));
    view.maps.addEventListener("click", ({ target }) => { const at = target.closest("i")?.place; if (at !== undefined && at !== chosen) choose(at); });
    const measures = source.live ? run.measures : source.measures;
    const many = Object.values(run.heads ?? {}).some((count) => count > 1);
    box.replaceChildren(
      title, made("p", { className: "about", dir: "auto" }, aboutText(state)),
      state.second !== null && state.second_from === null ? made("p", { className: "second", dir: "auto" }, state.second) : "",
      paneControls(run, state, wish, { reload, hide: (on) => { wish.sinks = on; hide(); changed(); } }),
      made("div", { className: state.classes.length > 5 ? "follow" : "follow stays" }, view.prediction.box, made("div", { className: "tools" }, ...rows), can ? made("div", { className: "tools" }, ...buttons(state.within, nameOfAdversary(state, source))) : "", said, view.reading.box),
      measureChoice(measures, wish.measures, toggle), legendOfWeights(), view.maps, ...(source.live && many ? [view.heads] : []), ...(source.live || source.hasSteps ? [view.steps] : []),
      made("div", { className: "tools" }, pressable("Copy as SVG", () => picture("svg")), pressable("Copy as PNG", () => picture("png"))));
    say(fits ? "" : UNFIT);
    if (can) draggable(view.changed, { weightAt: (i) => pane.weights[i], change: setOne, choose, chosen: () => chosen, isShown: (i) => !isHidden(i) });
    Promise.all(everyMap().map((map) => map.done)).then(() => { hide(); if (wish.at !== null && wish.at < state.tokens.length && chosen === null) choose(wish.at); });
    follow(view.before, pane.own);
    if (packed()) decode();
    wish.measures = wish.measures.filter((name) => measures.includes(name));
    wish.measures.forEach(measure);
    if (wish.step !== null) view.steps.open = true;
  };
  const load = async () => {
    loading = true;
    box.setAttribute("aria-busy", "true");
    if (!said.isConnected) box.replaceChildren(title, said);
    say("Reading the text…");
    try {
      const state = await source.read(reference());
      loading = false;
      draw(state);
    } catch (error) {
      if (sentenceOf(error) === null) return; // another text is being read
      loading = false;
      if (good) {
        Object.assign(wish, good);
        draw(pane.state);
      }
      tell(error);
    }
    box.setAttribute("aria-busy", "false");
    if (pane.state) changed();
  };
  const reload = (changes) => {
    if (!loading && pane.state) good = pane.address();
    Object.assign(wish, changes);
    pane.loaded = load();
    return pane.loaded;
  };
  pane.choose = (text) => reload({ row: null, text: null, second: null, window: null, query: null, packed: "", at: null, ...text });
  pane.loaded = load();
  return pane;
};
