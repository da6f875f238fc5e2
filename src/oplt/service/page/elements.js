// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Makes elements. Content is only ever set as text, so that no name or text of a model can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element: attributes by name, `on…` as listeners, `class` and `style` (custom properties) included. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else if (name === "value" && "value" in made) made.value = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  add(made, children);
  return made;
}

function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces what an element holds. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
  return parent;
}

/** A button that cannot be pressed again while what it started is running. */
export function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", async (event) => {
    if (made.getAttribute("aria-disabled") === "true") return;
    made.setAttribute("aria-disabled", "true");
    try {
      await action(event);
    } finally {
      made.removeAttribute("aria-disabled");
    }
  });
  return made;
}

let lastId = 0;

/** A name for `id`, `for` and `aria-…` that occurs once in the page. */
export function newId(word) {
  lastId += 1;
  return `${word}-${lastId}`;
}

/** A table that can be scrolled sideways when it is too wide, by keyboard as well. */
export function table(caption, heads, rows, attributes = {}) {
  const head = heads.map((one) => element("th", { scope: "col" }, one));
  const body = rows.map((cells) =>
    element("tr", {}, cells.map((cell, i) => (i ? element("td", {}, cell) : element("th", { scope: "row" }, cell)))),
  );
  const made = element(
    "table", attributes, element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, head)), element("tbody", {}, body),
  );
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, made);
}

/** Says something to users of screen readers. */
export function announce(text) {
  document.getElementById("announcement").textContent = text;
}

/** A line that says why something did not work; empty at first. */
export function problemLine() {
  return element("p", { class: "problem", role: "alert" });
}
