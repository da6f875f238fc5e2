# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Propensities of labels: the probability that a relevant label is observed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt._typing import Label
from oplt.checks import count
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.validation import check_names, plain_names
from oplt.wording import briefly

__all__ = ["PROPENSITY_PARAMETERS", "Propensities", "propensities"]

PROPENSITY_PARAMETERS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "AmazonCat-13K": (0.55, 1.5),
        "Wiki10-31K": (0.55, 1.5),
        "WikiLSHTC-325K": (0.5, 0.4),
        "Amazon-670K": (0.6, 2.6),
    }
)
"""A and B for the data sets of the paper (its appendix, after Jain et al. 2016); use 0.55 and 1.5 for any other."""


class Propensities(dict[Label, float]):
    """Propensities by label. Any other label has the propensity `unseen`, that of a label that was never observed.

    Examples
    --------
    >>> from oplt.metrics import Propensities
    >>> found = Propensities({"common": 0.9}, unseen=0.2)
    >>> found["common"], found["new"]
    (0.9, 0.2)
    """

    def __init__(self, values: Mapping[Label, float], unseen: float) -> None:
        super().__init__(values)
        self.unseen = unseen

    def __missing__(self, label: Label) -> float:
        return self.unseen


def propensities(
    label_counts: Mapping[Label, int] | npt.ArrayLike, n_examples: int, a: float = 0.55, b: float = 1.5
) -> Propensities:
    """Estimate the propensities of labels by the model of Jain et al. (KDD 2016).

    Where it is relevant, a label that occurs in N_j of N training examples is observed with probability p_j = 1 / (1 +
    C·(N_j + B)^(-A)), where C = (ln N - 1)·(B + 1)^A. Rare labels are missed more often.

    Parameters
    ----------
    label_counts
        Number of training examples of each label, at most `n_examples`: a mapping from labels to counts, or an array of
        counts, in which label i is at index i.
    n_examples
        Number of training examples, at least 3 (so that C is positive).
    a, b
        Parameters A and B of the model, which depend on the data set: see `PROPENSITY_PARAMETERS`.

    Returns
    -------
    The propensities by label. Any other label (such as one that is new in the test set) has the propensity for N_j = 0.

    Examples
    --------
    >>> from oplt.metrics import propensities
    >>> found = propensities({"common": 900, "rare": 1}, n_examples=1000)
    >>> [round(found[label], 3) for label in ("common", "rare", "new")]
    [0.812, 0.145, 0.113]
    """
    n = count("n_examples", n_examples, least=3, most=2**63)
    names, counts = _as_counts(label_counts, n)
    for name, value in {"a": a, "b": b}.items():
        if not (isinstance(value, Real) and 0 < value < math.inf):
            raise InvalidParameterError(
                "parameter-out-of-range", f"{name} must be a number above 0", got=briefly(value)
            )
    c = (math.log(n) - 1) * math.pow(b + 1, a)

    def of(n_occurrences: float) -> float:
        return 1 / (1 + c * math.pow(n_occurrences + b, -a))

    return Propensities(dict(zip(names, map(of, counts.tolist()), strict=True)), unseen=of(0))


def _as_counts(label_counts: Any, n_examples: int) -> tuple[list[Label], npt.NDArray[np.float64]]:
    given = list(label_counts.values()) if isinstance(label_counts, Mapping) else label_counts
    try:
        counts = np.asarray(given)
    except ValueError:  # lists of different lengths
        counts = np.empty(0, dtype=object)
    if counts.ndim != 1 or counts.dtype.kind not in "iuf":
        raise InvalidInputError(
            "counts-not-valid",
            "label_counts must be a mapping from labels to counts, or a 1-D array of them",
            got=briefly(label_counts),
        )
    names = list(label_counts) if isinstance(label_counts, Mapping) else list(range(len(counts)))
    check_names(names, "label")
    bad = ~((counts >= 0) & (counts <= n_examples))
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidInputError(
            "counts-not-valid",
            f"the count of label {names[place]!r} must be from 0 to n_examples={n_examples}",
            got=str(counts[place]),
        )
    return plain_names(names), counts.astype(np.float64)
