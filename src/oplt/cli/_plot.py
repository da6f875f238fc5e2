# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""An ASCII plot of a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["plot"]


def plot(values: Sequence[float], *, width: int = 60, height: int = 8) -> list[str]:
    """Plot values from 0 to 1 over time, from the first to the last.

    Parameters
    ----------
    values
        Values to plot; NaN leaves a gap. If there are more values than columns, each column is the mean of several.
    width, height
        Columns and rows of the plot, without the axis on the left.

    Returns
    -------
    The lines, from top to bottom.

    Examples
    --------
    >>> print("\\n".join(plot([0.0, 0.1, 0.25, 0.3, 0.4], width=5, height=3)))
    0.4 |    *
        |  **
    0.0 |**
    """
    columns = _columns(values, width)
    largest = max((value for value in columns if not math.isnan(value)), default=0.0)
    top = max(math.ceil(largest * 10), 1) / 10
    levels = [-1 if math.isnan(value) else round(value / top * (height - 1)) for value in columns]
    rows = ["".join("*" if level == row else " " for level in levels).rstrip() for row in reversed(range(height))]
    scales = {0: f"{top:.1f}", height - 1: "0.0"}
    return [f"{scales.get(i, ''):3} |{row}" for i, row in enumerate(rows)]


def _columns(values: Sequence[float], width: int) -> list[float]:
    n_columns = min(width, len(values))
    bounds = [round(i * len(values) / n_columns) for i in range(n_columns + 1)] if n_columns else []
    parts = [values[begin:end] for begin, end in pairwise(bounds)]
    return [sum(part) / len(part) for part in parts]
