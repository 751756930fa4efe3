// Where a pane gets its numbers from: the server, or the file it was saved in.
import { asker, oneAtATime } from "./asking.js";

export const fromServer = (number) => {
  const place = `/api/runs/${number}`;
  const asks = { read: asker(), adversary: asker(), steps: asker() };
  return {
    live: true,
    read: (reference) => asks.read(`${place}/read`, reference),
    adversary: (reference) => asks.adversary(`${place}/adversary`, reference),
    steps: (reference) => asks.steps(`${place}/steps`, reference),
    measure: async (reference, measure) => (await asker()(`${place}/measure`, { ...reference, measure })).scores,
    row: (reference) => asker()(`${place}/read`, reference),
    decoder: (answered, failed) => {
      const ask = oneAtATime(answered, failed);
      return (reference, weights) => ask(`${place}/decode`, { ...reference, weights: [...weights] });
    },
  };
};

export const fromFile = ({ state, scores, adversary, steps }) => ({
  live: false,
  measures: Object.keys(scores),
  hasAdversary: Boolean(adversary),
  hasSteps: Boolean(steps),
  read: async () => state,
  adversary: async () => adversary,
  steps: async () => steps,
  measure: async (_, name) => scores[name],
  decoder: (_, failed) => () => failed(new Error("Only the model itself can tell the prediction under these weights, and this file does not hold it.")),
});
