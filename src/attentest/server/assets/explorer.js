// The page: runs, a list of texts, one or two panes, and an address that holds it all.
import { readAddress, writeAddress } from "./address.js";
import { asker, sentenceOf } from "./asking.js";
import { afterPause, choice, made, pressable } from "./dom.js";
import { saveFile } from "./picture.js";
import { textPane } from "./pane.js";
import { ownText, textList } from "./texts.js";

const blankPane = (run) => ({ run, row: 0, text: null, second: null, site: null, head: null, view: null, measures: [], special: false, sinks: false, packed: "" });

export const startExplorer = async (place) => {
  const island = document.getElementById("saved");
  const saved = island ? JSON.parse(island.textContent) : null;
  const said = made("p", { className: "notice", role: "status" }, "Loading…");
  const panes = made("div", { className: "panes" });
  const side = made("aside", { className: "side", "aria-label": "Choose a text" });
  place.replaceChildren(said);
  let runs;
  try {
    runs = saved ? saved.runs : (await asker()("/api/runs")).runs;
  } catch (error) {
    said.textContent = sentenceOf(error);
    return;
  }
  if (!runs.length) {
    said.textContent = "No run is open. Start the server with the folder of a run: attentest serve runs/a";
    return;
  }
  let shown = [];
  let written = location.hash;
  const address = () => writeAddress({ panes: shown.map((pane) => pane.wish), step: null });
  const write = afterPause(() => {
    written = address();
    history.replaceState(null, "", written || location.pathname);
  }, 150);
  const fill = (wishes) => {
    shown = wishes.map((wish, i) => textPane(runs[wish.run] ?? runs[0], wish, saved ? () => {} : write, saved ? saved.states[i] : null));
    panes.replaceChildren(...shown.map((pane) => pane.box));
    panes.classList.toggle("two", shown.length === 2);
  };
  if (saved) {
    place.replaceChildren(panes);
    fill(saved.states.map((state) => ({ ...blankPane(0), run: state.run ?? 0, packed: state.packed ?? "" })));
    return;
  }
  let target = 0;
  const listFor = () => {
    const pane = shown[target];
    const number = pane.wish.run;
    side.replaceChildren(
      shown.length > 1 ? choice("For", [[0, "left pane"], [1, "right pane"]], target, (value) => { target = Number(value); listFor(); }) : "",
      runs.length > 1 ? choice("Model", runs.map((run, i) => [i, run.name]), number, (value) => { const wishes = shown.map((one) => one.wish); wishes[target] = blankPane(Number(value)); fill(wishes); listFor(); }) : "",
      made("h2", {}, "Texts"), textList(number, runs[number], (row) => pane.choose({ row })),
      made("h2", {}, "Your own text"), ownText(runs[number], (text) => pane.choose(text)));
  };
  const sideBySide = () => {
    const wishes = shown.map((pane) => pane.wish);
    fill(wishes.length === 2 ? wishes.slice(0, 1) : [...wishes, { ...wishes[0], run: runs.length > 1 ? 1 - wishes[0].run : wishes[0].run, site: null, head: null, view: null, measures: [], packed: "" }]);
    target = shown.length - 1;
    beside.setAttribute("aria-pressed", shown.length === 2);
    listFor();
    write();
  };
  const beside = pressable("Two side by side", sideBySide, { "aria-pressed": "false" });
  const savePage = async () => {
    said.textContent = "Making the file…";
    const states = shown.filter((pane) => pane.state).map((pane) => ({ ...pane.state, packed: pane.wish.packed }));
    const answer = await fetch("/api/save", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ states, address: address() }) }).catch(() => null);
    if (answer?.ok) saveFile("attention.html", await answer.blob());
    said.textContent = answer?.ok ? "Saved as attention.html; it opens without the server." : ((await answer?.json().catch(() => null))?.error ?? "The server does not answer.");
  };
  const copied = async () => {
    const link = new URL(address() || "#", location.href).href;
    history.replaceState(null, "", link);
    said.textContent = await navigator.clipboard.writeText(link).then(() => "Address copied.", () => "The address is in the address bar.");
  };
  said.textContent = "";
  place.replaceChildren(made("div", { className: "tools" }, beside, pressable("Copy address", copied), pressable("Save as one HTML file", savePage)), said, made("div", { className: "work" }, side, panes));
  const open = () => {
    const found = readAddress(location.hash).panes.filter((wish) => wish.run < runs.length);
    fill(found.length ? found : [blankPane(0)]);
    target = 0;
    beside.setAttribute("aria-pressed", shown.length === 2);
    listFor();
  };
  addEventListener("hashchange", () => { if (location.hash !== written) open(); });
  open();
};

const explorerPlace = globalThis.document?.getElementById("explorer");
if (explorerPlace) startExplorer(explorerPlace);
