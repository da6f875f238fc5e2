# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The plots of `run.py`: a column for each size that grows, with cost, memory and bytes per cell; and threads.

`draw_plans` makes that of `plan.py`.

Run: python benchmarks/scaling/plot.py <scaling.json> <folder>
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# The Okabe-Ito palette, which colour-blind readers can distinguish; line styles and markers differ as well.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
TITLES = {"labels": "labels", "examples": "examples", "features": "features per example"}

Points = list[dict[str, Any]]


def plotting() -> Any:
    """Return matplotlib's pyplot, or None if it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no plots: `pip install matplotlib`, or `make bench-scaling`, gets what they need")
        return None
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "scaling"  # the same figures give the same file
    from matplotlib import pyplot as plt

    return plt


def draw(figures: dict[str, Points], out: Path) -> None:
    """Write scaling.svg: cost and memory as labels, examples and features grow."""
    plt = plotting()
    if plt is None or not figures:
        return
    figure, axes = plt.subplots(
        3, len(figures), figsize=(4 * len(figures), 8), sharex="col", sharey="row", layout="constrained", squeeze=False
    )
    for (cost, memory, cell), (growing, points) in zip(axes.T, figures.items(), strict=True):
        x = column(points, growing)
        cost.plot(x, column(points, "learn_late_us"), "o-", color=BLUE, label="learn (last tenth of the stream)")
        cost.plot(x, column(points, "predict_us"), "s--", color=ORANGE, label="predict (top 5)")
        if growing == "labels":
            scale = points[0]["learn_late_us"] / points[0]["depth"]
            depths = [scale * depth for depth in column(points, "depth")]
            cost.plot(x, depths, ":", color=GREY, label="like the tree's depth")
        memory.plot(x, column(points, "memory_mb"), "^-", color=GREEN)
        cell.plot(x, column(points, "bytes_per_cell"), "D-", color=PURPLE)
        across = "linear" if growing == "features" else "log"
        cost.set(xscale=across, yscale="log", title=f"growing {TITLES[growing]}")
        memory.set(yscale="log")
        cell.set(xlabel=TITLES[growing], ylim=(0, 20))
        finish(cost, memory, cell)
    names = ("CPU µs per example", "memory in MB", "bytes per cell of the trees")
    for axis, name in zip(axes[:, 0], names, strict=True):
        axis.set(ylabel=name)
    for axis, ticks in ((axes[0, 0], (30, 100, 300, 1000)), (axes[1, 0], (100, 1000, 10_000))):
        least, most = axis.get_ylim()
        axis.set_yticks([tick for tick in ticks if least < tick < most], minor=False)
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_minor_formatter("")
    figure.savefig(out / "scaling.svg", metadata={"Date": None})
    plt.close(figure)


def draw_threads(points: Points, out: Path) -> None:
    """Write threads.svg: the speed-up of learning and predicting."""
    plt = plotting()
    if plt is None or not points:
        return
    figure, axis = plt.subplots(figsize=(4, 3), layout="constrained")
    x = column(points, "threads")
    for what, style, colour in (("learn", "o-", BLUE), ("predict", "s--", ORANGE)):
        elapsed = column(points, f"{what}_elapsed_us")
        axis.plot(x, [elapsed[0] / value for value in elapsed], style, color=colour, label=what)
    axis.plot(x, x, ":", color=GREY, label="ideal")
    axis.set(xlabel="threads", ylabel="times as fast as one thread", xticks=x, ylim=(0, None))
    finish(axis)
    figure.savefig(out / "threads.svg", metadata={"Date": None})
    plt.close(figure)


def draw_plans(plans: dict[str, dict[tuple[int, int], Any]], out: Path) -> None:
    """Write plan.svg: rates and memory by (labels, machines), with the label memory and without."""
    plt = plotting()
    if plt is None:
        return
    figure, (rates, memory) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    colours = dict(zip(sorted({n for n, _ in plans["memory"]}), (BLUE, ORANGE, GREEN, PURPLE, GREY), strict=True))
    for name, style in (("memory", "o-"), ("tree-alone", "s:")):
        for n_labels, colour in colours.items():
            found = sorted((machines, plan) for (n, machines), plan in plans[name].items() if n == n_labels)
            x = [machines for machines, _ in found]
            about = f"{n_labels:,} labels" if name == "memory" else None
            rates.plot(x, [plan.rate for _, plan in found], style, color=colour, label=about)
            if name == "memory":
                memory.plot(x, [plan.shard_bytes / 2**30 for _, plan in found], style, color=colour, label=about)
    rates.plot([], [], "s:", color="black", label="without label memory")
    for axis, title in ((rates, "examples per second"), (memory, "memory of the shards, GB per machine")):
        axis.set(xscale="log", yscale="log", xlabel="machines", ylabel=title)
        axis.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
    finish(rates, memory)
    figure.savefig(out / "plan.svg", metadata={"Date": None})
    plt.close(figure)


def column(points: Points, key: str) -> list[float]:
    """Return one figure of all points."""
    return [point[key] for point in points]


def finish(*axes: Any) -> None:
    """Add grids and legends."""
    for axis in axes:
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False)


if __name__ == "__main__":
    stored, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    draw({growing: points for growing, points in stored.items() if growing != "threads"}, folder)
    draw_threads(stored.get("threads", []), folder)
