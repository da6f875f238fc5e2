# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oplt import InvalidInputError, InvalidParameterError, OnlinePLT, _core
from oplt.datasets import load_xmlc

TEXT = "4 10 5\n0,2 1:0.5 3:-2e-1\n 4:1\n2:1 9:+.25\n4\n"


def load(tmp_path: Path, text: str | bytes, **options: Any) -> tuple[Any, Any]:
    path = tmp_path / "train.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_xmlc(path, **options)


def rows_of(matrix: Any) -> list[list[tuple[int, float]]]:
    pairs = list(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))
    return [pairs[matrix.indptr[i] : matrix.indptr[i + 1]] for i in range(matrix.shape[0])]


def labels_of(matrix: Any) -> list[list[int]]:
    return [[label for label, _ in row] for row in rows_of(matrix)]


def parse(text: bytes, threads: int = 1, chunk_bytes: int = 1) -> tuple[Any, ...]:
    """Parse a text with the core, and return its results as lists."""
    x, y, shape = _core.parse_text(np.frombuffer(text, dtype=np.uint8), threads, chunk_bytes)
    return tuple(part.tolist() for part in (*x, *y)), shape


def test_a_file_with_a_header(tmp_path: Path) -> None:
    X, Y = load(tmp_path, TEXT)
    assert X.shape == (4, 10)
    assert Y.shape == (4, 5)
    assert X.dtype == Y.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == Y.indices.dtype == np.int32
    fifth = float(np.float32(0.2))
    assert rows_of(X) == [[(1, 0.5), (3, -fifth)], [(4, 1.0)], [(2, 1.0), (9, 0.25)], []]
    assert rows_of(Y) == [[(0, 1.0), (2, 1.0)], [], [], [(4, 1.0)]]


def test_without_a_header_the_largest_indices_tell_the_shape(tmp_path: Path) -> None:
    X, Y = load(tmp_path, "1 7:1\n3 2:1\n")
    assert (X.shape, Y.shape) == ((2, 8), (2, 4))
    X, Y = load(tmp_path, "1\n3")
    assert (X.shape, Y.shape) == ((2, 0), (2, 4))
    X, Y = load(tmp_path, "1:1\n")
    assert (X.shape, Y.shape) == ((1, 2), (1, 0))


def test_a_header_may_promise_nothing(tmp_path: Path) -> None:
    X, Y = load(tmp_path, "0 5 3\n")
    assert (X.shape, Y.shape) == ((0, 5), (0, 3))


@pytest.mark.parametrize(
    "text",
    [
        "2 5 3\n1,2 0:1 4:2\n0 3:0.5\n",
        "2 5 3\n1,2 0:1 4:2\n0 3:0.5",
        "2 5 3\r\n1,2 0:1 4:2\r\n0 3:0.5\r\n",
        "2\t5  3 \t\n1,2\t0:1   4:2 \t\n0 \t 3:0.5  \r\n\r\n \n",
        "# made by hand\n  # 1 2 3\n2 5 3 # N d m\n1,2 0:1 4:2 # first: one\n# between\n0 3:0.5#second\n#end",
        "2 5 3\n2,1,2 4:2 0:1\n0,0 3:5E-1\n\n\n",
        "02 005 03\n01,2 0:1.0 0004:2.\n0 3:.5e+00\n",
    ],
)
def test_the_same_data_may_be_written_in_many_ways(tmp_path: Path, text: str) -> None:
    X, Y = load(tmp_path, text)
    assert (X.shape, Y.shape) == ((2, 5), (2, 3))
    assert rows_of(X) == [[(0, 1.0), (4, 2.0)], [(3, 0.5)]]
    assert labels_of(Y) == [[1, 2], [0]]


def test_a_feature_that_occurs_twice_is_kept_twice(tmp_path: Path) -> None:
    X, _ = load(tmp_path, "0 3:1 1:4 3:2 0:0\n")
    assert rows_of(X) == [[(0, 0.0), (1, 4.0), (3, 1.0), (3, 2.0)]]
    assert X.toarray().tolist() == [[0.0, 4.0, 0.0, 3.0]]


def test_empty_lines_are_examples_but_at_the_end(tmp_path: Path) -> None:
    X, Y = load(tmp_path, "\n1 1:1\n\n \n2 1:1\n\n \n\n")
    assert X.shape[0] == 5
    assert labels_of(Y) == [[], [1], [], [], [2]]
    assert load(tmp_path, "3 2 2\n1 1:1\n\n\n")[0].shape[0] == 3
    assert load(tmp_path, "2 2 2\n1 1:1\n\n\n")[0].shape[0] == 2


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
def test_compressed_files_are_known_by_their_content(tmp_path: Path, compress: Any) -> None:
    X, Y = load(tmp_path, compress(TEXT.encode()))
    X_plain, Y_plain = load(tmp_path, TEXT)
    assert rows_of(X) == rows_of(X_plain)
    assert rows_of(Y) == rows_of(Y_plain)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_damaged_compressed_files_are_refused(tmp_path: Path, compress: Any, damage: str) -> None:
    packed = compress(TEXT.encode() * 20)
    bad = packed[:-12] if damage == "cut" else packed[:12] + b"\xff" * 8 + packed[20:]
    with pytest.raises(InvalidInputError, match=r"train.txt: the compressed data is damaged or truncated"):
        load(tmp_path, bad)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe_can_be_read(tmp_path: Path, compress: Any) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(compress(TEXT.encode()),))
    writer.start()
    X, _ = load_xmlc(pipe)
    writer.join()
    assert rows_of(X) == rows_of(load(tmp_path, TEXT)[0])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_xmlc(tmp_path / "none.txt")


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_threads_are_counted(tmp_path: Path, threads: Any) -> None:
    with pytest.raises(InvalidParameterError, match="threads must be"):
        load(tmp_path, TEXT, threads=threads)


NO_NUMBER = "its value is not a finite decimal number within the range of float32"
READ_NEGATIVE = (
    "Labels are the columns of a matrix here. Read labels such as -1 and +1 with oplt.files.read(path, format='xmlc')."
)
LARGE_HEADER = "is too large: there can be 2147483648 features and as many labels at most"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 12:", "feature '12:' has no value"),
        ("1 12: 3:1", "feature '12:' has no value"),
        ("1 12", "feature '12' has no ':': a feature must be written as index:value"),
        (" 5 1:1", "feature '5' has no ':': a feature must be written as index:value"),
        ("1 :2", "feature ':2': its index is not a non-negative integer"),
        ("1 -1:2", "feature '-1:2': its index is not a non-negative integer"),
        ("1 qid:2", "feature 'qid:2': its index is not a non-negative integer"),
        ("1,2:3", "feature '1,2:3': its index is not a non-negative integer"),
        ("1 2147483648:1", "feature '2147483648:1': its index is too large: the largest allowed is 2147483647"),
        ("1 " + "9" * 30 + ":1", f"feature '{'9' * 30}:1': its index is too large: the largest allowed is 2147483647"),
        *((f"1 3:{bad}", f"feature '3:{bad}': {NO_NUMBER}")
          for bad in ["nan", "inf", "-inf", "NaN", "infinity", "1e39", "-4e38", "1e", "1e+", ".", "-", "+-1", "0x10",
                      "1.2.3", "1,5", "1:2", "1_000", "e5", "--1", "1e999999999999999999999"]),
        ("x 1:1", "label 'x' is not a non-negative integer"),
        ("-1 1:1", f"label '-1' is not a non-negative integer. {READ_NEGATIVE}"),
        ("1.5 1:1", "label '1.5' is not a non-negative integer"),
        ("1,+-2 1:1", "label '+-2' is not a non-negative integer"),
        ("2147483648 1:1", "label '2147483648' is too large: the largest allowed is 2147483647"),
        ("1,,2 1:1", "the labels '1,,2' have a superfluous comma"),
        ("1, 1:1", "the labels '1,' have a superfluous comma"),
        (", 1:1", "the labels ',' have a superfluous comma"),
        ("1 2\x00:\x07é", r"feature '2\x00:\x07\xc3\xa9': its index is not a non-negative integer"),
        ("z" * 50, f"label '{'z' * 40}...' is not a non-negative integer"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named_with_what_is_wrong(tmp_path: Path, line: str, reason: str) -> None:
    for before, number in (("", 1), ("1 1:1\n# nothing\n\n", 4)):
        with pytest.raises(InvalidInputError) as caught:
            load(tmp_path, f"{before}{line}\n1 1:1\n", threads=2)
        assert str(caught.value) == f"{tmp_path / 'train.txt'}, line {number}: {reason}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2 5 3\n1 1:1\n", "line 1: the header says 2 examples, but 1 follow"),
        ("# two\n2 5 3\n1 1:1\n1 1:1\n1 1:1\n", "line 2: the header says 2 examples, but 3 follow"),
        ("2 5 3\n1 1:1\n2 5:1\n", "line 3: feature '5:1': its index is too large: the largest allowed is 4,"),
        ("2 5 3\n1 1:1\n1,3 4:1\n", "line 3: label '3' is too large: the largest allowed is 2, as the header says"),
        ("1 2147483649 3\n1 1:1", f"line 1: the header '1 2147483649 3' {LARGE_HEADER}"),
        ("1 2 " + "9" * 19, f"line 1: the header '1 2 {'9' * 19}' {LARGE_HEADER}"),
        ("1 2\n1 1:1\n", "line 1: feature '2' has no ':'"),
        ("1 2 3 4\n1 1:1\n", "line 1: feature '2' has no ':'"),
        ("", "line 1: there is no example"),
        ("\n \n# nothing\n", "line 1: there is no example"),
    ],
)
def test_a_header_is_binding(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"train.txt, {reason}")):
        load(tmp_path, text)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("chunk_bytes", [0, 1, 7, 100, 1 << 20])
def test_threads_and_chunks_change_nothing(threads: int, chunk_bytes: int) -> None:
    lines = [f"{i % 7},{i % 3} {i}:{i / 7} {2 * i}:-{i}e-3" if i % 5 else "" for i in range(200)]
    text = "\n".join(["200 400 7", *lines]).encode()
    assert parse(text, threads, chunk_bytes) == parse(text, 1, 1 << 30)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("chunk_bytes", [1, 50, 1 << 20])
def test_the_first_wrong_line_is_reported_whoever_finds_one(threads: int, chunk_bytes: int) -> None:
    lines = ["1 1:1"] * 300
    lines[120] = lines[121] = lines[299] = "1 1:"
    lines[200] = "x"
    for _ in range(5):
        with pytest.raises(InvalidInputError, match="line 121: feature '1:' has no value"):
            parse("\n".join(lines).encode(), threads, chunk_bytes)


def rounded(text: str) -> float:
    """Find the float32 nearest to a decimal number, ties to even, by exact arithmetic."""
    exact = Fraction(text)
    guess = np.float32(float(exact))  # possibly rounded twice: then a neighbour is correct
    with np.errstate(over="ignore", under="ignore"):
        near = [guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf))]
    finite = [value for value in near if np.isfinite(value)]
    return float(min(finite, key=lambda f: (abs(Fraction(float(f)) - exact), int(f.view(np.uint32)) & 1)))


def halfway(bits: int, digits: str) -> str:
    """Format the exact midpoint of two floats, followed by more digits."""
    low, high = np.array([bits, bits + 1], dtype=np.uint32).view(np.float32).tolist()
    middle = (Fraction(low) + Fraction(high)) / 2
    n_places = middle.denominator.bit_length() - 1  # a power of two
    whole = str(middle.numerator * 5**n_places).rjust(n_places + 1, "0")
    return f"{whole[: len(whole) - n_places]}.{whole[len(whole) - n_places :]}{digits}"


decimals = st.one_of(
    st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})([eE][+-]?[0-3]?[0-9])?", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,30}\.[0-9]{1,30}(e-[0-9]{1,2})?", fullmatch=True),
    st.builds(halfway, st.integers(0x30000000, 0x4F000000), st.sampled_from(["", "0", "1", "00000001"])),
    st.integers(2**24, 2**53).map(str),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
).filter(lambda text: abs(Fraction(text)) < 2**127)


@given(st.lists(decimals, min_size=1, max_size=50))
@example(["16777217", "16777219", "9007199791611905", "1e-45", "7.006492321624085e-46", "7.1e-46", "1e-46", "1e-400"])
@example(["-0", "0e99999", "0.0000000000000000000000000000000001e34", "1" + "0" * 60 + "e-60"])
@example(["3.4028235e38", "1.17549435e-38", "1.1754942e-38", "340282346638528859811704183484516925440"])
def test_values_are_correctly_rounded(values: list[str]) -> None:
    text = " " + " ".join(f"0:{value}" for value in values)
    (found, *_), _ = parse(text.encode())
    expected = [(rounded(value), value.startswith("-")) for value in values]
    assert [(value, bool(np.signbit(value))) for value in found] == expected


def slowly_parsed(text: str) -> list[tuple[list[int], list[tuple[int, float]]]]:
    rows = []
    for line in text.split("\n"):
        head, *pairs = re.split(r"[ \t]+", line.rstrip("\r"))
        if ":" in head:
            head, pairs = "", [head, *pairs]
        split = [pair.split(":") for pair in pairs if pair]
        features = sorted(((int(i), rounded(v)) for i, v in split), key=lambda pair: pair[0])
        rows.append((sorted({int(label) for label in head.split(",") if label}), features))
    while rows and rows[-1] == ([], []):
        rows.pop()
    return rows


blanks = st.sampled_from([" ", "  ", "\t", " \t "])
values = st.floats(-1e6, 1e6, width=32).map(lambda value: f"{value:.6g}")
pairs = st.builds("{}{}:{}".format, blanks, st.integers(0, 2**31 - 1), values)
labels = st.lists(st.integers(0, 300), max_size=4).map(lambda row: ",".join(map(str, row)))
lines = st.builds("{}{}{}".format, labels, st.lists(pairs, max_size=5).map("".join), st.sampled_from(["", " ", "\r"]))


@given(st.lists(lines, max_size=12), st.integers(1, 60), st.integers(1, 4))
def test_as_a_simple_parser_does(text_lines: list[str], chunk_bytes: int, threads: int) -> None:
    text = "\n".join(["7 7:7", *text_lines])
    rows = slowly_parsed(text)
    (data, features, x_indptr, found, y_indptr), (n_features, n_labels) = parse(text.encode(), threads, chunk_bytes)
    assert [found[y_indptr[i] : y_indptr[i + 1]] for i in range(len(y_indptr) - 1)] == [row[0] for row in rows]
    together = list(zip(features, data, strict=True))
    assert [together[x_indptr[i] : x_indptr[i + 1]] for i in range(len(x_indptr) - 1)] == [row[1] for row in rows]
    assert n_features == 1 + max(features)
    assert n_labels == 1 + max(found)


def test_what_is_loaded_can_be_learnt(tmp_path: Path) -> None:
    X, Y = load(tmp_path, TEXT)
    model = OnlinePLT()
    model.learn_many(X, Y)
    same = OnlinePLT()
    same.learn_many(X.toarray(), [[0, 2], [], [], [4]])
    assert model.fingerprint() == same.fingerprint()
