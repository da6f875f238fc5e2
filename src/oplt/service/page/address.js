// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// The address of a view, in the part after #: #/MODEL/VIEW?name=value. So every view can be bookmarked.

export function read() {
  const [path, query = ""] = split(location.hash.replace(/^#\/?/, ""), "?");
  const [model, view] = path.split("/");
  return { model: decoded(model), view: decoded(view ?? ""), query: new URLSearchParams(query) };
}

function split(text, at) {
  const place = text.indexOf(at);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return ""; // not one of our addresses
  }
}

/** Makes an address; values that are empty are left out. */
export function at(model, view, query = {}) {
  const chosen = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(chosen).toString();
  return `#/${encodeURIComponent(model)}/${encodeURIComponent(view)}${text ? `?${text}` : ""}`;
}

/** The page of a label. */
export function atLabel(model, label) {
  return at(model, "label", { name: String(label) });
}

/** The view of a node of a tree. */
export function atNode(model, tree, node) {
  return at(model, "tree", { tree, node });
}

/** Changes the address without a new entry in the history, as for each letter of a search. */
export function replace(address) {
  history.replaceState(null, "", address);
}
