# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Figures of single runs, kept in a file so that no run is repeated."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from experiments import System

Figures = dict[str, float]


class Runs:
    """Results by data set, system and seed; each new one is written to the file immediately."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._figures: dict[tuple[str, System, int], Figures] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                run = json.loads(line)
                self._figures[run["data"], System(**run["system"]), run["seed"]] = run["figures"]

    def add(self, data: str, system: System, seed: int, figures: Figures) -> None:
        """Keep the figures of a run."""
        self._figures[data, system, seed] = figures
        self._path.parent.mkdir(parents=True, exist_ok=True)
        run: dict[str, Any] = {"data": data, "system": asdict(system), "seed": seed, "figures": figures}
        with self._path.open("a") as file:
            file.write(json.dumps(run) + "\n")

    def of(self, data: str, system: System) -> list[Figures]:
        """All runs of a system on a data set."""
        return [figures for (name, s, _), figures in self._figures.items() if (name, s) == (data, system)]

    def missing(self, data: str, systems: Iterable[System], seeds: Iterable[int]) -> list[tuple[System, int]]:
        """Return the runs to be done: of those that differ only in passes, the longest, which includes the others."""
        wanted = {(s, seed) for s in systems for seed in seeds if (data, s, seed) not in self._figures}
        longest: dict[tuple[System, int], int] = {}
        for s, seed in wanted:
            key = (s if s.name == "CMT" else replace(s, passes=1)), seed  # CMT reports only its last pass
            longest[key] = max(longest.get(key, 0), s.passes)
        return sorted(((replace(s, passes=passes), seed) for (s, seed), passes in longest.items()), key=str)
