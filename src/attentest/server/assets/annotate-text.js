// Texts with their marked words; where the study asks for it, words that the annotator highlights.
import { made } from "./dom.js";

export class Words {
  constructor(place, item, highlight, before = []) {
    this.words = [];
    this.chosen = new Set(before);
    this.at = 0;
    const marked = new Set(item.marked);
    place.replaceChildren(
      ...item.texts.map((pieces, number) => this.paragraph(pieces, marked, highlight, item.texts.length > 1 ? number + 1 : null)),
    );
    if (!highlight) return;
    place.onclick = (event) => this.toggleAt(event.target.closest("[role=checkbox]"));
    place.onkeydown = (event) => this.key(event);
    this.words[0]?.setAttribute("tabindex", "0");
  }

  paragraph(pieces, marked, highlight, number) {
    const text = made("p", { className: "text", dir: "auto" });
    pieces.forEach((piece, place) => text.append(place % 2 ? this.word(piece, marked, highlight) : piece));
    if (highlight) {
      text.setAttribute("role", "group");
      text.setAttribute("aria-label", number === null ? "Words of the text" : `Words of text ${number}`);
    }
    return number === null ? text : made("div", { className: "one-of-two" }, made("h2", {}, `Text ${number}`), text);
  }

  word(piece, marked, highlight) {
    const number = this.words.length;
    const word = made(marked.has(number) ? "mark" : "span", {}, piece);
    if (highlight) {
      word.setAttribute("role", "checkbox");
      word.setAttribute("tabindex", "-1");
      word.setAttribute("aria-checked", String(this.chosen.has(number)));
      if (marked.has(number)) word.setAttribute("aria-label", `${piece}, marked`);
    }
    this.words.push(word);
    return word;
  }

  // numbers of the highlighted words
  get highlighted() {
    return [...this.chosen].sort((a, b) => a - b);
  }

  focus() {
    this.words[this.at]?.focus();
  }

  toggleAt(word) {
    const number = this.words.indexOf(word);
    if (number < 0) return;
    this.move(number, false);
    this.set(number, !this.chosen.has(number));
  }

  set(number, on) {
    if (on) this.chosen.add(number);
    else this.chosen.delete(number);
    this.words[number].setAttribute("aria-checked", String(on));
  }

  move(number, focus = true) {
    this.words[this.at].setAttribute("tabindex", "-1");
    this.at = Math.max(0, Math.min(this.words.length - 1, number));
    this.words[this.at].setAttribute("tabindex", "0");
    if (focus) this.focus();
  }

  // arrows go through the words as they are read; with shift they highlight on the way
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.words.length) return;
    const forward = getComputedStyle(this.words[this.at].parentElement).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1, Home: -this.words.length, End: this.words.length };
    if (event.key === " " || event.key === "Enter") this.set(this.at, !this.chosen.has(this.at));
    else if (event.key in steps) {
      if (event.shiftKey) this.set(this.at, true);
      this.move(this.at + steps[event.key]);
      if (event.shiftKey) this.set(this.at, true);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

// the marked words once more, for whoever cannot see them in a long text
export const listOf = (item) => {
  const words = item.texts.flatMap((pieces) => pieces.filter((_, place) => place % 2));
  return item.marked.flatMap((number, place) => [...(place ? [" · "] : []), made("bdi", {}, words[number] ?? "")]);
};
