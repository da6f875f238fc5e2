// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// A field that finds labels while one types: a combobox, as the ARIA practices describe it.

import { element, fill, newId } from "./elements.js";
import { counted } from "./format.js";
import { keyOf } from "./label_keys.js";
import { shownName } from "./names.js";

const PAUSE = 150; // milliseconds after a key
const MOST = 8;
const LONGEST = 1000; // characters that the server searches for

/**
 * Makes the field. `onChoice(label)` is called with a label that was chosen.
 * With `mayBeNew`, a name that is not a label yet can be chosen as well; it is handed over as text.
 */
export class LabelSearch {
  constructor(api, { label, onChoice, mayBeNew = false, signal }) {
    Object.assign(this, { api, onChoice, mayBeNew, signal });
    this.options = [];
    this.active = -1;
    this.asking = null;
    this.timer = null;
    const [id, list] = [newId("search"), newId("options")];
    this.input = element("input", {
      id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", "aria-autocomplete": "list",
      "aria-expanded": "false", "aria-controls": list, dir: "auto",
      oninput: () => this.later(), onkeydown: (event) => this.press(event), onblur: () => this.close(),
    });
    this.list = element("ul", { id: list, role: "listbox", class: "options", "aria-label": "Labels that were found", hidden: true });
    this.element = element("div", { class: "search" }, element("label", { for: id }, label), this.input, this.list);
  }

  later() {
    this.mark(-1); // what was marked belongs to what was typed before
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), PAUSE);
  }

  async search() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const text = this.input.value.trim();
    if (!text) return this.close();
    try {
      const found = await this.api.get("labels", { search: text.slice(0, LONGEST), sort: "examples", limit: MOST }, { signal });
      if (!signal.aborted && document.activeElement === this.input) this.open(text, found.labels);
    } catch (error) {
      if (!signal.aborted) this.open(text, []);
    }
    return undefined;
  }

  open(text, labels) {
    const isKnown = labels.some((one) => String(one.label) === text);
    this.options = labels.map((one) => ({ label: one.label, note: counted(one.n_examples, "example") }));
    if (this.mayBeNew && !isKnown) this.options.push({ label: text, note: "add as a new label", isNew: true });
    const rows = this.options.map((option, i) =>
      element("li", {
        id: `${this.list.id}-${i}`, role: "option", "aria-selected": "false",
        onmousedown: (event) => event.preventDefault(), onclick: () => this.choose(i),
      }, shownName(option.label), element("span", { class: "soft" }, option.note)),
    );
    fill(this.list, rows);
    this.list.hidden = rows.length === 0;
    this.input.setAttribute("aria-expanded", String(rows.length > 0));
    this.mark(-1);
  }

  close() {
    clearTimeout(this.timer);
    this.options = [];
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.mark(-1);
  }

  mark(place) {
    this.active = place;
    [...this.list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === place)));
    if (place < 0) return this.input.removeAttribute("aria-activedescendant");
    this.list.children[place].scrollIntoView({ block: "nearest" });
    return this.input.setAttribute("aria-activedescendant", `${this.list.id}-${place}`);
  }

  press(event) {
    const n = this.options.length;
    if (event.key === "ArrowDown" && n) this.mark((this.active + 1) % n);
    else if (event.key === "ArrowUp" && n) this.mark(this.active <= 0 ? n - 1 : this.active - 1);
    else if (event.key === "Escape" && !this.list.hidden) this.close();
    else if (event.key === "Enter") this.enter();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Takes the marked option or, if none is marked, the label that was typed. */
  async enter() {
    if (this.active >= 0) return this.choose(this.active);
    if (!this.input.value.trim()) return undefined;
    clearTimeout(this.timer);
    await this.search();
    const text = this.input.value.trim();
    const exact = this.options.findIndex((option) => String(option.label) === text);
    return exact >= 0 ? this.choose(exact) : undefined;
  }

  choose(place) {
    const { label, isNew } = this.options[place];
    this.input.value = "";
    this.close();
    this.onChoice(label, Boolean(isNew));
  }
}

/** Labels that were chosen, each once, in order. */
export class LabelSet {
  constructor(labels = []) {
    this.map = new Map(labels.map((label) => [keyOf(label), label]));
  }

  has(label) {
    return this.map.has(keyOf(label));
  }

  set(label, isIn) {
    if (isIn) this.map.set(keyOf(label), label);
    else this.map.delete(keyOf(label));
  }

  get list() {
    return [...this.map.values()];
  }
}
