# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Validated examples in the form that the core takes: rows of features, texts, labels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt import _core
from oplt._typing import FloatArray, PointerArray

__all__ = ["NamedLabels", "NamedRows", "Names", "Origin", "Texts", "listed"]

Names = list[Any] | npt.NDArray[np.int32]


@dataclass(frozen=True)
class NamedLabels:
    """Concatenated rows of names: row i is [indptr[i], indptr[i + 1])."""

    indptr: PointerArray
    names: Names

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def chunk(self, begin: int, end: int) -> NamedLabels:
        """Rows [begin, end)."""
        first, last = self.indptr[begin], self.indptr[end]
        return NamedLabels(self.indptr[begin : end + 1], self.names[first:last])


class Origin(Enum):
    """The kind of input that rows of features were made from."""

    MAPPINGS = "mappings"
    MATRIX = "a sparse matrix"
    ARRAY = "an array"
    FRAME = "a frame"


@dataclass(frozen=True)
class NamedRows:
    """Rows of distinct names with their non-zero values; also the kind of input and its number of columns."""

    indptr: PointerArray
    names: Names
    values: FloatArray
    origin: Origin = Origin.MAPPINGS
    n_columns: int = 0

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def to_core(self) -> tuple[PointerArray, Names, FloatArray]:
        """Make what the core takes."""
        return self.indptr, self.names, self.values

    def chunk(self, begin: int, end: int) -> NamedRows:
        """Rows [begin, end)."""
        first, last = self.indptr[begin], self.indptr[end]
        return NamedRows(self.indptr[begin : end + 1], self.names[first:last], self.values[first:last])


@dataclass(frozen=True)
class Texts:
    """Examples as texts; also the token pattern, unless the core tokenizes them."""

    texts: list[str]
    pattern: re.Pattern[str] | None = None
    further: NamedRows | None = None  # features beside the texts

    def __len__(self) -> int:
        return len(self.texts)

    def to_core(self) -> Any:
        """Make what the core takes."""
        texts = self.texts
        if self.pattern is not None:
            texts = [_core.TOKEN_END.join(self.pattern.findall(text)) for text in texts]
        return texts if self.further is None else (texts, self.further.to_core())

    def chunk(self, begin: int, end: int) -> Texts:
        """Texts [begin, end)."""
        further = None if self.further is None else self.further.chunk(begin, end)
        return Texts(self.texts[begin:end], self.pattern, further)


def listed(names: Names) -> list[Any]:
    """Convert arrays of column numbers to Python integers; lists of names are returned as they are."""
    return names if isinstance(names, list) else names.tolist()
