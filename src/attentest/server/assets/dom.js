// Elements made of names and texts. Text is always set as text, styles through the CSSOM: the page forbids anything else.
export const made = (tag, given = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, size] of Object.entries(value)) element.style.setProperty(key, size);
    else if (name in element && !["list", "role"].includes(name) && !name.startsWith("aria")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

export const shortNumber = (value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−") : "–");

export const labelled = (words, control) => made("label", {}, made("span", {}, words), control);

export const choice = (words, options, chosen, changed) => {
  const select = made("select", { "aria-label": words, onchange: () => changed(select.value) });
  for (const [value, name] of options) select.append(made("option", { value, selected: String(value) === String(chosen ?? "") }, name));
  return labelled(words, select);
};

export const tickBox = (words, checked, set) => {
  const tick = made("input", { type: "checkbox", checked, onchange: () => set(tick.checked) });
  return made("label", {}, tick, made("span", {}, words));
};

export const pressable = (words, pressed, more = {}) => made("button", { type: "button", onclick: pressed, ...more }, words);

// at most one run a frame, whatever comes in between
export const oncePerFrame = (run) => {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      run();
    });
  };
};

export const afterPause = (run, milliseconds) => {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds);
  };
};
