// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Snapshots: list, write, download, and return to one.

import { newKey, token } from "./api.js";
import { ask } from "./dialog.js";
import { announce, button, element, fill, problemLine, table } from "./elements.js";
import { bytes, count, counted, moment } from "./format.js";

export async function openSnapshots(visit) {
  const panel = new SnapshotsPanel(visit);
  await panel.refresh();
}

class SnapshotsPanel {
  constructor(visit) {
    this.visit = visit;
    this.problem = problemLine();
    this.says = element("p", { role: "status", class: "soft" });
    this.list = element("div");
    fill(visit.root, visit.heading("Snapshots"),
      element("p", { class: "soft" }, "A snapshot is the model at a position of the journal. The server writes them by itself, and keeps the first and the last ones."),
      element("div", { class: "row" }, button("Write a snapshot now", () => this.create(), { class: "main" })), this.problem, this.says, this.list);
  }

  async refresh() {
    const { snapshots } = await this.visit.api.get("snapshots", {}, { signal: this.visit.signal });
    const rows = [...snapshots].reverse().map((one) => [
      count(one.position), moment(one.time), count(one.n_examples), count(one.n_labels), bytes(one.bytes),
      element("code", { title: one.fingerprint }, one.fingerprint.slice(0, 8)),
      element("div", { class: "row tight" }, this.download(one),
        button("Roll back…", () => this.rollBack(one), { "aria-label": `Roll back to position ${one.position}…` })),
    ]);
    fill(this.list, rows.length
      ? table("Snapshots", ["position", "written", "examples", "labels", "size", "fingerprint", "actions"], rows)
      : element("div", { class: "card empty" }, element("p", {}, "There is no snapshot yet.")));
  }

  /** Does something, and says what went wrong or right. */
  async attempt(action) {
    this.problem.textContent = this.says.textContent = "";
    try {
      this.says.textContent = (await action()) ?? "";
    } catch (error) {
      if (error.status === undefined) throw error;
      this.problem.textContent = error.message;
    }
  }

  create() {
    return this.attempt(async () => {
      const made = await this.visit.api.post("snapshots");
      await this.refresh();
      return `Written: ${counted(made.n_examples, "example")}, ${bytes(made.bytes)}.`;
    });
  }

  /** A link if the browser can fetch the file by itself; a token has to be sent by us. */
  download({ position }) {
    const [path, name] = [`snapshots/${position}/file`, `${this.visit.model}-${position}.oplt`];
    const label = `Download the snapshot at position ${position}`;
    if (!token.get()) return element("a", { href: this.visit.api.address(path), download: name, "aria-label": label }, "Download");
    return button("Download", () => this.attempt(async () => {
      const address = URL.createObjectURL(await this.visit.api.file(path));
      element("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
    }), { "aria-label": label });
  }

  async rollBack(snapshot) {
    const now = await this.visit.api.get("model");
    const key = newKey();
    const box = element("input", { id: "save-first", type: "checkbox" });
    box.checked = now.journal !== snapshot.position;
    const isDone = await ask({
      title: `Roll back to position ${count(snapshot.position)}?`,
      content: [
        element("p", {}, "The model becomes the one that was written ", moment(snapshot.time), ". ", lossOf(snapshot, now)),
        element("p", {}, "The journal keeps it, so you can return to any later snapshot."),
        element("p", { class: "choice" }, box, element("label", { for: "save-first" }, "Write a snapshot of the present model first")),
      ],
      confirm: "Roll back",
      dangerous: true,
      action: async () => {
        if (box.checked) await this.visit.api.post("snapshots");
        await this.visit.api.post(`snapshots/${snapshot.position}/rollback`, undefined, { key });
      },
    });
    if (!isDone) return;
    announce("Rolled back.");
    await this.attempt(async () => {
      await this.refresh();
      await this.visit.refreshHeader();
      return `Rolled back to position ${count(snapshot.position)}.`;
    });
  }
}

/** What no longer counts after a rollback. */
function lossOf(snapshot, now) {
  const [records, examples, labels] = [now.journal - snapshot.position, now.n_examples - snapshot.n_examples, now.n_labels - snapshot.n_labels];
  if (records <= 0) return "Nothing has been learned since.";
  const difference = (value, word) => `${counted(Math.abs(value), word)} ${value < 0 ? "more" : "fewer"}`;
  return element("strong", {}, `${counted(records, "record")} of the journal since then will no longer count: ${difference(examples, "example")} and ${difference(labels, "label")}.`);
}
