// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Numbers and times as people read them.

import { element } from "./elements.js";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const BRIEF = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const SPANS = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [86400 * 60, 86400, "day"]];

export const count = (value) => (value === null || value === undefined ? "–" : WHOLE.format(value));
export const brief = (value) => (Math.abs(value) < 10000 ? WHOLE.format(value) : BRIEF.format(value));

/** A number of things: 1 example, 2 examples. */
export const counted = (value, word, several = `${word}s`) => `${count(value)} ${value === 1 ? word : several}`;

/** A probability or a share between 0 and 1. */
export function share(value) {
  if (value === null || value === undefined) return "–";
  if (value > 0 && value < 0.0005) return "< 0.001";
  if (value < 1 && value >= 0.9995) return "> 0.999";
  return value.toFixed(3);
}

/** A number with as many digits as matter. */
export function amount(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return WHOLE.format(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** A number with its sign. */
export const signed = (value) => `${value < 0 ? "−" : "+"}${amount(Math.abs(value))}`;

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 100 ? Number(value.toFixed(1)) : WHOLE.format(value)} ${UNITS[unit]}`;
}

/** A time in seconds since 1970: how long ago; the exact time is its title. */
export function moment(seconds) {
  const when = new Date(seconds * 1000);
  const past = Date.now() / 1000 - seconds;
  const span = SPANS.find(([below]) => past < below);
  const text = span ? AGO.format(-Math.max(0, Math.round(past / span[1])), span[2]) : when.toLocaleDateString("en-CA");
  return element("time", { datetime: when.toISOString(), title: when.toLocaleString() }, text);
}
