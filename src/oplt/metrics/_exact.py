# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Exact sums of floats, so that the metrics of a stream do not depend on how it is split into chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oplt._typing import PointerArray

__all__ = ["ONE", "ExactSums"]

# Totals are integers in this unit: the last bit of the smallest float, with the 53 bits of `np.frexp` below it.
_UNIT_BITS = 1074 + 52
ONE = 1 << _UNIT_BITS

_MANTISSA_BITS = 53
_LOW_BITS = 26
# `np.bincount` adds floats: sums of this many integers below 2**27 stay below 2**53, where floats are exact.
_MOST_TERMS = 1 << 25


class ExactSums:
    """An array of exact sums.

    A float is an integer times a power of 2. NumPy adds the integers of equal powers, in two halves, so that no bit is
    lost; those sums are then added as Python integers, which never overflow.
    """

    def __init__(self, n_sums: int) -> None:
        self._totals = [0] * n_sums

    def add(self, places: npt.NDArray[Any], values: npt.NDArray[np.float64]) -> None:
        """Add each value to the sum at its place. Values are finite."""
        for begin in range(0, len(values), _MOST_TERMS):
            end = begin + _MOST_TERMS
            self._add(places[begin:end].astype(np.int64), values[begin:end])

    def _add(self, places: PointerArray, values: npt.NDArray[np.float64]) -> None:
        fractions, exponents = np.frexp(values)
        mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
        lowest = int(exponents.min())
        n_exponents = int(exponents.max()) - lowest + 1
        groups = places * n_exponents + (exponents - lowest)
        high = np.bincount(groups, weights=mantissas >> _LOW_BITS)
        low = np.bincount(groups, weights=mantissas & ((1 << _LOW_BITS) - 1))
        for group in np.flatnonzero((high != 0) | (low != 0)).tolist():
            place, exponent = divmod(group, n_exponents)
            mantissa = (int(high[group]) << _LOW_BITS) + int(low[group])
            self._totals[place] += mantissa << (exponent + lowest - _MANTISSA_BITS + _UNIT_BITS)

    def merge(self, other: ExactSums) -> None:
        """Add the sums of another array."""
        self._totals = [mine + its for mine, its in zip(self._totals, other._totals, strict=True)]

    def total(self, begin: int, end: int, step: int = 1) -> int:
        """Sum of the sums at some places, in units of 1 / `ONE`."""
        return sum(self._totals[begin:end:step])

    def mean(self, place: int, count: int) -> float:
        """Mean of the `count` terms of a sum, rounded once; NaN if there are none."""
        return self._totals[place] / (count * ONE) if count else float("nan")
