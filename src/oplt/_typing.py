# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Names of the types that users hand in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoSeries

__all__ = ["FloatArray", "IdArray", "Label", "LabelRows", "Labels", "Name", "PointerArray", "Row", "Rows"]

Name: TypeAlias = str | int
Label: TypeAlias = Name

FloatArray: TypeAlias = npt.NDArray[np.float32]
IdArray: TypeAlias = npt.NDArray[np.uint32]
PointerArray: TypeAlias = npt.NDArray[np.int64]

# One example's features by name; many examples.
Row: TypeAlias = Mapping[Any, float]
Rows: TypeAlias = "sp.sparray | sp.spmatrix | npt.NDArray[Any] | IntoDataFrame | Iterable[Row]"

# One example's labels: any number of them, or a single one; many examples' labels.
Labels: TypeAlias = Label | Iterable[Label]
LabelRows: TypeAlias = "sp.sparray | sp.spmatrix | npt.NDArray[Any] | IntoDataFrame | IntoSeries | Iterable[Labels]"
