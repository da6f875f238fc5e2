# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The body of a request, and what is wrong with it, in words for users instead of those of the parser."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from oplt.errors import InvalidInputError
from oplt.service.examples import Example, Input
from oplt.service.structs import Learn, Predict
from oplt.wording import number_of

__all__ = ["UNKNOWN", "explained", "parsed"]

_Body = TypeVar("_Body")

_ITEMS: dict[Any, type] = {Learn: Example, Predict: Input}  # what their field `examples` holds
UNKNOWN = object()  # the received value, if the parser does not say which one it was
_LONGEST = 60  # characters of a received value or name that are shown
_KINDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_UNITS = {"array": "item", "str": "character"}

_MALFORMED = "JSON is malformed: "
_NO_CHOICE = "Invalid enum value "
_PLACED = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_STEPS = re.compile(r"(\w+)|\[(\d+|\.\.\.)\]")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*)`")
_MISSING_FIELD = re.compile(r"Object missing required field `(.*)`")
_KIND = re.compile(r"Expected `([a-z |]+)`(?:, got `(\w+)`)?")
_LIMIT = re.compile(r"Expected `(\w+)` (of length )?(?:(<=|>=|<|>) )?([\d.]+)")


def parsed(decoder: msgspec.json.Decoder[_Body], body: bytes, whole: str = "the body") -> _Body:
    """Parse a body, or a part of it, which errors call `whole`.

    Raises
    ------
    InvalidInputError
        If it is not JSON, or not what the decoder expects.
    """
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInputError("request-not-valid", _told(str(error), decoder.type, body, whole)) from None


def _told(message: str, wanted: Any, body: bytes, whole: str) -> str:
    if not body.strip():
        return explained("", wanted)
    try:
        sent = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        sent = UNKNOWN
    return explained(message, wanted, sent, whole)


def explained(message: str, wanted: Any, sent: Any = UNKNOWN, whole: str = "the body") -> str:
    """Reword a message of msgspec.

    Parameters
    ----------
    message
        The message; an empty one if the body is empty.
    wanted
        The struct that the body must be; None if there is none.
    sent
        What was received, if it could be parsed as JSON.
    whole
        What it is a message about.
    """
    if not message:
        return f"{whole} is empty. Send a JSON object with {_listed(_fields(wanted, ''))}"
    if message == "Input data was truncated":
        return f"{whole} is not complete JSON"
    if message.startswith(_MALFORMED):
        return f"{whole} is not valid JSON: {message.removeprefix(_MALFORMED)}"
    what, place = _PLACED.fullmatch(message).groups(default="")  # type: ignore[union-attr]  # it matches everything
    where = f"`{place}`" if place else whole
    value = _at(sent, place)
    if unknown := _UNKNOWN_FIELD.fullmatch(what):
        inside = f" in {where}" if place else ""
        field = unknown[1][:_LONGEST]
        return f"there is no field `{field}`{inside}{_advice(field, _fields(wanted, place), value)}"
    return _about(what, where, value)


def _about(what: str, where: str, value: Any) -> str:
    """Reword a message about a value."""
    if missing := _MISSING_FIELD.fullmatch(what):
        return f"{where} lacks the field `{missing[1]}`"
    if limit := _LIMIT.fullmatch(what):
        return f"{where} must {_limited(*limit.groups())}{_got(value)}"
    if (kind := _KIND.fullmatch(what)) and (words := _kinds(kind[1])):
        return f"{where} must be {words}{_got(value) or _got_kind(kind[2])}"
    if what.startswith(_NO_CHOICE):
        received = what.removeprefix(_NO_CHOICE)
        return f"{where} must be one of the values that GET /openapi/openapi.json lists, got {received}"
    return f"{where} is not valid: {what}" if where.startswith("`") else what


def _kinds(names: str) -> str:
    known = [_KINDS.get(name) for name in names.split(" | ") if name != "null"]
    return " or ".join(filter(None, known)) if all(known) else ""


def _limited(kind: str, length: str | None, sign: str | None, limit: str) -> str:
    bound = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}.get(sign or "", "exactly")
    if length is None:
        return f"be {_KINDS.get(kind, kind)} of {bound} {limit}"
    return f"have {bound} {number_of(int(limit), _UNITS.get(kind, 'item'))}"


def _advice(field: str, fields: list[str], value: Any) -> str:
    """Suggest the field that was meant, or what to do with the columns of a table."""
    near = get_close_matches(field.lower(), fields, n=1)
    meant = f"; did you mean `{near[0]}`?" if near else "."
    is_row = not near and "text" in fields and isinstance(value, dict) and {"text", "features"}.isdisjoint(value)
    columns = ". A text goes into `text`: join several columns with a blank" if is_row else ""
    return f"{meant} Use {_listed(fields)}{columns}"


def _fields(wanted: Any, place: str) -> list[str]:
    struct = _ITEMS.get(wanted, wanted) if place.startswith("examples[") else wanted
    return [field.name for field in msgspec.structs.fields(struct)]


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"the fields {', '.join(quoted[:-1])} and {quoted[-1]}" if len(quoted) > 1 else f"the field {quoted[0]}"


def _at(sent: Any, place: str) -> Any:
    """Return the value at a place such as `examples[1].k`."""
    for name, index in _STEPS.findall(place):
        try:
            sent = sent[name] if name else sent[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):  # the parser calls a value of an object [...]
            return UNKNOWN
    return sent


def _got(value: Any) -> str:
    if value is UNKNOWN:
        return ""
    text = msgspec.json.encode(value).decode()
    return f", got {text if len(text) <= _LONGEST else f'{text[: _LONGEST - 3]}...'}"


def _got_kind(name: str | None) -> str:
    return f", got {_KINDS.get(name, name)}" if name else ""
