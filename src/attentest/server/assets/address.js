// The state of the page in its address, after the #, which browsers do not send: texts of the reader's stay private.
const PANE_NAMES = { run: "r", row: "row", text: "t", second: "t2", window: "win", site: "site", head: "head", query: "qu", view: "view", measures: "m", special: "sp", sinks: "sk", step: "step", at: "at", packed: "w" };
const LIST_NAMES = { q: "q", sort: "sort", descending: "desc", offset: "from" };
const SECOND = ".2"; // ends the names of the second pane

export const blankPane = (run) => ({ run, row: 0, text: null, second: null, window: null, site: null, head: null, query: null, view: null, measures: [], special: false, sinks: false, step: null, at: null, packed: "" });

// "*" and "_" stand in an address as they are
// changed weights only: "place*weight" with seven digits, joined by "_"; places as distances from the one before
export const packWeights = (own, weights) => {
  const parts = [];
  let before = 0;
  for (let i = 0; i < weights.length; i += 1) {
    if (Math.abs(weights[i] - own[i]) <= 1e-12) continue;
    parts.push(`${(i - before).toString(36)}*${weights[i] === 0 ? "0" : Number(weights[i].toPrecision(7)).toString()}`);
    before = i;
  }
  return parts.join("_");
};

// null where they do not fit the text
export const unpackWeights = (own, packed) => {
  const found = Float64Array.from(own);
  let place = 0;
  for (const part of packed ? packed.split("_") : []) {
    const [step, number] = part.split("*");
    place += Number.parseInt(step, 36);
    const weight = Number(number);
    const fits = Number.isInteger(place) && place >= 0 && place < found.length && weight >= 0 && weight <= 1;
    if (!fits) return null;
    found[place] = weight;
  }
  return found;
};

const written = (value) => (value === true ? "1" : Array.isArray(value) ? value.join("*") : String(value));
const isThere = (value) => ![null, undefined, "", false].includes(value) && value.length !== 0;

export const writeAddress = (panes, list = {}) => {
  const found = new URLSearchParams();
  const put = (names, values, end = "") => {
    for (const [name, short] of Object.entries(names)) if (isThere(values[name])) found.set(short + end, written(values[name]));
  };
  panes.forEach((pane, i) => put(PANE_NAMES, pane, i ? SECOND : ""));
  put(LIST_NAMES, { ...list, sort: list.sort === "corpus" ? null : list.sort, offset: list.offset || null });
  return `#${found}`;
};

const wholeNumber = (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);

export const readAddress = (hash) => {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const panes = [];
  for (const end of ["", SECOND]) {
    const get = (name) => given.get(PANE_NAMES[name] + end);
    const number = (name) => wholeNumber(get(name));
    if (number("run") === null) continue;
    const texts = { text: get("text"), second: get("second"), site: get("site"), view: get("view"), packed: get("packed") ?? "" };
    const numbers = { run: number("run"), row: number("row"), head: number("head"), window: number("window"), query: number("query"), step: number("step"), at: number("at") };
    panes.push({ ...texts, ...numbers, measures: get("measures")?.split("*") ?? [], special: get("special") === "1", sinks: get("sinks") === "1" });
  }
  const list = { q: given.get("q") ?? "", sort: given.get("sort") ?? "corpus", descending: given.get("desc") === "1", offset: wholeNumber(given.get("from")) ?? 0 };
  return { panes, list };
};
