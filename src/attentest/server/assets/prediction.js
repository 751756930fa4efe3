// The prediction under the model's own weights and under the changed ones, as bars, with both distances.
import { made, shortNumber } from "./dom.js";

const MOST_CLASSES = 12;

// where weights cannot be changed there is one prediction
export const predictionView = (classes, own, can = true) => {
  const order = own.map((_, c) => c).sort((a, b) => own[b] - own[a]).slice(0, MOST_CLASSES);
  const rows = order.map((c) => {
    const bar = made("span", { className: "fill" });
    const value = made("span", { className: "n changed" });
    const ownBar = made("span", { className: "own-mark", title: "under the model's own weights", vars: { "--p": own[c] } });
    const row = made("tr", {}, made("th", { scope: "row" }, made("span", { className: "class-name", dir: "auto", title: classes[c] }, classes[c])), made("td", { className: "bars" }, made("span", { className: "track" }, bar, ownBar)), made("td", { className: "n" }, shortNumber(own[c])), made("td", {}, value));
    return { c, bar, value, row };
  });
  const tvd = made("output", { className: "tvd n" });
  const jsd = made("output", { className: "jsd n" });
  const head = made("tr", {}, made("th", { scope: "col" }, "Class"), made("th", { scope: "col" }, made("span", { className: "unseen" }, "Bar")), made("th", { scope: "col" }, "Model's own"), made("th", { scope: "col" }, "Now"));
  const said = made("p", { className: "unseen", role: "status" });
  const left = own.length - order.length;
  const box = made("section", { className: can ? "prediction" : "prediction one", "aria-label": "Prediction" },
    made("table", {}, made("caption", {}, "Prediction"), made("thead", {}, head), made("tbody", {}, ...rows.map(({ row }) => row))),
    left > 0 ? made("p", { className: "about" }, `${left} less likely classes are not shown.`) : null,
    made("p", { className: "distances" }, made("span", { title: "Total variation distance: half of the sum of all changes of probabilities; 0 to 1" }, "Prediction moved by (TVD)", tvd), made("span", { title: "Jensen–Shannon divergence from the model's own weights, in nats; 0 to 0.693" }, "Weights moved by (JSD)", jsd)), said);
  let spoken = 0;
  const update = ({ probabilities, tvd: far, jsd: apart, waiting = false }) => {
    const best = probabilities.indexOf(Math.max(...probabilities));
    for (const { c, bar, value, row } of rows) {
      bar.style.setProperty("--p", probabilities[c]);
      value.textContent = shortNumber(probabilities[c]);
      row.classList.toggle("best", c === best);
    }
    tvd.value = shortNumber(far);
    jsd.value = shortNumber(apart);
    box.exact = { probabilities, tvd: far, jsd: apart };
    box.classList.toggle("waiting", waiting);
    clearTimeout(spoken);
    spoken = setTimeout(() => { said.textContent = `Prediction: ${classes[best]} ${shortNumber(probabilities[best])}, TVD ${shortNumber(far)}`; }, 700);
  };
  return { box, update, waits: () => box.classList.add("waiting") };
};
