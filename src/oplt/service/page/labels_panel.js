// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// All labels: search, sort, and pages.

import { at, replace } from "./address.js";
import { element, fill, problemLine, table } from "./elements.js";
import { count, counted, share } from "./format.js";
import { labelLink } from "./names.js";
import { paging } from "./paging.js";

const LIMIT = 50;
const PAUSE = 200; // milliseconds after a key
const SORTS = [
  ["newest", "newest first"],
  ["examples", "most examples"],
  ["wrong", "most wrong lately"],
  ["drift", "most drift"],
  ["arrival", "order of arrival"],
];

export async function openLabels(visit) {
  const panel = new LabelsPanel(visit);
  panel.show();
  await panel.refresh();
}

class LabelsPanel {
  constructor(visit) {
    this.visit = visit;
    const { query } = visit;
    this.offset = Math.max(0, Number.parseInt(query.get("offset") ?? "0", 10) || 0);
    this.asking = null;
    this.timer = null;
    this.search = element("input", {
      id: "labels-search", type: "search", maxlength: "1000", autocomplete: "off", spellcheck: "false", dir: "auto", oninput: () => this.later(),
    });
    this.search.value = query.get("search") ?? "";
    const sort = SORTS.some(([name]) => name === query.get("sort")) ? query.get("sort") : SORTS[0][0];
    this.sort = element("select", { id: "labels-sort", onchange: () => this.restart() },
      SORTS.map(([name, text]) => element("option", { value: name }, text)));
    this.sort.value = sort;
    this.found = element("p", { class: "soft", role: "status" });
    this.problem = problemLine();
    this.list = element("div");
    visit.onLeave(() => clearTimeout(this.timer));
  }

  show() {
    const form = element("form", { class: "row filters", role: "search", onsubmit: (event) => event.preventDefault() },
      element("div", {}, element("label", { for: "labels-search" }, "Search"), this.search),
      element("div", {}, element("label", { for: "labels-sort" }, "Sort by"), this.sort));
    fill(this.visit.root, this.visit.heading("Labels"), form, this.problem, this.found, this.list);
  }

  address(offset = this.offset) {
    return at(this.visit.model, "labels", { search: this.search.value, sort: this.sort.value, offset: offset || null });
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.restart(), PAUSE);
  }

  restart() {
    this.offset = 0;
    replace(this.address());
    this.refresh();
  }

  async refresh() {
    this.asking?.abort();
    this.asking = new AbortController();
    const signal = AbortSignal.any([this.asking.signal, this.visit.signal]);
    this.problem.textContent = "";
    try {
      const query = { search: this.search.value, sort: this.sort.value, offset: this.offset, limit: LIMIT };
      const found = await this.visit.api.get("labels", query, { signal });
      if (!signal.aborted) this.draw(found);
    } catch (error) {
      if (!signal.aborted) this.problem.textContent = error.message;
    }
  }

  draw({ total, labels }) {
    const pages = { total, offset: this.offset, limit: LIMIT, shown: labels.length, to: (offset) => this.address(offset), what: "labels" };
    this.found.textContent = total ? `${counted(total, "label")}${this.search.value ? " found" : ""}.` : this.nothing();
    const rows = labels.map((one) => this.row(one));
    const heads = ["label", "examples", "first", "last", "lately", "recall", "drift"];
    fill(this.list, labels.length > 0 && table("Labels", heads, rows, { class: "labels" }),
      labels.length > 0 && element("p", { class: "soft" },
        "First and last: the numbers of its examples. Lately: how often it occurred in the latest examples; recall: how often it was among the first five answers then; drift: its share lately, compared with before."),
      total > LIMIT || this.offset > 0 ? paging(pages) : null);
  }

  nothing() {
    if (this.search.value) return "No label found.";
    if (this.sort.value === "wrong") return "No label was missed lately.";
    return this.sort.value === "drift" ? "No label has become more or less frequent lately." : "The model knows no labels yet.";
  }

  row({ label, n_examples: examples, first, last, hidden, aliases, recent }) {
    const name = [labelLink(this.visit.model, label), hidden && element("span", { class: "tag" }, "hidden"),
      aliases.length > 0 && element("span", { class: "tag" }, counted(aliases.length, "alias", "aliases"))];
    return [name, count(examples), count(first), count(last), recent ? count(recent.n) : "–",
      recent ? share(recent.recall) : "–", recent ? timesOf(recent.drift) : "–"];
  }
}

/** How many times as frequent as before. */
export function timesOf(drift) {
  return drift === null || drift === undefined ? "–" : `× ${drift >= 10 ? count(drift) : drift.toFixed(1)}`;
}
