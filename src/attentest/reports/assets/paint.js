// How a heat map is coloured and read, the same on the report page and in the explorer.

// from 0 to 1 for a weight from 0 to 1; the root keeps apart the small weights of long texts (display/heatmaps/colour.py)
export const strengthOf = (weight) => (Number.isFinite(weight) ? Math.sqrt(Math.min(Math.max(weight, 0), 1)) : 0);

// a signed value against the largest of its map: its size as a colour's depth, its sign as the colour
export const toneOf = (value, largest = 1) => ({ depth: strengthOf(Math.abs(value) / (largest || 1)), against: value < 0 });

// a colour that did not change to the eye is not set again: this runs for every token of every frame
export const paintToken = (word, value, largest = 1) => {
  const { depth, against } = toneOf(value, largest);
  const shade = Math.round(depth * 200) / 200;
  if (word.shade !== shade) {
    word.style.setProperty("--w", shade);
    word.shade = shade;
  }
  if ((word.against ?? false) !== against) {
    word.classList.toggle("n", against);
    word.against = against;
  }
};

export const paintWords = (words, values, largest = 1) => {
  for (let i = 0; i < words.length; i += 1) paintToken(words[i], values[i] ?? 0, largest);
};

export const wordsOf = (map) => [...map.querySelectorAll("i")];

// where a key leads among the words of a map; undefined for keys that mean nothing here
export const placeAfter = (key, at, last, rightToLeft) => {
  const forward = rightToLeft ? -1 : 1;
  const step = (by) => (at === null ? (by > 0 ? 0 : last) : Math.min(last, Math.max(0, at + by)));
  const places = { ArrowRight: () => step(forward), ArrowLeft: () => step(-forward), Home: () => 0, End: () => last, Escape: () => null };
  return last < 0 || !Object.hasOwn(places, key) ? undefined : places[key]();
};

// the same word in every map of a text
export const markPlace = (box, maps, at) => {
  for (const old of box.querySelectorAll("i.at")) old.classList.remove("at");
  if (at !== null) for (const map of maps) wordsOf(map)[at]?.classList.add("at");
};
