# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Draw precision against training time, one panel for each data set, as the README shows it.

Run: python benchmarks/peers/picture.py [results.json ...] [--out <folder>]

Without arguments the picture is redrawn from the figures stored beside this file. Given the results.json of one or
more runs of `run.py`, it first stores their figures. It writes a light and a dark SVG; `--png` adds PNG files.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE / "results.json"
NAME = "precision-against-time"

PANELS = {
    "nvd-cpe": "nvd-cpe\n105,190 vulnerability reports,\n46,414 products",
    "yso-finna-en": "yso-finna-en\n502,450 library titles,\n24,759 subjects",
    "tibkat-gnd": "tibkat-gnd\n90,452 library records,\n35,116 subjects",
}
OURS, ONLINE, BATCH = "ours", "online", "batch"
KINDS = {OURS: "oplt, online", ONLINE: "other online learners, one pass", BATCH: "batch learners"}
LABELS = {
    "oplt": ("oplt", OURS),
    "oplt-tree": ("oplt, tree alone", OURS),
    "nxc-oplt-best-greedy": ("napkinXC", ONLINE),
    "vw-plt": ("Vowpal Wabbit", ONLINE),
    "omikuji-1-tree": ("omikuji (1 tree)", BATCH),
    "omikuji-3-trees": ("omikuji (3 trees)", BATCH),
    "pecos": ("PECOS", BATCH),
}
NEAR = 0.75  # of the best precision
TICKS = (1, 3, 10, 30, 100, 300, 1000, 3000)


@dataclass(frozen=True)
class Theme:
    """Colors; the background is transparent."""

    text: str
    faint: str
    ours: str
    online: str
    batch: str


# Blue, orange and gray also differ in lightness, so that color-blind readers can distinguish them.
THEMES = {
    "light": Theme(text="#1f2328", faint="#d1d9e0", ours="#0550ae", online="#bc4c00", batch="#6e7781"),
    "dark": Theme(text="#e6edf3", faint="#3d444d", ours="#79c0ff", online="#f0883e", batch="#9198a1"),
}


def main() -> None:
    """Keep new figures, if there are any, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=Path, help="results.json of runs (default: the kept figures)")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the pictures (default: beside this file)")
    parser.add_argument("--png", action="store_true", help="write PNG files, too")
    arguments = parser.parse_args()
    if arguments.results:
        KEPT.write_text(compact(arguments.results))
    data = json.loads(KEPT.read_text())["data"]
    for name, theme in THEMES.items():
        draw(data, theme, [arguments.out / f"{NAME}-{name}.{kind}" for kind in ("svg", *["png"] * arguments.png)])


def compact(paths: list[Path]) -> str:
    """Join results, one line for each system; the machine is that of the first."""
    runs = [json.loads(path.read_text()) for path in paths]
    data: dict[str, dict[str, Any]] = {}
    for run, name in product(runs, PANELS):
        outcomes = run["data"].get(name, {})
        data.setdefault(name, {}).update({key: found["median"] for key, found in outcomes.items() if "median" in found})
    sets = [f'  "{name}": {lines(found)}' for name, found in data.items() if found]
    head = json.dumps({key: runs[0][key] for key in ("machine", "test rows")}, indent=1)
    return head.removesuffix("\n}") + ',\n "data": {\n' + ",\n".join(sets) + "\n }\n}\n"


def lines(systems: dict[str, Any]) -> str:
    """Return a line for each system that is drawn, with rounded figures."""
    kept = [f'   "{system}": {json.dumps(rounded(systems[system]))}' for system in LABELS if system in systems]
    return "{\n" + ",\n".join(kept) + "\n  }"


def rounded(figures: Any) -> Any:
    """Round all numbers to four decimal places."""
    if isinstance(figures, dict):
        return {key: rounded(value) for key, value in figures.items()}
    if isinstance(figures, list):
        return [rounded(value) for value in figures]
    return figures if figures is None else round(figures, 4)


def draw(data: dict[str, dict[str, Any]], theme: Theme, paths: list[Path]) -> None:
    """Draw all panels and save them."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fixed = {"svg.hashsalt": NAME, "font.family": "DejaVu Sans", "font.size": 11, "text.color": theme.text}
    with mpl.rc_context(fixed):
        figure, axes = plt.subplots(1, len(PANELS), figsize=(11, 4.6), layout="constrained", sharex=True)
        for axis, (name, title) in zip(axes, PANELS.items(), strict=True):
            panel(axis, title, data[name], theme)
        axes[0].set_ylabel("precision at 1, in %\n(each panel has its own scale)", color=theme.text)
        axes[1].set_xlabel("training time (CPU seconds, one thread, log scale)", color=theme.text, labelpad=8)
        times = [seconds(figures) for name in PANELS for figures in data[name].values()]
        axes[0].set_xlim(min(times) / 1.8, max(times) * 2)
        ticks = [tick for tick in TICKS if min(times) / 1.8 <= tick <= max(times) * 2]
        axes[0].set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        marks = [axes[0].scatter([], [], **mark(kind, theme)) for kind in KINDS]
        figure.legend(marks, KINDS.values(), loc="outside lower center", ncols=3, frameon=False, handletextpad=0.1)
        figure.canvas.draw()  # the layout is final: labels can be placed
        for axis in axes:
            place_labels(figure.canvas.get_renderer(), axis)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, transparent=True, metadata=metadata, dpi=100)
        plt.close(figure)


def panel(axis: Any, title: str, systems: dict[str, Any], theme: Theme) -> None:
    """Draw one data set: its points, and labels that are placed afterwards."""
    name, _, what = title.partition("\n")
    axis.set_title(f"{name}\n", loc="left", fontweight="bold", fontsize=11.5, pad=24)
    axis.text(0, 1.03, what, transform=axis.transAxes, va="bottom", linespacing=1.25, fontsize=9.5)
    axis.set_xscale("log")
    drawn = {system: systems[system]["precision"][0] for system in LABELS if system in systems}
    bottom, top = frame(list(drawn.values()))
    axis.set_ylim(bottom, top)
    for system, precision in drawn.items():
        (label, kind), look = LABELS[system], mark(LABELS[system][1], theme)
        point = seconds(systems[system]), precision
        if precision < bottom:  # an arrow at the edge, with the figure
            point, label = (point[0], bottom + 0.05 * (top - bottom)), f"{label} ({precision:.0f} %)"
            look["marker"] = "v"
        if system == "oplt":
            look["s"] = 120
        axis.scatter(*point, **look)
        words = {"color": getattr(theme, kind), "weight": "bold" if system == "oplt" else "normal"}
        axis.annotate(label, point, (0, 0), textcoords="offset points", zorder=4, **words).set_in_layout(False)
    hint = {"transform": axis.transAxes, "va": "top", "fontsize": 9.5, "style": "italic"}
    axis.text(0.02, 0.985, "↖ better", **hint)
    style(axis, theme)


def frame(precisions: list[float]) -> tuple[float, float]:
    """Choose the range of the panel: all systems near the best; one far below would squeeze the others."""
    near = [precision for precision in precisions if precision > NEAR * max(precisions)]
    margin = 0.16 * (max(near) - min(near))
    below = len(near) < len(precisions)
    return min(near) - (2 if below else 1) * margin, max(near) + margin


def seconds(figures: dict[str, Any]) -> float:
    """Return the training time: CPU time, if known."""
    found: float = figures["train_cpu_s"] or figures["train_s"]
    return found


def mark(kind: str, theme: Theme) -> dict[str, Any]:
    """Return the style of a point: hollow for batch learners."""
    color = getattr(theme, kind)
    return {"s": 60, "c": "none" if kind == BATCH else color, "edgecolors": color, "linewidths": 1.8, "zorder": 3}


def style(axis: Any, theme: Theme) -> None:
    """Set readable ticks, no frame, and a faint grid."""
    from matplotlib import ticker

    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.yaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    axis.tick_params(colors=theme.text, length=0, pad=6)
    axis.grid(color=theme.faint, linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)


RADIUS = 8  # pixels around the center of a point that no label covers
SIDES = [  # offset, horizontal and vertical alignment
    ((9, 0), "left", "center"),
    ((-9, 0), "right", "center"),
    ((0, -9), "center", "top"),
    ((0, 9), "center", "bottom"),
    ((-6, -9), "left", "top"),
    ((-6, 9), "left", "bottom"),
]


def place_labels(renderer: Any, axis: Any) -> None:
    """Put each label on the first side of its point where it overlaps no point, no other label and no edge."""
    from matplotlib.transforms import Bbox

    edges, labels = axis.get_window_extent(), axis.texts[1:-1]  # without the title and the hint
    points = [axis.transData.transform(label.xy) for label in labels]
    taken = [Bbox.from_extents(*(point - RADIUS), *(point + RADIUS)) for point in points]
    taken.append(axis.texts[-1].get_window_extent(renderer))
    for label in labels:
        for position, horizontal, vertical in SIDES:
            label.set(position=position, ha=horizontal, va=vertical)
            box = label.get_window_extent(renderer)
            inside = edges.x0 <= box.x0 and box.x1 <= edges.x1 and edges.y0 <= box.y0 and box.y1 <= edges.y1
            if inside and not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)


if __name__ == "__main__":
    main()
