// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// The labels of an example: for each its probability as a bar, whether it is right, and a button that explains it.

import { button, element, fill, newId } from "./elements.js";
import { share, signed } from "./format.js";
import { keyOf } from "./label_keys.js";
import { plainName, shownName } from "./names.js";

const FEW = 8; // labels that are shown at first

export class Answers {
  /** `right` is the set of ticked labels; `onTick` follows its changes, `onChoose` the label to explain. */
  constructor({ right, onTick, onChoose }) {
    Object.assign(this, { right, onTick, onChoose });
    this.found = [];
    this.before = null;
    this.chosen = null;
    this.isLong = false;
    this.list = element("ol", { class: "answers" });
    this.more = button("", () => this.toggle(), { class: "quiet" });
    this.note = element("p", { class: "soft" });
    this.element = element("div", {}, element("h3", {}, "Labels"), this.note, this.list, this.more);
  }

  get shown() {
    return this.isLong ? this.found : this.found.slice(0, FEW);
  }

  has(label) {
    return this.shown.some(([one]) => keyOf(one) === keyOf(label));
  }

  /** Shows labels; `before` has the probabilities before the last example was learned, if there was one. */
  show(found, before) {
    Object.assign(this, { found, before });
    const isKept = this.chosen !== null && this.has(this.chosen) && before;
    if (!isKept) this.chosen = found.length ? found[0][0] : null;
    this.draw();
  }

  draw() {
    const hasFocus = this.list.contains(document.activeElement);
    this.note.textContent = this.found.length
      ? "Tick the labels that are right. Choose one to see why."
      : "The model knows no labels yet. Add the right ones, and it learns them.";
    fill(this.list, this.shown.map(([label, probability]) => this.row(label, probability)));
    this.more.hidden = this.found.length <= FEW;
    this.more.textContent = this.isLong ? "Show fewer" : `Show ${this.found.length - FEW} more`;
    if (hasFocus) this.list.querySelector("[aria-pressed=true]")?.focus();
  }

  row(label, probability) {
    const id = newId("right");
    const box = element("input", {
      id, type: "checkbox", "aria-label": `${plainName(label)} is right`,
      onchange: () => {
        this.right.set(label, box.checked);
        this.onTick();
      },
    });
    box.checked = this.right.has(label);
    const isChosen = keyOf(label) === keyOf(this.chosen);
    const name = element("button", {
      type: "button", class: "plain", "aria-pressed": String(isChosen), title: "Why?", onclick: () => this.choose(label),
    }, shownName(label));
    return element("li", { class: isChosen ? "chosen" : null }, box, name,
      element("span", { class: "bar", "aria-hidden": "true", style: { "--share": probability } }),
      element("span", { class: "number" }, share(probability)), this.change(label, probability));
  }

  change(label, probability) {
    if (!this.before) return null;
    const before = this.before.get(keyOf(label));
    if (before === undefined) return element("span", { class: "change up" }, "new");
    const by = probability - before;
    if (Math.abs(by) < 0.0005) return element("span", { class: "change soft" }, "±0");
    return element("span", { class: `change ${by > 0 ? "up" : "down"}` }, signed(by));
  }

  choose(label) {
    this.chosen = label;
    this.draw();
    this.onChoose(label);
  }

  /** Ticks a label that is shown. */
  tick(label) {
    this.right.set(label, true);
    this.draw();
  }

  toggle() {
    this.isLong = !this.isLong;
    this.draw();
  }
}
