// The library's option for one grid of a heat map.
import { FONTS } from "./library.js";
import { number } from "./numbers.js";
import { escaped } from "./tips.js";

const LEGEND = 34;
const ROW = 30;
// Average width of a letter of 11 and 12 pixels.
const SMALL = 6.4;
const PLAIN = 6.9;

export function heat(form, index, { width, colors, state }) {
  const grid = form.grids[index];
  const kinds = form.legend.kinds;
  const names = Math.max(...grid.rows.map((name) => name.length)) * PLAIN + 14;
  const longest = (i) => Math.max(1, ...grid.cells.map((cell) => cell.text[i].length)) * SMALL + 8;
  const cell = Math.max((width - names - 8) / grid.columns.length, longest(1));
  const wide = cell >= longest(0);
  const upright = Math.max(...grid.columns.map((name) => name.length)) * PLAIN > cell - 4;
  const heads = upright ? Math.max(...grid.columns.map((name) => name.length)) * PLAIN + 12 : 24;
  const top = (kinds ? LEGEND : 0) + heads;
  const height = grid.rows.length * ROW;
  const label = { color: colors.ink, fontSize: 12, interval: 0 };
  const groups = kinds ? kinds.map((kind) => [`${kind.name} (${kind.code})`, kind.color, kind.value]) : [[form.title, null, null]];
  const rowOf = (i) => Math.floor(i / grid.columns.length);
  // Cells without a value are drawn with the first kind.
  const kindOf = (cell) => (kinds ? (cell.value ?? kinds[0]?.value) : null);
  const data = (kind) =>
    grid.cells.flatMap((cell, i) => {
      if (kindOf(cell) !== kind) return [];
      return [{
        value: [i % grid.columns.length, rowOf(i), cell.value ?? 0],
        cell,
        itemStyle: { color: cell.color, borderColor: colors.card, borderWidth: 1 },
        label: { color: cell.light ? "#fff" : "#22262b", formatter: cell.text[wide ? 0 : 1] },
      }];
    });
  const option = {
    animation: false,
    textStyle: { fontFamily: FONTS },
    aria: { enabled: true, label: { description: `${form.title} ${grid.title}` } },
    legend: {
      show: Boolean(kinds),
      type: "scroll",
      left: 0,
      top: 0,
      data: groups.map(([name, color]) => ({ name, icon: "roundRect", itemStyle: { color } })),
      selected: Object.fromEntries(groups.map(([name]) => [name, !state.hidden.has(name)])),
      textStyle: { color: colors.ink, fontSize: 13 },
      inactiveColor: colors.line,
      pageTextStyle: { color: colors.soft },
      pageIconColor: colors.soft,
      pageIconInactiveColor: colors.line,
    },
    grid: { left: names, top, width: cell * grid.columns.length, height, outerBoundsMode: "none" },
    xAxis: {
      type: "category",
      data: grid.columns,
      position: "top",
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { ...label, rotate: upright ? 90 : 0 },
    },
    yAxis: { type: "category", data: grid.rows, inverse: true, axisLine: { show: false }, axisTick: { show: false }, axisLabel: label },
    tooltip: {
      trigger: "item",
      confine: true,
      backgroundColor: colors.card,
      borderColor: colors.line,
      textStyle: { color: colors.ink },
      formatter: ({ data: { value, cell } }) => {
        const [column, row] = value;
        const place = form.axes.map((name, i) => `${escaped(name)} <b>${escaped(i ? grid.columns[column] : grid.rows[row])}</b>`);
        const shown = kinds && cell.value !== null ? kinds.find((kind) => kind.value === cell.value).name : cell.value === null ? "no value" : number(cell.value * form.legend.range.factor);
        const ends = cell.interval?.map((end) => number(end * form.legend.range.factor));
        const interval = ends ? ` <span>(95 %: ${ends[0]} to ${ends[1]})</span>` : "";
        const beside = grid.title ? `<br>${escaped(grid.title)}` : "";
        return `<div class="tip">${place.join("<br>")}${beside}<br>${escaped(form.title)}: <b>${escaped(shown)}</b>${interval}</div>`;
      },
    },
    series: groups.map(([name, color, kind]) => ({
      type: "heatmap",
      name,
      data: data(kind),
      itemStyle: { color },
      label: { show: true, fontSize: 11 },
      emphasis: { itemStyle: { borderColor: colors.ink, borderWidth: 2 } },
      animation: false,
    })),
  };
  return { option, height: top + height + 8, width: names + cell * grid.columns.length + 8 };
}
