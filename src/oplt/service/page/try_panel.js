// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Try an example: see its labels and why, correct them, let the model learn the correction, and see what changed.

import { newKey } from "./api.js";
import { Answers } from "./answers.js";
import { announce, button, element, fill, newId, problemLine } from "./elements.js";
import { ExampleInput } from "./example_input.js";
import { count, share } from "./format.js";
import { asTyped, keyOf } from "./label_keys.js";
import { LabelSearch, LabelSet } from "./label_search.js";
import { plainName, shownName } from "./names.js";
import { showWhy } from "./why.js";

const ASKED = 50; // labels, of which fewer are shown: so that changes further down are known
const LIKELY = 0.5; // labels above it are ticked at first
const drafts = new Map(); // what was entered, by model: it outlives a visit to another view

export async function openTry(visit) {
  const { takes } = await visit.api.get("model", {}, { signal: visit.signal });
  const areNumbered = takes === "features" && (await hasNumbers(visit));
  new TryPanel(visit, takes, areNumbered).show();
}

/** Whether the features of a model are numbers, as those of matrices are. The words of its root tell. */
async function hasNumbers(visit) {
  try {
    const { words, against } = await visit.api.get("tree", { limit: 1 }, { signal: visit.signal });
    const names = [...words, ...against].map(([name]) => name).filter((name) => name !== null);
    return names.length > 0 && names.every((name) => typeof name !== "string");
  } catch (error) {
    if (visit.signal.aborted) throw error;
    return false;
  }
}

class TryPanel {
  constructor(visit, takes, areNumbered) {
    this.visit = visit;
    this.example = null; // what the labels shown belong to
    this.right = new LabelSet();
    this.added = new LabelSet();
    this.attempt = { key: null, content: null }; // of the correction that is being sent
    this.problem = problemLine();
    this.input = new ExampleInput({ takes, areNumbered, value: drafts.get(visit.model) ?? "", onSubmit: () => this.predict() });
    visit.onLeave(() => drafts.set(visit.model, this.input.value));
    this.answers = new Answers({
      right: this.right,
      onTick: () => this.showCorrection(),
      onChoose: (label) => this.explain(label),
    });
    this.search = new LabelSearch(visit.api, {
      label: "Add a label", mayBeNew: true, signal: visit.signal, onChoice: (label, isNew) => this.add(label, isNew),
    });
    this.learned = element("div", { class: "learned", role: "status" });
    this.chips = element("ul", { class: "chips", "aria-label": "Added labels" });
    this.learnButton = button("Learn this", () => this.learn(), { class: "main" });
    this.says = element("p", { class: "soft", id: newId("says") });
    this.learnProblem = problemLine();
    this.why = element("section", { class: "why", "aria-label": "Why" });
    this.results = element("div", { class: "results", hidden: true });
  }

  show() {
    const form = element("form", { class: "card", onsubmit: (event) => event.preventDefault() }, this.input.element, this.problem,
      element("div", { class: "row" }, button("Predict", () => this.predict(), { class: "main" }),
        element("span", { id: "example-keys", class: "soft" }, "or Ctrl+Enter")));
    const correction = element("div", { class: "correction" }, element("h3", {}, "Correct it"),
      this.search.element, this.chips, this.says, element("div", { class: "row" }, this.learnButton), this.learnProblem);
    fill(this.results, element("section", { class: "card", "aria-label": "Labels" }, this.learned, this.answers.element, correction), this.why);
    const title = this.input.takesTexts ? "Try a text" : "Try an example";
    fill(this.visit.root, this.visit.heading(title), form, this.results);
    if (this.input.value) this.predict();
  }

  async predict() {
    this.problem.textContent = "";
    try {
      this.example = this.input.body();
      const found = await this.ask(this.example);
      this.right.map.clear();
      this.added.map.clear();
      found.filter(([, probability]) => probability >= LIKELY).forEach(([label]) => this.right.set(label, true));
      fill(this.learned);
      this.showAnswers(found, null);
      announce(found.length ? `Best label: ${plainName(found[0][0])}, ${share(found[0][1])}` : "The model knows no labels yet.");
    } catch (error) {
      this.report(error, this.problem);
    }
  }

  /** Predicts: pairs of labels and probabilities. */
  async ask(example, readAfter) {
    const { signal } = this.visit;
    const answer = await this.visit.api.post("predict", { ...example, k: ASKED, read_after: readAfter }, { signal });
    const [{ labels, probabilities }] = answer.predictions;
    return labels.map((label, i) => [label, probabilities[i]]);
  }

  report(error, line) {
    if (this.visit.signal.aborted) return;
    if (error.status === undefined) console.error(error);
    line.textContent = error.message;
  }

  showAnswers(found, before) {
    this.found = found;
    this.results.hidden = false;
    this.answers.show(found, before);
    this.showCorrection();
    if (found.length) this.explain(this.answers.chosen);
    else fill(this.why);
  }

  add(label, isNew) {
    const typed = isNew ? asTyped(String(label), this.found.map(([one]) => one)) : label;
    this.right.set(typed, true);
    if (!this.answers.has(typed)) this.added.set(typed, true);
    else this.answers.tick(typed);
    this.showCorrection();
    announce(`${plainName(typed)} added`);
  }

  showCorrection() {
    fill(this.chips, this.added.list.map((label) =>
      element("li", {}, shownName(label), button("×", () => this.remove(label), { "aria-label": `Remove ${plainName(label)}` }))));
    this.chips.hidden = this.added.list.length === 0;
    const names = this.right.list.map((label) => plainName(label, 30));
    fill(this.says, names.length ? ["The right labels: ", element("strong", {}, names.join(", ")), "."] : "No label is ticked: learn that none applies.");
  }

  remove(label) {
    this.added.set(label, false);
    this.right.set(label, false);
    this.showCorrection();
    this.search.input.focus();
  }

  async learn() {
    this.learnProblem.textContent = "";
    const labels = this.right.list;
    const before = new Map(this.found.map(([label, probability]) => [keyOf(label), probability]));
    try {
      const { position } = await this.visit.api.post("learn", { ...this.example, labels }, { key: this.keyFor(labels), signal: this.visit.signal });
      this.attempt.content = null;
      const found = await this.ask(this.example, position);
      this.added.map.clear();
      this.showAnswers(found, before);
      labels.filter((label) => !this.answers.has(label)).forEach((label) => this.added.set(label, true));
      this.showCorrection();
      this.showLearned(position, labels, before);
      this.visit.refreshHeader();
    } catch (error) {
      this.report(error, this.learnProblem);
    }
  }

  /** The same key for the same correction until it has arrived: sent again after a lost answer, it counts once. */
  keyFor(labels) {
    const content = JSON.stringify([this.example, labels.map(keyOf)]);
    if (this.attempt.content !== content) this.attempt = { key: newKey(), content };
    return this.attempt.key;
  }

  showLearned(position, labels, before) {
    const after = new Map(this.found.map(([label, probability]) => [keyOf(label), probability]));
    const said = (map, label) => (map.has(keyOf(label)) ? share(map.get(keyOf(label))) : `not among the first ${ASKED}`);
    const changes = labels.map((label) => element("li", {}, shownName(label), " ",
      element("span", { class: "number" }, said(before, label), " → ", element("strong", {}, said(after, label)))));
    fill(this.learned, element("p", {}, element("strong", {}, "Learned"), ` at position ${count(position)}.`),
      changes.length > 0 && element("ul", {}, changes));
  }

  async explain(label) {
    try {
      await showWhy(this.visit, this.why, this.example, label);
    } catch (error) {
      this.report(error, fill(this.why, problemLine()).firstChild);
    }
  }
}
