# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What the reference learns from: settings, and examples with ids in place of names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

Name = str | int
Row = list[tuple[int, float]]  # (feature id, value), ascending

BIAS = 2**32 - 2  # the id of the constant feature: above all others, so that it is added last


@dataclass(frozen=True)
class Settings:
    """Settings of `oplt.OnlinePLT`, which documents them."""

    policy: str = "best-greedy"
    alpha: float = 0.75
    arity: int = 16
    max_leaves: int = 32
    spread_new_labels: bool = True
    learner: str = "adagrad"
    arow_r: float = 0.3
    sparsity: float = 0.35
    learning_rate: float = 1.0
    adagrad_eps: float = 0.01
    gate: float = 0.1
    bias: bool = True
    normalize: bool = True
    seed: int = 0


class Example(NamedTuple):
    """One observation, with ids in place of names."""

    x: Row
    labels: list[int]  # distinct, ascending
    weight: float


class Reader:
    """Assigns ids to labels and features in order of arrival, and in sorted order to those that arrive together."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.features: dict[Name, int] = {}
        self.labels: dict[Name, int] = {}
        self.is_closed = False  # new names are ignored

    def example(self, x: Mapping[Name, float], labels: Iterable[Name], weight: float = 1.0) -> Example:
        """Read an example to learn from."""
        nonzero = {name: value for name, value in x.items() if value != 0}
        names = set(labels)
        if self.is_closed:
            names &= self.labels.keys()
        else:
            _number_new_names(self.features, nonzero)
            _number_new_names(self.labels, names)
        return Example(self.row(nonzero), sorted(self.labels[name] for name in names), weight)

    def row(self, x: Mapping[Name, float]) -> Row:
        """Read features. Unknown ones only count for the norm."""
        norm = math.sqrt(sum(value * value for value in x.values())) if self.settings.normalize else 1.0
        row = [(self.features[name], value / norm) for name, value in x.items() if value != 0 and name in self.features]
        bias = 0.5 if self.settings.learner == "arow" else 1.0
        return sorted(row) + ([(BIAS, bias)] if self.settings.bias else [])


def _number_new_names(ids: dict[Name, int], names: Iterable[Name]) -> None:
    """Integers come before strings, strings are ordered by their UTF-8 bytes."""
    new = [name for name in names if name not in ids]
    integers = sorted(name for name in new if not isinstance(name, str))
    strings = sorted((name for name in new if isinstance(name, str)), key=str.encode)
    ordered: list[Name] = [*integers, *strings]
    for name in ordered:
        ids[name] = len(ids)
