# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Numbers of examples."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from oplt.errors import InvalidInputError
from oplt.wording import briefly

__all__ = ["as_numbers"]


def as_numbers(numbers: int | Iterable[int], n_examples: int) -> npt.NDArray[np.uint64]:
    """Validate the numbers of examples; return the distinct ones, ascending."""
    try:
        given: list[Any] = [numbers] if _is_integer(numbers) else list(cast("Iterable[int]", numbers))
    except TypeError:
        raise _no_number(numbers) from None
    for number in given:
        if not _is_integer(number):
            raise _no_number(number)
        if not 0 <= operator.index(number) < n_examples:
            counted = f"from 0 to {n_examples - 1:,}" if n_examples else "none, since the model has learned no examples"
            raise InvalidInputError(
                "no-such-example", f"the numbers of the examples are {counted}", where="numbers", got=str(number)
            )
    return np.unique(np.array([operator.index(number) for number in given], dtype=np.uint64))


def _is_integer(number: Any) -> bool:
    try:
        operator.index(number)
    except TypeError:
        return False
    return not isinstance(number, bool)


def _no_number(got: object) -> InvalidInputError:
    return InvalidInputError(
        "no-such-example",
        "the number of an example must be an integer",
        where="numbers",
        got=briefly(got),
        hint="Examples are counted from 0, in the order in which they were learned.",
    )
