// The list of texts: searched, sorted and paged by the server; and a form for a text of the reader's own.
import { asker, sentenceOf } from "./asking.js";
import { afterPause, choice, labelled, made, pressable, shortNumber } from "./dom.js";

const PAGE_ROWS = 50;
const SORT_NAMES = { corpus: "order of the corpus", confidence: "confidence", adversary: "adversary distance", disagreement: "disagreement with leave-one-out", label: "label", length: "length" };

export const textList = (number, run, choose) => {
  const ask = asker();
  const wanted = { q: "", sort: "corpus", descending: false, offset: 0 };
  const list = made("ol", { className: "text-rows", "aria-label": "Texts" });
  const count = made("output", { className: "count" });
  const said = made("p", { className: "notice", role: "status" });
  const back = pressable("Previous", () => turn(-PAGE_ROWS));
  const on = pressable("Next", () => turn(PAGE_ROWS));

  const lineOf = (text) => {
    const facts = [text.predicted, text.label !== null && text.label !== undefined && text.label !== text.predicted ? `label ${text.label}` : null, `confidence ${shortNumber(text.confidence, 2)}`,
      text.adversary === null || text.adversary === undefined ? null : `adversary ${shortNumber(text.adversary, 2)}`, text.disagreement === null || text.disagreement === undefined ? null : `disagreement ${shortNumber(text.disagreement, 2)}`, `${text.tokens} tokens`];
    return made("li", {}, made("button", { type: "button", className: "one-text", onclick: () => choose(text.row) }, made("span", { className: "start", dir: "auto" }, text.start), made("span", { className: "facts-line" }, facts.filter(Boolean).join(" · "))));
  };
  const load = async () => {
    list.setAttribute("aria-busy", "true");
    const query = new URLSearchParams({ ...wanted, limit: PAGE_ROWS });
    try {
      const found = await ask(`/api/runs/${number}/texts?${query}`);
      list.replaceChildren(...found.rows.map(lineOf));
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
    list.scrollTop = 0;
  };
  const again = (changes) => {
    Object.assign(wanted, changes, { offset: 0 });
    load();
  };
  const search = made("input", { type: "search", placeholder: "words, an id, a label", maxLength: 200 });
  search.addEventListener("input", afterPause(() => again({ q: search.value }), 200));
  const downwards = made("input", { type: "checkbox", onchange: () => again({ descending: downwards.checked }) });
  const sorts = run.sorts.map((name) => [name, SORT_NAMES[name] ?? name]);
  const box = made("section", { className: "texts-list", "aria-label": `Texts of ${run.name}` },
    made("div", { className: "controls" }, labelled("Search", search), choice("Sort by", sorts, wanted.sort, (sort) => again({ sort })), made("label", {}, downwards, made("span", {}, "largest first"))),
    said, list, made("div", { className: "tools" }, back, on, count));
  load();
  return box;
};

export const ownText = (run, choose) => {
  const area = (words) => made("textarea", { rows: 3, dir: "auto", maxLength: 200_000, "aria-label": words, placeholder: words });
  const first = area(run.kind === "pair" ? "First text" : "Your text");
  const second = run.kind === "pair" ? area("Second text") : null;
  const said = made("p", { className: "notice", role: "status" });
  const read = (event) => {
    event.preventDefault();
    const missing = !first.value.trim() || (second && !second.value.trim());
    said.textContent = missing ? (second ? "Write both texts." : "Write a text first.") : "";
    if (!missing) choose({ text: first.value, second: second ? second.value : null });
  };
  if (!run.reads_own_texts) return made("p", { className: "notice" }, "This run cannot read new texts.");
  return made("form", { className: "own-text", onsubmit: read }, first, second, made("div", { className: "tools" }, made("button", {}, "Read this text")), said);
};
