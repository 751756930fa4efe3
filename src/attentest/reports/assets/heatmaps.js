// Heat maps: sorted, searched, and read word by word.
import { markPlace, placeAfter, wordsOf } from "./paint.js";

const AT_FIRST = 10; // texts shown before all are asked for

const byNumber = (article) => Number(article.dataset.number);
const figureOf = (article, name) => (article.dataset[name] === "" ? null : Number(article.dataset[name]));
const lastIfNone = (value, sign) => (value === null ? Infinity : sign * value);
const ORDERS = {
  adversary: (article) => lastIfNone(figureOf(article, "adversary"), -1),
  nearest: (article) => lastIfNone(figureOf(article, "adversary"), 1),
  apart: (article) => lastIfNone(figureOf(article, "apart"), -1),
  together: (article) => lastIfNone(figureOf(article, "apart"), 1),
  permutation: (article) => lastIfNone(figureOf(article, "permutation"), -1),
  wrong: (article) => -Number(article.dataset.wrong),
  corpus: byNumber,
};

const weightText = (weight, scale) => (weight === null || weight === undefined ? "–" : (weight / scale).toFixed(4));

// the word at `at` in every map of the text, and its weights in a line that is read out
const select = (article, at, island) => {
  const line = article.querySelector(".reading");
  const maps = article.querySelectorAll(".map");
  article.at = at;
  markPlace(article, maps, at);
  if (at === null) return line.replaceChildren();
  const word = document.createElement("bdi");
  word.textContent = wordsOf(maps[0])[at].textContent;
  const weights = island.weights[article.dataset.number].map((row, i) => {
    const part = document.createElement("span");
    const name = article.querySelectorAll(".variant h5")[i].textContent;
    part.textContent = `${name} ${weightText(row[at], island.scale)}`;
    return part;
  });
  const first = document.createElement("span");
  const strong = document.createElement("b");
  strong.append(word);
  first.append(strong, ":");
  line.replaceChildren(first, " ", ...weights.flatMap((part) => [part, " "]));
};

const weightsAsTable = (article, island) => {
  const words = wordsOf(article.querySelector(".map")).map((word) => word.textContent);
  const names = [...article.querySelectorAll(".variant h5")].map((name) => name.textContent);
  const rows = island.weights[article.dataset.number];
  return [makeTable("Weights", ["token", ...names], words.map((word, i) => [word, ...rows.map((row) => weightText(row[i], island.scale))]))];
};

const readable = (article, island) => {
  for (const map of article.querySelectorAll(".map")) {
    map.tabIndex = 0;
    map.setAttribute("role", "group");
    map.setAttribute("aria-label", `${map.parentElement.querySelector("h5").textContent}: arrow keys read the weights`);
  }
  article.addEventListener("mouseover", (event) => {
    const word = event.target.closest(".map i");
    if (!word) return;
    const maps = [...article.querySelectorAll(".map")];
    const map = word.closest(".map");
    const row = island.weights[article.dataset.number][maps.indexOf(map)];
    word.title = weightText(row[wordsOf(map).indexOf(word)], island.scale);
  });
  article.addEventListener("click", (event) => {
    const word = event.target.closest(".map i");
    if (word) select(article, wordsOf(word.closest(".map")).indexOf(word), island);
  });
  article.addEventListener("keydown", (event) => {
    const map = event.target.closest(".map");
    if (!map) return;
    const rightToLeft = getComputedStyle(map).direction === "rtl";
    const next = placeAfter(event.key, article.at ?? null, wordsOf(map).length - 1, rightToLeft);
    if (next === undefined) return;
    event.preventDefault();
    select(article, next, island);
  });
  const button = article.querySelector(".as-table");
  tableToggle(button, article.querySelector(".maps"), () => weightsAsTable(article, island));
};

const heatmaps = (section) => {
  const island = JSON.parse(section.querySelector(".weights").textContent);
  const box = section.querySelector(".texts");
  const articles = [...box.children];
  const order = section.querySelector(".order");
  const search = section.querySelector(".search");
  const more = section.querySelector(".all");
  let all = articles.length <= AT_FIRST + 2;
  const searched = new Map(articles.map((article) => [article, [...article.querySelectorAll("h4, .about, .second, .map")].map((part) => part.textContent).join(" ").toLowerCase()]));

  const arrange = () => {
    const wanted = search.value.trim().toLowerCase();
    const key = ORDERS[order.value];
    const sorted = [...articles].sort((a, b) => key(a) - key(b) || byNumber(a) - byNumber(b));
    const found = sorted.filter((article) => searched.get(article).includes(wanted));
    const shown = new Set(all ? found : found.slice(0, AT_FIRST));
    for (const article of articles) article.hidden = !shown.has(article);
    box.append(...sorted);
    more.hidden = shown.size === found.length;
    section.querySelector(".count").textContent = `${shown.size} of ${found.length} texts shown`;
  };
  articles.forEach((article) => readable(article, island));
  order.form.hidden = false;
  order.form.addEventListener("submit", (event) => event.preventDefault());
  order.addEventListener("change", arrange);
  search.addEventListener("input", arrange);
  more.addEventListener("click", () => { all = true; arrange(); });
  arrange();
};
