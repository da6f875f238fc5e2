// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// The page of a label: its life, its words, where it is in the tree, what was done to it, and what can be done.

import { at, atNode } from "./address.js";
import { element, fill } from "./elements.js";
import { count, counted, share } from "./format.js";
import { actionsFor } from "./label_actions.js";
import { timesOf } from "./labels_panel.js";
import { labelLink, plainName, shownName } from "./names.js";
import { wordLists } from "./words.js";

export async function openLabel(visit) {
  const name = visit.query.get("name") ?? "";
  const found = await visit.api.get("labels/one", { label: name }, { signal: visit.signal });
  const reload = () => openLabel(visit);
  fill(visit.root,
    element("p", { class: "crumbs" }, element("a", { href: at(visit.model, "labels") }, "Labels"), " /"),
    visit.heading(plainName(found.label), shownName(found.label, { whole: true })),
    found.hidden && element("p", { class: "note" }, "This label is hidden: it is learned, but not predicted."),
    facts(visit, found),
    words(found),
    places(visit, found),
    life(visit, found),
    actionsFor(visit, found, reload),
  );
}

function facts(visit, found) {
  const { n_examples: examples, first, last, aliases, recent } = found;
  const fact = (term, ...value) => element("div", {}, element("dt", {}, term), element("dd", {}, value));
  return element("dl", { class: "facts card" },
    fact("examples", count(examples)), fact("first example", count(first)), fact("last example", count(last)),
    recent && [fact("examples lately", count(recent.n)), fact("recall lately", share(recent.recall)), fact("share lately", share(recent.share)), fact("drift", timesOf(recent.drift))],
    aliases.length > 0 && fact("also called", aliases.map((alias, i) => [i ? ", " : "", shownName(alias)])));
}

function words(found) {
  if (!found.words.length && !found.against.length) return null;
  return element("section", { class: "card" }, element("h3", {}, "Its words"),
    element("p", { class: "soft" }, "What speaks most for and against it, compared with the labels beside it in the tree."),
    wordLists(found.words, found.against, { up: "For it", down: "Against it", level: "h4" }));
}

function places(visit, found) {
  const paths = found.path.map(({ tree, nodes }) =>
    element("li", {}, found.path.length > 1 && `Tree ${tree}: `, nodes.map((node, i) => [
      i > 0 && " › ", element("a", { href: atNode(visit.model, tree, node) }, i ? `node ${node}` : "root")])));
  const content = paths.length ? element("ul", { class: "bare" }, paths) : element("p", { class: "soft" }, "It has no leaf in the tree yet.");
  return element("section", { class: "card" }, element("h3", {}, "Its place in the tree"), content);
}

const DONE = {
  add: () => "added",
  rename: (other) => ["renamed to ", other],
  hide: () => "hidden",
  unhide: () => "shown again",
  remove: () => "removed",
  merge: (other) => ["merged into ", other],
};

function life(visit, found) {
  if (!found.operations.length) return null;
  const rows = found.operations.map((one) => element("li", {}, labelLink(visit.model, one.label), " ",
    (DONE[one.kind] ?? (() => one.kind))(one.other === null ? "" : shownName(one.other)), ` after ${counted(one.n_examples, "example")} of the model`));
  return element("section", { class: "card" }, element("h3", {}, "What was done to it"), element("ol", { class: "bare" }, rows));
}
