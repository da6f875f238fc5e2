# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The plot of `kernels.py`: bytes moved per second against the columns of a block, below the bandwidth as a roof.

Run: python benchmarks/micro/kernels_plot.py <kernels.json> <kernels.svg>
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# The Okabe-Ito palette, which colour-blind readers can distinguish; markers differ as well.
STYLES = {
    "avx512": ("#CC79A7", "D"),
    "avx2": ("#0072B2", "o"),
    "neon": ("#009E73", "^"),
    "portable": ("#D55E00", "s"),
}
GREY = "#666666"
TITLES = {"cache": "blocks of 128 KiB, in the cache", "memory": "blocks of 256 MiB, in memory"}
LINES = {"score": ("-", "score", "read"), "adagrad": ("--", "score and step (AdaGrad)", "update")}


def draw(results: dict[str, Any], path: Path) -> None:
    """Write the plot as SVG."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no plot: `pip install matplotlib`, or `make bench-kernels`, gets what it needs")
        return
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "kernels"  # the same figures give the same file
    from matplotlib import pyplot as plt

    roofs = results["bandwidth"]
    figure, axes = plt.subplots(1, len(roofs), figsize=(4 * len(roofs), 4), sharey=True, layout="constrained")
    for axis, (place, roof) in zip(axes, roofs.items(), strict=True):
        for operation, (line, _, way) in LINES.items():
            axis.axhline(roof[way], color=GREY, linestyle=line, linewidth=1)
            va = "bottom" if way == "update" else "top"  # the two may be close to each other
            axis.annotate(f"{way} {roof[way]:.0f} GB/s", (4, roof[way]), color=GREY, fontsize="small", va=va)
            for kernels, (colour, marker) in STYLES.items():
                points = [
                    (point["columns"], point["gb_per_s"])
                    for point in results["points"]
                    if (point["operation"], point["place"], point["kernels"]) == (operation, place, kernels)
                ]
                if points:
                    axis.plot(*zip(*points, strict=True), line, marker=marker, color=colour, markersize=4)
        columns = sorted({point["columns"] for point in results["points"]})
        axis.set(title=TITLES[place], xlabel="columns of the block", xscale="log", yscale="log")
        axis.set_xticks(columns, map(str, columns), minor=False)
        axis.set_xticks([], minor=True)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("GB/s")
    figure.legend(handles=handles(results), frameon=False, fontsize="small", loc="outside lower center", ncols=5)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def handles(results: dict[str, Any]) -> list[Any]:
    """Return the entries of the legend: the kernels that were measured, and the two lines of each."""
    from matplotlib.lines import Line2D

    measured = {point["kernels"] for point in results["points"]}
    kernels = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=name)
        for name, (colour, marker) in STYLES.items()
        if name in measured
    ]
    return kernels + [Line2D([], [], color=GREY, linestyle=line, label=label) for line, label, _ in LINES.values()]


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
