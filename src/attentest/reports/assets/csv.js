// Tables as CSV, made in the browser: they are at hand when the page was sent without the files beside it.
const csvCell = (value) => {
  let text = value === null || value === undefined ? "" : String(value);
  // a spreadsheet would take such a text for a formula
  if (/^[=+@\t\r-]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const csvOf = (rows) => rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

const save = (name, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const cellValue = (cell) => {
  const data = cell.querySelector("data");
  return data ? data.value : cell.textContent.replace(/\s+/g, " ").trim();
};

const readTable = (table, withHead) =>
  [...table.rows].filter((row) => withHead || row.parentElement.tagName !== "THEAD").map((row) => [...row.cells].map(cellValue));

const csvButtons = () => {
  for (const button of document.querySelectorAll("button.as-csv")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const tables = button.closest(".finding, .listing").querySelectorAll("table.numbers, table.sortable");
      save(button.dataset.file, csvOf([...tables].flatMap((table, i) => readTable(table, i === 0))));
    });
  }
};
