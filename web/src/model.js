// The common model of figures with axes: panels from top to bottom, each with its series.

export function modelOf(form) {
  return form.form === "lanes" ? lanes(form) : panels(form);
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
