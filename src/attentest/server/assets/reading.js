// The chosen token: its weight as a number and as a slider, and what the other maps say of it.
import { made, shortNumber } from "./dom.js";

export const readingLine = (set) => {
  const name = made("bdi", {});
  const others = made("span", { className: "others n" });
  const number = made("input", { type: "number", min: 0, max: 1, step: 0.01, "aria-label": "Weight of the chosen word", oninput: () => Number.isFinite(number.valueAsNumber) && set(number.valueAsNumber) });
  const range = made("input", { type: "range", min: 0, max: 1, step: 0.001, "aria-label": "Weight of the chosen word, as a slider", oninput: () => set(range.valueAsNumber) });
  const controls = made("span", { className: "weight-controls" }, range, number);
  const hint = made("span", { className: "about" });
  const box = made("div", { className: "chosen" }, hint);
  const show = (token, weight, rows, can) => {
    if (!name.isConnected) box.replaceChildren(made("b", {}, name), ...(can ? [controls] : []), others);
    name.textContent = token;
    if (document.activeElement !== number) number.value = weight.toFixed(4);
    range.value = weight;
    others.textContent = rows.map(([words, value]) => `${words} ${shortNumber(value, 4)}`).join(" · ");
  };
  return { box, show, hint };
};
