// An interactive figure in the place of a static one.
import { cartesian } from "./cartesian.js";
import { csv } from "./csv.js";
import { heat } from "./heat.js";
import { create } from "./library.js";
import { modelOf } from "./model.js";
import { colorsOf, onThemeChange } from "./theme.js";

const FULL = [0, 100];
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      nearby.unobserve(target);
      target.dispatchEvent(new Event("nearby"));
    }
  },
  { rootMargin: "400px" },
);

// Draws a figure when it comes near the visible part of the page.
export function enliven(figure, inflate) {
  figure.addEventListener("nearby", async () => {
    new Live(figure, JSON.parse(await inflate(figure.querySelector(".values").textContent)));
  });
  nearby.observe(figure);
}

// Returns what a figure can show, with names.
function framesOf(form) {
  if (form.form === "frames") return form.frames.map(({ name, caption, figure }) => ({ name, caption, form: figure }));
  if (form.form === "grids") return form.grids.map((grid) => ({ name: grid.title, form }));
  return [{ form }];
}

class Live {
  constructor(figure, form) {
    this.figure = figure;
    this.frames = framesOf(form);
    this.state = { hidden: new Set(), range: FULL };
    this.zooms = form.form !== "grids";
    this.build();
    // A sweep begins with the point of the static figure, which is the last.
    this.choose(form.form === "frames" ? this.frames.length - 1 : 0);
    onThemeChange(() => this.draw());
    new ResizeObserver(() => this.resized()).observe(figure);
  }

  // Shows a frame. The link saves its values, so that the page needs no file beside it.
  choose(index) {
    this.index = index;
    const { name, caption, form } = this.frames[index];
    this.form = form;
    this.model = this.zooms ? modelOf(form) : null;
    this.heading.textContent = form.title;
    if (caption) this.figure.querySelector(".caption").textContent = caption;
    if (this.output) this.output.textContent = name;
    this.link(form);
    this.draw();
  }

  // Lets the link save the values of the frame, so that the page needs no file beside it. A reduced
  // curve has fewer than the file, so the link of the page remains.
  link(form) {
    const link = this.figure.querySelector("a.data");
    this.file ??= link.getAttribute("href") ?? "";
    URL.revokeObjectURL(link.href);
    const drawn = form.columns && this.index === this.frames.length - 1 ? this.file : "";
    link.href = drawn || URL.createObjectURL(new Blob([csv(form)], { type: "text/csv;charset=utf-8" }));
    link.textContent = form.columns && !drawn ? "Drawn values (CSV)" : "Data (CSV)";
    link.hidden = false;
  }

  build() {
    const head = element("div", "figure-head");
    this.heading = element("strong");
    head.append(this.heading);
    this.element = element("div", this.zooms ? "chart zooms" : "chart");
    const parts = [head];
    if (this.zooms) head.append(this.tools());
    if (this.frames.length > 1) parts.push(this.slider());
    if (!this.zooms) parts.push(...this.bar());
    this.figure.prepend(...parts, this.element);
    this.figure.classList.add("live");
    if (this.zooms) this.letPageScroll();
  }

  // Until the reader clicks the figure, the wheel scrolls the page: the library sees no event.
  letPageScroll() {
    let clicked = false;
    this.element.addEventListener("click", () => (clicked = true));
    this.element.addEventListener("mouseleave", () => (clicked = false));
    const hide = (event) => {
      if (!clicked && !event.ctrlKey) event.stopPropagation();
    };
    for (const name of ["wheel", "mousewheel"]) this.element.addEventListener(name, hide, { capture: true, passive: true });
  }

  // Buttons to zoom, for keyboards.
  tools() {
    const tools = element("span", "tools");
    const add = (text, name, act) => {
      const button = element("button", "", text);
      button.type = "button";
      button.title = name;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      tools.append(button);
      return button;
    };
    add("+", "Zoom in (or Ctrl and wheel, or click and then wheel, or pinch; drag to move)", () => this.zoom(0.5));
    this.out = add("−", "Zoom out", () => this.zoom(2));
    this.reset = add("Reset", "Show the whole range", () => this.setRange(FULL));
    return tools;
  }

  // A slider over the points of a sweep, or over grids.
  slider() {
    const label = element("label", "frames");
    this.output = element("output");
    const range = { type: "range", min: 0, max: this.frames.length - 1 };
    const input = Object.assign(element("input"), range, { value: this.zooms ? range.max : 0 });
    input.setAttribute("aria-label", "Choose what the figure shows");
    input.addEventListener("input", () => this.choose(Number(input.value)));
    label.append(this.output, input);
    return label;
  }

  // The colours of a scale of numbers.
  bar() {
    const range = this.frames[0].form.legend.range;
    if (!range) return [];
    const bar = element("div", "color-bar");
    const colors = element("i");
    colors.style.background = `linear-gradient(90deg, ${range.colors.join(", ")})`;
    bar.append(element("span", "", range.ends[0]), colors, element("span", "", range.ends[1]));
    return [bar];
  }

  draw() {
    this.width = this.element.clientWidth;
    const view = { width: this.width, colors: colorsOf(this.figure), state: this.state };
    const drawn = this.model ? cartesian(this.model, view) : heat(this.form, this.index, view);
    const size = { width: Math.max(this.width, drawn.width ?? 0), height: drawn.height };
    if (this.chart) {
      this.chart.resize(size);
    } else {
      this.chart = create(this.element, size.width, size.height);
      this.listen();
    }
    this.chart.setOption(drawn.option, { notMerge: true });
    this.rangeChanged();
  }

  listen() {
    this.chart.on("legendselectchanged", ({ selected }) => {
      this.state.hidden = new Set(Object.keys(selected).filter((name) => !selected[name]));
    });
    this.chart.on("datazoom", () => {
      const { start, end } = this.chart.getOption().dataZoom[0];
      this.state.range = [start, end];
      this.rangeChanged();
    });
    if (!this.zooms) return;
    this.chart.getZr().on("dblclick", () => this.setRange(FULL));
  }

  zoom(factor) {
    const [start, end] = this.state.range;
    const { minSpan } = this.chart.getOption().dataZoom[0];
    const half = Math.min(100, Math.max(minSpan, (end - start) * factor)) / 2;
    const middle = Math.min(100 - half, Math.max(half, (start + end) / 2));
    this.setRange([middle - half, middle + half]);
  }

  setRange([start, end]) {
    this.chart.dispatchAction({ type: "dataZoom", dataZoomId: "x", start, end });
  }

  rangeChanged() {
    const whole = this.state.range[0] <= 0 && this.state.range[1] >= 100;
    if (this.reset) this.reset.disabled = this.out.disabled = whole;
  }

  resized() {
    if (this.element.clientWidth !== this.width && this.element.clientWidth > 0) this.draw();
  }
}

function element(name, kind = "", text = "") {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
}
