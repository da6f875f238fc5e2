# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The plot of `run.py`: above the cost per example, below the memory; one column for each thing that grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# The Okabe-Ito palette, which colour-blind readers can distinguish; line styles and markers differ as well.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
TITLES = {"labels": "labels", "examples": "examples", "features": "features per example"}


def draw(figures: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """Write scaling.png and scaling.svg."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no plot: `pip install matplotlib`, or `make bench-scaling`, gets what it needs")
        return
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(figures), figsize=(4 * len(figures), 6), sharex="col", layout="constrained")
    for (cost, memory), (growing, points) in zip(axes.T, figures.items(), strict=True):
        x = [point[growing] for point in points]

        def column(key: str, points: list[dict[str, Any]] = points) -> list[float]:
            return [point[key] for point in points]

        cost.plot(x, column("learn_late_us"), "o-", color=BLUE, label="learn (last tenth of the stream)")
        cost.plot(x, column("predict_us"), "s--", color=ORANGE, label="predict (exact top 5)")
        if growing == "labels":
            scale = column("learn_late_us")[0] / column("depth")[0]
            cost.plot(x, [scale * depth for depth in column("depth")], ":", color=GREY, label="like the tree's depth")
        memory.plot(x, column("memory_mb"), "^-", color=GREEN, label="learnt state")
        across = "linear" if growing == "features" else "log"
        cost.set(xscale=across, ylim=(0, None), ylabel="µs per example", title=f"growing {TITLES[growing]}")
        upright = {"yscale": "log"} if growing == "labels" else {"ylim": (0, None)}
        memory.set(xscale=across, xlabel=TITLES[growing], ylabel="memory in MB", **upright)
        for axis in (cost, memory):
            axis.grid(alpha=0.3)
            axis.legend(frameon=False, fontsize="small")
    for kind in ("png", "svg"):
        figure.savefig(out / f"scaling.{kind}", dpi=150)
    plt.close(figure)
