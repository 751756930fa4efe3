// The tokens of a text as a heat map: built in pieces, so that a long text is on the screen before all of it is built.
import { paintWords, paintToken } from "./paint.js";
import { made } from "./dom.js";

const PIECE = 256; // tokens built at once
const LONG = 600; // tokens; longer texts are laid out only where they are looked at

const kindsOf = (state, i) => [state.rationale?.[i] ? "r" : "", state.special?.[i] ? "special" : "", state.sink?.[i] ? "sink" : "", state.unknown?.[i] ? "unknown" : ""].filter(Boolean).join(" ");

export const largestOf = (values) => values.reduce((most, value) => Math.max(most, Number.isFinite(value) ? Math.abs(value) : 0), 0);

// `each` is told of every word when it is there; `done` resolves when all are
export const heatMap = (state, values, { largest = 1, each = () => {} } = {}) => {
  const map = made("div", { className: "map", dir: "auto" });
  const words = [];
  const shown = { map, words, values, largest };
  const long = state.tokens.length > LONG;
  const build = (from) => {
    const piece = long ? made("span", { className: "piece" }) : document.createDocumentFragment();
    for (let i = from; i < Math.min(from + PIECE, state.tokens.length); i += 1) {
      const word = made("i", { className: kindsOf(state, i) }, state.tokens[i] || " ");
      const gap = state.gaps?.[i] ?? "";
      if (state.second_from === i) piece.append(made("b", { className: "border" }, made("span", { className: "unseen" }, "second text:"), made("span", { "aria-hidden": "true" }, "‖")));
      piece.append(gap, word);
      word.place = i;
      words.push(word);
      paintToken(word, shown.values[i] ?? 0, shown.largest);
      each(word, i);
    }
    map.append(piece);
  };
  build(0);
  shown.done = (async () => {
    if (long) await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0))); // the first piece is seen first
    for (let from = PIECE; from < state.tokens.length; from += PIECE) {
      await new Promise((next) => setTimeout(next, 0));
      build(from);
    }
    map.append(state.tail ?? "");
  })();
  shown.paint = (next, most = shown.largest) => {
    shown.values = next;
    shown.largest = most;
    paintWords(words, next, most);
  };
  return shown;
};

const shortest = (size) => Number(size.toPrecision(2)).toString().replace("-", "−");

const legend = (words, sizes, largest, after = "") => {
  const parts = sizes.map((size) => {
    const word = made("i", {}, shortest(size));
    paintToken(word, size, largest);
    return word;
  });
  return made("p", { className: "scale" }, words, ...parts.flatMap((part) => [" ", part]), after);
};

export const legendOfWeights = () => legend("Weight", [0.01, 0.05, 0.25, 1], 1);

export const legendOfScores = (scores, largest) => {
  const signed = scores.some((score) => score < 0);
  const sizes = signed ? [-largest, -largest / 4, largest / 4, largest] : [largest / 25, largest / 5, largest];
  return legend("Score", sizes, largest, signed ? " orange speaks for the predicted class, blue against it" : "");
};
