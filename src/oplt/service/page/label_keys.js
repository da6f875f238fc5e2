// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Labels are strings or integers, and "7" is not 7. As keys of a Map they must not be mixed up.

export const keyOf = (label) => `${typeof label === "string" ? "text" : "number"}:${label}`;

/** The name that was typed, as the kind of name that the other labels have. */
export function asTyped(text, others) {
  const isNumbered = others.length > 0 && others.every((label) => typeof label !== "string");
  if (!isNumbered || !/^-?\d{1,19}$/.test(text)) return text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
