// The values under the pointer.
import { writer } from "./axes.js";
import { number } from "./numbers.js";
import { colorOf } from "./series.js";

const STEPPED = new Set(["steps", "staircase", "thin-staircase"]);
// A single mark is named if it is this close to the pointer, as a share of the visible range.
const NEAR = 0.01;

export const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// Returns the index of the last point at or before `x`; -1 if there is none.
function before(points, x) {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// Returns the point of a series that belongs to `x`.
function pointAt(series, x, span) {
  const { points, kind } = series;
  const i = before(points, x);
  if (STEPPED.has(kind)) return points[i];
  const [left, right] = [points[i], points[i + 1]];
  const nearest = !left ? right : !right ? left : x - left[0] <= right[0] - x ? left : right;
  const single = !["measured", "trace", "thin"].includes(kind);
  return nearest && (!single || Math.abs(nearest[0] - x) <= span * NEAR) ? nearest : undefined;
}

const row = (series, point, dark) => {
  const [, y, low, high] = point;
  const interval = low === undefined ? "" : ` <span>(95 %: ${number(low)} to ${number(high)})</span>`;
  const value = series.kind === "strokes" ? "" : `<b>${number(y)}</b>${interval}`;
  return `<tr><td><span style="color:${colorOf(series.style, dark)}">●</span> ${escaped(series.label)}</td><td>${value}</td></tr>`;
};

// Returns the tip for one horizontal position, of all panels that share the axis of panel `from`.
export function tipAt(model, from, x, { hidden, dark, span }) {
  const axis = model.panels[from].x;
  let body = "";
  for (const panel of model.panels) {
    if (panel.x.label !== axis.label) continue;
    const shown = panel.series.filter((series) => !hidden.has(series.name));
    const rows = shown.map((series) => [series, pointAt(series, x, span)]).filter(([, point]) => point);
    if (rows.length === 0) continue;
    const title = model.panels.length > 1 && panel.title ? `<div>${escaped(panel.title)}</div>` : "";
    body += `${title}<table>${rows.map(([series, point]) => row(series, point, dark)).join("")}</table>`;
  }
  return body && `<div class="tip">${escaped(axis.label)}: <b>${escaped(writer(axis)(round(x, axis)))}</b>${body}</div>`;
}

// Returns the tip of a single point.
export function tipOf(panel, series, point, dark) {
  const head = `${escaped(panel.x.label)}: <b>${escaped(writer(panel.x)(point[0]))}</b>`;
  return `<div class="tip">${head}<table>${row(series, point, dark)}</table></div>`;
}

// Drops the digits of the pointer's position that a screen cannot show.
const round = (x, axis) => {
  const named = axis.ticks.find(([value]) => Math.abs(value - x) <= Math.abs(value) * 1e-6);
  return named ? x : Number(x.toPrecision(5));
};
