# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Matrices, sparse and dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from oplt.errors import InvalidInputError
from oplt.validation._containers import NamedRows
from oplt.validation._names import row_of
from oplt.validation._values import check_values, float32, without_zeros

__all__ = ["as_csr", "matrix_rows", "place"]


def as_csr(matrix: Any, what: str) -> Any:
    if matrix.ndim != 2:
        raise InvalidInputError(
            "matrix-not-valid",
            f"{what} must be 2-D",
            got=f"an array of {matrix.ndim} dimension{'s' * (matrix.ndim != 1)}",
        )
    if np.ma.is_masked(matrix):
        raise InvalidInputError(
            "value-missing",
            f"{what} has masked values",
            hint=f"Fill them in; if they mean absent features, use {what}.filled(0).",
        )
    if matrix.dtype.kind not in "biuf":
        raise InvalidInputError("matrix-not-valid", f"{what} must be a matrix of numbers", got=f"one of {matrix.dtype}")
    if matrix.shape[1] > 2**31:
        raise InvalidInputError(
            "matrix-not-valid", f"{what} must have at most 2,147,483,648 columns", got=f"{matrix.shape[1]} columns"
        )
    try:
        if getattr(matrix, "format", None) in ("csc", "bsr"):
            matrix.check_format(full_check=True)  # checked first, since SciPy's conversion trusts its input
        # SciPy does not support float16, in which embeddings are often stored.
        csr = sp.csr_array(matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix)
    except ValueError:
        raise InvalidInputError(
            "matrix-not-valid",
            f"{what} is not a valid sparse matrix: its arrays indptr, indices and data do not fit together",
            hint=f"{what}.check_format() reports the details.",
        ) from None
    _check_structure(csr, what)
    return csr


def _check_structure(csr: Any, what: str) -> None:
    """Validate the arrays of a sparse matrix, which SciPy does not."""
    pointers, indices = csr.indptr, csr.indices
    n_stored = min(len(indices), len(csr.data))
    rises = len(pointers) == csr.shape[0] + 1 and pointers[0] == 0 and not np.any(np.diff(pointers) < 0)
    if not rises or pointers[-1] > n_stored:
        raise InvalidInputError(
            "matrix-not-valid",
            f"{what} is not a valid CSR matrix: its indptr must increase from 0 to the number of stored values",
        )
    used = indices[: pointers[-1]]
    bad = (used < 0) | (used >= csr.shape[1])
    if bad.any():
        row, column = place(csr, int(np.argmax(bad)))
        raise InvalidInputError(
            "matrix-not-valid",
            f"a column index must be from 0 to {csr.shape[1] - 1}",
            where=row_of(what, row),
            got=str(column),
        )


def place(csr: Any, position: int) -> tuple[int, int]:
    return int(np.searchsorted(csr.indptr, position, side="right")) - 1, int(csr.indices[position])


def matrix_rows(csr: Any, names: list[Any] | None = None) -> NamedRows:
    if not _is_canonical(csr):
        # Duplicates are summed in float64, so that their order does not matter.
        parts = (csr.data.astype(np.float64), csr.indices.copy(), csr.indptr.copy())
        csr = sp.csr_array(parts, shape=csr.shape)
        csr.sum_duplicates()
    rows = NamedRows(
        csr.indptr.astype(np.int64, copy=False),
        np.ascontiguousarray(csr.indices[: csr.indptr[-1]], dtype=np.int32),
        float32(csr.data[: csr.indptr[-1]]),
    )
    check_values(rows, names)
    return without_zeros(rows)


def _is_canonical(csr: Any) -> bool:
    """Check whether the columns of each row are ascending and distinct. SciPy's own flag may be stale."""
    rises = np.diff(csr.indices[: csr.indptr[-1]]) > 0
    starts = csr.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < csr.indptr[-1])] - 1] = True
    return bool(rises.all())
