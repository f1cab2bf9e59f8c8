// The common model of figures with axes: panels from top to bottom, each with its series.

// The smallest visible part of an axis, percent.
const LEAST = 0.2;
// Columns of a reduced curve per pixel: fewer would move the curve by a pixel.
const PER_PIXEL = 3;

export function modelOf(form) {
  const model = form.form === "lanes" ? lanes(form) : panels(form);
  const least = (pixels) => Math.min(100, Math.max(LEAST, (100 * PER_PIXEL * pixels) / form.columns));
  // A curve that was reduced to columns zooms as far as these are smaller than pixels.
  return { ...model, least: form.columns ? least : () => LEAST };
}

function panels(form) {
  const names = new Map(form.legend.map(([name, style]) => [style, name]));
  const single = form.panels.length === 1;
  return {
    title: form.title,
    panels: form.panels.map((panel) => ({
      title: panel.title,
      x: panel.x,
      y: panel.y,
      right: null,
      guides: panel.guide_lines,
      shade: panel.shade,
      height: single ? 300 : 170,
      series: panel.series.map((series) => ({
        name: names.get(series.style) ?? series.scheme,
        label: [series.scheme, series.part].filter(Boolean).join(" "),
        style: form.styles[series.style],
        kind: series.kind,
        right: false,
        points: series.points,
      })),
    })),
  };
}

// Kinds of curves whose names mean something else in panels.
const LANE_KINDS = { steps: "staircase", thin: "thin-staircase", dots: "ranges" };

function lanes(form) {
  return {
    title: form.title,
    panels: form.lanes.map((lane, i) => ({
      title: lane.title,
      x: form.x,
      y: lane.y,
      right: lane.right,
      guides: [],
      shade: null,
      height: i === 0 ? 250 : 150,
      series: lane.curves.filter((curve) => curve.points.length > 0).map((curve) => ({
        name: curve.name,
        label: curve.name,
        style: form.styles[curve.style],
        kind: LANE_KINDS[curve.kind] ?? curve.kind,
        right: curve.right,
        points: curve.points,
      })),
    })),
  };
}
