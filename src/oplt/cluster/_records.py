# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Examples in the journal of a sharded model: many in one record, in the form that the core takes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from oplt._typing import FloatArray
from oplt.validation import NamedLabels, NamedRows, Texts, plain_names

__all__ = ["decode_examples", "encode_examples"]

_LIST, _ARRAY, _TEXTS = 0, 1, 2  # how names or texts are written


def encode_examples(rows: NamedRows | Texts, labels: NamedLabels, weights: FloatArray | None) -> bytes:
    """Make the content of a record."""
    x = rows.to_core()
    texts, features = x if isinstance(rows, Texts) and isinstance(x, tuple) else (x, None)
    packed = _packed_texts(texts) if isinstance(rows, Texts) else _packed_features(texts)
    further = None if features is None else _packed_features(features)
    y = [labels.indptr.astype(np.int64).tobytes(), _packed_names(labels.names)]
    return msgspec.msgpack.encode([packed, further, y, None if weights is None else weights.tobytes()])


def decode_examples(content: bytes) -> tuple[Any, Any, Any, FloatArray | None]:
    """Return the arguments of the core: the inputs, the bounds and names of the labels, and the weights."""
    packed, further, (indptr, names), weights = msgspec.msgpack.decode(content)
    x = _texts(packed) if packed[0] == _TEXTS else _features(packed)
    inputs = x if further is None else (x, _features(further))
    w = None if weights is None else np.frombuffer(weights, np.float32)
    return inputs, np.frombuffer(indptr, np.int64), _names(names), w


def _packed_texts(texts: list[str]) -> list[Any]:
    # As bytes, because a text may have lone surrogates, which are not valid in UTF-8.
    return [_TEXTS, [text.encode("utf-8", "surrogatepass") for text in texts]]


def _texts(packed: list[Any]) -> list[str]:
    return [text.decode("utf-8", "surrogatepass") for text in packed[1]]


def _packed_features(features: Any) -> list[Any]:
    indptr, names, values = features
    return [
        _LIST,
        np.asarray(indptr, np.int64).tobytes(),
        _packed_names(names),
        np.asarray(values, np.float32).tobytes(),
    ]


def _features(packed: list[Any]) -> Any:
    _, indptr, names, values = packed
    return np.frombuffer(indptr, np.int64), _names(names), np.frombuffer(values, np.float32)


def _packed_names(names: Any) -> list[Any]:
    if not isinstance(names, list):
        return [_ARRAY, names.astype(np.int32).tobytes()]
    return [_LIST, [str(name) if isinstance(name, str) else name for name in plain_names(names)]]


def _names(packed: list[Any]) -> Any:
    kind, names = packed
    return names if kind == _LIST else np.frombuffer(names, np.int32)
