# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The Vowpal Wabbit format: `labels weight 'tag|namespace:scale name:value name ... |namespace ...`.

Multi-label examples `1,2` and simple labels `1` are read; labels with costs are rejected. A name that is a whole number
is an integer, as in Vowpal Wabbit. A feature in a namespace is called `namespace^name`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oplt._typing import Label, Name
from oplt.errors import InvalidInputError
from oplt.files._examples import Columns, Example, Problems, as_features, as_name, as_number, as_written_weight
from oplt.wording import briefly

__all__ = ["examples", "line"]

_BLANKS = " \t\v\f\r\n"
_WORD = re.compile(f"[^{_BLANKS}]+")
_COST = re.compile(r"[0-9]+(:[-+.0-9eE]*){1,2}")  # of a class, and its probability
_NO_FEATURE = re.compile(f"[{_BLANKS}|:]")
_NO_LABEL = re.compile(f"^'|[{_BLANKS}|,]|^{_COST.pattern}$")


def examples(lines: Iterator[tuple[int, str]], _columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples; blank lines are ignored."""
    for number, text in lines:
        if not text.strip(_BLANKS):
            continue
        try:
            yield _parsed(text, number)
        except InvalidInputError as error:
            problems.bad(number, error)


def _parsed(text: str, number: int) -> Example:
    head, *namespaces = text.split("|")
    if not namespaces:
        raise InvalidInputError("not-vw", "the line has no '|' between labels and features")
    labels, weight = _head(head)
    features: dict[Name, float] = {}
    for namespace in namespaces:
        _add(features, namespace)
    return Example(as_features(features), labels, weight, number)


def _head(head: str) -> tuple[list[Label], float]:
    words = _WORD.findall(head)
    if words and (words[-1].startswith("'") or head[-1] not in _BLANKS):
        tag = words.pop()
        if not words and not tag.startswith("'"):
            raise InvalidInputError(
                "not-vw",
                f"{tag!r} is a tag, because it touches the '|'",
                hint="Put a space between labels and '|'.",
            )
    if len(words) > 2:
        raise InvalidInputError("not-vw", "only labels and a weight may precede the '|'", got=briefly(" ".join(words)))
    labels = words[0].split(",") if words else []
    bad = next((label for label in labels if not label or _COST.fullmatch(label)), None)
    if bad is not None:
        what = (
            f"labels with costs, such as {bad!r}, are not supported" if bad else "the labels have a superfluous comma"
        )
        raise InvalidInputError("not-vw", what, hint="Labels are written 1,2.")
    return [as_name(label) for label in labels], as_written_weight(words[1]) if len(words) == 2 else 1.0


def _add(features: dict[Name, float], namespace: str) -> None:
    """Add the features of a namespace; duplicates are summed, as in Vowpal Wabbit."""
    words = _WORD.findall(namespace)
    prefix, scale = "", 1.0
    if words and namespace[0] not in _BLANKS:
        prefix, scale = _pair(words.pop(0))
        prefix += "^"
    for word in words:
        text, value = _pair(word)
        name = prefix + text if prefix else as_name(text)
        features[name] = features.get(name, 0.0) + scale * value


def _pair(word: str) -> tuple[str, float]:
    name, colon, value = word.rpartition(":")
    if not colon:
        return word, 1.0
    try:
        number = as_number(value)
    except ValueError:
        number = float("nan")
    if not name or number != number:  # noqa: PLR0124 (so it is not a number)
        raise InvalidInputError(
            "not-vw", "a feature must be written as name or name:value, where the value is a number", got=briefly(word)
        )
    return name, number


def line(example: Example) -> str:
    """Write an example, with all features in the unnamed namespace."""
    if isinstance(example.x, str):
        raise InvalidInputError("not-writable", "Vowpal Wabbit lines hold features, but the example has a text")
    labels = [
        _written(label, _NO_LABEL, "a label cannot contain a blank, '|', a comma or a cost") for label in example.labels
    ]
    weight = f" {example.weight!r}" if example.weight != 1 else ""
    if weight and not labels:
        what = "an example without labels cannot have a weight"
        raise InvalidInputError("not-writable", what, got=f"the weight {example.weight}")
    what = "the name of a feature cannot contain a blank, '|' or ':'"
    features = [f" {_written(name, _NO_FEATURE, what)}:{value + 0!r}" for name, value in example.x.items()]
    return f"{','.join(labels)}{weight} |{''.join(features)}"


def _written(name: Name, unwritable: re.Pattern[str], what: str) -> str:
    text = str(name)
    if unwritable.search(text):
        raise InvalidInputError("not-writable", f"in Vowpal Wabbit lines, {what}", got=briefly(text))
    return text
