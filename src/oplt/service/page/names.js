// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Shows the names of labels and features. They may hold anything: line breaks, marks that turn the direction of text
// around, characters that cannot be seen, or thousands of characters.

import { element } from "./elements.js";
import { atLabel } from "./address.js";

const LONGEST = 80; // characters that are shown in a list
// Joiners between letters of scripts that need them, and between emoji, are left as they are.
const JOINED = "(?<=[\\p{Script=Arabic}\\p{M}\\p{Extended_Pictographic}])[\\u200c\\u200d](?=[\\p{L}\\p{Extended_Pictographic}])";
// Characters that cannot be seen or that act on others, and white space that is not a single space between words.
const UNSEEN = new RegExp(
  `(?!${JOINED})[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cn}\\p{Cs}\\p{Zl}\\p{Zp}\\u115f\\u1160\\u3164\\uffa0\\u2800]|^[\\ufe00-\\ufe0f\\u034f]|(?! )\\p{Zs}|^ +| +$| {2,}`, "gu",
);
const SIGNS = { "\n": "↵", "\r": "↵", "\t": "⇥" };

function signOf(found) {
  if (/^ +$/.test(found)) return "␣".repeat(found.length);
  return SIGNS[found] ?? `U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Cuts a name into pieces that can be shown: text, and signs for characters that cannot be seen. */
function pieces(name) {
  const found = [];
  let end = 0;
  for (const match of name.matchAll(UNSEEN)) {
    if (match.index > end) found.push(name.slice(end, match.index));
    found.push(element("span", { class: "sign" }, signOf(match[0])));
    end = match.index + match[0].length;
  }
  found.push(name.slice(end));
  return found;
}

/** The name as one line of plain text, for titles and messages. */
export function plainName(name, longest = 60) {
  const text = String(name).replace(UNSEEN, (found) => (/^ +$/.test(found) ? found : signOf(found)));
  const characters = Array.from(text);
  return characters.length > longest ? `${characters.slice(0, longest).join("")}…` : text;
}

/** The name as an element, isolated so that it cannot reorder what is around it. Long ones are cut unless `whole`. */
export function shownName(name, { whole = false } = {}) {
  const characters = Array.from(String(name));
  const isCut = !whole && characters.length > LONGEST;
  const shown = isCut ? characters.slice(0, LONGEST).join("") : String(name);
  const rest = isCut ? element("span", { class: "soft" }, `… (${characters.length.toLocaleString("en")} characters)`) : null;
  return element("bdi", { class: "name" }, pieces(shown), rest);
}

/** A link to the page of a label. */
export function labelLink(model, label, attributes = {}) {
  return element("a", { href: atLabel(model, label), ...attributes }, shownName(label));
}

/** The name of a feature; the constant one has none. */
export function shownFeature(name) {
  return name === null ? element("span", { class: "soft" }, "(bias)") : shownName(name);
}
