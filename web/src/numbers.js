// Numbers as the tables and the SVG figures write them.

// Groups digits by three from five digits on.
function grouped(text) {
  const [, sign, whole, rest] = /^(-?)(\d+)(.*)$/.exec(text) ?? [, "", text, ""];
  return whole.length < 5 ? text : sign + whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + rest;
}

const written = (value, digits) => {
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) < 1e-6 && rounded !== 0 ? String(rounded) : grouped(rounded.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 12 }));
};

// A measured value: five significant digits.
export const number = (value) => (value === null ? "–" : written(value, 5));

// The position of a tick, which is round.
export const tick = (value) => written(value, 10);
