// What a pane shows of its text: from which site and head, with which tokens, next to which measures.
import { choice, made, tickBox } from "./dom.js";

const ALL_HEADS = "mean of all";
const FIRST = ["gradient", "leave-one-out", "integrated-gradients", "lime"]; // the best known; the others are folded away

export const paneControls = (run, state, wish, { reload, hide }) => {
  const heads = run.heads?.[state.site] ?? 0;
  const change = (changes) => reload({ ...changes, packed: "", at: null });
  const isPretrained = run.views.length > 0;
  const headNames = [["", ALL_HEADS], ...Array.from({ length: heads }, (_, head) => [head, String(head)])];
  return made("div", { className: "controls" },
    run.sites.length > 1 ? choice(isPretrained ? "Layer" : "Site", run.sites.map((site) => [site, site]), state.site, (site) => change({ site, head: null, query: null })) : null,
    heads > 1 ? choice("Head", headNames, state.head ?? "", (head) => change({ head: head === "" ? null : Number(head) })) : null,
    run.views.length > 1 ? choice("Shown as attention", run.views.map((name) => [name, name]), state.view ?? run.views[0], (view) => change({ view })) : null,
    state.windows > 1 ? choice("Part", Array.from({ length: state.windows }, (_, part) => [part, `${part + 1} of ${state.windows}`]), state.window, (part) => change({ window: Number(part), query: null })) : null,
    (run.special ?? isPretrained) ? tickBox("Special tokens", wish.special, (special) => change({ special, query: null })) : null,
    state.sink?.some(Boolean) ? tickBox("Hide sinks", wish.sinks, hide) : null);
};

// empty where there is nothing to compare with
export const measureChoice = (measures, chosen, toggle) => {
  if (!measures.length) return "";
  const box = (name) => tickBox(name, chosen.includes(name), (on) => toggle(name, on));
  const rest = measures.filter((name) => !FIRST.includes(name));
  const more = made("details", { open: rest.some((name) => chosen.includes(name)) }, made("summary", {}, `${rest.length} more`), made("div", { className: "boxes" }, ...rest.map(box)));
  return made("fieldset", { className: "measures" }, made("legend", {}, "Compare attention with"), ...measures.filter((name) => FIRST.includes(name)).map(box), rest.length ? more : "");
};
