# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Write the diagrams and plots of the manual to docs/images, each for light and for dark pages.

    .venv/bin/python tools/figures.py

Plots take their figures from the tables of the pages, so that each figure has one place. The tests fail if a picture
is not up to date.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Sized
from pathlib import Path

from canvas import THEMES, Canvas, Theme

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DEFAULTS = ROOT / "docs" / "explanation" / "defaults.md"
BEYOND = ROOT / "docs" / "explanation" / "beyond-the-paper.md"
PAPER = ROOT / "benchmarks" / "paper"

LEAVES = ["xss", "csrf", "sql", "kernel", "driver", "heap", "password", "token", "log"]
TRUE = {"kernel", "heap"}


def tree(theme: Theme) -> Canvas:
    """Draw a label tree, and what one example does to its nodes."""
    canvas = Canvas(760, 330, "A label tree: the nodes that an example updates, and the probability of a label", theme)
    root, nodes = (380, 40), [(140, 130), (380, 130), (620, 130)]
    leaves = [(60 + 80 * i, 220) for i in range(9)]
    for i, place in enumerate(leaves):
        parent = nodes[i // 3]
        on_path = LEAVES[i] == "kernel"
        canvas.line(parent, place, color=theme.text if on_path else theme.faint, width=2.5 if on_path else 1.5)
    for i, place in enumerate(nodes):
        canvas.line(root, place, color=theme.text if i == 1 else theme.faint, width=2.5 if i == 1 else 1.5)
    _node(canvas, *root, "positive")
    for i, place in enumerate(nodes):
        _node(canvas, *place, "positive" if i == 1 else "negative")
    for i, (x, y) in enumerate(leaves):
        seen = LEAVES[i] in LEAVES[3:6]
        kind = "positive" if LEAVES[i] in TRUE else "negative" if seen else "idle"
        _node(canvas, x, y, kind)
        canvas.text(x, y + 32, LEAVES[i], color=theme.text if seen else theme.gray, bold=LEAVES[i] in TRUE)
    canvas.text(400, 34, "P(some label) = 0.9", anchor="start")
    canvas.text(400, 126, "× 0.8", anchor="start")
    canvas.text(288, 208, "× 0.7", anchor="end")
    canvas.text(380, 280, "P(kernel) = 0.9 × 0.8 × 0.7 = 0.50", bold=True)
    for x, kind, words in (
        (80, "positive", "updated as positive"),
        (290, "negative", "updated as negative"),
        (500, "idle", "not touched"),
    ):
        _node(canvas, x, 311, kind, 7)
        canvas.text(x + 16, 316, words, anchor="start")
    return canvas


def _node(canvas: Canvas, x: float, y: float, kind: str, r: float = 12) -> None:
    theme = canvas.theme
    fill, stroke = {
        "positive": (theme.blue, theme.blue),
        "negative": (theme.fill, theme.orange),
        "idle": (theme.fill, theme.faint),
        "old": (theme.fill, theme.gray),
        "copy": (theme.blue, theme.blue),
        "inverse": (theme.orange, theme.orange),
    }[kind]
    canvas.dot(x, y, r, fill=fill, stroke=stroke)


def growth(theme: Theme) -> Canvas:
    """Draw the three ways in which a new label extends the tree."""
    canvas = Canvas(760, 300, "Three ways to add a label, and where the new classifiers come from", theme)
    titles = ("1. a leaf under a node with room", "2. a node takes over the children", "3. a leaf is split in two")
    for left, words in zip((0, 255, 510), titles, strict=True):
        canvas.text(left + 125, 22, words, bold=True)
    _grown(canvas, (125, 70), [(70, 160, "a", "old"), (125, 160, "b", "old"), (180, 160, "new", "inverse")])
    _grown(canvas, (380, 70), [(335, 135, "", "copy"), (440, 135, "new", "inverse")])
    _grown(canvas, (335, 135), [(300, 200, "a", "old"), (370, 200, "b", "old")], "copy")
    _grown(canvas, (635, 70), [(580, 135, "a", "old"), (680, 135, "", "old")])
    _grown(canvas, (680, 135), [(645, 200, "b", "copy"), (715, 200, "new", "inverse")])
    for x, y in ((125, 70), (380, 70)):
        canvas.dot(x + 26, y - 16, 8, fill="none", stroke=theme.blue, dash="3 3")
    canvas.dot(706, 119, 8, fill="none", stroke=theme.blue, dash="3 3")
    legend = (
        (20, "old", "existed before"),
        (140, "copy", "copy of the auxiliary one"),
        (330, "inverse", "its inverse"),
    )
    for x, kind, words in legend:
        _node(canvas, x, 271, kind, 7)
        canvas.text(x + 16, 276, words, anchor="start")
    canvas.dot(456, 271, 7, fill="none", stroke=theme.blue, dash="3 3")
    canvas.text(472, 276, "auxiliary classifier: every positive", anchor="start")
    canvas.text(472, 293, "example of the node, always as positive", anchor="start")
    return canvas


def _grown(
    canvas: Canvas,
    parent: tuple[float, float],
    children: list[tuple[float, float, str, str]],
    kind_of_parent: str = "old",
) -> None:
    for x, y, _, _ in children:
        canvas.line(parent, (x, y), color=canvas.theme.faint)
    _node(canvas, *parent, kind_of_parent, 11)
    for x, y, name, kind in children:
        _node(canvas, x, y, kind, 11)
        canvas.text(x, y + 30, name, bold=name == "new")


CELLS = {
    "heap": "1101010",
    "overflow": "1001000",
    "kernel": "1100011",
    "script": "1010000",
    "the": "1111111",
    "log": "1000100",
}


def block(theme: Theme) -> Canvas:
    """Draw a sibling block: a matrix of features and classifiers, and how a row of it is stored."""
    canvas = Canvas(760, 390, "A sibling block: one matrix for all children of a node", theme)
    left, top, side = 330, 70, 34
    canvas.text(135, 52, "a node and its children")
    canvas.text(left + 3.5 * side, 22, "their block: a column per classifier, a row per feature")
    for i in range(6):
        canvas.line((135, 95), (35 + 40 * i, 190), color=theme.faint)
    canvas.dot(135, 95, 12, fill=theme.fill, stroke=theme.gray)
    for i in range(6):
        canvas.dot(35 + 40 * i, 190, 11, fill=theme.fill, stroke=theme.gray)
        canvas.text(35 + 40 * i, 194, str(i + 1), size=12)
    canvas.text(135, 230, "All of them see the same examples,")
    canvas.text(135, 248, "so one look-up of a feature")
    canvas.text(135, 266, "serves all of them.")
    for column in range(7):
        x = left + side * (column + 0.5)
        canvas.text(x, top - 12, "aux" if column == 0 else str(column), color=theme.blue if column == 0 else theme.text)
    for row, (feature, cells) in enumerate(CELLS.items()):
        y = top + side * row
        canvas.text(left - 10, y + 22, feature, anchor="end")
        for column, cell in enumerate(cells):
            color = theme.blue if column == 0 else theme.orange
            place = (left + side * column + 2, y + 2, side - 4, side - 4)
            canvas.box(
                place, fill=color if cell == "1" else "none", stroke=color if cell == "1" else theme.faint, round_by=3
            )
    canvas.text(left + 7 * side + 16, top + 22, "← stored as below", anchor="start")
    canvas.text(
        left + 7 * side + 16, top + 5 * side - 12, "Empty cells were never", anchor="start", size=12, color=theme.gray
    )
    canvas.text(
        left + 7 * side + 16, top + 5 * side + 4, "touched by an update:", anchor="start", size=12, color=theme.gray
    )
    canvas.text(
        left + 7 * side + 16, top + 5 * side + 20, "they take no memory.", anchor="start", size=12, color=theme.gray
    )
    _row(canvas, "heap", 315)
    return canvas


def _row(canvas: Canvas, feature: str, top: float) -> None:
    theme, cells = canvas.theme, CELLS[feature]
    columns = [i for i, cell in enumerate(cells) if cell == "1"]
    canvas.text(60, top + 22, f"row “{feature}”", bold=True)
    parts = [
        ("mask", [*cells], 24.0),
        ("weights", [f"w{i}" for i in columns], 38.0),
        ("accumulators", [f"a{i}" for i in columns], 38.0),
    ]
    x = 120.0
    for name, values, width in parts:
        canvas.text(x + len(values) * width / 2, top + 54, name, color=theme.gray)
        for value in values:
            color = theme.blue if value in ("w0", "a0") else theme.orange if value[0] in "wa" else theme.gray
            canvas.box((x, top, width, 34), stroke=color, fill=theme.fill, round_by=0)
            canvas.text(x + width / 2, top + 22, value)
            x += width
        x += 18


def balance(theme: Theme) -> Canvas:
    """Plot the balance term of the paper, and that of its authors' program."""
    canvas = Canvas(
        760, 360, "Balance of a child against its number of labels: the paper's formula and the program's", theme
    )
    left, top, width, height = 70, 40, 640, 250
    low, high, labels, children = -1.0, 5.0, 200, 2
    mean = labels / children

    def place(n: float, value: float) -> tuple[float, float]:
        return left + width * math.log(n) / math.log(200), top + height * (high - value) / (high - low)

    for value in range(-1, 6):
        canvas.line(place(1, value), place(200, value), color=theme.faint, width=0.7 if value else 1.5)
        canvas.text(left - 10, place(1, value)[1] + 4, f"{value}", anchor="end", size=12)
    for n in (1, 2, 5, 10, 20, 50, 100, 200):
        canvas.text(place(n, low)[0], top + height + 20, str(n), size=12)
    canvas.line(place(mean, low), place(mean, high), color=theme.gray, dash="4 4")
    canvas.text(
        place(mean, 0)[0] - 8, top + 14, "as many as its siblings on average", anchor="end", color=theme.gray, size=12
    )
    steps = [200 ** (i / 100) for i in range(101)]
    canvas.line(*(place(n, math.log(mean) / n) for n in steps), color=theme.orange, width=2.5)
    canvas.line(*(place(n, math.log(mean / n)) for n in steps), color=theme.blue, width=2.5)
    canvas.text(
        place(1.6, 0)[0], place(3, 0.25)[1], "paper: log(mean) / n", color=theme.orange, anchor="start", bold=True
    )
    canvas.text(
        place(9, 0)[0], place(9, 3.0)[1], "program and oplt: log(mean / n)", color=theme.blue, anchor="start", bold=True
    )
    canvas.text(
        left + width / 2,
        top + height + 46,
        "n: labels below the child (its parent has 2 children and 200 labels, a mean of 100)",
    )
    canvas.text(left, 22, "balance", anchor="start")
    return canvas


def ranking(theme: Theme) -> Canvas:
    """Draw the way from an example to probabilities."""
    canvas = Canvas(
        760,
        250,
        "From an example to probabilities: tree and memory propose, the ranking weighs, the calibration maps",
        theme,
    )
    boxes = {
        "example": (6, 95, 84, 60),
        "tree": (136, 30, 136, 60),
        "memory": (136, 160, 136, 60),
        "numbers": (318, 80, 124, 90),
        "models": (480, 80, 130, 90),
        "out": (648, 80, 106, 90),
    }
    words = {
        "example": ["example", "features"],
        "tree": ["tree", "20 best labels"],
        "memory": ["label memory", "20 nearest labels"],
        "numbers": ["candidates", "20 numbers each:", "probability,", "cosine, ranks, …"],
        "models": ["ranking", "5 logistic models,", "by number of", "examples"],
        "out": ["calibration", "and doubt", "→ probability"],
    }
    for name, place in boxes.items():
        color = {"tree": theme.blue, "memory": theme.orange}.get(name, theme.gray)
        canvas.box(place, fill=theme.fill, stroke=color, round_by=6)
        x, y, wide, high = place
        first = y + high / 2 - 9 * (len(words[name]) - 1) + 4
        for i, line in enumerate(words[name]):
            canvas.text(x + wide / 2, first + 18 * i, line, bold=i == 0, size=12)
    canvas.line((90, 125), (112, 125))
    canvas.arrow((112, 60), (134, 60))
    canvas.arrow((112, 190), (134, 190))
    canvas.line((112, 60), (112, 190))
    canvas.line((272, 60), (295, 60), (295, 190), (272, 190))
    canvas.arrow((295, 125), (316, 125))
    canvas.arrow((442, 125), (478, 125))
    canvas.arrow((610, 125), (646, 125))
    canvas.text(545, 207, "learn from examples of the stream that are", size=12, color=theme.gray)
    canvas.text(545, 224, "ranked just before they are learned", size=12, color=theme.gray)
    canvas.line((545, 192), (545, 174), color=theme.gray, dash="3 3")
    return canvas


SYSTEMS = {
    "paper's setting": ("ring", "gray"),
    "tree": ("square", "gray"),
    "**memory, regrown tree (the default)**": ("circle", "blue"),
    "memory, three regrown trees (`accurate`)": ("diamond", "orange"),
}


SHORT = ["paper's setting", "tree alone, not regrown", "default", "accurate: three trees"]


def parts(theme: Theme) -> Canvas:
    """Plot P@1 on the test sets, of the systems of the tables in "beyond the paper"."""
    text = BEYOND.read_text(encoding="utf-8")
    sections = re.split(
        r"^### ", text[text.index("## Each part alone") : text.index("## What gained little")], flags=re.MULTILINE
    )
    data = {}
    for section in sections[1:]:
        name, _, body = section.partition("\n")
        found = {row[0]: _first(row[2]) for row in _cells(body) if row[0] in SYSTEMS}
        if found:
            data[name] = found
    canvas = Canvas(
        760, 90 + _pitch(data) * len(data), "P@1 on test sets: paper's setting, tree alone, default, accurate", theme
    )
    points = {name: {system: (*SYSTEMS[system], value) for system, value in row.items()} for name, row in data.items()}
    legend = [(words, *style) for words, style in zip(SHORT, SYSTEMS.values(), strict=True)]
    _dots(canvas, points, (0, 80), 20, "P@1 on the test set, percent", legend)
    return canvas


SETS = {
    "nvd-cpe": ("circle", "blue"),
    "yso-finna-en": ("square", "orange"),
    "wp4s-para-5shot": ("diamond", "gray"),
    "bibtex": ("ring", "blue"),
    "delicious": ("ring", "orange"),
}


def defaults(theme: Theme) -> Canvas:
    """Plot by how much P@1 changes with one setting, from the first table of "the default settings"."""
    table = DEFAULTS.read_text(encoding="utf-8").split("\n\n| changed |")[1].split("\n\n")[0]
    names, base, *others = _cells(f"| changed |{table}")
    reference = [_first(cell) for cell in base[1:]]
    points: Points = {}
    for changed, *cells in others:
        differences = [_first(cell) - usual for cell, usual in zip(cells, reference, strict=True)]
        if any(differences):
            points[changed.removeprefix("learner ")] = {
                name: (*SETS[name], change) for name, change in zip(names[1:], differences, strict=True)
            }
    canvas = Canvas(
        760, 90 + _pitch(points) * len(points), "Change of progressive P@1 if one setting is changed", theme
    )
    _dots(canvas, points, (-14, 4), 2, "change of P@1, in points", [(name, *style) for name, style in SETS.items()])
    return canvas


def _cells(text: str) -> list[list[str]]:
    """Split the rows of tables; rulers are left out."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def _first(cell: str) -> float:
    """Return P@1 of a cell such as 41.71 / 22.39 / 15.74."""
    return float(cell.split(" / ")[0])


Points = dict[str, dict[str, tuple[str, str, float]]]


def _pitch(rows: Sized) -> int:
    """Return the height of a row of a plot."""
    return 34 if len(rows) < 12 else 24


def _dots(
    canvas: Canvas,
    points: Points,
    limits: tuple[float, float],
    step: int,
    caption: str,
    legend: list[tuple[str, str, str]],
) -> None:
    """Plot rows of points on one scale."""
    theme, (low, high), left, top = canvas.theme, limits, 212.0 if max(map(len, points)) > 20 else 150.0, 40.0
    pitch = _pitch(points)
    bottom = top + pitch * len(points)

    def across(value: float) -> float:
        return left + (canvas.width - left - 40) * (value - low) / (high - low)

    for tick in range(math.ceil(low), int(high) + 1, step):
        canvas.line(
            (across(tick), top),
            (across(tick), bottom),
            color=theme.gray if tick == 0 and low < 0 else theme.faint,
            width=1,
        )
        canvas.text(across(tick), bottom + 18, str(tick).replace("-", "−"), size=12)
    for i, (name, row) in enumerate(points.items()):
        y = top + pitch * (i + 0.5)
        canvas.text(left - 14, y + 4, name, anchor="end")
        values = [value for _, _, value in row.values()]
        if values:
            canvas.line((across(min(values)), y), (across(max(values)), y), color=theme.faint, width=3)
        for mark, color, value in row.values():
            canvas.mark(mark, across(value), y, getattr(theme, color))
    canvas.text((left + canvas.width - 40) / 2, bottom + 40, caption)
    along = 20.0
    for words, mark, color in legend:
        canvas.mark(mark, along, 18, getattr(theme, color))
        canvas.text(along + 12, 22, words, anchor="start")
        along += 36 + 7.2 * len(words)


PAPERS = {
    "IPLT": ("ring", "gray"),
    "OPLT R": ("square", "orange"),
    "OPLT B": ("circle", "blue"),
    "OPLT-W": ("diamond", "gray"),
}


def paper(theme: Theme) -> Canvas:
    """Plot P@1 after three passes, minus that of Parabel, on the paper's data sets and on ours."""
    rows: dict[str, dict[str, float]] = {}
    with (PAPER / "published.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            setting = row["setting"].removesuffix("p=3").strip()
            if (row["table"], row["measure"]) == ("5", "P@1") and setting in ("", "R", "B", "w=0.1"):
                system = f"{row['system']} {setting}".removesuffix("w=0.1").strip()
                rows.setdefault(f"{row['data']} (paper)", {})[system] = float(row["value"])
    text = (PAPER / "RESULTS.md").read_text(encoding="utf-8")
    for section in text.split("## Table 5")[1].split("### In the paper")[0].split("### ")[1:]:
        name = section.split()[0]
        for line in re.findall(r"^\| (.+) \|$", section, re.MULTILINE)[2:]:
            cells = line.split(" | ")
            if not cells[0].endswith(" p=1"):  # three passes, and Parabel, which has none
                system = cells[0].removesuffix(" p=3").removesuffix(" w=0.1")
                rows.setdefault(name, {})[system] = float(cells[1].split(" ± ")[0])
    points: Points = {
        name: {system: (*style, values[system] - values["Parabel"]) for system, style in PAPERS.items()}
        for name, values in rows.items()
    }
    canvas = Canvas(760, 90 + _pitch(points) * len(points), "P@1 minus that of Parabel, in the paper and here", theme)
    legend = [(words, *style) for words, style in PAPERS.items()]
    everything = [value for row in points.values() for _, _, value in row.values()]
    limits = (math.floor(min(everything)) - 0.5, math.ceil(max(everything)) + 0.5)
    _dots(canvas, points, limits, 2, "P@1 minus that of Parabel, in points", legend)
    return canvas


FIGURES: dict[str, Callable[[Theme], Canvas]] = {
    "tree": tree,
    "growth": growth,
    "block": block,
    "balance": balance,
    "ranking": ranking,
    "parts": parts,
    "defaults": defaults,
    "paper": paper,
}


def files() -> dict[Path, str]:
    """Draw all pictures."""
    return {
        IMAGES / f"{name}-{scheme}.svg": draw(theme).svg()
        for name, draw in FIGURES.items()
        for scheme, theme in THEMES.items()
    }


def main() -> None:
    """Write all pictures."""
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
    print(f"{2 * len(FIGURES)} pictures in {IMAGES}")


if __name__ == "__main__":
    main()
