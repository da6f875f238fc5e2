// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Links to the other pages of a long list.

import { element } from "./elements.js";
import { count } from "./format.js";

/** Says which part is shown, and links to the first, previous, next and last page; `to(offset)` makes an address. */
export function paging({ total, offset, limit, shown, to, what }) {
  const last = Math.max(0, Math.floor((total - 1) / limit) * limit);
  const link = (text, place, isPossible) =>
    isPossible ? element("a", { href: to(place) }, text) : element("span", { class: "off", "aria-hidden": "true" }, text);
  return element("nav", { class: "paging", "aria-label": `Pages of ${what}` },
    link("« First", 0, offset > 0), link("‹ Previous", Math.max(0, offset - limit), offset > 0),
    element("span", { class: "number" }, shown ? `${count(offset + 1)}–${count(offset + shown)} of ${count(total)}` : `0 of ${count(total)}`),
    link("Next ›", offset + limit, offset + shown < total), link("Last »", last, offset + shown < total));
}
