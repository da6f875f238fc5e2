# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Types and ranges of parameters, declared once and used for validation, documentation and command-line options.

A check is called with the name and the value of a parameter. It returns the value as a plain Python object or raises
InvalidParameterError.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from oplt.errors import InvalidParameterError
from oplt.wording import briefly

__all__ = ["Bounds", "Check", "Choice", "Flag", "Integer", "Number", "Size", "count", "path_of", "refuse"]

LARGEST_COUNT = 2**31

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Check(Protocol):
    """A check of a parameter's value."""

    @property
    def kind(self) -> str:
        """The type, as shown in the documentation."""

    def __call__(self, name: str, value: Any) -> Any:
        """Check a value."""


def refuse(name: str, rule: str, value: Any, hint: str | None = None) -> NoReturn:
    """Raise the error for a value that violates the rule of its parameter."""
    raise InvalidParameterError("parameter-out-of-range", f"{name} must be {rule}", got=briefly(value), hint=hint)


@dataclass(frozen=True)
class Integer:
    """A whole number in a range; also None if it is optional."""

    least: int = 1
    most: int = LARGEST_COUNT
    optional: bool = False

    @property
    def kind(self) -> str:
        """The type, as shown in the documentation."""
        return "int or None" if self.optional else "int"

    def __call__(self, name: str, value: Any) -> int | None:
        """Check a value."""
        if value is None and self.optional:
            return None
        if isinstance(value, (bool, np.bool_)):
            refuse(name, "an integer", value)
        try:
            number = operator.index(value)
        except TypeError:  # an array has the method, too
            refuse(name, "an integer", value)
        if number < self.least:
            refuse(name, f"at least {self.least}", value)
        if number > self.most:
            refuse(name, f"at most {self.most}", value)
        return number


def count(name: str, value: Any, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """Check that a value is an integer in a range."""
    number = Integer(least, most)(name, value)
    assert number is not None  # noqa: S101 (ours: it is not optional)
    return number


@dataclass(frozen=True)
class Number:
    """A number in a range. `least` and `most` belong to the range, `above` and `below` do not.

    The value that the core uses must be in the range as well: with `single`, the value rounded to float32.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    single: bool = False
    optional: bool = False

    @property
    def kind(self) -> str:
        """The type, as shown in the documentation."""
        return "float or None" if self.optional else "float"

    def __call__(self, name: str, value: Any) -> float | None:
        """Check a value."""
        if value is None and self.optional:
            return None
        if isinstance(value, (str, bytes, bool)):
            refuse(name, "a number", value)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            refuse(name, "a number", value)
        if not (self._holds(number) and (not self.single or self._holds(_rounded(number)))):
            refuse(name, self._rule(), value)
        return number

    def _holds(self, number: float) -> bool:
        """Check whether a value is in the range; NaN never is."""
        return (
            number == number  # noqa: PLR0124 (NaN is not)
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
        )

    def _rule(self) -> str:
        if self.least is not None and self.most is not None:
            return f"between {_shown(self.least)} and {_shown(self.most)}"
        ends = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{words} {_shown(end)}" for words, end in ends.items() if end is not None) or "a number"


def _rounded(number: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(number))


def _shown(number: float) -> str:
    """Format a number as 1e6, not 1e+06."""
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{number:g}")


@dataclass(frozen=True)
class Size:
    """A number of bytes, or None: an integer, or a string such as "4GB", "1.5 GB" or "512MiB"."""

    least: int
    most: int = 2**60
    kind: str = "int, str or None"

    def __call__(self, name: str, value: Any) -> int | None:
        """Check a value."""
        if value is None:
            return None
        number = _parsed_size(value) if isinstance(value, str) else value
        if number is None:
            refuse(name, "a number of bytes, or a size such as 4GB or 512MB", value)
        if not isinstance(number, (bool, np.bool_)) and isinstance(number, int) and number < self.least:
            refuse(name, f"at least {self.least // 10**6} MB", value)
        return Integer(self.least, self.most)(name, number)


def _parsed_size(text: str) -> int | None:
    """Convert a size to bytes; None if it is not one."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt]?)(i?)b)?\s*", text, re.IGNORECASE)
    if found is None or (found[3] and not found[2]):
        return None
    units = {unit.lower(): factor for unit, factor in (_BINARY_UNITS if found[3] else _UNITS).items()}
    return int(Decimal(found[1]) * units[(found[2] or "").lower()])


@dataclass(frozen=True)
class Choice:
    """One of several names."""

    names: tuple[str, ...]
    kind: str = "str"

    def __call__(self, name: str, value: Any) -> str:
        """Check a value."""
        if not isinstance(value, str):
            refuse(name, "a string", value)
        if value not in self.names:
            raise InvalidParameterError(
                f"unknown-{name}", f"{name} must be one of {', '.join(map(repr, self.names))}", got=briefly(value)
            )
        return str(value)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    kind: str = "bool"

    def __call__(self, name: str, value: Any) -> bool:
        """Check a value."""
        if not isinstance(value, (bool, np.bool_)):
            refuse(name, "True or False", value)
        return bool(value)


@dataclass(frozen=True)
class Pattern:
    """A regular expression with at most one group, or None."""

    kind: str = "str or None"

    def __call__(self, name: str, value: Any) -> str | None:
        """Check a value."""
        if value is None:
            return None
        if callable(value):
            hint = r"Tokenize first, then join by a separator: token_pattern=r'[^\t]+' and '\t'.join(words)."
            refuse(name, "a regular expression, because a function cannot be saved with a model", value, hint)
        if not isinstance(value, str) or not value:
            refuse(name, "a regular expression or None", value)
        try:
            n_groups = re.compile(value).groups
        except (re.error, RecursionError, OverflowError) as error:
            refuse(name, "a regular expression", value, f"Python's re module reports: {error}.")
        if n_groups > 1:
            refuse(name, "a regular expression with at most one group", value, "Write (?:...) for the others.")
        return value


@dataclass(frozen=True)
class Bounds:
    """Two whole numbers, a minimum and a maximum, or None."""

    most: int
    kind: str = "(int, int) or None"

    def __call__(self, name: str, value: Any) -> tuple[int, int] | None:
        """Check a value."""
        if value is None:
            return None
        bounds = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else ()
        if len(bounds) != 2:
            refuse(name, "a pair (minimum, maximum), such as (1, 2), or None", value)
        least, most = (count(name, bound, most=self.most) for bound in bounds)
        if least > most:
            refuse(name, "a pair (minimum, maximum) with minimum <= maximum", value)
        return least, most


def path_of(given: str | os.PathLike[str]) -> Path:
    """Reject an empty path, which `Path` would interpret as the current folder."""
    if not os.fspath(given):
        refuse("path", "the name of a file", given)
    return Path(given)
