// The colours of the page: those of the system, or the choice of the reader.
const CHOICES = ["", "light", "dark"];
const NAMES = { "": "Colours: auto", light: "Colours: light", dark: "Colours: dark" };
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

const chosen = () => document.documentElement.dataset.theme ?? "";
const notify = () => listeners.forEach((listener) => listener());

export const isDark = () => (chosen() || (system.matches ? "dark" : "light")) === "dark";

export const onThemeChange = (listener) => listeners.add(listener);

// Returns the resolved colours of a figure; custom properties would be unresolved.
export function colorsOf(figure) {
  const own = getComputedStyle(figure);
  return {
    ink: own.color,
    soft: getComputedStyle(figure.querySelector("figcaption")).color,
    line: own.borderTopColor,
    card: own.backgroundColor,
    dark: isDark(),
  };
}

export function addThemeButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  button.textContent = NAMES[chosen()];
  button.addEventListener("click", () => {
    const next = CHOICES[(CHOICES.indexOf(chosen()) + 1) % CHOICES.length];
    document.documentElement.dataset.theme = next;
    button.textContent = NAMES[next];
    try {
      localStorage.setItem("lowtide-theme", next);
    } catch {
      // The browser keeps nothing for this page: the choice lasts until it is closed.
    }
    notify();
  });
  document.querySelector("main").prepend(button);
  system.addEventListener("change", notify);
}
