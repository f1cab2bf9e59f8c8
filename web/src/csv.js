// The values of a figure as the CSV file beside the page has them.

// An apostrophe keeps a spreadsheet from running a text as a formula, as `crates/output/src/csv.rs`.
const FORMULA = /^[=+\-@\t\r＝＋－＠]./su;
const field = (value) => {
  const plain = value === null || value === undefined ? "" : String(value);
  const text = FORMULA.test(plain) && Number.isNaN(Number(plain)) ? `'${plain}` : plain;
  return /[,"\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const text = (rows) => rows.map((row) => `${row.map(field).join(",")}\n`).join("");

export function csv(form) {
  if (form.form === "panels") return panels(form);
  return form.form === "lanes" ? lanes(form) : grids(form);
}

function panels({ panels }) {
  const { x, y } = panels[0];
  const rows = [["panel", "scheme", "series", x.column, y.column, `${y.column}_ci95_low`, `${y.column}_ci95_high`]];
  for (const panel of panels) {
    const named = (value) => panel.x.ticks.find(([at]) => at === value)?.[1] ?? value;
    for (const { scheme, part, kind, points } of panel.series) {
      // A distribution is drawn from zero, which is no value of its.
      for (const [at, value, low, high] of kind === "steps" ? points.slice(1) : points) {
        rows.push([panel.title, scheme, part, panel.x.scale === "categorical" ? named(at) : at, value, low, high]);
      }
    }
  }
  return text(rows);
}

function lanes({ x, lanes: all }) {
  const rows = [["plot", "curve", x.column, "value", "value_is"]];
  for (const lane of all) {
    for (const { name, right, points } of lane.curves) {
      const axis = right && lane.right ? lane.right : lane.y;
      for (const [at, value] of points) rows.push([lane.title, name, at, value, axis.column]);
    }
  }
  return text(rows);
}

function grids({ axes, grids: all }) {
  const rows = [["panel", ...axes, "value", "text", "value_ci95_low", "value_ci95_high"]];
  for (const grid of all) {
    grid.cells.forEach((cell, i) => {
      const [row, column] = [Math.floor(i / grid.columns.length), i % grid.columns.length];
      rows.push([grid.title, grid.rows[row], grid.columns[column], cell.value, cell.text[0], ...(cell.interval ?? [null, null])]);
    });
  }
  return text(rows);
}
