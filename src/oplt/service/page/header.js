// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// The head of the page: the model, its size, how far it has learned, and whether the server can be reached.

import { ModelApi, events } from "./api.js";
import { announce, element, fill } from "./elements.js";
import { count } from "./format.js";
import { plainName } from "./names.js";
import { at, read } from "./address.js";
import { whileVisible } from "./refreshing.js";

const EVERY = 2000; // milliseconds

export class Header {
  constructor() {
    this.api = null;
    this.model = null; // what GET model answered last
    this.shown = { name: null, state: null };
    this.parts = Object.fromEntries(
      ["model-name", "model-choice", "model", "figures", "state", "lost", "views"].map((id) => [id, document.getElementById(id)]),
    );
    this.parts.model.addEventListener("change", (event) => {
      location.hash = at(event.target.value, read().view === "label" ? "labels" : read().view || "try");
    });
    events.addEventListener("lost", () => this.lose());
    events.addEventListener("found", () => this.find());
    whileVisible(EVERY, () => this.refresh());
  }

  /** Shows the choice between several models. */
  offer(names) {
    fill(this.parts.model, names.map((name) => element("option", { value: name }, plainName(name))));
    this.parts["model-choice"].hidden = names.length < 2;
    this.parts["model-name"].hidden = names.length > 1;
  }

  /** Shows a model and the view that is open. */
  async show(name, view, views) {
    this.parts.model.value = name;
    this.parts["model-name"].textContent = name;
    const links = views.map((one) =>
      element("li", {}, element("a", { href: at(name, one.view), "aria-current": one.covers.includes(view) ? "page" : null }, one.title)),
    );
    fill(this.parts.views, links);
    if (this.api?.name === name) return;
    this.api = new ModelApi(name);
    this.model = null;
    await this.refresh();
  }

  /** Stops asking, until a model is shown again. */
  pause() {
    this.api = null;
  }

  /** Asks for the state of the model now. */
  async refresh() {
    const api = this.api;
    if (!api) return;
    try {
      const model = await api.get("model");
      if (api !== this.api) return;
      this.model = model;
      this.showFigures();
    } catch {
      // a lost connection and a missing token have notices of their own
    }
  }

  showFigures() {
    const { n_examples: examples, n_labels: labels, position, journal } = this.model;
    const pending = Math.max(0, journal - position);
    const figure = (term, value, kind) => element("div", { class: kind }, element("dt", {}, term), element("dd", {}, value));
    fill(this.parts.figures, figure("examples", count(examples)), figure("labels", count(labels)),
      figure("position", count(position), "place"), pending > 0 && figure("pending", count(pending)));
    this.showState(pending);
  }

  showState(pending) {
    const { ready, leader, diverged } = this.model;
    const [kind, text] = diverged
      ? ["bad", "Differs from its leader"]
      : !ready
        ? ["busy", pending ? `Not ready: ${count(pending)} to learn` : "Not ready"]
        : leader
          ? ["good", "Ready, follows a leader"]
          : ["good", "Ready"];
    this.parts.state.className = `state ${kind}`;
    if (this.shown.state !== text) this.parts.state.textContent = text;
    this.shown.state = text;
  }

  lose() {
    if (!this.parts.lost.hidden) return;
    this.parts.lost.hidden = false;
    this.parts.lost.textContent = "Connection lost. What you see may be old; the page keeps trying.";
    this.parts.state.className = "state bad";
    this.parts.state.textContent = this.shown.state = "No connection";
  }

  find() {
    if (this.parts.lost.hidden) return;
    this.parts.lost.hidden = true;
    this.parts.lost.textContent = "";
    announce("Connected again.");
    this.refresh();
  }
}
