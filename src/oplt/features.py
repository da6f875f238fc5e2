# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Combining features from several sources, such as words and an embedding."""

from __future__ import annotations

import numpy as np

from oplt._typing import Rows
from oplt.errors import InvalidInputError
from oplt.validation import NamedRows, as_rows, listed

__all__ = ["join"]


def join(*parts: Rows, **named: Rows) -> NamedRows:
    """Concatenate the features of the same examples, for `learn_many`, `predict_many` and other methods.

    Parameters
    ----------
    *parts
        Features whose names stay as they are: mappings, a sparse or 2-D NumPy matrix, or a frame.
    **named
        Features whose names get a prefix: column 3 of ``image=matrix`` is called ``"image:3"``. So the columns of two
        matrices do not clash, and their names do not depend on the number of columns of each.

    Returns
    -------
    Rows that hold all features. Values of a feature that occurs twice are summed.

    Notes
    -----
    The setting `normalize`, which is on by default, scales each example as a whole. Scale the parts first, so that each
    is weighted as intended; scaling each row of each part to norm 1 is a good start.

    Examples
    --------
    >>> import numpy as np
    >>> from oplt import OnlinePLT
    >>> words = [{"purrs": 1.0}, {"barks": 1.0}]
    >>> images = np.array([[0.1, 0.9], [0.8, 0.2]])
    >>> model = OnlinePLT()
    >>> model.learn_many(join(words, image=images), ["cat", "dog"])
    >>> model.predict_one({"barks": 1.0, "image:0": 0.8, "image:1": 0.2}, k=1)[0][0]
    'dog'
    """
    rows = [as_rows(part) for part in parts]
    rows += [_prefixed(as_rows(part), prefix) for prefix, part in named.items()]
    lengths = {len(part) for part in rows}
    if len(lengths) != 1:
        raise InvalidInputError(
            "parts-differ-in-rows",
            "parts to join must have the same number of rows",
            got=", ".join(str(len(part)) for part in rows) or "none",
        )
    return _merged(rows)


def _prefixed(rows: NamedRows, prefix: str) -> NamedRows:
    names = rows.names
    if isinstance(names, list):
        return NamedRows(rows.indptr, [f"{prefix}:{name}" for name in names], rows.values)
    distinct, places = np.unique(names, return_inverse=True)
    texts = [f"{prefix}:{name}" for name in distinct.tolist()]
    return NamedRows(rows.indptr, [texts[place] for place in places.tolist()], rows.values)


def _merged(parts: list[NamedRows]) -> NamedRows:
    """Sort all entries by row; entries of the same row stay in the order of the parts."""
    lengths = [np.diff(part.indptr) for part in parts]
    rows = np.concatenate([np.repeat(np.arange(len(part)), own) for part, own in zip(parts, lengths, strict=True)])
    order = np.argsort(rows, kind="stable")
    names = [name for part in parts for name in listed(part.names)]
    values = np.concatenate([part.values for part in parts])
    indptr = np.concatenate(([0], np.cumsum(np.sum(lengths, axis=0)))).astype(np.int64)
    return NamedRows(indptr, [names[i] for i in order.tolist()], values[order])
