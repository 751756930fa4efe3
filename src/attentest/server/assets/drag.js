// A weight taken in the hand: with a mouse, a finger or keys. Tells which token is to get which weight.
import { placeAfter } from "./paint.js";

const DRAG_LENGTH = 200; // pixels from a weight of 0 to a weight of 1

// the weight after a key; undefined for keys that change nothing
export const weightAfter = (key, weight) => {
  const changed = { ArrowUp: weight + 0.01, ArrowDown: weight - 0.01, PageUp: weight + 0.1, PageDown: weight - 0.1, Home: 0, End: 1 };
  return Object.hasOwn(changed, key) ? Math.min(1, Math.max(0, changed[key])) : undefined;
};

export const weightAfterMove = (start, from, to) => Math.min(1, Math.max(0, start + (from - to) / DRAG_LENGTH));

// `words` are the tokens' elements; `weightAt` and `change` read and set a weight; `choose` says which token is looked at
export const draggable = (map, words, { weightAt, change, choose, chosen, isShown, ended }) => {
  const places = new Map(words.map((word, i) => [word, i]));
  const placeOf = (target) => places.get(target.closest?.("i"));
  let held = null;
  let typed = "";

  map.addEventListener("pointerdown", (event) => {
    const at = placeOf(event.target);
    if (at === undefined || event.button !== 0) return;
    const again = chosen() === at;
    choose(at);
    words[at].focus({ preventScroll: true });
    if (event.pointerType === "touch" && !again) return; // the first touch chooses, so that a page can still be scrolled
    held = { at, from: event.clientY, start: weightAt(at), id: event.pointerId };
    map.setPointerCapture(event.pointerId);
    map.classList.add("held");
    event.preventDefault();
  });
  map.addEventListener("pointermove", (event) => {
    if (held?.id === event.pointerId) change(held.at, weightAfterMove(held.start, held.from, event.clientY));
  });
  const release = (event) => {
    if (held?.id !== event.pointerId) return;
    held = null;
    map.classList.remove("held");
    ended();
  };
  map.addEventListener("pointerup", release);
  map.addEventListener("pointercancel", release);

  map.addEventListener("focusin", (event) => {
    const at = placeOf(event.target);
    typed = "";
    if (at !== undefined) choose(at);
  });
  map.addEventListener("keydown", (event) => {
    const at = placeOf(event.target);
    if (at === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const weight = weightAfter(event.key, weightAt(at));
    if (weight !== undefined) {
      change(at, weight);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const back = placeAfter(event.key, 1, 2, getComputedStyle(map).direction === "rtl") === 0;
      let next = at + (back ? -1 : 1);
      while (next >= 0 && next < words.length && !isShown(next)) next += back ? -1 : 1;
      if (words[next]) words[next].focus();
    } else if (/^[0-9.]$/.test(event.key)) {
      typed += event.key;
      if (typed !== "." && Number.isFinite(Number(typed))) change(at, Number(typed));
    } else return;
    if (!/^[0-9.]$/.test(event.key)) typed = "";
    event.preventDefault();
  });
  map.addEventListener("keyup", () => ended());
};
