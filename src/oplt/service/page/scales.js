// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Ticks at round numbers, and the way from values to places in a drawing.

/** Round numbers from `low` to `high`: about `wanted` of them, 1, 2 or 5 times a power of ten apart. */
export function ticks(low, high, wanted, { whole = false } = {}) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
  if (whole) step = Math.max(1, Math.round(step));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** A formatter with as many decimals as the distance of the ticks needs. */
export function decimalsFor(marks) {
  const step = marks.length > 1 ? Math.abs(marks[1] - marks[0]) : Math.abs(marks[0]) || 1;
  return Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

/** Extends a range to round numbers. */
export function rounded(low, high, wanted) {
  if (high <= low) return [low, low === 0 ? 1 : low + Math.abs(low) * 0.1];
  const marks = ticks(low, high, wanted);
  const step = marks.length > 1 ? marks[1] - marks[0] : high - low;
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

/** A function from [low, high] to [begin, end]. */
export function scale([low, high], [begin, end]) {
  const factor = high > low ? (end - begin) / (high - low) : 0;
  return (value) => (factor ? begin + (value - low) * factor : (begin + end) / 2);
}

/** The place of the number in a sorted list that is nearest to a value. */
export function nearest(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - sorted[low - 1] <= sorted[low] - value ? low - 1 : low;
}
