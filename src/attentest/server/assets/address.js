// The state of the page in its address, after the #, which browsers do not send: texts of the reader's stay private.
const PANE_NAMES = ["run", "row", "text", "second", "site", "head", "view", "measures", "special", "sinks"];
const SHORT_NAMES = { run: "r", row: "row", text: "t", second: "t2", site: "site", head: "head", view: "view", measures: "m", special: "sp", sinks: "sk" };

// changed weights only: "place:weight" with seven digits, joined by commas; places as distances from the one before
export const packWeights = (own, weights) => {
  const parts = [];
  let before = 0;
  for (let i = 0; i < weights.length; i += 1) {
    if (Math.abs(weights[i] - own[i]) <= 1e-12) continue;
    parts.push(`${(i - before).toString(36)}:${weights[i] === 0 ? "0" : Number(weights[i].toPrecision(7)).toString()}`);
    before = i;
  }
  return parts.join(",");
};

export const unpackWeights = (own, packed) => {
  const found = Float64Array.from(own);
  let place = 0;
  for (const part of packed ? packed.split(",") : []) {
    const [step, number] = part.split(":");
    place += Number.parseInt(step, 36);
    const weight = Number(number);
    if (!Number.isInteger(place) || place < 0 || place >= found.length || !Number.isFinite(weight) || weight < 0 || weight > 1) return null;
    found[place] = weight;
  }
  return found;
};

export const writeAddress = ({ panes, step }) => {
  const found = new URLSearchParams();
  panes.forEach((pane, i) => {
    const end = i ? "2" : "";
    for (const name of PANE_NAMES) {
      const value = pane[name];
      if (value === null || value === undefined || value === "" || value === false) continue;
      found.set(SHORT_NAMES[name] + (end && `.${end}`), value === true ? "1" : Array.isArray(value) ? value.join(",") : String(value));
    }
    if (pane.packed) found.set(`w${end && `.${end}`}`, pane.packed);
  });
  if (step !== null && step !== undefined) found.set("step", String(step));
  return found.size ? `#${found}` : "";
};

const wholeNumber = (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);

export const readAddress = (hash) => {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const panes = [];
  for (const end of ["", ".2"]) {
    const get = (name) => given.get(SHORT_NAMES[name] + end);
    const run = wholeNumber(get("run"));
    if (run === null) continue;
    panes.push({
      run, row: wholeNumber(get("row")), text: get("text"), second: get("second"), site: get("site"), head: wholeNumber(get("head")),
      view: get("view"), measures: get("measures") ? get("measures").split(",") : [], special: get("special") === "1", sinks: get("sinks") === "1",
      packed: given.get(`w${end}`) ?? "",
    });
  }
  return { panes, step: wholeNumber(given.get("step")) };
};
