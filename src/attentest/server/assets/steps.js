// How the weights came about, a step at a time, with the numbers of this text.
import { made, pressable, shortNumber } from "./dom.js";

const STEP_TITLES = { embedding: "Embeddings", state: "States", query: "Query", sentence: "Sentences", mean: "Mean state", hidden: "Hidden layer", score: "Scores", weight: "Weights", context: "Weighted sum", logit: "Logits", probability: "Prediction" };
const TOKENS_SHOWN = 60;

const tableOf = (head, rows, caption) => made("div", { className: "data", tabIndex: 0, role: "region", "aria-label": caption },
  made("table", { className: "numbers-table" }, made("caption", { className: "unseen" }, caption), made("thead", {}, made("tr", {}, ...head.map((name) => made("th", { scope: "col" }, name)))),
    made("tbody", {}, ...rows.map(([name, cells, at]) => made("tr", at === undefined ? {} : { "data-at": at }, made("th", { scope: "row", dir: "auto" }, name), ...cells.map((cell) => made("td", { className: "n" }, cell)))))));

const titleOf = (step) => STEP_TITLES[step.name] ?? step.name;
const shortNumbers = (vector) => vector.map((value) => shortNumber(value, 2));
const placesOfVector = (vector) => vector.map((_, k) => String(k + 1));

const barOf = (value, most) => made("span", { className: value < 0 ? "small-bar n" : "small-bar", vars: { "--p": most ? Math.abs(value) / most : 0 } });

const vectorsOf = (step, state) => tableOf(["Token", "Length", ...step.vectors[0].map((_, k) => String(k + 1)), ...(step.size > step.vectors[0].length ? ["…"] : [])],
  step.vectors.slice(0, TOKENS_SHOWN).map((vector, i) => [state.tokens[i], [shortNumber(step.norms?.[i], 2), ...vector.map((value) => shortNumber(value, 2)), ...(step.size > vector.length ? ["…"] : [])], i]), titleOf(step));

const valuesOf = (values, names, caption, perToken) => {
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  return tableOf(["", "Value", ""], values.slice(0, perToken ? TOKENS_SHOWN : values.length).map((value, i) => [names[i], [shortNumber(value, 4), barOf(value, most)], perToken ? i : undefined]), caption);
};

// the terms of the weighted sum that the predicted class gets: weight × what the token says for it
const termsOf = (state, weights, predicted) => {
  const rows = state.tokens.map((token, i) => ({ token, i, weight: weights[i], says: state.affine.token_logits[i][predicted] }));
  const most = rows.reduce((a, row) => Math.max(a, Math.abs(row.weight * row.says)), 0);
  const sorted = rows.sort((a, b) => Math.abs(b.weight * b.says) - Math.abs(a.weight * a.says)).slice(0, TOKENS_SHOWN);
  return tableOf(["Token", "Weight", "×", "Token's logit", "= Term", ""], sorted.map(({ token, i, weight, says }) => [token, [shortNumber(weight, 4), "×", shortNumber(says), shortNumber(weight * says), barOf(weight * says, most)], i]), `Terms of the logit of ${state.classes[predicted]}`);
};

export const stepBody = (step, state, weights) => {
  const predicted = state.probabilities.indexOf(Math.max(...state.probabilities));
  const parts = [];
  if (step.vectors?.length) parts.push(vectorsOf(step, state));
  if (step.values) parts.push(valuesOf(step.values, ["logit", "probability"].includes(step.name) ? state.classes : state.tokens, titleOf(step), !["logit", "probability"].includes(step.name)));
  if (step.name === "context" && state.affine) parts.push(made("p", {}, `For the predicted class, ${state.classes[predicted]}, each token adds its weight times its own logit; the largest terms come first.`), termsOf(state, weights, predicted));
  if (step.threshold !== undefined) parts.push(made("p", {}, `Every score loses ${shortNumber(step.threshold, 4)}; those below it get no weight.`));
  if (step.vector) parts.push(tableOf(["", ...placesOfVector(step.vector)], [["vector", shortNumbers(step.vector)]], titleOf(step)));
  if (step.parts?.length) parts.push(tableOf(["", "Weight", ...placesOfVector(step.parts[0].vector)], step.parts.map((part) => [part.name, [shortNumber(part.weight, 4), ...shortNumbers(part.vector)]]), titleOf(step)));
  const cut = state.tokens.length > TOKENS_SHOWN && (step.vectors || step.name === "score" || step.name === "weight");
  if (cut) parts.push(made("p", { className: "about" }, `The first ${TOKENS_SHOWN} of ${state.tokens.length} tokens are shown.`));
  return parts;
};

// `look` is told of the token under the pointer; `moved` of the step shown
export const stepsPanel = (found, state, weights, { first = 0, look = () => {}, moved = () => {} } = {}) => {
  if (!found.steps.length) return made("p", { className: "notice" }, found.why ?? "There are no steps to show for this model.");
  const title = made("h4", { tabIndex: -1, "aria-live": "polite" });
  const what = made("p", { className: "what" });
  const body = made("div", { className: "step-body" });
  const trail = made("ol", { className: "trail" }, ...found.steps.map((step, i) => made("li", {}, pressable(titleOf(step), () => go(i)))));
  const back = pressable("Back", () => go(at - 1));
  const on = pressable("Next step", () => go(at + 1));
  let at = 0;
  const go = (to) => {
    at = Math.min(found.steps.length - 1, Math.max(0, to));
    const step = found.steps[at];
    title.textContent = `${at + 1} of ${found.steps.length}: ${titleOf(step)}${step.projection ? ` (${step.projection})` : ""}`;
    what.textContent = step.what ?? "";
    body.replaceChildren(...stepBody(step, state, weights));
    [...trail.children].forEach((item, i) => (i === at ? item.firstChild.setAttribute("aria-current", "step") : item.firstChild.removeAttribute("aria-current")));
    back.disabled = at === 0;
    on.disabled = at === found.steps.length - 1;
    moved(at);
  };
  body.addEventListener("pointerover", (event) => {
    const row = event.target.closest("[data-at]");
    if (row) look(Number(row.dataset.at));
  });
  go(first);
  return made("div", { className: "steps" }, trail, title, what, body, made("div", { className: "tools" }, back, on));
};
