# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Plots of the runs: depth of the tree against alpha, precision against time, progressive entropy reduction."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

from experiments import ALPHAS, MAIN
from runs import Figures, Runs

# The Okabe-Ito palette, which colour-blind readers can distinguish; markers and line styles differ as well.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
MARKERS = "osD^vP"
STYLES = ["-", "--", ":", "-."]


Curves = dict[str, dict[str, list[tuple[int, float]]]]  # by data set, then system


def draw(runs: Runs, tables: dict[int, list[str]], curves: Curves, out: Path) -> list[str]:
    """Plot tables, given with their data sets, and curves as PNG and SVG; return Markdown that shows them."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no plots: `pip install matplotlib`, or `make paper`, gets what they need")
        return []
    mpl.use("Agg")
    drawn = {
        "depth-against-alpha": ("Depth of the tree against α (table 7)", depth_against_alpha(runs, tables.get(7, []))),
        "precision-against-time": (
            "Precision against training time (table 2)",
            precision_against_time(runs, tables.get(2, [])),
        ),
        "progressive": ("Figure 2. Progressive entropy reduction", progressive(curves)),
    }
    for name, (_, figure) in drawn.items():
        save(figure, out / name)
    return [f"## {title}\n\n![{title}]({name}.png)" for name, (title, figure) in drawn.items() if figure]


def panels(names: list[str]) -> tuple[Any, Iterable[tuple[str, Any]]]:
    """Make one panel for each data set; no figure if there is none."""
    from matplotlib import pyplot as plt

    if not names:
        return None, []
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 3.6), layout="constrained", squeeze=False)
    for name, axis in zip(names, axes[0], strict=True):
        axis.set_title(name)
        axis.grid(alpha=0.3)
    return figure, zip(names, axes[0], strict=True)


def depth_against_alpha(runs: Runs, names: list[str]) -> Any:
    """Plot table 7."""
    figure, named = panels([name for name in names if any(runs.of(name, system) for system in ALPHAS)])
    for name, axis in named:
        known = [system for system in ALPHAS if runs.of(name, system)]
        alphas = [system.alpha for system in known]
        axis.plot(alphas, [average(runs.of(name, s), "depth") for s in known], "o-", color=COLOURS[0])
        axis.set(xlabel="α", ylabel="depth of the tree", ylim=(0, None))
        beside = axis.twinx()
        beside.plot(alphas, [average(runs.of(name, s), "P@1") for s in known], "s--", color=COLOURS[1])
        beside.set_ylabel("P@1 (dashed)")
    return figure


def precision_against_time(runs: Runs, names: list[str]) -> Any:
    """Plot table 2."""
    figure, named = panels([name for name in names if any(runs.of(name, system) for system in MAIN)])
    for name, axis in named:
        kinds = list(dict.fromkeys((system.name, system.policy) for system in MAIN))  # hollow: 1 pass, filled: 3
        for system in (system for system in MAIN if runs.of(name, system)):
            i, found = kinds.index((system.name, system.policy)), runs.of(name, system)
            fill = "full" if system.passes > 1 or system.name == "Parabel" else "none"
            spot = average(found, "train s"), average(found, "P@1")
            axis.plot(*spot, MARKERS[i], color=COLOURS[i], fillstyle=fill, label=str(system))
        axis.set(xscale="log", xlabel="training time in s", ylabel="P@1")
    if figure:
        fullest = max(figure.axes, key=lambda axis: len(axis.get_legend_handles_labels()[1]))
        columns = min(5, 2 * len(figure.axes))  # as many as fit the width of the panels
        figure.legend(*fullest.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize="small")
    return figure


def progressive(curves: Curves) -> Any:
    """Plot figure 2: entropy reduction over the course of the stream."""
    figure, named = panels(list(curves))
    for name, axis in named:
        for i, (system, points) in enumerate(curves[name].items()):
            axis.plot(*zip(*points, strict=True), STYLES[i % len(STYLES)], color=COLOURS[i], label=system)
        axis.set(xlabel="examples", ylabel="entropy reduction in bits")
        axis.legend(frameon=False, fontsize="small")
    return figure


def average(found: list[Figures], measure: str) -> float:
    """Mean over the seeds."""
    return mean(run[measure] for run in found)


def save(figure: Any, path: Path) -> None:
    """Write PNG and SVG."""
    if figure is None:
        return
    from matplotlib import pyplot as plt

    for kind in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=100)
    plt.close(figure)
