// One text read by one model: its maps, its weights to change, its prediction.
import { decodeAffine, jsdOf, permutedWeights, topDropped, tvdOf, uniformWeights, draggedWeights } from "./affine.js";
import { packWeights, unpackWeights } from "./address.js";
import { asker, sentenceOf } from "./asking.js";
import { choice, labelled, made, oncePerFrame, pressable, shortNumber } from "./dom.js";
import { draggable } from "./drag.js";
import { heatMap, largestOf, legendOf } from "./maps.js";
import { copyPicture, svgOf } from "./picture.js";
import { predictionView } from "./prediction.js";
import { stepsPanel } from "./steps.js";

// `given` is what an address holds of a pane; `changed` is called whenever that would be another
export const textPane = (run, given, changed, ready = null) => {
  const wish = { ...given };
  const asks = { read: asker(), decode: asker(), adversary: asker(), steps: asker() };
  const box = made("article", { className: "pane", "aria-label": `${run.name}: attention` });
  const said = made("p", { className: "notice", role: "status" }, "Reading the text…");
  const pane = { box, run, wish, state: null, weights: null, own: null };
  let view = null; // of the state at hand
  let chosen = null;
  let seed = 0;

  const reference = () => Object.fromEntries(Object.entries({ row: wish.text === null ? wish.row : null, text: wish.text, second: wish.second, site: wish.site, head: wish.head, view: wish.view }).filter(([, value]) => value !== null && value !== undefined));
  const tell = (error) => {
    const words = sentenceOf(error);
    if (words !== null) said.textContent = words;
  };
  const parts = () => (pane.state.within ? new Set(pane.state.within).size : 1);
  const isHidden = (i) => Boolean((wish.special && pane.state.special?.[i]) || (wish.sinks && pane.state.sink?.[i]));

  const followed = (answer) => view.prediction.update({ tvd: tvdOf(pane.state.probabilities, answer), jsd: jsdOf(pane.own, pane.weights, parts()), probabilities: answer });
  const decode = async () => {
    if (pane.state.affine) return followed(decodeAffine(pane.state.affine, pane.weights));
    view.prediction.waits();
    try {
      const { probabilities } = await asks.decode(`/api/runs/${wish.run}/decode`, { ...reference(), weights: [...pane.weights] });
      followed(probabilities);
      said.textContent = "";
    } catch (error) {
      tell(error);
    }
  };
  const read = (at) => {
    if (at === null || !view) return;
    const value = pane.weights[at];
    view.reading.name.textContent = pane.state.tokens[at];
    view.reading.own.textContent = `own ${shortNumber(pane.own[at], 4)}`;
    if (document.activeElement !== view.reading.number) view.reading.number.value = value.toFixed(4);
    view.reading.range.value = value;
    const word = view.changed.words[at];
    word.setAttribute("aria-valuenow", value.toFixed(4));
    word.setAttribute("aria-valuetext", `${shortNumber(value, 4)}, own ${shortNumber(pane.own[at], 4)}`);
  };
  const redraw = oncePerFrame(() => {
    view.changed.paint(pane.weights);
    read(chosen);
    decode();
    box.dispatchEvent(new Event("drawn"));
  });
  const setWeights = (weights) => {
    pane.weights = weights;
    wish.packed = packWeights(pane.own, weights);
    redraw();
    changed();
  };
  const choose = (at) => {
    if (chosen !== null && view.changed.words[chosen]) view.changed.words[chosen].tabIndex = -1;
    chosen = at;
    for (const map of [view.changed, view.ownMap, ...view.scores.values()]) {
      map.marked?.classList.remove("at");
      map.marked = map.words[at];
      map.marked?.classList.add("at");
    }
    view.changed.words[at].tabIndex = 0;
    view.reading.box.hidden = false;
    read(at);
  };
  const setOne = (at, value) => setWeights(draggedWeights(pane.weights, at, value, pane.state.within));

  const sliders = (word, i) => {
    for (const [name, value] of Object.entries({ role: "slider", tabindex: i === 0 ? 0 : -1, "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": pane.weights[i].toFixed(4), "aria-label": `weight of ${pane.state.tokens[i]}`, "aria-orientation": "vertical" })) word.setAttribute(name, value);
  };
  const readingLine = () => {
    const name = made("bdi", {});
    const own = made("span", { className: "n" });
    const number = made("input", { type: "number", min: 0, max: 1, step: 0.01, "aria-label": "Weight of the chosen token", oninput: () => Number.isFinite(number.valueAsNumber) && setOne(chosen, number.valueAsNumber) });
    const range = made("input", { type: "range", min: 0, max: 1, step: 0.001, "aria-label": "Weight of the chosen token, as a slider", oninput: () => setOne(chosen, range.valueAsNumber) });
    return { name, own, number, range, box: made("div", { className: "reading", hidden: true }, made("b", {}, name), own, range, number) };
  };
  const withTitle = (title, map, ...more) => made("section", { className: "one-map", "aria-label": title }, made("h3", {}, title), ...more, map.map);

  const measure = async (name) => {
    const at = pane.state;
    try {
      const { scores } = await asker()(`/api/runs/${wish.run}/measure`, { ...reference(), measure: name });
      if (at === pane.state && wish.measures.includes(name)) addScores(name, scores);
    } catch (error) {
      tell(error);
    }
  };
  const addScores = (name, scores) => {
    const largest = largestOf(scores);
    const map = heatMap(pane.state, scores, { largest });
    view.scores.set(name, map);
    map.section = withTitle(name, map, legendOf(true, largest));
    map.done.then(hide);
    view.maps.append(map.section);
  };
  const hide = () => {
    for (const map of [view.changed, view.ownMap, ...view.scores.values()]) map.words.forEach((word, i) => word.classList.toggle("gone", isHidden(i)));
  };
  const toggled = (name, on) => {
    wish.measures = on ? [...wish.measures, name] : wish.measures.filter((other) => other !== name);
    if (on) measure(name);
    else {
      view.scores.get(name)?.section.remove();
      view.scores.delete(name);
    }
    changed();
  };
  const adversary = async () => {
    said.textContent = "Searching for the adversary…";
    try {
      const found = await asks.adversary(`/api/runs/${wish.run}/adversary`, reference());
      setWeights(Float64Array.from(found.weights));
      said.textContent = `${found.exact ? "Exact adversary" : "Adversary (a lower bound)"}: weights as different as possible with nearly the same prediction.`;
    } catch (error) {
      tell(error);
    }
  };
  const steps = async () => {
    if (!view.steps.open || view.stepsOf === pane.state) return;
    view.stepsOf = pane.state;
    try {
      const found = await asks.steps(`/api/runs/${wish.run}/steps`, reference());
      const panel = stepsPanel(found, pane.state, () => pane.weights, { look: choose });
      view.steps.replaceChildren(view.steps.firstChild, panel);
    } catch (error) {
      tell(error);
    }
  };
  const picture = async (kind) => {
    const maps = [{ name: "Attention, own", values: pane.own, largest: 1 }, ...(wish.packed ? [{ name: "Attention, changed", values: pane.weights, largest: 1 }] : []), ...[...view.scores].map(([name, map]) => ({ name, values: map.values, largest: map.largest }))];
    said.textContent = await copyPicture(svgOf(pane.state.tokens, maps, isHidden), kind);
  };

  const controls = () => {
    const change = (name) => (value) => { wish[name] = value === "" ? null : value; wish.packed = ""; load(); };
    const heads = run.heads?.[pane.state.site] ?? 0;
    const switches = [["special", "Hide special tokens", pane.state.special], ["sinks", "Hide sinks", pane.state.sink]].filter(([, , there]) => there?.some(Boolean));
    const tickBox = (words, checked, set) => { const tick = made("input", { type: "checkbox", checked, onchange: () => set(tick.checked) }); return made("label", {}, tick, made("span", {}, words)); };
    return made("div", { className: "controls" },
      run.sites.length > 1 ? choice("Site", run.sites.map((site) => [site, site]), pane.state.site, (value) => { wish.head = null; change("site")(value); }) : null,
      heads > 1 ? choice("Head", [["", "mean"], ...Array.from({ length: heads }, (_, h) => [h, String(h + 1)])], pane.state.head, (value) => change("head")(value === "" ? null : Number(value))) : null,
      run.views?.length > 1 ? choice("View", run.views.map((name) => [name, name]), pane.state.view, change("view")) : null,
      ...switches.map(([name, words]) => tickBox(words, wish[name], (on) => { wish[name] = on; hide(); changed(); })),
      run.measures.length && !ready ? made("fieldset", { className: "measures" }, made("legend", {}, "Compare with"), ...run.measures.map((name) => tickBox(name, wish.measures.includes(name), (on) => toggled(name, on)))) : null);
  };
  const draw = (state) => {
    pane.state = state;
    pane.own = Float64Array.from(state.weights);
    pane.weights = unpackWeights(pane.own, wish.packed) ?? Float64Array.from(pane.own);
    chosen = null;
    const can = state.draggable !== false;
    const ownMap = heatMap(state, state.shares ?? pane.own);
    const changedMap = heatMap(state, pane.weights, { each: can ? sliders : undefined });
    const reading = readingLine();
    view = { ownMap, changed: changedMap, reading, scores: new Map(), prediction: predictionView(state.classes, state.probabilities), maps: made("div", { className: "maps" }) };
    view.steps = made("details", { className: "how", ontoggle: steps }, made("summary", {}, "How the weights came about"));
    const buttons = [["Uniform", () => setWeights(uniformWeights(pane.own, state.within))], ["Permuted", () => setWeights(permutedWeights(pane.own, (seed += 1), state.within))], ["Top dropped", () => setWeights(topDropped(pane.weights, state.within))], ...(ready ? [] : [["Exact adversary", adversary]]), ["Reset", () => setWeights(Float64Array.from(pane.own))]];
    const hint = can ? "Drag a token up or down, or use the arrow keys, Page Up and Page Down, Home and End, or type a number." : state.why ?? "These weights cannot be changed.";
    view.maps.append(withTitle("Attention, own", ownMap), withTitle("Attention, changed", changedMap));
    box.replaceChildren(
      made("h2", { dir: "auto" }, run.name), made("p", { className: "about" }, [state.id === null ? "your own text" : `text ${state.id}`, state.label === null || state.label === undefined ? null : `label ${state.label}`, `${state.tokens.length} tokens`, state.cut ? `${state.cut} tokens were not read` : null].filter(Boolean).join(" · ")),
      controls(), said, view.prediction.box,
      can ? made("div", { className: "tools" }, ...buttons.map(([words, press]) => pressable(words, press))) : null,
      made("p", { className: "about" }, hint), reading.box, legendOf(false, 1), view.maps,
      ready ? null : view.steps, made("div", { className: "tools" }, pressable("Copy as SVG", () => picture("svg")), pressable("Copy as PNG", () => picture("png"))));
    said.textContent = "";
    if (can) changedMap.done.then(() => draggable(changedMap.map, changedMap.words, { weightAt: (i) => pane.weights[i], change: setOne, choose, chosen: () => chosen, isShown: (i) => !isHidden(i), ended: () => {} }));
    Promise.all([ownMap.done, changedMap.done]).then(hide);
    followed(state.probabilities);
    if (wish.packed) decode();
    if (!ready) wish.measures.forEach(measure);
  };
  const load = async () => {
    box.setAttribute("aria-busy", "true");
    said.textContent = "Reading the text…";
    if (!said.isConnected) box.replaceChildren(made("h2", { dir: "auto" }, run.name), said);
    try {
      draw(ready ?? (await asks.read(`/api/runs/${wish.run}/read`, reference())));
      changed();
    } catch (error) {
      tell(error);
    }
    box.setAttribute("aria-busy", "false");
  };
  pane.choose = (chosenText) => { Object.assign(wish, { row: null, text: null, second: null, packed: "" }, chosenText); return load(); };
  pane.loaded = load();
  return pane;
};
