# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The kind of features of a model: whether they are named or numbered, and the number of columns.

It is derived from the vocabulary, so that a loaded model knows it as well, except for columns that have always been 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from oplt.errors import InvalidInputError
from oplt.validation import NamedRows, Origin, listed, twin
from oplt.wording import briefly

__all__ = ["FeatureKinds"]

_MOST_NAMES = 256  # number of mappings that are looked up
_FEWEST_COLUMNS = 16  # number of columns that distinguishes dense data from a hand-made example

Known = Callable[[list[Any]], list[bool]]


class _Core(Protocol):
    def feature_kinds(self, begin: int) -> tuple[int, bool, bool, int]: ...


@dataclass
class FeatureKinds:
    """Rejects examples whose features are of a different kind from those that the model was trained on."""

    n_features: int = 0  # number of features examined so far
    strings: bool = False
    integers: bool = False
    largest: int = -1  # integer
    n_columns: int | None = None  # of the arrays learned since the model was made or loaded

    def update(self, core: _Core) -> None:
        """Examine the new features."""
        n_features, strings, integers, largest = core.feature_kinds(self.n_features)
        self.n_features = n_features
        self.strings |= strings
        self.integers |= integers
        self.largest = max(self.largest, largest)

    def check(self, rows: NamedRows, known: Known) -> None:
        """Reject rows that do not match the model."""
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
            ("names", "Pass a frame with the column names of the training data, or mappings.")
            if self.strings
            else ("numbers", "Pass a matrix with the same columns, such as df.to_numpy().")
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
            learnt = f"the model was trained on arrays with {self.n_columns}"
        else:
            # Columns that were 0 in all examples are unknown, so somewhat more columns are allowed.
            is_dense = self.integers and self.n_features >= n_known >= _FEWEST_COLUMNS
            differs = rows.n_columns < n_known or (is_dense and 2 * rows.n_columns > 3 * n_known)
            learnt = f"the largest feature number of the model is {self.largest}"
        if differs and self.integers:
            raise InvalidInputError(
                "columns-differ",
                f"X has {rows.n_columns} columns, but {learnt}",
                hint="All arrays must have the same columns. If columns are added over time, pass a sparse matrix:"
                " scipy.sparse.csr_array(X).",
            )

    def _check_names(self, rows: NamedRows, known: Known) -> None:
        """Reject "3" where the model has the feature 3: a frequent mistake, since names in JSON objects are strings."""
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
                hint=f"Convert them with {'int' if self.integers else 'str'}(name).",
            )
