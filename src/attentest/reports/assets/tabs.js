// Several figures in one place: tabs, as the ARIA practices describe them.
const tabbed = (box) => {
  const panels = [...box.querySelectorAll(":scope > .chart")];
  if (panels.length < 2) return;
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Figures");
  const tabs = panels.map((panel) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `${panel.id}-tab`;
    tab.textContent = panel.dataset.title;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    return tab;
  });
  const choose = (chosen) => tabs.forEach((tab, i) => {
    tab.setAttribute("aria-selected", i === chosen);
    tab.tabIndex = i === chosen ? 0 : -1;
    panels[i].hidden = i !== chosen;
  });
  list.addEventListener("click", (event) => {
    const at = tabs.indexOf(event.target.closest("[role=tab]"));
    if (at >= 0) choose(at);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const chosen = (next + tabs.length) % tabs.length;
    choose(chosen);
    tabs[chosen].focus();
  });
  list.append(...tabs);
  box.prepend(list);
  choose(0);
};
