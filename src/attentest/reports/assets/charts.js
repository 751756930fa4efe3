// Pictures become charts with tooltips when they come into view; until then, and on paper, they are pictures.
const ROWS_SHOWN = 200;
const LARGER = 1.2; // than Vega draws: its letters are small beside the page's

const unpackColumns = (columns) => {
  const names = Object.keys(columns);
  const values = names.map((name) => {
    const column = columns[name];
    return Array.isArray(column) ? column : column.at.map((place) => column.levels[place]);
  });
  return (values[0] ?? []).map((_, i) => Object.fromEntries(names.map((name, k) => [name, values[k][i]])));
};

const unpack = (part) => {
  if (Array.isArray(part)) return part.map(unpack);
  if (part === null || typeof part !== "object") return part;
  const { packed, ...rest } = part;
  const whole = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, unpack(value)]));
  return packed ? { ...whole, values: unpackColumns(packed) } : whole;
};

const specOf = (figure) => {
  figure.spec ??= unpack(JSON.parse(figure.querySelector(".spec").textContent));
  return figure.spec;
};

// every table in a specification, wherever in it
const tablesOf = (part) => {
  if (part === null || typeof part !== "object") return [];
  const own = part.data && Array.isArray(part.data.values) ? [part.data.values] : [];
  const named = part.datasets ? Object.values(part.datasets) : [];
  const within = Object.entries(part).filter(([key]) => key !== "data" && key !== "datasets");
  return [...own, ...named, ...within.flatMap(([, value]) => tablesOf(value))];
};

// a row whose cells are lists is as many rows as they are long
const flat = (row) => {
  const length = Math.max(...Object.values(row).map((cell) => (Array.isArray(cell) ? cell.length : -1)));
  if (length < 0) return [row];
  const at = (i) => ([name, cell]) => [name, Array.isArray(cell) ? cell[i] : cell];
  return Array.from({ length }, (_, i) => Object.fromEntries(Object.entries(row).map(at(i))));
};

const dataAsTable = (figure) => {
  const given = tablesOf(specOf(figure)).filter((rows) => rows.length && typeof rows[0] === "object");
  const tables = given.map((rows) => rows.flatMap(flat));
  const title = figure.dataset.title;
  return tables.flatMap((rows, i) => {
    const head = [...new Set(rows.flatMap(Object.keys))];
    const cells = rows.map((row) => head.map((name) => row[name]));
    const note = document.createElement("p");
    note.className = "tools";
    const csv = document.createElement("button");
    csv.type = "button";
    csv.textContent = "Data as CSV";
    csv.addEventListener("click", () => save(`${figure.id}${i ? `-${i + 1}` : ""}.csv`, csvOf([head, ...cells])));
    const shown = cells.slice(0, ROWS_SHOWN);
    note.append(csv, cells.length > ROWS_SHOWN ? `The first ${ROWS_SHOWN} of ${cells.length.toLocaleString("en")} rows` : "");
    return [note, makeTable(`Data of ${title}`, head, shown)];
  });
};

// numbers with as many digits as the page has elsewhere
const tooltip = (value, sanitize) => {
  const short = (text) => (/^[−-]?\d+\.\d{4,}$/.test(text) ? Number(String(text).replace("−", "-")).toFixed(3) : text);
  if (value === null || typeof value !== "object") return sanitize(short(value));
  const rows = Object.entries(value).map(([key, item]) => `<tr><td class="key">${sanitize(key)}</td><td>${sanitize(short(item))}</td></tr>`);
  return `<table>${rows.join("")}</table>`;
};

// a chart is made of what is in the page: whatever else it may name is not loaded, and no link is followed
const refuse = () => Promise.reject(new Error("nothing is loaded"));

const OPTIONS = {
  loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
  renderer: "svg",
  actions: false,
  ast: true, // expressions are read, not compiled: the page forbids eval
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, id: "vg-tooltip-element", formatTooltip: tooltip },
};

const draw = (place, spec) => vegaEmbed(place, { ...spec, usermeta: {}, background: "transparent" }, OPTIONS);

// as wide as there is room for, rather than whole but too small to read
const fitted = (spec, drawn, room) => {
  const config = { ...spec.config, legend: { ...spec.config?.legend, orient: "bottom", columns: 1 } };
  const narrower = (view) => {
    const outside = Math.min(Math.max(0, drawn - view.width), 0.5 * room);
    return { ...view, width: Math.max(160, Math.min(view.width, room - outside)) };
  };
  if (typeof spec.width === "number") return { ...narrower(spec), config };
  if (typeof spec.spec?.width !== "number") return { ...spec, config };
  const facet = spec.facet?.column ?? spec.facet;
  return { ...spec, config, spec: narrower(spec.spec), facet, ...(spec.facet?.row ? {} : { columns: 1 }) };
};

const interactive = async (figure) => {
  const picture = figure.querySelector(".picture");
  const place = document.createElement("div");
  picture.classList.add("drawing");
  picture.append(place);
  try {
    const spec = specOf(figure);
    const room = picture.clientWidth;
    const first = await draw(place, spec);
    let drawn = place.querySelector("svg");
    if (drawn.width.baseVal.value > room) {
      first.finalize();
      await draw(place, fitted(spec, drawn.width.baseVal.value, room));
      drawn = place.querySelector("svg");
    }
    const larger = Math.max(1, Math.min(LARGER, room / drawn.width.baseVal.value));
    for (const side of ["width", "height"]) drawn.setAttribute(side, Math.round(drawn[side].baseVal.value * larger));
    const old = picture.querySelector(":scope > svg");
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", old?.getAttribute("aria-label") ?? figure.dataset.title);
    picture.replaceChildren(place);
    figure.dataset.interactive = "yes";
  } catch (error) {
    place.remove(); // the picture says the same
    figure.dataset.interactive = "no";
  }
  picture.classList.remove("drawing");
};

const charts = () => {
  // one without a picture shows its data already
  const figures = [...document.querySelectorAll("figure.chart")].filter((figure) => figure.querySelector(".picture"));
  for (const figure of figures) {
    tableToggle(figure.querySelector(".as-table"), figure.querySelector(".picture"), () => dataAsTable(figure));
  }
  if (typeof vegaEmbed === "undefined" || typeof IntersectionObserver === "undefined") return;
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      interactive(entry.target);
    }
  }, { rootMargin: "400px" });
  figures.forEach((figure) => seen.observe(figure));
};
