// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Where an example is entered: a text, or features, one per line with a name and a value.

import { RequestError } from "./api.js";
import { element } from "./elements.js";

/** Reads lines "name value"; a name without a value has the value 1. */
export function readFeatures(text, areNumbered) {
  const pairs = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const match = /^\s*(.*?)(?:\s*[\t:=]\s*|\s+)([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*$/iu.exec(line);
    const name = match && match[1] ? match[1] : line.trim();
    const value = match && match[1] ? Number(match[2]) : 1;
    if (areNumbered && !/^-?\d+$/.test(name)) {
      throw new RequestError("feature-not-valid", `Line ${i + 1}: the features of this model are numbers, such as “7 0.5”.`);
    }
    pairs.push([areNumbered ? Number(name) : name, value]);
  }
  if (pairs.length === 0) throw new RequestError("text-missing", "Enter at least one feature.");
  return pairs;
}

export class ExampleInput {
  constructor({ takes, value, areNumbered, onSubmit }) {
    this.takesTexts = takes === "texts";
    this.areNumbered = areNumbered;
    this.field = element("textarea", {
      id: "example", rows: "3", dir: "auto", spellcheck: "false", "aria-describedby": "example-hint example-keys",
      onkeydown: (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        onSubmit();
      },
    });
    this.field.value = value;
    const hint = this.takesTexts
      ? ""
      : "One feature per line: a name and, after a space, its value; 1 if there is none.";
    this.element = element("div", { class: "field" },
      element("label", { for: "example" }, this.takesTexts ? "Text" : "Features"), this.field,
      element("p", { id: "example-hint", class: "soft", hidden: !hint }, hint));
  }

  get value() {
    return this.field.value;
  }

  /** The example as a request has it. */
  body() {
    if (!this.takesTexts) return { features: readFeatures(this.value, this.areNumbered) };
    if (!this.value.trim()) throw new RequestError("text-missing", "Enter a text first.");
    return { text: this.value };
  }
}
