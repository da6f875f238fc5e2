# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How files are written, and converted from one format to another."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import InvalidInputError, InvalidParameterError, files

JSON = b'{"text": "a", "label": "x"}\n{"text": "\xc3\xa9", "label": "y"}\n'
EXAMPLES = [("a", ["x"], 1.0), ("é", ["y"], 1.0)]


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_written_files_are_compressed_as_their_names_say(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    assert files.write(EXAMPLES, path) == 2
    assert path.read_bytes().startswith(b"{") is (suffix == "")
    assert list(files.read(path).examples()) == EXAMPLES
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_conversion_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "a.fasttext"
    source.write_bytes(JSON + b"?\n")
    target.write_text("old")
    with pytest.raises(InvalidInputError, match="a.jsonl, line 3: not JSON"):
        files.convert(source, target)
    assert target.read_text() == "old"
    assert files.convert(source, target, on_error="skip")[:2] == (2, 1)
    assert target.read_text() == "__label__x a\n__label__y é\n"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("xmlc", "3 10 6\n0,5 1:0.5 9:1.0\n 3:0.1\n2\n"),
        ("vw", "0,5 | 1:0.5 9:1.0\n | 3:0.1\n2 |\n"),
        ("jsonl", '{"features": [[1, 0.5], [9, 1.0]], "labels": [0, 5]}\n{"features": [[3, 0.1]], "labels": []}\n'
                  '{"features": {}, "labels": [2]}\n'),
    ],
)  # fmt: skip
def test_features_are_converted(to: str, expected: str) -> None:
    target = io.BytesIO()
    done = files.convert(io.BytesIO(b"3 10 6\n0,5 1:0.5 9:1\n 3:0.1\n2\n"), target, to_format=to)
    assert target.getvalue().decode() == expected
    assert done == (3, 0, [])


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("csv", 'text,labels,weight\n"a, ""b""\nc",x;7,0.5\n'),
        ("tsv", 'text\tlabels\tweight\n"a, ""b""\nc"\tx;7\t0.5\n'),
        ("jsonl", '{"text": "a, \\"b\\"\\nc", "labels": ["x", 7], "weight": 0.5}\n'),
    ],
)
def test_texts_are_written(to: str, expected: str) -> None:
    target = io.BytesIO()
    assert files.write([('a, "b"\nc', ("x", 7), 0.5)], target, format=to) == 1
    assert target.getvalue().decode() == expected


@pytest.mark.parametrize(
    ("to", "example", "reason"),
    [
        ("xmlc", ("a", []), "XMLC lines hold features, but the example has a text"),
        ("xmlc", ({"a": 1}, []), "names in XMLC lines must be whole numbers from 0 to 2147483647, got the feature 'a'"),
        ("xmlc", ({1: 1}, [-1]), "names in XMLC lines must be whole numbers from 0 to 2147483647, got the label -1"),
        ("xmlc", ({1: 1}, [], 0.5), "the stream, example 1: XMLC lines have no weights, got the weight 0.5"),
        ("vw", ("a", []), "Vowpal Wabbit lines hold features, but the example has a text"),
        ("vw", ({"a b": 1}, []), "the name of a feature cannot contain a blank, '|' or ':', got 'a b'"),
        ("vw", ({"a": 1}, ["1:2"]), "a label cannot contain a blank, '|', a comma or a cost, got '1:2'"),
        ("vw", ({"a": 1}, ["1:2:.5"]), "a label cannot contain a blank, '|', a comma or a cost, got '1:2:.5'"),
        ("vw", ({"a": 1}, [], 2.0), "an example without labels cannot have a weight"),
        ("fasttext", ({"a": 1}, []), "fastText lines hold texts, but the example has features"),
        ("fasttext", ("a", ["b c"]), "a fastText label cannot contain whitespace, got 'b c'"),
        ("fasttext", ("a __label__b", []), "the text has a word that begins with '__label__'"),
        (
            "fasttext",
            (" \n", []),
            "an example without labels and text cannot be written, because fastText ignores blank lines",
        ),
        ("fasttext", ("a", [], 2), "fastText lines have no weights"),
        ("csv", ({"a": 1}, []), "CSV and TSV hold texts, but the example has features"),
        ("csv", ("a", ["b;c"]), "a label cannot contain the separator ';' or begin or end with a blank, got 'b;c'"),
        ("jsonl", ("\ud800", []), "unpaired surrogate"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(to: str, example: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(InvalidInputError, match="the stream, example 1: ") as caught:
        files.write([example], io.BytesIO(), format=to)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ("text", r"example 1: an example must be \(x, labels\), \(x, labels, weight\) or a Batch, got 'text'"),
        (("a", None), "example 1: label 0 must be a non-empty string or an integer, got None"),
        (("a", 1.5), "example 1: label 0 must be a non-empty string or an integer, got 1.5"),
        (("a", b"xy"), "example 1: label 0 must be a non-empty string or an integer, got b'xy'"),
        (("a", {"x": 1}), r"example 1: label 0 must be a non-empty string or an integer, got \{'x': 1\}"),
        ((None, []), "example 1: x must be a text or a mapping from feature names to values, got None"),
        (([1, 2], []), "example 1: x must be a text or a mapping from feature names to values, got .1, 2."),
        (({"a": float("nan")}, []), r"the value of feature 'a' must be finite and at most 1e\+12 in size, got nan"),
        (({"a": 1}, [], -1), "example 1: the weight must be a number above 0"),
    ],
)
def test_what_is_no_example_is_not_written(example: Any, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        files.write([example], io.BytesIO(), format="jsonl")


@pytest.mark.parametrize("target", ["a.txt", "a.parquet", io.BytesIO()])
def test_the_format_to_write_must_be_known(target: Any) -> None:
    with pytest.raises(InvalidParameterError, match="Pass a format, one of xmlc, jsonl, csv, tsv, fasttext, vw"):
        files.write([], target)


def test_examples_that_cannot_be_converted_are_told_by_their_lines() -> None:
    source = b'{"text": "a", "label": "x"}\n\n{"text": "b", "label": "x y"}\n'
    with pytest.raises(
        InvalidInputError, match="the stream, line 3: a fastText label cannot contain whitespace, got 'x y'"
    ):
        files.convert(io.BytesIO(source), io.BytesIO(), to_format="fasttext")
    done = files.convert(io.BytesIO(source), io.BytesIO(), to_format="fasttext", on_error="skip")
    assert (done.n_examples, done.n_skipped) == (1, 1)


def test_batches_are_written() -> None:
    target = io.BytesIO()
    assert files.write(files.read(io.BytesIO(b"1 2:0.1\n2 3:1\n"), batch=1), target, format="vw") == 2
    assert target.getvalue() == b"1 | 2:0.1\n2 | 3:1.0\n"


def test_numbers_of_numpy_are_written() -> None:
    target = io.BytesIO()
    files.write([({np.int64(1): np.float64(0.5)}, [np.int32(3)], np.float32(2))], target, format="jsonl")
    files.write([("a", np.int64(7)), ("b", np.array(["x", "y"]))], target, format="jsonl")
    assert target.getvalue().decode().splitlines() == [
        '{"features": [[1, 0.5]], "labels": [3], "weight": 2.0}',
        '{"text": "a", "labels": [7]}',
        '{"text": "b", "labels": ["x", "y"]}',
    ]


def test_convert_tells_how_far_it_is(tmp_path: Path) -> None:
    files.write([("a", ["x"])] * 20_000, tmp_path / "t.jsonl")
    seen: list[int] = []
    files.convert(tmp_path / "t.jsonl", tmp_path / "t.csv", on_batch=lambda reader: seen.append(reader.n_examples))
    assert seen == [8192, 16384, 20000]
