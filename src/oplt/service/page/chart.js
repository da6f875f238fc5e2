// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// A line chart over the positions of the stream. It reads out the values under the pointer or, with the arrow keys, of
// any window; all values are in a table below it.

import { element, fill, newId, svg, table } from "./elements.js";
import { brief, count } from "./format.js";
import { decimalsFor, nearest, rounded, scale, ticks } from "./scales.js";

const [WIDE, HIGH] = [370, 200]; // of the drawing, which is scaled to the width of its column
const MARGIN = { top: 12, right: 14, bottom: 26, left: 52 };
const INSIDE = { left: MARGIN.left, right: WIDE - MARGIN.right, top: MARGIN.top, bottom: HIGH - MARGIN.bottom };

const plain = (value, decimals) => value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

export class Chart {
  /**
   * `series`: {name, value(window)} for each line, or a function of all windows that returns them; `format(value)`;
   * `tick(value, decimals)`; `least`: the smallest number at the top of the axis; `fixed`: the number that always is
   * there; `of`: whose changes are marked; `sayMean(value)`: a mean before or after a change, in words.
   */
  constructor({ title, note, series, format, tick = plain, least = 0, fixed, of = null, sayMean = format }) {
    Object.assign(this, { title, note, series, format, tick, least, fixed, of, sayMean });
    this.points = [];
    this.changes = [];
    this.place = null; // of the window that is read out
    const [heading, reading] = [newId("chart"), newId("reading")];
    this.reading = element("p", { id: reading, class: "reading" });
    this.drawing = svg("svg", {
      viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", tabindex: "0", "aria-labelledby": heading, "aria-describedby": reading,
      onpointermove: (event) => this.point(event), onpointerleave: () => this.readOut(null),
      onkeydown: (event) => this.press(event), onblur: () => this.readOut(null),
    });
    this.legend = element("ul", { class: "legend" });
    this.values = element("details", { ontoggle: () => this.fillTable() }, element("summary", {}, "Values"), element("div"));
    this.element = element("figure", { class: "chart card" },
      element("figcaption", {}, element("h3", { id: heading }, title), note && element("p", { class: "soft" }, note)),
      this.legend, this.drawing, this.reading, this.values);
  }

  /** Shows new windows; what is being read stays where it is. */
  update(windows, changes) {
    this.lines = typeof this.series === "function" ? this.series(windows) : this.series;
    this.points = windows.map((window) => ({ at: window.last, first: window.first, values: this.lines.map((line) => line.value(window)) }));
    this.changes = changes.filter((change) => change.of === this.of);
    if (this.place !== null && this.place >= this.points.length) this.place = null;
    this.draw();
    if (this.values.open) this.fillTable();
  }

  draw() {
    const known = this.points.flatMap((point) => point.values).filter((value) => value !== null);
    const top = this.fixed ?? Math.max(...known, this.least);
    const [low, high] = this.fixed === undefined ? rounded(0, top, 4) : [0, this.fixed];
    const ends = [this.points[0]?.first ?? 0, this.points.at(-1)?.at ?? 1];
    this.x = scale(ends, [INSIDE.left, INSIDE.right]);
    this.y = scale([low, high], [INSIDE.bottom, INSIDE.top]);
    this.cursor = svg("g", { class: "cursor" });
    const nothing = known.length === 0 && svg("text", { x: (INSIDE.left + INSIDE.right) / 2, y: HIGH / 2, "text-anchor": "middle" }, "no values yet");
    fill(this.drawing, this.axes(low, high, ends), nothing, this.marks(), this.lines.map((line, i) => this.line(i)), this.cursor);
    fill(this.legend, this.lines.length > 1 && this.lines.map((line, i) => element("li", { class: `series-${i}` }, line.name)));
    this.legend.hidden = this.lines.length < 2;
    this.readOut(this.place);
  }

  axes(low, high, ends) {
    const heights = ticks(low, high, 4);
    const decimals = decimalsFor(heights);
    const rows = heights.map((value) => [
      svg("line", { class: "grid", x1: INSIDE.left, x2: INSIDE.right, y1: this.y(value), y2: this.y(value) }),
      svg("text", { x: INSIDE.left - 8, y: this.y(value) + 4, "text-anchor": "end" }, this.tick(value, decimals)),
    ]);
    const columns = ticks(ends[0], ends[1], 4, { whole: true }).map((value) =>
      svg("text", { x: this.x(value), y: HIGH - 8, "text-anchor": "middle" }, brief(value)));
    return svg("g", { class: "axes" }, rows, columns);
  }

  /** A line, which is interrupted where there is no value, and dots for values that stand alone. */
  line(i) {
    const parts = [];
    let part = [];
    for (const point of [...this.points, null]) {
      const value = point?.values[i] ?? null;
      if (value !== null) part.push([this.x(point.at), this.y(value)]);
      else if (part.length) part = (parts.push(part), []);
    }
    const lines = parts.map((each) => (each.length > 1
      ? svg("path", { d: `M${each.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` })
      : svg("circle", { cx: each[0][0], cy: each[0][1], r: 3 })));
    return svg("g", { class: `line series-${i}` }, lines);
  }

  marks() {
    const [first, last] = [this.points[0]?.first ?? 0, this.points.at(-1)?.at ?? 0];
    const marked = this.changes.filter((change) => change.position >= first && change.position <= last);
    return svg("g", { class: "changes" }, marked.map((change) => {
      const x = this.x(change.position);
      return svg("g", {}, svg("line", { x1: x, x2: x, y1: INSIDE.top, y2: INSIDE.bottom }),
        svg("path", { d: `M${x - 5} ${INSIDE.top - 9}h10l-5 8z` }), svg("title", {}, this.sayChange(change)));
    }));
  }

  sayChange(change) {
    return `Change at position ${count(change.position)}: ${this.sayMean(change.before)} → ${this.sayMean(change.after)}`;
  }

  point(event) {
    if (!this.points.length) return;
    const box = this.drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDE;
    this.readOut(nearest(this.points.map((point) => this.x(point.at)), x));
  }

  press(event) {
    const last = this.points.length - 1;
    const places = { ArrowLeft: Math.max(0, (this.place ?? last + 1) - 1), ArrowRight: Math.min(last, (this.place ?? last - 1) + 1), Home: 0, End: last };
    if (!(event.key in places) || last < 0) return;
    event.preventDefault();
    this.reading.setAttribute("aria-live", "polite"); // by keyboard only: a pointer would chatter
    this.readOut(places[event.key]);
  }

  readOut(place) {
    this.place = place;
    if (place === null) this.reading.removeAttribute("aria-live");
    const point = this.points[place ?? this.points.length - 1];
    if (!point) return;
    const known = point.values.map((value, i) => [this.lines[i].name, value]).filter(([, value]) => value !== null);
    const values = known.map(([name, value]) => (this.lines.length > 1 ? `${name} ${this.format(value)}` : this.format(value)));
    const change = this.changes.find((one) => one.position >= point.first && one.position <= point.at);
    fill(this.reading, element("span", { class: "soft" }, place === null ? "Last: " : `Position ${count(point.at)}: `), values.join(" · ") || "no value",
      change && element("span", { class: "changed" }, ` ▾ ${this.sayChange(change)}`));
    fill(this.cursor, place !== null && [
      svg("line", { x1: this.x(point.at), x2: this.x(point.at), y1: INSIDE.top, y2: INSIDE.bottom }),
      point.values.map((value, i) => value !== null && svg("circle", { class: `series-${i}`, cx: this.x(point.at), cy: this.y(value), r: 4 })),
    ]);
  }

  fillTable() {
    if (!this.values.open) return;
    const rows = this.points.map((point) => [count(point.at), ...point.values.map((value) => (value === null ? "–" : this.format(value)))]).reverse();
    const place = this.values.querySelector(".wide")?.scrollTop ?? 0;
    const changes = this.changes.map((change) => element("li", {}, this.sayChange(change)));
    fill(this.values.lastChild, changes.length > 0 && element("ul", {}, changes), table(this.title, ["position", ...this.lines.map((line) => line.name)], rows));
    this.values.querySelector(".wide").scrollTop = place;
  }
}
