// Axes of the library from those of a figure.
import { tick } from "./numbers.js";

// Returns the names of ticks that are not just their numbers, such as "10 kB".
function namesOf(axis) {
  const same = ([value, name]) => Math.abs(Number(name.replaceAll("\u202f", "")) - value) <= Math.abs(value) * 1e-6;
  return axis.ticks.every(same) ? null : axis.ticks.filter(([, name]) => name !== "");
}

// Returns how an axis writes a value.
export function writer(axis) {
  const names = namesOf(axis) ?? [];
  const near = (value, at) => Math.abs(at - value) <= Math.abs(at) * 1e-6 + 1e-12;
  return (value) => names.find(([at]) => near(value, at))?.[1] ?? tick(value);
}

// Returns how a zoomed axis writes its ticks: its ends are no round numbers and get no name.
function roundWriter(axis) {
  const write = writer(axis);
  return (value) => (Math.abs(Number(value.toPrecision(6)) - value) > Math.abs(value) * 1e-9 ? "" : write(value));
}

// Returns an axis. Only a linear axis that zooms has other ticks than the figure.
export function axisOf(axis, colors, { zooms }) {
  const names = namesOf(axis);
  const values = zooms && !names && axis.scale === "linear" ? null : (names ?? axis.ticks).map(([value]) => value);
  return {
    type: axis.scale === "log" ? "log" : "value",
    min: axis.low,
    max: axis.high,
    axisLine: { show: true, onZero: false, lineStyle: { color: colors.soft } },
    axisTick: { show: true, customValues: values },
    splitLine: { show: true, lineStyle: { color: colors.line } },
    axisLabel: {
      color: colors.soft,
      fontSize: 12,
      hideOverlap: true,
      // Names of the ends of a zoomed axis stay within the figure.
      ...(values ? {} : { alignMinLabel: "left", alignMaxLabel: "right" }),
      formatter: values ? writer(axis) : roundWriter(axis),
      customValues: values,
    },
  };
}

// Returns the widest label of an axis, in letters.
export const widest = (axis) => Math.max(1, ...axis.ticks.map(([, name]) => name.length));
