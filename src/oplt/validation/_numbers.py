# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Numbers of examples."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from oplt.errors import InvalidInputError
from oplt.wording import briefly

__all__ = ["as_numbers"]


def as_numbers(numbers: int | Iterable[int], n_examples: int) -> npt.NDArray[np.uint64]:
    """Validate the numbers of examples; return the distinct ones, ascending."""
    try:
        given = [numbers] if isinstance(numbers, int) else list(numbers)
    except TypeError:
        raise _no_number(numbers) from None
    for number in given:
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise _no_number(number)
        if not 0 <= operator.index(number) < n_examples:
            counted = f"from 0 to {n_examples - 1:,}" if n_examples else "none, since the model has learned no examples"
            raise InvalidInputError(
                "no-such-example", f"the numbers of the examples are {counted}", where="numbers", got=str(number)
            )
    return np.unique(np.array([operator.index(number) for number in given], dtype=np.uint64))


def _no_number(got: object) -> InvalidInputError:
    return InvalidInputError(
        "no-such-example",
        "the number of an example must be an integer",
        where="numbers",
        got=briefly(got),
        hint="Examples are counted from 0, in the order in which they were learned.",
    )
