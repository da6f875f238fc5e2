# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a message says, and what is published about it. A message is an object of JSON, as a line of a JSONL file.

With an input and labels, it is an example. With an input and an id, but without labels, it asks for a prediction, and
labels may come later. With an id and labels, but without an input, it brings these labels.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.files import Columns
from oplt.files._examples import Example, as_features, as_text_with, fields_of
from oplt.files._json import object_of
from oplt.files._jsonl import from_fields
from oplt.streams._interface import Message, Output
from oplt.validation import holds_text
from oplt.wording import briefly

__all__ = ["Id", "Parsed", "Parser", "dead_letter", "prediction"]

_LONGEST_SHOWN = 1 << 16  # characters or bytes of a refused message

Id = str | int


@dataclass(frozen=True)
class Parsed:
    """A message: its fields, and what it has."""

    fields: dict[str, Any]
    id: Id | None
    has_input: bool
    has_labels: bool


class Parser:
    """Reads messages for a model.

    Parameters
    ----------
    columns
        The names of the fields.
    texts
        Whether the model takes texts.
    """

    def __init__(self, columns: Columns, *, texts: bool) -> None:
        self._columns = columns
        self._without_labels = replace(columns, labels=None)
        self._texts = texts
        self._inputs = {name.casefold() for name in columns.inputs}
        self._labels = {name.casefold() for name in columns.label_names}

    def parse(self, body: bytes) -> Parsed:
        """Read the fields of a message, and check that it is of one of the three kinds."""
        fields = object_of(body)
        if fields is None:
            raise InvalidInputError("not-json", "the message is empty")
        names = {name.casefold() for name in fields}
        has_input, has_labels = not names.isdisjoint(self._inputs), not names.isdisjoint(self._labels)
        given = _id(fields.get("id"))
        if given is None and not (has_input or has_labels):
            self.example(fields)  # says which names are expected
        if not (has_input or has_labels):
            raise InvalidInputError(
                "text-missing", "there is neither an input nor labels for an earlier one", got=fields_of(fields)
            )
        if given is None and not has_labels:
            what = "there are no labels, and no 'id' by which they could come later"
            raise InvalidInputError("labels-missing", what, got=fields_of(fields))
        if given is None and not has_input:
            what = "there is no input, and no 'id' of an earlier message that the labels are for"
            raise InvalidInputError("text-missing", what, got=fields_of(fields))
        return Parsed(fields, given, has_input, has_labels)

    def example(self, fields: dict[str, Any]) -> Example:
        """Make an example to learn from."""
        return self._checked(fields, self._columns)

    def x(self, fields: dict[str, Any]) -> Any:
        """Make an input to predict labels for."""
        return self._checked(fields, self._without_labels).x

    def _checked(self, fields: dict[str, Any], columns: Columns) -> Example:
        given, text = fields.get("features"), fields.get("text")
        if self._texts and isinstance(given, (dict, list)) and isinstance(text, str) and columns.features == "features":
            rest = {name: value for name, value in fields.items() if name != "features"}
            features = as_features(given) if isinstance(given, list) else given
            example = from_fields(rest, columns, 0)._replace(x=as_text_with(text, features))
        else:
            example = from_fields(fields, columns, 0)
        if holds_text(example.x) != self._texts:
            own, other = ("texts", "features") if self._texts else ("features", "a text")
            raise InvalidInputError("model-takes-others", f"the model takes {own}, but the message has {other}")
        return example


def _id(given: Any) -> Id | None:
    if given is None or (isinstance(given, Id) and not isinstance(given, bool)):
        return given
    raise InvalidInputError("id-not-valid", "'id' must be a string or an integer", got=briefly(given))


def prediction(source: str, message: Message, given: Id | None, found: Sequence[tuple[Label, float]]) -> Output:
    """Make the message that publishes a prediction."""
    values = {
        "stream": source,
        "position": message.position,
        "id": given,
        "labels": [label for label, _ in found],
        "probabilities": [probability for _, probability in found],
    }
    return _output(source, message, values)


def dead_letter(source: str, message: Message, error: InvalidInputError) -> Output:
    """Make the message that says why another one was refused, with its content (in base 64 if it is not UTF-8).

    The content is cut if it is long, because a broker refuses messages beyond some size, and this one is longer.
    """
    content: dict[str, Any]
    try:
        content = {"message": message.body.decode()[:_LONGEST_SHOWN]}
    except UnicodeDecodeError:
        content = {"message_base64": base64.b64encode(message.body[:_LONGEST_SHOWN]).decode()}
    if len(message.body) > _LONGEST_SHOWN:
        content["message_bytes"] = len(message.body)
    values = {"stream": source, "position": message.position, "code": error.code, "reason": str(error), **content}
    return _output(source, message, values)


def _output(source: str, message: Message, values: dict[str, Any]) -> Output:
    return Output(
        message.position,
        json.dumps(values, ensure_ascii=False).encode(errors="backslashreplace"),
        f"{source}/{message.position}",
    )
