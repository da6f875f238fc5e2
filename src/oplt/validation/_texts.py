# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts of examples, with optional further features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from oplt import frames
from oplt.errors import InvalidInputError
from oplt.validation._containers import Texts
from oplt.validation._features import frame_rows, mapping_rows
from oplt.validation._names import MANY_OR_ONE, row_of
from oplt.wording import briefly

__all__ = ["TEXT", "as_text", "as_texts", "further_features", "holds_text"]

_TAKES_FEATURES = "To train on features instead of texts, create the model without features=."
TEXT = "text"  # the name of the text in an example that has further features


def as_text(x: Any) -> Texts:
    """Validate the text of one example: a string, or a mapping with a text and further features."""
    if isinstance(x, Mapping) and holds_text(x):
        return _texts_with_further([x], None)
    if not isinstance(x, str):
        raise _no_text("x", x)
    return Texts([x])


def as_texts(X: Any) -> Texts:  # noqa: N803 (for as_rows it is a matrix)
    """Validate the texts of many examples: any iterable of strings, or a column of a frame.

    Texts may have further features: mappings with a text, or a frame with a column of texts and other columns.
    """
    if isinstance(X, (str, bytes, Mapping)):
        raise InvalidInputError(
            "one-example-for-many", "X must hold many texts", got=f"one {type(X).__name__}", hint=MANY_OR_ONE
        )
    if sp.issparse(X) or not (isinstance(X, Iterable) or frames.is_frame(X)):
        raise InvalidInputError(
            "rows-not-valid", "X must be a list of texts", got=type(X).__name__, hint=_TAKES_FEATURES
        )
    if frames.is_frame(X) and not frames.is_column(X, "X") and (parts := frames.apart(X, TEXT, "X")):
        return replace(as_texts(parts[0]), further=frame_rows(parts[1]))
    texts = frames.as_values(X, "X") if frames.is_frame(X) else list(X)
    if not set(map(type, texts)) <= {str}:
        if any(isinstance(text, Mapping) for text in texts):
            return _texts_with_further(texts)
        bad = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
        if bad is not None:
            raise _no_text(row_of("X", bad), texts[bad])
    return Texts(texts)


def holds_text(x: Any) -> bool:
    """Check whether an example is a text, or a mapping that has one, rather than features."""
    return isinstance(x, str) or (isinstance(x, Mapping) and isinstance(x.get(TEXT), str))


def further_features(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """Make features of the further fields of a text: a string is a category, a list has a feature for each position."""
    found: dict[Any, Any] = {}
    for name, value in row.items():
        if isinstance(value, str) and name != TEXT:
            found[f"{name}={value}"] = 1.0
        elif isinstance(value, (list, tuple, np.ndarray)):
            found.update({f"{name}[{place}]": one for place, one in enumerate(value)})
        elif name != TEXT and value is not None:
            found[name] = value
    return found


def _texts_with_further(rows: list[Any], what: str | None = "X") -> Texts:
    """Split mappings into texts and further features; some rows may be plain texts."""
    texts: list[str] = []
    others: list[dict[Any, Any]] = []
    for i, row in enumerate(rows):
        if not holds_text(row):
            raise _no_text(row_of(what, i) if what else "x", row)
        texts.append(row if isinstance(row, str) else row[TEXT])
        others.append({} if isinstance(row, str) else further_features(row))
    return Texts(texts, further=mapping_rows(others, what))


def _no_text(what: str, got: Any) -> InvalidInputError:
    hint = _TAKES_FEATURES
    if isinstance(got, Mapping):
        hint = f'With further features, the key of the text is "text": {{"text": "...", "year": 1.0}}. {hint}'
    return InvalidInputError("not-a-text", f"{what} must be a text (str)", got=briefly(got), hint=hint)
