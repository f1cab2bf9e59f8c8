// Replaces the static figures of a page by interactive ones and makes its tables sortable.
import { enliven } from "./figure.js";
import { enhanceTables } from "./tables.js";
import { addThemeButton } from "./theme.js";

export function start(inflate) {
  addThemeButton();
  enhanceTables(document);
  const figures = [...document.querySelectorAll("figure:has(> .values)")];
  for (const figure of figures) enliven(figure, inflate);
}
