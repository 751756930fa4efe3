// What a decoder does with weights, where it is affine: logits = bias + Σ wᵢ · token_logitsᵢ. All in float64.
export const softmaxOf = (logits) => {
  const top = Math.max(...logits);
  const powers = logits.map((value) => Math.exp(value - top));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((value) => value / sum);
};

export const logitsOf = (affine, weights) => {
  const found = [...affine.bias];
  for (let i = 0; i < weights.length; i += 1) {
    const row = affine.token_logits[i];
    for (let c = 0; c < found.length; c += 1) found[c] += weights[i] * row[c];
  }
  return found;
};

export const decodeAffine = (affine, weights) => softmaxOf(logitsOf(affine, weights));

export const tvdOf = (p, q) => p.reduce((sum, value, i) => sum + Math.abs(value - q[i]), 0) / 2;

const plogp = (p) => (p > 0 ? p * Math.log(p) : 0);

// in nats, between 0 and ln 2, as attentest.measures.divergences.jsd; of several distributions in a row, their mean
export const jsdOf = (p, q, parts = 1) => {
  let sum = 0;
  for (let i = 0; i < p.length; i += 1) sum += (plogp(p[i]) + plogp(q[i])) / 2 - plogp((p[i] + q[i]) / 2);
  return Math.min(Math.LN2, Math.max(0, sum / parts));
};

const clampedShare = (value) => (Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0);

export const placesOf = (length, within, at) => {
  const all = Array.from({ length }, (_, i) => i);
  return within ? all.filter((i) => within[i] === within[at]) : all;
};

// token `at` is set to `value`; the others of its part keep their proportions and share what is left
export const draggedWeights = (weights, at, value, within = null) => {
  const places = placesOf(weights.length, within, at);
  const found = Float64Array.from(weights);
  if (places.length === 1) return found; // alone in its part, it has all of the weight
  const set = clampedShare(value);
  let others = 0;
  for (const i of places) if (i !== at) others += weights[i];
  for (const i of places) {
    if (i === at) found[i] = set;
    else found[i] = others > 0 ? (weights[i] / others) * (1 - set) : (1 - set) / (places.length - 1);
  }
  return found;
};

// with the sum 1 within each part; null where a part has nothing
export const normalisedWeights = (weights, within = null) => {
  const sums = new Map();
  for (let i = 0; i < weights.length; i += 1) sums.set(within?.[i], (sums.get(within?.[i]) ?? 0) + weights[i]);
  return [...sums.values()].every((sum) => sum > 0) ? Float64Array.from(weights, (weight, i) => weight / sums.get(within?.[i])) : null;
};

export const uniformWeights = (weights, within = null) => {
  const sizes = new Map();
  for (let i = 0; i < weights.length; i += 1) sizes.set(within?.[i], (sizes.get(within?.[i]) ?? 0) + 1);
  return Float64Array.from(weights, (_, i) => 1 / sizes.get(within?.[i]));
};

// the same seed gives the same order, in every browser (mulberry32)
export const seededRandom = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
};

export const permutedWeights = (weights, seed, within = null) => {
  const random = seededRandom(seed);
  const found = Float64Array.from(weights);
  const firsts = within ? within.map((part, i) => (within.indexOf(part) === i ? i : -1)).filter((i) => i >= 0) : [0];
  for (const first of weights.length ? firsts : []) {
    const places = placesOf(weights.length, within, first);
    for (let k = places.length - 1; k > 0; k -= 1) {
      const other = Math.floor(random() * (k + 1));
      [found[places[k]], found[places[other]]] = [found[places[other]], found[places[k]]];
    }
  }
  return found;
};

// the heaviest word that others can take the weight of; in a text of parts by what the word has of the whole, for which
// `shares` tell how much each part counts
export const topOf = (weights, within = null, shares = null) => {
  const sizes = new Map();
  const counts = new Map();
  for (let i = 0; i < weights.length; i += 1) {
    const part = within?.[i];
    sizes.set(part, (sizes.get(part) ?? 0) + 1);
    counts.set(part, (counts.get(part) ?? 0) + (shares?.[i] ?? 1));
  }
  const heavy = (i) => (sizes.get(within?.[i]) > 1 ? weights[i] * (shares ? counts.get(within?.[i]) : 1) : -1);
  let best = 0;
  for (let i = 1; i < weights.length; i += 1) if (heavy(i) > heavy(best)) best = i;
  return best;
};

export const topDropped = (weights, within = null, shares = null) => draggedWeights(weights, topOf(weights, within, shares), 0, within);
