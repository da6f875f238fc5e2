// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Asks for a token. It is kept in the session storage: for this tab only, and until it is closed.

import { RequestError, modelNames, token } from "./api.js";
import { ask } from "./dialog.js";
import { element } from "./elements.js";

let isOpen = false;

/** Asks for a token until the server takes it. Resolves to true if there is a new one. */
export async function askForToken(why) {
  if (isOpen) return false;
  isOpen = true;
  const before = token.get();
  const input = element("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const isNew = await ask({
    title: "This server asks for a token",
    content: [
      element("p", {}, why),
      element("label", { for: "token" }, "Token"),
      input,
      element("p", { class: "soft" }, "It is kept for this tab only, until the tab is closed. The owner of the server makes one with ",
        element("code", {}, "oplt token"), "."),
    ],
    confirm: "Use this token",
    action: () => accept(input.value.trim(), before),
  });
  isOpen = false;
  return isNew;
}

/** Tries a token; a wrong one is not kept. */
async function accept(given, before) {
  if (!/^[\x21-\x7e]+$/.test(given)) throw new RequestError("token-missing", "A token has no spaces or special characters.");
  token.set(given);
  try {
    await modelNames();
  } catch (error) {
    if (error.code === "token-not-sufficient") return; // valid, if for little
    token.set(before);
    throw error.status === 401 ? new RequestError(error.code, "The server does not know this token.") : error;
  }
}
