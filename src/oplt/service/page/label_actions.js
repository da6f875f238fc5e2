// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Rename, merge, hide, show and remove a label, each after a question that says what it does.

import { at, atLabel } from "./address.js";
import { RequestError, newKey } from "./api.js";
import { ask } from "./dialog.js";
import { announce, button, element, fill } from "./elements.js";
import { asTyped } from "./label_keys.js";
import { LabelSearch } from "./label_search.js";
import { shownName } from "./names.js";

export function actionsFor(visit, found, reload) {
  const actions = new LabelActions(visit, found, reload);
  return element("section", { class: "card" }, element("h3", {}, "Change it"), element("div", { class: "row" },
    button("Rename…", () => actions.rename()), button("Merge…", () => actions.merge()),
    found.hidden ? button("Show again…", () => actions.unhide()) : button("Hide…", () => actions.hide()),
    button("Remove…", () => actions.remove(), { class: "dangerous" })));
}

class LabelActions {
  constructor(visit, found, reload) {
    Object.assign(this, { visit, label: found.label, reload });
  }

  /** Asks, sends the operation, and shows what came of it. The key makes a second attempt count once. */
  async perform(kind, { title, says, content = [], confirm, dangerous = false, other = () => undefined, then }) {
    const key = newKey();
    let applied = true;
    const isDone = await ask({
      title: [title, " ", shownName(this.label)],
      content: [element("p", {}, says), content],
      confirm,
      dangerous,
      action: async () => {
        ({ applied } = await this.visit.api.post("labels", { kind, label: this.label, other: other() }, { key }));
      },
    });
    if (!isDone) return;
    announce(applied ? "Done." : "Accepted; it will be applied soon.");
    this.visit.refreshHeader();
    await then();
  }

  rename() {
    const input = element("input", { id: "new-name", type: "text", required: true, dir: "auto", autocomplete: "off", value: String(this.label) });
    const name = () => asTyped(input.value, [this.label]);
    return this.perform("rename", {
      title: "Rename", confirm: "Rename",
      says: "The old name still leads to the label, so programs that send it need not change.",
      content: [element("label", { for: "new-name" }, "New name"), input],
      other: name,
      then: () => this.go(atLabel(this.visit.model, name())),
    });
  }

  merge() {
    let target = null;
    const chosen = element("p", { role: "status" }, "No label has been chosen.");
    const search = new LabelSearch(this.visit.api, {
      label: "Merge it into", signal: this.visit.signal,
      onChoice: (label) => {
        target = label;
        fill(chosen, "Into ", element("strong", {}, shownName(label)), ".");
      },
    });
    return this.perform("merge", {
      title: "Merge", confirm: "Merge", dangerous: true,
      says: "Its examples, and further ones with its name, count for the other label. This cannot be undone.",
      content: [search.element, chosen],
      other: () => {
        if (target === null) throw new RequestError("label-missing", "Choose the label to merge it into.");
        return target;
      },
      then: () => this.go(atLabel(this.visit.model, target)),
    });
  }

  hide() {
    return this.perform("hide", {
      title: "Hide", confirm: "Hide",
      says: "It is not predicted any more, but still learned, and can be shown again.", then: this.reload,
    });
  }

  unhide() {
    return this.perform("unhide", { title: "Show again", confirm: "Show again", says: "It can be predicted again.", then: this.reload });
  }

  remove() {
    return this.perform("remove", {
      title: "Remove", confirm: "Remove", dangerous: true,
      says: "It is no longer predicted, and ignored in further examples. This cannot be undone; to hide it can.",
      then: () => this.go(at(this.visit.model, "labels")),
    });
  }

  go(address) {
    if (location.hash === address) return this.reload();
    location.hash = address;
    return undefined;
  }
}
