// The library's option for a figure with axes.
import { axisOf, widest } from "./axes.js";
import { FONTS } from "./library.js";
import { seriesOf } from "./series.js";
import { tipAt, tipOf } from "./tips.js";

// Heights above and below the plots, pixels.
const LEGEND = 30;
const HEAD = 26;
// Labels of vertical guide lines.
const GUIDE = 14;
const TICKS = 22;
const NAME = 22;
const GAP = 8;

// Returns the option and the height of a figure of this width. `state` has the hidden names and the
// visible range in percent.
export function cartesian(model, { width, colors, state }) {
  const phone = width < 480;
  const names = [...new Set(model.panels.flatMap((panel) => panel.series.map((series) => series.name)))];
  // The name of an absent series says why it is absent.
  const drawn = new Set(model.panels.flatMap((panel) => panel.series.filter(({ points }) => points.length > 0).map(({ name }) => name)));
  const letters = Math.max(...model.panels.map((panel) => widest(panel.y)));
  const left = 16 + 7 * letters;
  const rights = model.panels.map((panel) => (panel.right ? widest(panel.right) : 0));
  const right = Math.max(...rights) ? 16 + 7 * Math.max(...rights) : 14;
  const option = {
    animation: false,
    textStyle: { fontFamily: FONTS },
    aria: { enabled: true, label: { description: model.title } },
    legend: {
      type: "scroll",
      data: names.map((name) => (drawn.has(name) ? name : { name, icon: "none", textStyle: { color: colors.soft } })),
      left: 0,
      top: 0,
      itemWidth: 26,
      selected: Object.fromEntries(names.map((name) => [name, !state.hidden.has(name)])),
      textStyle: { color: colors.ink, fontSize: 13 },
      inactiveColor: colors.line,
      pageTextStyle: { color: colors.soft },
      pageIconColor: colors.soft,
      pageIconInactiveColor: colors.line,
    },
    grid: [],
    xAxis: [],
    yAxis: [],
    series: [],
  };
  let top = names.length > 0 ? LEGEND : 0;
  model.panels.forEach((panel, i) => {
    const height = phone ? Math.round(panel.height * 0.85) : panel.height;
    const named = panel.x.label !== model.panels[i + 1]?.x.label;
    const labels = panel.guides.some((guide) => guide.vertical) ? GUIDE : 0;
    top += HEAD + labels;
    option.grid.push({ left, right, top, height, outerBoundsMode: "none" });
    option.xAxis.push({
      ...axisOf(panel.x, colors, { zooms: true }),
      gridIndex: i,
      name: named ? panel.x.label : "",
      nameLocation: "middle",
      nameGap: TICKS + 6,
      nameTextStyle: { color: colors.ink, fontSize: 13 },
    });
    const yAxis = option.yAxis.length;
    const title = panel.title ? `{title|${panel.title}}   ` : "";
    const label = (align, text) => ({
      name: text,
      nameLocation: "end",
      nameGap: 9 + labels,
      nameTextStyle: { color: colors.ink, fontSize: 12, align, rich: { title: { fontWeight: "bold", fontSize: 13, color: colors.ink } } },
      nameTruncate: { maxWidth: panel.right ? width * 0.62 : width - 8 },
    });
    option.yAxis.push({ ...axisOf(panel.y, colors, { zooms: false }), gridIndex: i, ...label("left", title + panel.y.label) });
    option.yAxis.at(-1).nameTextStyle.padding = [0, 0, 0, -left + 4];
    const axes = [{ xAxisIndex: i, yAxisIndex: yAxis }];
    if (panel.right) {
      option.yAxis.push({
        ...axisOf(panel.right, colors, { zooms: false }),
        gridIndex: i,
        position: "right",
        splitLine: { show: false },
        ...label("right", panel.right.label),
      });
      option.yAxis.at(-1).nameTextStyle.padding = [0, -right + 4, 0, 0];
      axes.push({ xAxisIndex: i, yAxisIndex: yAxis + 1 });
    }
    option.series.push(...seriesOf(panel, i, axes, colors));
    top += height + TICKS + (named ? NAME : 0) + GAP;
  });
  option.tooltip = tooltip(model, { colors, state });
  option.axisPointer = { link: [{ xAxisIndex: "all" }], label: { show: false }, lineStyle: { color: colors.soft } };
  option.dataZoom = [{
    id: "x",
    type: "inside",
    xAxisIndex: option.xAxis.map((_, i) => i),
    filterMode: "none",
    start: state.range[0],
    end: state.range[1],
    minSpan: model.least(width - left - right),
    moveOnMouseMove: true,
    preventDefaultMouseMove: false,
  }];
  return { option, height: top };
}

function tooltip(model, { colors, state }) {
  const single = model.panels.every((panel) => panel.series.every(({ kind }) => kind === "dots" || kind === "scatter"));
  const seriesById = (id) => {
    const [panel, number] = id.split(".").map(Number);
    return [model.panels[panel], model.panels[panel]?.series[number]];
  };
  return {
    trigger: single ? "item" : "axis",
    confine: true,
    backgroundColor: colors.card,
    borderColor: colors.line,
    textStyle: { color: colors.ink },
    axisPointer: { type: "line", snap: model.panels.some((panel) => panel.series.some(({ kind }) => kind === "measured")) },
    formatter: (params) => {
      if (single) {
        const [panel, series] = seriesById(params.seriesId);
        return series ? tipOf(panel, series, params.value, colors.dark) : "";
      }
      const { axisIndex, axisValue } = params[0];
      const { low, high } = model.panels[axisIndex].x;
      const span = ((high - low) * (state.range[1] - state.range[0])) / 100;
      return tipAt(model, axisIndex, axisValue, { hidden: state.hidden, dark: colors.dark, span });
    },
  };
}
