// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Curves over the stream, which are refreshed while the page can be seen.

import { Chart } from "./chart.js";
import { element, fill } from "./elements.js";
import { amount, brief, bytes, count, counted, share, signed } from "./format.js";
import { whileVisible } from "./refreshing.js";

const EVERY = 3000; // milliseconds

const perSecond = (window) => (window.end > window.begin ? window.n_learned / (window.end - window.begin) : null);
const milliseconds = (value) => `${amount(value)} ms`;
const perThousand = (value) => `${amount(1000 * value)} of 1,000 examples`;
const bias = (value) => `${signed(value)} (probability less precision)`;

/** A line for each group of labels that occurs in a window, in the order in which the server names them. */
function groups(field, name = (group) => group) {
  return (windows) => {
    const names = [...new Set(windows.flatMap((window) => Object.keys(window[field])))];
    return names.filter((group) => windows.some((window) => window[field][group]?.n > 0)).map((group) => ({
      name: name(group),
      value: (window) => window[field][group]?.recall ?? null,
    }));
  };
}

const CHARTS = [
  {
    title: "Precision", note: "Each example was predicted just before it was learned.", format: share, fixed: 1, of: "p1",
    series: [1, 3, 5].map((k) => ({ name: `P@${k}`, value: (window) => window[`p${k}`] })),
  },
  {
    title: "Calibration", note: "What the model expects of its first answer, and how often that was right.", format: share, fixed: 1,
    of: "confidence", sayMean: bias,
    series: [
      { name: "probability", value: (window) => window.confidence },
      { name: "right (P@1)", value: (window) => window.p1 },
      { name: "calibration error", value: (window) => window.calibration_error },
    ],
  },
  {
    title: "Recall by number of examples", note: "True labels among the first five answers, by the number of their earlier examples.",
    format: share, fixed: 1, series: groups("by_count", (group) => (group === "0" ? "none" : group)),
  },
  {
    title: "Recall by age", note: "The same, by the number of examples since the label's first one.",
    format: share, fixed: 1, series: groups("by_age"),
  },
  {
    title: "New labels", note: "In 1,000 examples.", format: amount, least: 1, of: "new_labels", sayMean: perThousand,
    series: [{ name: "new labels", value: (window) => (window.n_learned > 0 ? (1000 * window.new_labels) / window.n_learned : null) }],
  },
  {
    title: "Unknown features", note: "Share of the words, or other features, that the model had not seen before.", format: share, least: 0.05,
    of: "unknown_features", series: [{ name: "unknown", value: (window) => window.unknown_features }],
  },
  {
    title: "Speed", note: "Examples learned in a second.", format: brief, tick: brief, least: 1,
    series: [{ name: "examples/s", value: perSecond }],
  },
  {
    title: "Latency", note: "Of predict requests, in milliseconds.", format: milliseconds, least: 1,
    series: [{ name: "median", value: (window) => window.latency_p50 }, { name: "99th percentile", value: (window) => window.latency_p99 }],
  },
  { title: "Memory", note: "Of the model.", format: bytes, tick: bytes, least: 1000, series: [{ name: "memory", value: (window) => window.memory_bytes }] },
];

export async function openStream(visit) {
  const charts = CHARTS.map((one) => new Chart(one));
  const summary = element("p", { class: "soft" });
  const grid = element("div", { class: "charts" }, charts.map((chart) => chart.element));
  const empty = element("div", { class: "card empty" }, element("p", {}, "Nothing has been learned since the server started."),
    element("p", {}, "The curves begin with the first examples: send some to ", element("code", {}, "POST /v1/learn"), ", or correct a text in the view Try."));
  fill(visit.root, visit.heading("Stream"), summary, empty, grid);

  async function refresh() {
    const { windows, changes } = await visit.api.get("monitoring", {}, { signal: visit.signal });
    empty.hidden = windows.length > 0;
    grid.hidden = !empty.hidden;
    if (windows.length === 0) return;
    const learned = windows.reduce((sum, window) => sum + window.n_learned, 0);
    summary.textContent = `${counted(learned, "example")} in ${counted(windows.length, "window")}, positions ${count(windows[0].first)} to ${count(windows.at(-1).last)}. `
      + (changes.length ? `${counted(changes.length, "change")} detected, marked ▾.` : "No change was detected.");
    charts.forEach((chart) => chart.update(windows, changes));
  }

  await refresh();
  visit.onLeave(whileVisible(EVERY, async () => {
    try {
      await refresh();
    } catch (error) {
      if (error.status === undefined && !visit.signal.aborted) throw error; // a request that failed has its own notice
    }
  }));
}
