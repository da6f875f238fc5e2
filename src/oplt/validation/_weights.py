# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Weights of examples."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from oplt import _core, frames
from oplt._typing import FloatArray
from oplt.errors import InvalidInputError
from oplt.validation._names import row_of
from oplt.validation._values import as_given, as_parsed, float32
from oplt.wording import briefly

__all__ = ["as_weight", "as_weights"]

_LARGEST_WEIGHT = _core.LARGEST_WEIGHT


def as_weight(weight: Any) -> float:
    """Validate the weight of one example."""
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not is_number or not 0 < weight <= _LARGEST_WEIGHT or not np.float32(weight) > 0:
        raise _bad_weight(as_parsed(weight))
    return float(weight)


def as_weights(weights: Any, n_rows: int) -> FloatArray | None:
    """Validate weights, one for each example, or None."""
    if weights is None:
        return None
    given = np.asarray(frames.as_values(weights, "weights") if frames.is_frame(weights) else weights)
    if given.ndim != 1 or len(given) != n_rows or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            "rows-and-weights-differ",
            f"weights must be {n_rows} numbers, one for each row of X",
            got=briefly(weights),
        )
    checked = float32(given)
    bad = ~((checked > 0) & (checked <= _LARGEST_WEIGHT))
    if bad.any():
        row = int(np.argmax(bad))
        raise _bad_weight(as_given(checked[row]), row_of("weights", row))
    return checked


def _bad_weight(got: str, where: str | None = None) -> InvalidInputError:
    return InvalidInputError(
        "weight-out-of-range",
        f"the weight must be a number above 0 and at most {_LARGEST_WEIGHT:g}",
        where=where,
        got=got,
        hint="To ignore an example, omit it.",
    )
