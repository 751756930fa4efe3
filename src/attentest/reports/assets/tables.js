// Tables made of rows, and tables that sort when a heading is clicked.
const makeTable = (caption, head, rows) => {
  const table = document.createElement("table");
  const title = table.createCaption();
  title.textContent = caption;
  title.className = "unseen";
  const top = table.createTHead().insertRow();
  for (const name of head) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    top.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const value of row) {
      const cell = line.insertCell();
      cell.dir = "auto";
      cell.textContent = value === null || value === undefined ? "–" : value;
    }
  }
  return table;
};

// a button that swaps what is shown for a table of it, and back
const tableToggle = (button, instead, make) => {
  let box = null;
  button.hidden = false;
  button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", pressed);
    if (!box) {
      box = document.createElement("div");
      box.className = "data";
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", button.textContent);
      box.append(...make());
      instead.after(box);
    }
    box.hidden = !pressed;
    instead.hidden = pressed;
  });
};

const compare = (a, b) => {
  const [x, y] = [Number(a), Number(b)];
  return a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y) ? x - y : a.localeCompare(b, undefined, { numeric: true });
};

const missing = (value) => value === "" || value === "–";

const sortBy = (table, column, direction) => {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [cellValue(row.cells[column]), row]);
  // what has no value comes last, whichever way round
  keyed.sort(([a], [b]) => missing(a) - missing(b) || direction * compare(a, b));
  body.append(...keyed.map(([, row]) => row));
};

const sortableTables = () => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sortBy(table, column, ascending ? 1 : -1);
      });
    });
  }
};

const filterOfOurs = () => {
  for (const box of document.querySelectorAll("input.only-ours")) {
    const list = box.closest(".listing");
    const rows = [...list.querySelectorAll("tbody tr")];
    box.form.hidden = false;
    box.addEventListener("change", () => {
      for (const row of rows) row.hidden = box.checked && "none" in row.dataset;
      const left = rows.filter((row) => !row.hidden).length;
      list.querySelector(".count").textContent = `${left.toLocaleString("en")} rows`;
    });
  }
};
