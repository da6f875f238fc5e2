// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Why a label has its probability: the words of the text colored by what they contribute, the words that count most,
// the path in the tree, and the way from the evidence to the probability.

import { atNode } from "./address.js";
import { element, fill, newId, table } from "./elements.js";
import { count, share, signed } from "./format.js";
import { labelLink, plainName, shownFeature, shownName } from "./names.js";
import { wordLists } from "./words.js";

/** Asks for an explanation and shows it. */
export async function showWhy(visit, root, example, label) {
  const found = await visit.api.post("explain", { ...example, label }, { signal: visit.signal });
  const sources = sourcesOf(found);
  const evidence = element("div", { class: "evidence" });
  const draw = (source) => fill(evidence, found.text !== null && coloredText(found, source.heat), ...listsOf(source, found.text !== null));
  fill(root, element("h3", {}, "Why ", labelLink(visit.model, found.label), "?"), element("p", {}, summary(found)),
    sources.length > 1 && choice(sources, draw), evidence, paths(visit, found), comparison(visit, found), steps(found));
  if (sources.length) draw(sources[0]);
}

function summary(found) {
  const place = found.rank === null ? "not among the labels that were compared" : `number ${count(found.rank)} of ${count(found.n_candidates)} that were compared`;
  return `Probability ${share(found.probability)}, ${place}.${found.hidden ? " It is hidden, so it is not predicted." : ""}`;
}

/** What can color the words: the trees and the label memory, whose contributions are in different units. */
function sourcesOf(found) {
  const used = found.trees.filter((path) => path.counts && path.nodes.length);
  const paths = used.length ? used : found.trees.filter((path) => path.nodes.length);
  const heat = new Map();
  for (const { feature, contribution } of paths.flatMap((path) => path.nodes.flatMap((node) => node.features))) {
    if (feature !== null) heat.set(feature, (heat.get(feature) ?? 0) + contribution / paths.length);
  }
  const unit = found.link === "logistic" ? "log-odds" : "margin";
  const sources = paths.length ? [{ name: `Tree (${unit})`, heat }] : [];
  if (found.memory) {
    const cosines = new Map(found.memory.features.map(({ feature, contribution }) => [feature, contribution]));
    sources.push({ name: "Label memory (cosine)", heat: cosines });
  }
  return sources;
}

function choice(sources, draw) {
  const group = newId("source");
  const radios = sources.map((source, i) => {
    const id = `${group}-${i}`;
    const radio = element("input", { id, type: "radio", name: group, onchange: () => draw(source) });
    radio.checked = i === 0;
    return [radio, element("label", { for: id }, source.name)];
  });
  return element("fieldset", { class: "switch" }, element("legend", {}, "Evidence of"), radios);
}

/** Cuts a text where terms begin and end. Positions count characters as Python does, not units of UTF-16. */
export function cutText(text, spans) {
  const characters = Array.from(text);
  const cuts = new Set([0, characters.length]);
  for (const { begin, end } of spans) cuts.add(begin).add(end);
  const places = [...cuts].sort((a, b) => a - b);
  const ahead = [...spans].sort((a, b) => a.begin - b.begin);
  const pieces = [];
  let active = [];
  let next = 0;
  for (let i = 0; i + 1 < places.length; i += 1) {
    const [begin, end] = [places[i], places[i + 1]];
    while (next < ahead.length && ahead[next].begin <= begin) active.push(ahead[next++]);
    active = active.filter((span) => span.end > begin);
    pieces.push({ text: characters.slice(begin, end).join(""), features: [...new Set(active.map((span) => span.feature))] });
  }
  return pieces;
}

function coloredText(found, heat) {
  const pieces = cutText(found.text, found.spans).map((piece) => {
    const known = piece.features.filter((feature) => heat.has(feature));
    return { ...piece, known, sum: known.reduce((sum, feature) => sum + heat.get(feature), 0) };
  });
  const most = Math.max(...pieces.map((piece) => Math.abs(piece.sum)), Number.MIN_VALUE);
  const shown = pieces.map(({ text, known, sum }) => {
    if (!known.length) return text;
    const title = known.map((feature) => `${plainName(feature)} ${signed(heat.get(feature))}`).join("\n");
    return element("span", { class: sum < 0 ? "word down" : "word up", style: { "--strength": Math.abs(sum) / most }, title }, text);
  });
  const legend = element("p", { class: "soft legend" }, element("span", { class: "word up", style: { "--strength": 0.6 } }, "pushes it up"), " ",
    element("span", { class: "word down", style: { "--strength": 0.6 } }, "pushes it down"));
  return [element("p", { class: "text", dir: "auto", tabindex: "0" }, shown), legend];
}

function listsOf({ heat }, areWords) {
  const all = [...heat].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  if (!all.length) return [element("p", { class: "soft" }, "No word of the example is known here.")];
  const word = areWords ? "Words" : "Features";
  return [wordLists(all.filter(([, value]) => value > 0), all.filter(([, value]) => value < 0), { up: `${word} for it`, down: `${word} against it`, level: "h4" })];
}

function paths(visit, found) {
  return found.trees.filter((path) => path.nodes.length).map((path) => {
    const title = found.trees.length > 1 ? `Path in tree ${path.tree}` : "Path in the tree";
    const rows = path.nodes.map((node) => [
      element("a", { href: atNode(visit.model, path.tree, node.node) }, node.label === null ? `node ${node.node}` : shownName(node.label)),
      count(node.n_labels), share(node.probability), share(node.cumulative),
    ]);
    return element("div", {}, element("h4", {}, title), !path.counts && element("p", { class: "soft" }, "The search did not reach the label in this tree."),
      table(title, ["node", "labels", "given parent", "from root"], rows));
  });
}

function comparison(visit, found) {
  const best = found.comparison;
  if (!best) return null;
  const splits = best.splits.map((split) => element("p", {}, "The paths separate at ",
    element("a", { href: atNode(visit.model, split.tree, split.node) }, `node ${split.node}`),
    `: ${share(split.own.probability)} towards this label, ${share(split.other.probability)} towards the best one. `,
    split.differences.slice(0, 3).map((one, i) => [i ? ", " : "Most of it: ", shownFeature(one.feature), ` ${signed(one.difference)}`])));
  return element("div", {}, element("h4", {}, "Compared with the best label"),
    element("p", {}, labelLink(visit.model, best.label), ` has probability ${share(best.probability)}.`), splits);
}

function steps(found) {
  const parts = found.steps.map((step) => {
    const terms = step.terms.filter((term) => term.contribution).sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
    const rows = terms.map((term) => [term.name, signed(term.contribution), signed(term.value), signed(term.weight)]);
    const title = `${step.name}: ${/^(probability|base rate)/.test(step.name) ? share(step.result) : signed(step.result)}`;
    return [element("h5", {}, title), rows.length > 0 && table(step.name, ["part", "contribution", "value", "weight"], rows)];
  });
  return element("details", {}, element("summary", {}, "From the evidence to the probability"), parts);
}
