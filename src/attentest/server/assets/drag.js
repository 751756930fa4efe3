// A weight taken in the hand: with a mouse, a finger or keys. Tells which token is to get which weight.
import { placeAfter } from "./paint.js";

const DRAG_LENGTH = 200; // pixels from a weight of 0 to a weight of 1

// the weight after a key; undefined for keys that change nothing
export const weightAfter = (key, weight) => {
  const changed = { ArrowUp: weight + 0.01, ArrowDown: weight - 0.01, PageUp: weight + 0.1, PageDown: weight - 0.1, Home: 0, End: 1 };
  return Object.hasOwn(changed, key) ? Math.min(1, Math.max(0, changed[key])) : undefined;
};

export const weightAfterMove = (start, from, to) => Math.min(1, Math.max(0, start + (from - to) / DRAG_LENGTH));

const placeOf = (target) => target.closest?.("i")?.place;

// `weightAt` and `change` read and set a weight; `choose` says which token is looked at
export const draggable = ({ map, words }, { weightAt, change, choose, chosen, isShown }) => {
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
  // a finger that drags does not scroll; words are inline, where touch-action means nothing
  map.addEventListener("touchstart", (event) => { if (held && event.cancelable) event.preventDefault(); }, { passive: false });
  map.addEventListener("pointermove", (event) => {
    if (held?.id === event.pointerId) change(held.at, weightAfterMove(held.start, held.from, event.clientY));
  });
  const release = (event) => {
    if (held?.id !== event.pointerId) return;
    held = null;
    map.classList.remove("held");
  };
  map.addEventListener("pointerup", release);
  map.addEventListener("pointercancel", release);

  map.addEventListener("focusin", (event) => {
    const at = placeOf(event.target);
    typed = "";
    if (at !== undefined && at !== chosen()) choose(at);
  });
  const goTo = (at, back) => {
    const step = back ? -1 : 1;
    let next = at + step;
    while (words[next] && !isShown(next)) next += step;
    words[next]?.focus();
  };
  const type = (at, letter) => {
    typed += letter;
    if (typed !== "." && Number.isFinite(Number(typed))) change(at, Number(typed));
  };
  map.addEventListener("keydown", (event) => {
    const at = placeOf(event.target);
    if (at === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const weight = weightAfter(event.key, weightAt(at));
    const isDigit = /^[0-9.]$/.test(event.key);
    if (!isDigit) typed = "";
    if (weight !== undefined) change(at, weight);
    else if (isDigit) type(at, event.key);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") goTo(at, placeAfter(event.key, 1, 2, getComputedStyle(map).direction === "rtl") === 0);
    else return;
    event.preventDefault();
  });
};
