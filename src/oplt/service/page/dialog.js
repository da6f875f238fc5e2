// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Questions to the user, in the browser's own dialog: Escape closes it, and focus returns to where it was.

import { button, element, newId, problemLine } from "./elements.js";

/**
 * Asks before something is done. `action` does it, and may throw; the dialog then stays open and says why.
 * Resolves to true if it was done, to false if the user changed their mind.
 */
export function ask({ title, content = [], confirm, dangerous = false, action }) {
  const heading = newId("dialog");
  const problem = problemLine();
  return new Promise((resolve) => {
    let isDone = false;
    const proceed = element("button", { type: "submit", class: dangerous ? "dangerous" : "main" }, confirm);
    const cancel = button("Cancel", () => dialog.close());
    const form = element("form", {}, element("h2", { id: heading }, title), content, problem,
      element("div", { class: "row end" }, cancel, proceed));
    const dialog = element("dialog", { "aria-labelledby": heading }, form);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (proceed.getAttribute("aria-disabled") === "true") return;
      proceed.setAttribute("aria-disabled", "true");
      problem.textContent = "";
      try {
        await action();
        isDone = true;
        dialog.close();
      } catch (error) {
        problem.textContent = error.message;
      } finally {
        proceed.removeAttribute("aria-disabled");
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(isDone);
    });
    document.body.append(dialog);
    dialog.showModal();
    (form.querySelector("input, select") ?? cancel).focus();
  });
}
