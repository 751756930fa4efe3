// Every layer and head of a text as a strip of colour; each is fetched when it is looked at.
import { made, shortNumber } from "./dom.js";
import { strengthOf } from "./paint.js";
import { sentenceOf } from "./asking.js";

const HIGH = 14;

const drawStrip = (canvas, weights) => {
  canvas.width = weights.length;
  canvas.height = 1;
  const drawing = canvas.getContext("2d");
  const most = weights.reduce((a, b) => Math.max(a, b), 0) || 1;
  weights.forEach((weight, i) => {
    drawing.fillStyle = `rgb(230 97 1 / ${strengthOf(weight / most)})`;
    drawing.fillRect(i, 0, 1, 1);
  });
};

const topWords = (state) => {
  const order = state.weights.map((_, i) => i).sort((a, b) => state.weights[b] - state.weights[a]);
  return order.slice(0, 3).map((i) => `${state.tokens[i].trim()} ${shortNumber(state.weights[i], 2)}`).join(", ");
};

const rowOf = (site, head, isShown, choose) => {
  const strip = made("canvas", { className: "strip", height: HIGH, "aria-hidden": "true" });
  const words = made("span", { className: "about", dir: "auto" }, "…");
  const name = head === null ? `${site}, mean` : `${site}, head ${head}`;
  const button = made("button", { type: "button", className: "one-head", onclick: choose, "aria-current": isShown ? "true" : null }, made("span", {}, name), strip, words);
  return { site, head, strip, words, item: made("li", {}, button) };
};

// `fetchRow` gives the state at a site and head; `choose` shows it in the pane
export const headsPanel = (run, state, fetchRow, choose) => {
  const places = run.sites.flatMap((site) => [null, ...Array.from({ length: run.heads[site] ?? 0 }, (_, head) => head)].map((head) => [site, head]));
  const rows = places.map(([site, head]) => rowOf(site, head, site === state.site && head === state.head, () => choose(site, head)));
  const byItem = new Map(rows.map((row) => [row.item, row]));
  const fill = async (row) => {
    try {
      const found = await fetchRow(row.site, row.head);
      drawStrip(row.strip, found.weights);
      row.words.textContent = topWords(found);
    } catch (error) {
      row.words.textContent = sentenceOf(error) ?? "";
    }
  };
  let queue = Promise.resolve();
  const watcher = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      queue = queue.then(() => target.isConnected && fill(byItem.get(target)));
    }
  });
  rows.forEach((row) => watcher.observe(row.item));
  return made("ol", { className: "all-heads", "aria-label": "Layers and heads" }, ...rows.map((row) => row.item));
};
