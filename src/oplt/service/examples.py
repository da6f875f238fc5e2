# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Examples as requests and the journal hold them, and how they become rows for the model.

Everything that can be wrong with an example is found here, before it enters the journal, by checks that do not depend
on the state of the model. So every record of the journal can be learned, now and in every replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from oplt import _core
from oplt._typing import FloatArray
from oplt.errors import InvalidInputError
from oplt.validation import TEXT, NamedLabels, NamedRows, Texts, as_inputs, as_labels, as_weights

__all__ = ["Example", "ExampleKey", "Features", "Input", "Rows", "as_rows", "as_x", "check", "decode", "encode"]

Name: TypeAlias = str | int
Features: TypeAlias = dict[str, float] | list[tuple[Name, float]]
ExampleKey: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Input(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What labels are predicted for: a text, features, or both.

    Features are an object of names and values, or pairs [name, value], whose names may also be integers.
    """

    text: str | None = None
    features: Features | None = None


class Example(Input, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """An example to learn. `labels` may be empty. `key` is its idempotency key."""

    labels: list[Name]
    weight: float = 1.0
    key: ExampleKey | None = None


class Rows:
    """Validated examples: what `OnlineLearner` hands to the core."""

    def __init__(self, inputs: NamedRows | Texts, labels: NamedLabels, weights: FloatArray | None) -> None:
        self.inputs = inputs
        self.labels = labels
        self.weights = weights


def as_x(one: Input, *, texts: bool, where: str) -> Any:
    """Return the x of an example, as `learn_one` and `predict_one` take it."""
    if one.text is None and one.features is None:
        raise InvalidInputError("text-missing", "there is neither 'text' nor 'features'", where=where)
    features = one.features
    if isinstance(features, list):
        pairs = features
        features = dict(pairs)  # type: ignore[arg-type]  # names may be integers here
        if len(features) < len(pairs):
            raise InvalidInputError("feature-twice", "a feature occurs twice", where=where)
    if texts:
        return _text_with(one, features, where)
    if one.text is not None:
        raise InvalidInputError(
            "model-takes-others",
            "the model takes features, but the example is a text",
            where=where,
            hint='Send {"features": {"name": 1.0}}.',
        )
    return features


def _text_with(one: Input, features: dict[str, float] | None, where: str) -> Any:
    if one.text is None:
        raise InvalidInputError(
            "model-takes-others",
            "the model takes texts, but the example has only features",
            where=where,
            hint='Send {"text": "..."}; features beside it are optional.',
        )
    if not features:
        return one.text
    if TEXT in features:
        raise InvalidInputError("feature-twice", "a feature beside a text cannot be called 'text'", where=where)
    return {TEXT: one.text, **features}


def as_inputs_of(examples: Sequence[Input], *, texts: bool) -> list[Any]:
    """Return the x of each example."""
    return [as_x(one, texts=texts, where=f"example {i}") for i, one in enumerate(examples)]


def as_rows(examples: Sequence[Example], *, texts: bool, pattern: Any = None) -> Rows:
    """Validate examples."""
    inputs = as_inputs(as_inputs_of(examples, texts=texts), texts=texts, pattern=pattern)
    labels = as_labels([one.labels for one in examples], len(examples))
    weights = None
    if any(one.weight != 1 for one in examples):
        weights = as_weights(np.array([one.weight for one in examples], dtype=np.float64), len(examples))
    return Rows(inputs, labels, weights)


def check(examples: Sequence[Example], *, texts: bool) -> None:
    """Raise an error if an example is not valid."""
    for i, one in enumerate(examples):
        x = as_x(one, texts=texts, where=f"example {i}")
        if not _core.is_usual(x, one.labels, one.weight, texts):  # or not as usual: looking closely takes longer
            as_rows(examples, texts=texts)
            return


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Example)


def encode(example: Example) -> bytes:
    """Make the content of a journal record. The key has a field of its own."""
    if example.key is None:
        return _ENCODER.encode(example)
    return _ENCODER.encode(msgspec.structs.replace(example, key=None))


def decode(content: bytes) -> Example:
    """Read the content of a journal record."""
    return _DECODER.decode(content)
