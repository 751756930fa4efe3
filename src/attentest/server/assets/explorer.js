// The page: a list of texts, one or two panes, and an address that holds it all.
import { blankPane, readAddress, writeAddress } from "./address.js";
import { asker, sentenceOf } from "./asking.js";
import { afterPause, choice, made, pressable } from "./dom.js";
import { textPane } from "./pane.js";
import { saveFile } from "./picture.js";
import { fromFile, fromServer } from "./source.js";
import { ownText, textList } from "./texts.js";

const ONE = "one";
const MODELS = "models";
const TEXTS = "texts";

const layoutOf = (wishes) => (wishes.length < 2 ? ONE : wishes[0].run === wishes[1].run ? TEXTS : MODELS);
const filledIn = (place, panes) => {
  place.replaceChildren(...panes.map((pane) => pane.box));
  place.classList.toggle("two", panes.length === 2);
};

// the panes that a saved file holds
export const openSaved = (place, { runs, panes }) => {
  const box = made("div", { className: "panes" });
  filledIn(box, panes.map((saved) => textPane(runs[saved.run], { ...blankPane(saved.run), ...saved.wish }, fromFile(saved), () => {})));
  place.replaceChildren(box);
};

export const openExplorer = (place, runs) => {
  const said = made("p", { className: "notice", role: "status" });
  const box = made("div", { className: "panes" });
  const choose = made("details", { className: "choose" }, made("summary", {}, "Choose or type a text"));
  const side = made("aside", { className: "side", "aria-label": "Choose a text" }, choose);
  let panes = [];
  let target = 0; // the pane that the list is for
  let listed = null;
  let wanted = readAddress("").list;
  let address = "";

  const write = () => {
    address = writeAddress(panes.map((pane) => pane.address()), wanted);
    history.replaceState(null, "", address);
  };
  const soon = afterPause(write, 150);
  const changed = () => {
    listed?.mark();
    soon();
  };
  const fill = (wishes) => {
    panes = wishes.map((wish) => textPane(runs[wish.run], wish, fromServer(wish.run), changed));
    filledIn(box, panes);
    target = Math.min(target, panes.length - 1);
    fillSide();
  };
  const layout = () => layoutOf(panes.map((pane) => pane.wish));
  // two models read the same text; a row of the one may be another text, or none, for the other
  const chooseText = async (text) => {
    if (layout() !== MODELS) return panes[target].choose(text);
    const [left, right] = panes;
    await Promise.all([left.choose(text), right.choose(text)]);
    const differs = left.state.text !== right.state?.text || left.state.second !== right.state?.second;
    return differs && right.run.reads_own_texts ? right.choose({ text: left.state.text, second: left.state.second }) : null;
  };
  const arrange = async (kind) => {
    const [first] = panes.map((pane) => pane.address());
    const plain = { ...blankPane(first.run), row: first.row, text: first.text, second: first.second };
    const second = { [ONE]: [], [TEXTS]: [plain], [MODELS]: [{ ...plain, run: 1 - first.run }] }[kind];
    target = kind === TEXTS ? 1 : 0;
    fill([first, ...second]);
    changed();
    await Promise.all(panes.map((pane) => pane.loaded));
    const [left, right] = panes;
    if (kind === MODELS && right && left.state?.text !== right.state?.text && right.run.reads_own_texts) right.choose({ text: left.state.text, second: left.state.second });
  };
  const useRun = (number) => {
    const wishes = panes.map((pane) => pane.address());
    wishes[target] = { ...blankPane(number), row: wishes[target].row, text: wishes[target].text, second: wishes[target].second };
    fill(wishes);
    changed();
  };
  const fillSide = () => {
    const { wish, run } = panes[target];
    const kind = layout();
    const layouts = [[ONE, "one text"], ...(runs.length > 1 ? [[MODELS, "two models, same text"]] : []), [TEXTS, "two texts, same model"]];
    listed = textList(wish.run, run, wanted, { choose: chooseRow, changed: soon, current: () => (panes[target].wish.text === null ? panes[target].wish.row : null) });
    choose.replaceChildren(choose.firstChild,
      choice("Show", layouts, kind, arrange),
      kind === TEXTS ? choice("Choose for", [[0, "first pane"], [1, "second pane"]], target, (value) => { target = Number(value); fillSide(); }) : "",
      kind !== MODELS && runs.length > 1 ? choice("Model", runs.map((one, i) => [i, one.name]), wish.run, (value) => useRun(Number(value))) : "",
      made("h2", {}, "Your own text"), ownText(run, wish, chooseText), made("h2", {}, "Test texts"), listed.box);
  };
  const savePage = async () => {
    said.textContent = "Making the file…";
    const shown = panes.map((pane) => pane.address()).map((wish) => ({ ...wish, row: wish.text === null ? wish.row : null }));
    const isSaid = ([, value]) => value !== null;
    try {
      const file = await asker()("/api/save", { panes: shown.map((wish) => Object.fromEntries(Object.entries(wish).filter(isSaid))) }, (answer) => answer.blob());
      saveFile("attention.html", file);
      said.textContent = "Saved as attention.html. It opens without the server.";
    } catch (error) {
      said.textContent = sentenceOf(error);
    }
  };
  const copyAddress = async () => {
    write();
    said.textContent = await navigator.clipboard.writeText(location.href).then(() => "Address copied.", () => "The address of this state is in the address bar.");
  };
  // on a phone the list is folded, and what it was asked for comes into sight
  const narrow = matchMedia("(max-width: 62rem)");
  choose.open = !narrow.matches;
  narrow.addEventListener("change", () => { choose.open = !narrow.matches; });
  const chooseRow = async (row) => {
    if (narrow.matches) {
      choose.open = false;
      panes[target].box.scrollIntoView();
    }
    await chooseText(row);
  };
  const open = () => {
    const found = readAddress(location.hash);
    wanted = found.list;
    target = 0;
    const known = found.panes.filter((wish) => wish.run < runs.length);
    fill(known.length ? known : [blankPane(0)]);
  };
  place.replaceChildren(
    made("div", { className: "work" }, side, made("div", { className: "shown" }, box, made("div", { className: "tools keep" }, pressable("Copy address of this state", copyAddress), pressable("Save as one HTML file", savePage), said))));
  addEventListener("hashchange", () => { if (location.hash !== address) open(); });
  open();
};

const content = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
const explorerPlace = document.getElementById("explorer");
const saved = content("saved");
if (saved) openSaved(explorerPlace, saved);
else openExplorer(explorerPlace, content("runs"));
