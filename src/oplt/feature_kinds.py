# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a model knows of its features as a whole: whether they are names or numbers, and how many columns there are.

All of it is in the vocabulary, so that a saved model knows it, too, except for columns that have always been 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from oplt.errors import InvalidInputError
from oplt.validation import NamedRows, Origin, listed, twin
from oplt.wording import briefly

__all__ = ["FeatureKinds"]

_MOST_NAMES = 256  # of mappings, that are looked up
_FEWEST_COLUMNS = 16  # that tell dense data from an example made by hand

Known = Callable[[list[Any]], list[bool]]


class _Core(Protocol):
    def feature_kinds(self, begin: int) -> tuple[int, bool, bool, int]: ...


@dataclass
class FeatureKinds:
    """Refuses examples whose features cannot be those that the model has learnt."""

    n_features: int = 0  # that have been looked at
    strings: bool = False
    integers: bool = False
    largest: int = -1  # integer
    n_columns: int | None = None  # of the arrays learnt since the model was made or loaded

    def update(self, core: _Core) -> None:
        """Look at the features that are new."""
        n_features, strings, integers, largest = core.feature_kinds(self.n_features)
        self.n_features = n_features
        self.strings |= strings
        self.integers |= integers
        self.largest = max(self.largest, largest)

    def check(self, rows: NamedRows, known: Known) -> None:
        """Refuse rows that cannot be meant for the model."""
        if self.n_features == 0:
            return
        if rows.origin is Origin.MAPPINGS:
            self._check_names(rows, known)
            return
        if self.strings != self.integers and len(rows.names):
            has_strings = isinstance(rows.names, list) and any(isinstance(name, str) for name in rows.names)
            has_integers = not isinstance(rows.names, list) or not all(isinstance(name, str) for name in rows.names)
            if (self.strings and not has_strings) or (self.integers and not has_integers):
                raise self._other_kind(rows)
        if rows.origin is Origin.ARRAY:
            self._check_columns(rows)

    def _other_kind(self, rows: NamedRows) -> InvalidInputError:
        own, hint = (
            ("names", "Pass a frame with the column names that were learnt, or mappings.")
            if self.strings
            else ("numbers", "Pass a matrix with the same columns: df.to_numpy().")
        )
        given = "a frame whose columns have names" if self.integers else "a matrix whose columns have numbers only"
        return InvalidInputError(
            "features-of-another-kind",
            f"the features of the model are {own}, but X is {given}",
            got=f"the feature {listed(rows.names[:1])[0]!r}",
            hint=hint,
        )

    def _check_columns(self, rows: NamedRows) -> None:
        n_known = self.largest + 1
        if self.n_columns is not None:
            differs = rows.n_columns != self.n_columns
            learnt = f"the arrays that the model has learnt had {self.n_columns}"
        else:
            # Columns that were 0 in all examples are unknown, so somewhat more of them may be meant.
            is_dense = self.integers and self.n_features >= n_known >= _FEWEST_COLUMNS
            differs = rows.n_columns < n_known or (is_dense and 2 * rows.n_columns > 3 * n_known)
            learnt = f"the model has learnt features up to number {self.largest}"
        if differs and self.integers:
            raise InvalidInputError(
                "columns-differ",
                f"X has {rows.n_columns} columns, but {learnt}",
                hint="Every array must have the same columns. If more of them come over time, pass a sparse matrix:"
                " scipy.sparse.csr_array(X).",
            )

    def _check_names(self, rows: NamedRows, known: Known) -> None:
        """Refuse "3" where 3 has been learnt, as the names of JSON's objects are."""
        if self.strings == self.integers:
            return
        names = list(dict.fromkeys(listed(rows.names[:_MOST_NAMES])))
        twins = [twin(name) for name in names if isinstance(name, str) == self.integers]
        others = [name for name in twins if name is not None]
        if not others or len(twins) < len(names):
            return  # some are of the model's kind
        n_meant = sum(known(others))
        if 2 * n_meant >= len(names):
            kinds = ("integers", "strings") if self.integers else ("strings", "integers")
            raise InvalidInputError(
                "features-of-another-kind",
                f"the names of the model's features are {kinds[0]}, but those of X are {kinds[1]}",
                got=briefly(names[0]),
                hint=f"Convert them by {'int' if self.integers else 'str'}(name).",
            )
