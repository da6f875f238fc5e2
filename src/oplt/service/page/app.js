// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Starts the page, and opens the view that the address names.

import { ModelApi, events, modelNames } from "./api.js";
import { at, read, replace } from "./address.js";
import { button, element, fill } from "./elements.js";
import { Header } from "./header.js";
import { openLabel } from "./label_panel.js";
import { openLabels } from "./labels_panel.js";
import { plainName } from "./names.js";
import { openSnapshots } from "./snapshots_panel.js";
import { openStream } from "./stream_panel.js";
import { askForToken } from "./token_dialog.js";
import { openTree } from "./tree_panel.js";
import { openTry } from "./try_panel.js";

const VIEWS = [
  { view: "try", title: "Try", open: openTry, covers: ["try"] },
  { view: "stream", title: "Stream", open: openStream, covers: ["stream"] },
  { view: "labels", title: "Labels", open: openLabels, covers: ["labels", "label"] },
  { view: "tree", title: "Tree", open: openTree, covers: ["tree"] },
  { view: "snapshots", title: "Snapshots", open: openSnapshots, covers: ["snapshots"] },
];
const OPENERS = new Map([...VIEWS.map((one) => [one.view, one.open]), ["label", openLabel]]);

const content = document.getElementById("content");
const header = new Header();
let names = [];
let opened = null; // the visit whose view is shown

/** What a view needs: where to draw, the addresses of its model, and what ends when another view is opened. */
class Visit {
  constructor(model, view, query) {
    this.model = model;
    this.view = view;
    this.query = query;
    this.api = new ModelApi(model);
    this.leaving = new AbortController();
    this.root = element("div", { class: `panel ${view}` });
  }

  get signal() {
    return this.leaving.signal;
  }

  /** The heading of the view, which the title of the page repeats. */
  heading(text, shown = text) {
    document.title = `${text} – ${plainName(this.model, 40)} – oplt`;
    return element("h2", { tabindex: "-1" }, shown);
  }

  /** Calls a function when another view is opened. */
  onLeave(action) {
    this.signal.addEventListener("abort", action);
  }

  /** Updates the figures in the head, after something that changed them. */
  refreshHeader() {
    return header.refresh();
  }
}

async function open() {
  const wanted = read();
  const model = names.includes(wanted.model) ? wanted.model : names[0];
  const view = OPENERS.has(wanted.view) ? wanted.view : "try";
  if (model !== wanted.model || view !== wanted.view) {
    replace(at(model, view));
    wanted.query = new URLSearchParams();
  }
  const isFirst = opened === null;
  opened?.leaving.abort();
  const visit = (opened = new Visit(model, view, wanted.query));
  header.show(model, view, VIEWS);
  fill(content, visit.root);
  try {
    await OPENERS.get(view)(visit);
  } catch (error) {
    if (!visit.signal.aborted) showProblem(visit.root, error, open);
  }
  if (!isFirst && !visit.signal.aborted) content.querySelector("h2")?.focus({ preventScroll: false });
}

function showProblem(root, error, again) {
  if (error.status === undefined) console.error(error); // our own mistake
  const isAboutTokens = error.status === 401 || error.code === "token-not-sufficient";
  fill(root, element("div", { class: "panel" },
    element("h2", { tabindex: "-1" }, isAboutTokens ? "A token is needed" : "This view cannot be shown"),
    element("p", { class: "problem", role: "alert" }, error.message),
    element("div", { class: "row" }, isAboutTokens ? button("Enter a token", () => renew(error.message)) : button("Try again", again))));
}

async function renew(why) {
  if (await askForToken(why)) await start();
}

async function start() {
  try {
    names = await modelNames();
  } catch (error) {
    showProblem(content, error, start);
    return;
  }
  header.offer(names);
  opened = null;
  await open();
}

events.addEventListener("token", (event) => {
  header.pause();
  renew(event.detail === "wrong" ? "The token is no longer valid. Enter another one." : "Enter one to use this page.");
});
// The address says which view is open, so the link that skips to the content must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
window.addEventListener("hashchange", () => (names.length ? open() : start()));
start();
