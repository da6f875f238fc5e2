# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The systems, measures and data sets of each table and figure of the paper."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MULTI_LABEL = ["bibtex", "delicious", "nvd-cpe", "tibkat-gnd"]
FEW_SHOT = ["aloi-27d", "wp4s-para-1shot", "wp4s-para-3shot", "wp4s-para-5shot"]
STREAMS = [name for name in FEW_SHOT if name != "wp4s-para-1shot"]  # in the other, no label repeats
PRECISION = ["P@1", "P@3", "P@5"]


@dataclass(frozen=True)
class System:
    """A system of the paper, with the settings that the paper varies."""

    name: str  # Parabel, IPLT, IPLT-U, OPLT, OPLT-W, CMT
    policy: str = ""  # for OPLT: R(andom) or B(est-greedy)
    alpha: float = 0.75
    warm: float = 0.0  # fraction of the training examples used as the sample
    passes: int = 1

    @property
    def setting(self) -> str:
        """The setting as in published.csv, where only the table that varies alpha states alpha."""
        passes = f"p={self.passes}" if self.name != "Parabel" else ""
        parts = [self.policy, f"w={self.warm:g}" if self.warm else "", passes]
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        alpha = f" α={self.alpha:g}" if self.alpha != 0.75 else ""
        return f"{self.name} {self.setting}".strip() + alpha


@dataclass(frozen=True)
class Table:
    """A table: the measures of some systems."""

    title: str
    systems: list[System]
    measures: list[str]
    data: list[str]


def with_passes(*systems: System, passes: tuple[int, ...] = (1, 3)) -> list[System]:
    """Combine each system with each number of passes."""
    return [System(s.name, s.policy, s.alpha, s.warm, p) for s in systems for p in passes]


PARABEL, IPLT, CMT = System("Parabel"), System("IPLT"), System("CMT")
RANDOM, BEST = System("OPLT", "R"), System("OPLT", "B")
WARM = [System("OPLT-W", warm=share) for share in (0.05, 0.1, 0.15)]
ALPHAS = [System("OPLT", "B", alpha=alpha, passes=3) for alpha in (0.25, 0.375, 0.5, 0.625, 0.75, 0.875)]
MAIN = [PARABEL, *with_passes(IPLT, RANDOM, BEST, WARM[1])]

TABLES = {
    2: Table("Precision and training time", MAIN, [*PRECISION, "train s"], MULTI_LABEL),
    3: Table("Few-shot accuracy", with_passes(CMT, RANDOM, BEST, passes=(3,)), ["accuracy", "train s"], FEW_SHOT),
    4: Table("Propensity-scored precision", MAIN, ["PSP@1", "PSP@3", "PSP@5"], MULTI_LABEL),
    5: Table(
        "One and three passes",
        [PARABEL, *with_passes(IPLT, RANDOM, BEST, *WARM)],
        [*PRECISION, "train s", "test ms"],
        MULTI_LABEL,
    ),
    6: Table(
        "Few-shot, one and three passes", with_passes(CMT, RANDOM, BEST), ["accuracy", "train s", "test ms"], FEW_SHOT
    ),
    7: Table(
        "The balance of the tree",
        [System("IPLT", passes=3), System("OPLT", "R", passes=3), *ALPHAS],
        [*PRECISION, "train s", "test ms", "depth"],
        MULTI_LABEL,
    ),
    8: Table(
        "Warm start",
        [System(name, warm=share, passes=3) for share in (0.05, 0.1, 0.15) for name in ("IPLT", "IPLT-U", "OPLT-W")],
        PRECISION,
        MULTI_LABEL,
    ),
}


def published() -> Iterator[dict[str, str]]:
    """Yield the figures of the paper as (table, data, system, setting, measure, value)."""
    with Path(__file__).with_name("published.csv").open() as file:
        yield from csv.DictReader(file)
