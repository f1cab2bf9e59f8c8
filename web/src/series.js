// Series of the library from those of a panel.

const SYMBOLS = { circle: "circle", square: "rect", triangle: "triangle", diamond: "diamond" };
// Strips of strokes along the bottom of a panel: height and distance, pixels.
const STRIP = 8;

export const colorOf = (style, dark) => (dark ? style.dark : style.color);

// Returns the series of panel `index`, its intervals, guide lines and shade.
export function seriesOf(panel, index, axes, colors) {
  const out = [reference(panel, axes[0], colors)];
  let strips = 0;
  panel.series.forEach((series, number) => {
    const place = series.right && axes[1] ? axes[1] : axes[0];
    const aside = panel.x.scale === "categorical" ? (2 * number - (panel.series.length - 1)) * 6 : 0;
    const points = visible(series.points, panel, series.right ? panel.right : panel.y);
    const drawn = draw({ ...series, points }, colorOf(series.style, colors.dark), { aside, strips, floor: panel.y.low });
    if (series.kind === "strokes") strips += 1;
    const z = series.kind === "thin" ? 2 : 3;
    out.push({ ...drawn, ...place, z, id: `${index}.${number}`, name: series.name });
    if (series.points.some((point) => point.length === 4)) {
      const color = colorOf(series.style, colors.dark);
      out.push({ ...intervals(series, color, aside), ...place, id: `${index}.${number}.intervals`, name: series.name });
    }
  });
  // The legend shows the first series of a name: a thin line is never the first.
  return out.sort((a, b) => (a.z === 2) - (b.z === 2));
}

// Returns the points with values that a logarithmic axis has no place for at its low end.
function visible(points, panel, vertical) {
  const onto = (axis) => (axis.scale === "log" ? (value) => Math.max(value, axis.low) : (value) => value);
  const [x, y] = [onto(panel.x), onto(vertical)];
  return points.map(([at, value, ...interval]) => [x(at), value === null ? null : y(value), ...interval]);
}

function draw(series, color, { aside, strips, floor }) {
  const { style, points } = series;
  const line = (width, dash, more) => ({
    type: "line",
    data: points,
    symbol: SYMBOLS[style.marker],
    showSymbol: false,
    symbolSize: 8,
    lineStyle: { color, width, type: dash ?? "solid" },
    itemStyle: { color },
    emphasis: { disabled: true },
    animation: false,
    ...more,
  });
  const dots = (symbol, size, more) => ({
    type: "scatter",
    data: points,
    symbol,
    symbolSize: size,
    itemStyle: { color },
    emphasis: { disabled: true },
    animation: false,
    ...more,
  });
  switch (series.kind) {
    case "measured":
      return line(2, style.dash, { showSymbol: true, showAllSymbol: true, symbolSize: 9, symbolOffset: [aside, 0] });
    case "dots":
      return dots(SYMBOLS[style.marker], 10, { symbolOffset: [aside, 0] });
    case "scatter":
      return dots(SYMBOLS[style.marker], 5);
    case "trace":
      return line(1.5, null);
    case "thin":
      return line(1, [4, 3]);
    case "steps":
      return line(2, style.dash, { step: "end" });
    case "staircase":
      return line(1.5, null, { step: "end" });
    case "thin-staircase":
      return line(1.2, [5, 3], { step: "end" });
    case "ranges":
    case "dots-small":
      return dots("rect", 3);
    case "strokes":
      return dots("rect", [1.2, 6], {
        data: points.map(([x]) => [x, floor]),
        symbolOffset: [0, -(6 + STRIP * strips)],
      });
    default:
      return dots(SYMBOLS[style.marker], 5);
  }
}

function intervals(series, color, aside) {
  const bars = series.points.filter((point) => point.length === 4).map(([x, , low, high]) => [x, low, high]);
  return {
    type: "custom",
    data: bars,
    encode: { x: 0, y: [1, 2] },
    silent: true,
    clip: true,
    animation: false,
    z: 1,
    itemStyle: { color },
    renderItem: (_, api) => {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const [, high] = api.coord([api.value(0), api.value(2)]);
      const bar = (x1, y1, x2, y2) => ({
        type: "line",
        shape: { x1: x1 + aside, y1, x2: x2 + aside, y2 },
        style: { stroke: color, lineWidth: 1.5 },
      });
      return {
        type: "group",
        children: [bar(x, low, x, high), bar(x - 4, low, x + 4, low), bar(x - 4, high, x + 4, high)],
      };
    },
  };
}

// A series without points that has the guide lines and the shade, so that no legend entry hides them.
function reference(panel, axes, colors) {
  return {
    type: "line",
    ...axes,
    data: [],
    silent: true,
    animation: false,
    markLine: {
      silent: true,
      symbol: "none",
      animation: false,
      lineStyle: { color: colors.ink, width: 1, type: [2, 3], opacity: 0.75 },
      data: panel.guides.map((guide) => ({
        ...(guide.vertical ? { xAxis: guide.at } : { yAxis: guide.at }),
        label: {
          formatter: guide.label,
          color: colors.ink,
          fontSize: 12,
          position: guide.vertical ? "end" : "insideEndTop",
          rotate: 0,
        },
      })),
    },
    markArea: {
      silent: true,
      animation: false,
      itemStyle: { color: colors.soft, opacity: 0.1 },
      data: panel.shade ? [[{ xAxis: panel.shade[0] }, { xAxis: panel.shade[1] }]] : [],
    },
  };
}
