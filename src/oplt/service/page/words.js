// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Two lists of words, or other features, with their weights: those for something and those against it.

import { element } from "./elements.js";
import { signed } from "./format.js";
import { shownFeature } from "./names.js";

const MOST = 12; // words in a list

function list(title, words, most, side, level) {
  const rows = words.slice(0, MOST).map(([name, weight]) =>
    element("li", {}, shownFeature(name), element("span", { class: `bar ${side}`, "aria-hidden": "true", style: { "--share": Math.abs(weight) / most } }),
      element("span", { class: "number" }, signed(weight))));
  return element("div", {}, element(level, {}, title), rows.length ? element("ul", { class: "weights" }, rows) : element("p", { class: "soft" }, "none"));
}

/** Both lists side by side; `level` is the heading's. */
export function wordLists(words, against, { up, down, level = "h3" }) {
  const most = Math.max(...[...words, ...against].map(([, weight]) => Math.abs(weight)), Number.MIN_VALUE);
  return element("div", { class: "pair" }, list(up, words, most, "up", level), list(down, against, most, "down", level));
}
