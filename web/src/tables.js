// Sorting and filtering of the tables of a page.
import tablesort from "tablesort";

// A table with at least this many rows has a filter.
const FILTERED = 8;
const UNITS = { "": 1, k: 1e3, M: 1e6, G: 1e9, m: 1e-3, u: 1e-6, n: 1e-9 };
const VALUE = /^(-?[\d\u202f]*\.?\d+(?:e-?\d+)?)(?:\s*([kMGmun]?)(?:B|bit\/s|s|pkt|segments)\b|\s|%|,|;|$)/;

// Returns the number that a cell begins with, in base units; `null` if it begins with text.
function valueOf(text) {
  const [, digits, prefix] = VALUE.exec(text) ?? [];
  return digits === undefined ? null : Number(digits.replaceAll("\u202f", "")) * UNITS[prefix ?? ""];
}

const isEmpty = (text) => text === "" || text === "–";
const compare = (a, b) => b - a;

export function enhanceTables(page) {
  tablesort.extend("value", (text) => text !== "" && !Number.isNaN(Number(text)), compare);
  for (const table of page.querySelectorAll("table:has(> thead)")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 2 || rows.some((row) => row.cells.length !== table.tHead.rows[0].cells.length)) continue;
    for (const column of table.tHead.rows[0].cells) markNumbers(rows.map((row) => row.cells[column.cellIndex]), column);
    tablesort(table);
    if (rows.length >= FILTERED) addFilter(table, rows);
  }
}

// Gives the cells of a column of numbers their sort keys; empty cells are the least.
function markNumbers(cells, head) {
  const texts = cells.map((cell) => cell.textContent.trim());
  const values = texts.map((text) => (isEmpty(text) ? -Infinity : valueOf(text)));
  if (values.includes(null) || values.every((value) => value === -Infinity)) return;
  head.dataset.sortMethod = "value";
  cells.forEach((cell, i) => (cell.dataset.sort = values[i]));
}

function addFilter(table, rows) {
  const input = document.createElement("input");
  Object.assign(input, { type: "search", className: "filter", placeholder: `Filter ${rows.length} rows` });
  input.setAttribute("aria-label", "Show the rows that contain these words");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.closest(".scroll").before(input);
}
