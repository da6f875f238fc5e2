# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The fast decoder of JSON gives what Python's gives, and leaves to it what it would read differently."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import InvalidInputError
from oplt.files import _json

REFUSED_OR_READ = [
    b'{"text": "a", "labels": ["x"]}\r\n',
    b'{"text" \t: "a", "labels":["x"] } ',
    b'{"text": "a", "text" : "b"}',
    b'{"text": "a", "t\\u0065xt": "b"}',
    b'{"features": {"a": 1, "a": 2}}',
    b'{"features": {"a": 1}, "other": {"a": {"b": 1, "b": 2}}}',
    b'{"other": [{"a": 1, "a": 2}]}',
    b'{"text": "a quoted \\"name\\": a value", "text": "b"}',
    b'{"text": "a quoted \\"name\\": a value"}',
    b'{"text": "\\\\", "a": "\\\\\\":"}',
    b'{"a": NaN, "b": [Infinity, -Infinity]}',
    b'{"a": 1e999, "b": 1e-999, "c": -0, "d": -0.0, "e": 0.1, "f": 1E5}',
    b'{"a": 12345678901234567890123, "b": -9223372036854775809, "c": 12345678901234567890123.5}',
    b'{"a": ' + b"1" * 5000 + b"}",
    b'{"a": "\\ud800", "b": "\\ud83d\\ude00", "c": "\\udc00\\ud800"}',
    b'{"a": "\x01"}',
    b'{"a": "\xff"}',
    b'{"a": "\xed\xa0\x80"}',
    b'{"a": "\xe2\x80\xa8\x7f\\u0000\\/"}',
    b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b"[1]",
    b"{}",
    b"null",
    b" \t\n",
    b"\xc2\xa0\n",
    b"",
    b'{"a": 1} {"b": 2}',
    b'{"a": 01}',
    b'{"a": 1,}',
    b"{'a': 1}",
    b'\xef\xbb\xbf{"a": 1}',
]


def outcome(decode: Any, line: bytes) -> str:
    try:
        return repr(decode(line))  # tells 1 from 1.0 and True, and NaN is equal to itself
    except InvalidInputError as error:
        return f"{error.code}: {error}"


@pytest.mark.parametrize("line", REFUSED_OR_READ, ids=lambda line: repr(line[:40]))
def test_both_decoders_agree(line: bytes) -> None:
    assert outcome(_json.object_of, line) == outcome(_json._slowly, line)


PIECES = ['"a"', '"b"', '"\\":"', '"\\\\"', ":", " :", ",", "{", "}", "[", "]", "1", "1.5", "NaN", " ", '"', "\\", "é"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_both_decoders_agree_on_anything(text: str) -> None:
    for line in (text.encode(), b'{"a": ' + text.encode() + b"}", b"{" + text.encode() + b"}"):
        assert outcome(_json.object_of, line) == outcome(_json._slowly, line)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values), st.booleans())
def test_both_decoders_agree_on_objects(fields: dict[str, Any], ascii_only: bool) -> None:  # noqa: FBT001
    line = _json.json.dumps(fields, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert outcome(_json.object_of, line) == outcome(_json._slowly, line)
