# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Medians of the runs, as a Markdown table."""

from __future__ import annotations

from statistics import median
from typing import Any

from systems import REFERENCE

HEAD = (
    "| system | train s | save s | predict ms/example | loaded MB | peak MB | model MB | P@1 / P@3 / P@5"
    " | train × | train + save × | predict × |\n|---|---|---|---|---|---|---|---|---|---|---|"
)
NOTE = f"""Medians. One thread each, but where the name says else; top 5 on the test set; P@k in percent, always
divided by k. *train* leaves out loading; where *save* is –, it includes writing the model. *loaded*, *peak*: RSS
after loading and peak RSS of training, of the whole process. vw: processor time, less
parsing. ×: how many times as fast as {REFERENCE}."""


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the median of each figure over the runs of a system."""

    def middle(values: list[Any]) -> Any:
        if isinstance(values[0], list):
            return [middle(list(column)) for column in zip(*values, strict=True)]
        return None if None in values else median(values)

    return {key: middle([run[key] for run in runs]) for key in runs[0]}


def markdown(name: str, systems: dict[str, dict[str, Any]]) -> str:
    """Return the table of one data set: a row for each system, and why others are missing."""
    reference = systems.get(REFERENCE, {}).get("median")
    rows, notes = [], []
    for system, outcome in systems.items():
        if "median" in outcome:
            rows.append(row(system, outcome["median"], reference))
        if "skipped" in outcome:
            notes.append(f"- {system} is left out: {outcome['skipped']}")
    return "\n".join([f"## {name}\n", HEAD, *rows, "", *notes])


def row(system: str, figures: dict[str, Any], reference: dict[str, Any] | None) -> str:
    """One system."""
    cells = [
        system,
        number(figures["train_s"], 2),
        number(figures["save_s"], 2),
        number(figures["predict_ms"], 4),
        *(number(figures[key], 0 if key != "model_mb" else 1) for key in ("loaded_mb", "peak_mb", "model_mb")),
        " / ".join(number(p, 2) for p in figures["precision"]),
        *(number(ratio, 1) for ratio in ratios(figures, reference)),
    ]
    return f"| {' | '.join(cells)} |"


def ratios(figures: dict[str, Any], reference: dict[str, Any] | None) -> list[float | None]:
    """Return the speed relative to the reference: training, training and saving, predicting."""
    if reference is None:
        return [None] * 3

    def total(run: dict[str, Any]) -> float:
        return run["train_s"] + (run["save_s"] or 0)

    pairs = [
        (reference["train_s"], figures["train_s"]),
        (total(reference), total(figures)),
        (reference["predict_ms"], figures["predict_ms"]),
    ]
    return [theirs / own if own else None for theirs, own in pairs]


def number(value: float | None, digits: int) -> str:
    """Round; a dash if unknown."""
    return "–" if value is None else f"{value:.{digits}f}"
