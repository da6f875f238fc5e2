// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// The tree, node by node.

import { at, atNode } from "./address.js";
import { element, fill } from "./elements.js";
import { count, counted } from "./format.js";
import { labelLink, plainName, shownName } from "./names.js";
import { paging } from "./paging.js";
import { wordLists } from "./words.js";

const LIMIT = 50;

export async function openTree(visit) {
  const { query, model } = visit;
  const tree = Number.parseInt(query.get("tree") ?? "0", 10) || 0;
  const offset = Math.max(0, Number.parseInt(query.get("offset") ?? "0", 10) || 0);
  const node = query.get("node") ?? undefined;
  const found = await visit.api.get("tree", { tree, node, offset, limit: LIMIT }, { signal: visit.signal });
  if (found.n_labels === 0) {
    fill(visit.root, visit.heading("Tree"), element("div", { class: "card empty" }, element("p", {}, "The tree is empty. It grows with the first labels.")));
    return;
  }
  const isRoot = found.parent === null;
  const title = isRoot ? "Tree" : found.label === null ? `Node ${found.node}` : plainName(found.label);
  const shown = found.label === null ? title : labelLink(model, found.label);
  fill(visit.root, choice(visit, found), crumbs(visit, found), visit.heading(title, shown),
    element("p", { class: "soft" }, found.label === null
      ? `${counted(found.n_labels, "label")} below it, in ${found.n_children === 1 ? "1 child" : `${count(found.n_children)} children`}.`
      : "A leaf: the place of this label."),
    children(visit, found, offset), words(found));
}

function choice(visit, found) {
  if (found.n_trees < 2) return null;
  const numbers = Array.from({ length: found.n_trees }, (_, i) => i);
  const select = element("select", { id: "tree-number", onchange: () => (location.hash = at(visit.model, "tree", { tree: select.value })) },
    numbers.map((i) => element("option", { value: String(i) }, `Tree ${i}`)));
  select.value = String(found.tree);
  return element("div", { class: "row" }, element("label", { for: "tree-number" }, "Tree"), select);
}

function crumbs(visit, found) {
  if (found.parent === null) return null;
  const items = found.path.map(({ node, title }, i) => {
    const text = i === 0 ? "root" : shownName(title);
    const isHere = node === found.node;
    return element("li", {}, isHere ? element("span", { "aria-current": "page" }, text) : element("a", { href: atNode(visit.model, found.tree, node) }, text));
  });
  return element("nav", { "aria-label": "Path from the root" }, element("ol", { class: "crumbs" }, items));
}

function children(visit, found, offset) {
  if (!found.n_children) return null;
  const most = Math.max(...found.children.map((child) => child.n_examples), 1);
  const rows = found.children.map((child) => element("li", {},
    element("a", { href: atNode(visit.model, found.tree, child.node) }, child.label === null ? `Node ${child.node}` : shownName(child.label)),
    child.label === null && element("span", { class: "samples soft" }, child.examples.map((label, i) => [i > 0 && ", ", shownName(label)]), child.n_labels > child.examples.length && " …"),
    element("span", { class: "bar", "aria-hidden": "true", style: { "--share": child.n_examples / most } }),
    element("span", { class: "number" }, child.label === null && `${counted(child.n_labels, "label")}, `, counted(child.n_examples, "example"))));
  const to = (place) => at(visit.model, "tree", { tree: found.tree, node: found.node, offset: place || null });
  return element("section", { class: "card" }, element("h3", {}, "Children"), element("ul", { class: "children" }, rows),
    found.n_children > LIMIT && paging({ total: found.n_children, offset, limit: LIMIT, shown: rows.length, to, what: "children" }));
}

function words(found) {
  if (!found.words.length && !found.against.length) return null;
  return element("section", { class: "card" }, element("h3", {}, "Its words"),
    element("p", { class: "soft" }, "What speaks most for and against the labels here, compared with those beside them."),
    wordLists(found.words, found.against, { up: "For it", down: "Against it", level: "h4" }));
}
