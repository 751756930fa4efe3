// The list of texts: searched, sorted and paged by the server; and a form for a text of the reader's own.
import { asker, sentenceOf } from "./asking.js";
import { afterPause, choice, labelled, made, pressable, shortNumber, tickBox } from "./dom.js";

const PAGE_ROWS = 50;
const SORT_NAMES = { corpus: "order of the corpus", confidence: "confidence", adversary: "adversary distance", disagreement: "disagreement with leave-one-out", label: "label", length: "length" };

// `wanted` is what an address holds of a list; `current` tells the row that is shown
export const textList = (number, run, wanted, { choose, current, changed }) => {
  const ask = asker();
  const list = made("ol", { className: "text-rows", "aria-label": "Texts" });
  const count = made("output", { className: "count" });
  const said = made("p", { className: "notice", role: "status" });
  const back = pressable("Previous", () => turn(-PAGE_ROWS));
  const on = pressable("Next", () => turn(PAGE_ROWS));

  const lineOf = (text) => {
    const facts = [text.predicted, text.label !== null && text.label !== undefined && text.label !== text.predicted ? `label ${text.label}` : null, `confidence ${shortNumber(text.confidence, 2)}`,
      text.adversary === null || text.adversary === undefined ? null : `adversary ${shortNumber(text.adversary, 2)}`, text.disagreement === null || text.disagreement === undefined ? null : `disagreement ${shortNumber(text.disagreement, 2)}`, `${text.tokens} tokens`];
    return made("li", {}, made("button", { type: "button", className: "one-text", "data-row": text.row, onclick: () => choose({ row: text.row }) }, made("span", { className: "start", dir: "auto" }, text.start), made("span", { className: "facts-line" }, facts.filter(Boolean).join(" · "))));
  };
  const mark = () => {
    for (const button of list.querySelectorAll("button")) {
      if (Number(button.dataset.row) === current()) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  };
  const load = async () => {
    list.setAttribute("aria-busy", "true");
    const query = new URLSearchParams({ ...wanted, limit: PAGE_ROWS });
    try {
      const found = await ask(`/api/runs/${number}/texts?${query}`);
      list.replaceChildren(...found.rows.map(lineOf));
      mark();
      const last = found.offset + found.rows.length;
      count.value = found.total ? `${(found.offset + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${found.total.toLocaleString("en")}` : "";
      back.disabled = found.offset === 0;
      on.disabled = last >= found.total;
      const { done, of } = found.ordering ?? { done: 0, of: 0 };
      const unfinished = ["adversary", "disagreement"].includes(wanted.sort) && done < of;
      said.textContent = found.total === 0 ? "No text contains this. Try another word." : unfinished ? `Distances are still being computed: ${done.toLocaleString("en")} of ${of.toLocaleString("en")} texts. The others come last.` : "";
      if (unfinished) setTimeout(() => { if (list.isConnected && ["adversary", "disagreement"].includes(wanted.sort)) load(); }, 3000);
    } catch (error) {
      const words = sentenceOf(error);
      if (words === null) return;
      said.textContent = words;
    }
    list.setAttribute("aria-busy", "false");
  };
  const turn = (by) => {
    wanted.offset = Math.max(0, wanted.offset + by);
    load();
    changed();
    list.scrollTop = 0;
  };
  const again = (changes) => {
    Object.assign(wanted, changes, { offset: 0 });
    load();
    changed();
  };
  const search = made("input", { type: "search", placeholder: "words, an id or a label", maxLength: 200, value: wanted.q });
  search.addEventListener("input", afterPause(() => again({ q: search.value }), 200));
  const sorts = run.sorts.map((name) => [name, SORT_NAMES[name] ?? name]);
  const box = made("section", { className: "texts-list", "aria-label": `Texts of ${run.name}` },
    made("div", { className: "controls" }, labelled("Search", search), choice("Sort by", sorts, wanted.sort, (sort) => again({ sort })), tickBox("largest first", wanted.descending, (descending) => again({ descending }))),
    ...Object.entries(run.not_sorted ?? {}).map(([name, why]) => made("p", { className: "about" }, `Not sorted by ${SORT_NAMES[name] ?? name}: ${why}`)),
    said, list, made("div", { className: "tools" }, back, on, count));
  if (!run.sorts.includes(wanted.sort)) wanted.sort = "corpus";
  load();
  return { box, mark };
};

// models that answer at once read while the reader types
export const ownText = (run, given, choose) => {
  if (!run.reads_own_texts) return made("p", { className: "notice" }, "This model has fixed weights for the texts of its corpus, so it cannot read others.");
  const isPair = run.kind === "pair";
  const area = (words, value) => made("textarea", { rows: 3, dir: "auto", maxLength: 200_000, "aria-label": words, placeholder: words, value: value ?? "" });
  const first = area(isPair ? "First text" : "Type a text", given.text);
  const second = isPair ? area("Second text", given.second) : null;
  const said = made("p", { className: "notice", role: "status" });
  const isEmpty = () => !first.value.trim() || (isPair && !second.value.trim());
  const read = () => choose({ text: first.value, second: isPair ? second.value : null });
  const submit = (event) => {
    event.preventDefault();
    said.textContent = isEmpty() ? (isPair ? "Write both texts." : "Write a text first.") : "";
    if (!isEmpty()) read();
  };
  const whileTyping = afterPause(() => { if (!isEmpty()) read(); }, 250);
  const oninput = run.views.length ? null : whileTyping;
  return made("form", { className: "own-text", onsubmit: submit, ...(oninput ? { oninput } : {}) }, first, second, made("div", { className: "tools" }, made("button", {}, "Read this text")), said);
};
