# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Where files come from and how they are packed; which format they are taken for; how they are written."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oplt import InvalidInputError, InvalidParameterError, MissingPackageError, files
from oplt.compression import Compression
from oplt.files import _source

JSON = b'{"text": "a", "label": "x"}\n{"text": "\xc3\xa9", "label": "y"}\n'
EXAMPLES = [("a", ["x"], 1.0), ("é", ["y"], 1.0)]


def zstd(data: bytes) -> bytes:
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    compressed: bytes = importlib.import_module(module).compress(data)
    return compressed


def read(data: bytes, **options: Any) -> list[Any]:
    return list(files.read(io.BytesIO(data), **options).examples())


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_compression_is_known_by_the_content(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / "train"
    path.write_bytes(compress(JSON))
    assert list(files.read(path).examples()) == EXAMPLES
    assert read(compress(JSON)) == EXAMPLES


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_truncated_file_is_never_taken_for_a_whole_one(compress: Any, on_error: str) -> None:
    lines = b"".join(b'{"text": "%d", "label": "x"}\n' % i for i in range(3000))
    with pytest.raises(InvalidInputError, match="the stream: the compressed data is damaged or cut off"):
        read(compress(lines)[:-9], on_error=on_error, batch=10)


def test_without_zstd_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstd(JSON)
    monkeypatch.setattr(Compression, "_opener", Compression(b"", ".zst", "no_such_module")._opener)
    with pytest.raises(MissingPackageError, match=r"pip install 'oplt\[zstd\]'"):
        read(packed)


def test_byte_order_marks() -> None:
    assert read(b"\xef\xbb\xbf" + JSON) == EXAMPLES
    assert read(b"\xef\xbb\xbftext,label\na,x\n") == EXAMPLES[:1]
    with pytest.raises(InvalidInputError, match="the text is UTF-16, but UTF-8 is read: convert it, as iconv"):
        read(JSON.decode().encode("utf-16"))


def test_ends_of_lines_and_blank_lines() -> None:
    assert read(JSON.replace(b"\n", b"\r\n")) == EXAMPLES
    assert read(b"\n \n" + JSON.replace(b"\n", b"\n\r\n\t\n")) == EXAMPLES
    assert read(JSON.rstrip()) == EXAMPLES


def test_what_is_not_utf8_is_a_bad_line() -> None:
    latin = JSON + b'{"text": "\xe9", "label": "z"}\n' + JSON
    with pytest.raises(InvalidInputError, match="line 3: byte 0xe9 in position 11 is not UTF-8: convert the file"):
        read(latin)
    reader = files.read(io.BytesIO(latin), on_error="skip")
    assert list(reader.examples()) == EXAMPLES * 2
    assert reader.skipped.count == 1


@pytest.mark.parametrize("data", [b"", b"\n \n", gzip.compress(b"")])
@pytest.mark.parametrize("format_", [None, "jsonl", "xmlc", "csv"])
def test_an_empty_file(data: bytes, format_: str | None) -> None:
    with pytest.raises(InvalidInputError, match="the stream: there is no example: the file is empty"):
        read(data, format=format_)


def test_a_file_of_a_header_alone_has_no_examples() -> None:
    assert read(b"text,labels\n") == []
    assert read(b"0 5 3\n") == []


def test_a_line_without_end_takes_no_memory_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "MOST_LINE_BYTES", 1 << 20)
    long = b'{"text": "' + b"x" * (3 << 20) + b'", "label": "x"}\n'
    with pytest.raises(InvalidInputError, match="line 3: longer than 1 MiB: is it a file of lines?"):
        read(JSON + long + JSON)
    assert read(JSON + long + JSON, on_error="skip") == EXAMPLES * 2


def test_long_examples_make_small_batches() -> None:
    line = b'{"text": "' + b"x" * (1 << 20) + b'", "label": "x"}\n'
    assert [len(batch) for batch in files.read(io.BytesIO(line * 40))] == [32, 8]


class Endless(io.RawIOBase):
    """So many lines that are never all there."""

    def __init__(self, line: bytes, n_lines: int) -> None:
        self._line, self._n_left = line, n_lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        n_lines = min(len(buffer) // len(self._line), self._n_left)
        self._n_left -= n_lines
        buffer[: n_lines * len(self._line)] = self._line * n_lines
        return n_lines * len(self._line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "' + b"x" * 4000 + b'", "label": "x"}\n',
        b"1,2" + b" 1:0.5" * 500 + b"\n",
    ],
)
def test_memory_is_bounded(line: bytes) -> None:
    stream = io.BufferedReader(Endless(line, 10_000), buffer_size=1 << 16)  # at least 30 MB
    tracemalloc.start()
    n_examples = sum(len(batch) for batch in files.read(stream, batch=200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_examples == 10_000
    assert peak < 8e6  # a few batches of 200 lines, each 4 kB, parsed


def test_standard_input() -> None:
    code = "from oplt import files; print([b.where(0) + ': ' + b.X[0] for b in files.read('-', batch=1)])"
    done = subprocess.run([sys.executable, "-c", code], input=gzip.compress(JSON), capture_output=True, check=True)  # noqa: S603
    assert done.stdout.decode().strip() == "['standard input, line 1: a', 'standard input, line 2: é']"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read_as_lines_come(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    go_on = threading.Event()

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for byte in JSON * 5:  # the lines that tell the format
                pipe.write(bytes([byte]))
            pipe.write(JSON)
            assert go_on.wait(30)
            pipe.write(JSON)

    writer = threading.Thread(target=write)
    writer.start()
    with files.read(path, batch=12) as reader:
        assert len(next(reader)) == 12  # the rest is not waited for
        go_on.set()
        assert len(next(reader)) == 2
    writer.join()


def test_files_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(JSON)
    with files.read(path, batch=1) as reader:
        assert len(next(reader)) == 1
    assert list(reader) == []
    assert reader.n_examples == 1
    path.write_bytes(b"?")
    with pytest.raises(InvalidInputError, match="line 1: not JSON"):
        next(files.read(path))  # an open file would be a ResourceWarning, which is an error here


@pytest.mark.parametrize("wrong", [io.StringIO("text"), 7, None])
def test_what_is_no_file(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be a path, '-' for standard input, or a stream of bytes, got"):
        files.read(wrong)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"format": "xml"},
            "there is no format 'xml': give format= one of xmlc, jsonl, csv, tsv, parquet, fasttext, vw",
        ),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"on_error": "ignore"}, 'on_error must be "raise" or "skip", got \'ignore\''),
    ],
)
def test_settings_are_checked(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidParameterError, match=reason):
        read(JSON, **options)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "3 4 5\n1 2:1\n", "xmlc"),
        ("a.txt", "# c\n1,2 2:1 3:0.5\n 4:1e-3\n\n7\n", "xmlc"),
        ("a", "1 | a:1 b\n2 0.5 't|x y\n", "vw"),
        ("a.dat", "__label__a b\nc\n", "fasttext"),
        ("a", ' {"text": "a", "label": "b|c"}\n', "jsonl"),
        ("a", "id,text,labels\n", "csv"),
        ("a", 'labels\ttext\n"x|y"\tb\n', "tsv"),
        ("a.ft.gz", "no labels here\n", "fasttext"),
        ("a.svm", "2\n3\n", "xmlc"),
        ("a.NDJSON", "{}\n", "jsonl"),
    ],
)
def test_the_format_is_found(tmp_path: Path, name: str, content: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with files.read(path) as reader:
        assert reader.format == expected


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "a.txt",
            "some text\n",
            r"neither the name nor the first lines tell the format; the first one is b'some text'",
        ),
        ("a", "\x89PNG\r\n", "neither the name nor the first lines tell"),
        (
            "a.csv",
            '{"text": "a", "label": "b"}\n',
            "by its name the format is csv, but the first lines look like jsonl",
        ),
        ("a.jsonl.gz", "1 2:1\n", "by its name the format is jsonl, but the first lines look like xmlc"),
        ("a.txt", "1 2:1\nx y\n", "neither the name nor the first lines tell"),
    ],
)
def test_a_guess_is_never_silent(tmp_path: Path, name: str, content: str, reason: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InvalidInputError, match=reason) as caught:
        files.read(path)
    assert "give format= one of xmlc, jsonl, csv, tsv, parquet, fasttext, vw" in str(caught.value)


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
        ("xmlc", ({"a": 1}, []), "names in XMLC lines are whole numbers from 0 to 2147483647, but a feature is 'a'"),
        ("xmlc", ({1: 1}, [-1]), "but a label is -1"),
        ("xmlc", ({1: 1}, [], 0.5), "XMLC lines have no weights, but that of the example is 0.5"),
        ("vw", ("a", []), "Vowpal Wabbit lines hold features, but the example has a text"),
        ("vw", ({"a b": 1}, []), "the name of a feature has no blanks, '|' or ':', got 'a b'"),
        ("vw", ({"a": 1}, ["1:2"]), "a label has no blanks, '|', comma or cost, got '1:2'"),
        ("vw", ({"a": 1}, [], 2.0), "without labels Vowpal Wabbit has no place for a weight"),
        ("fasttext", ({"a": 1}, []), "fastText lines hold texts, but the example has features"),
        ("fasttext", ("a", ["b c"]), "a label of fastText has no blanks, got 'b c'"),
        ("fasttext", ("a __label__b", []), "the text has a word that begins with '__label__'"),
        ("fasttext", (" \n", []), "it has neither labels nor a text"),
        ("fasttext", ("a", [], 2), "fastText lines have no weights"),
        ("csv", ({"a": 1}, []), "a table is written of texts, but the example has features"),
        ("csv", ("a", ["b;c"]), "labels of one cell are divided by ';' and have no blanks around them, got 'b;c'"),
        ("jsonl", ("\ud800", []), "half a surrogate pair"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(to: str, example: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(InvalidInputError, match="the stream, example 1: ") as caught:
        files.write([example], io.BytesIO(), format=to)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ("text", "example 1 must be .x, labels., .x, labels, weight. or a Batch, got 'text'"),
        (("a", None), "example 1: labels must be a list of strings or integers"),
        (({"a": float("nan")}, []), "example 1: feature 'a' has the value nan"),
        (({"a": 1}, [], -1), "example 1: the weight must be a number above 0"),
    ],
)
def test_what_is_no_example_is_not_written(example: Any, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        files.write([example], io.BytesIO(), format="jsonl")


@pytest.mark.parametrize("target", ["a.txt", "a.parquet", io.BytesIO()])
def test_the_format_to_write_must_be_known(target: Any) -> None:
    with pytest.raises(InvalidParameterError, match="give a format, one of xmlc, jsonl, csv, tsv, fasttext, vw"):
        files.write([], target)


def test_examples_that_cannot_be_converted_are_told_by_their_lines() -> None:
    source = b'{"text": "a", "label": "x"}\n\n{"text": "b", "label": "x y"}\n'
    with pytest.raises(InvalidInputError, match="the stream, line 3: a label of fastText has no blanks, got 'x y'"):
        files.convert(io.BytesIO(source), io.BytesIO(), to_format="fasttext")
    done = files.convert(io.BytesIO(source), io.BytesIO(), to_format="fasttext", on_error="skip")
    assert (done.n_examples, done.n_skipped) == (1, 1)


def test_batches_are_written() -> None:
    target = io.BytesIO()
    assert files.write(files.read(io.BytesIO(b"1 2:0.1\n2 3:1\n"), batch=1), target, format="vw") == 2
    assert target.getvalue() == b"1 | 2:0.1\n2 | 3:1.0\n"


def test_numbers_of_numpy_are_written() -> None:
    np = pytest.importorskip("numpy")
    target = io.BytesIO()
    files.write([({np.int64(1): np.float64(0.5)}, [np.int32(3)], np.float32(2))], target, format="jsonl")
    assert target.getvalue() == b'{"features": [[1, 0.5]], "labels": [3], "weight": 2.0}\n'


def test_a_live_source_gives_what_is_here() -> None:
    """Each batch is what has come; half a line waits for its other half."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as target:
        target.write(b"\xef\xbb\xbf" + JSON + b'{"text": "b",')
        reader = files.read(source, live=True)
        assert next(reader).X == ["a", "é"]
        target.write(b' "label": "z"}\n')
        assert next(reader).X == ["b"]
        target.close()
        assert list(reader) == []


@pytest.mark.parametrize("data", [b"0 1:1\n1 2:1\n", b"__label__a b\n__label__b c\n", b"text,label\na,b\nc,d\n"])
def test_a_live_source_of_each_format(data: bytes) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as target:
        target.write(data)
        known = {b"0": "xmlc", b"_": "fasttext", b"t": "csv"}[data[:1]]
        assert len(next(files.read(source, live=True, format=known))) > 0  # though more could come


def test_a_format_that_one_line_tells_needs_no_more_lines() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as target:
        target.write(b"\n" + JSON[:28])
        assert files.read(source).format == "jsonl"


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_the_share_that_was_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    files.write([(f"{i * 7919 % 65521} {i}", ["x"]) for i in range(30_000)], path)
    reader = files.read(path, batch=10_000)
    shares = [reader.share_read for _ in reader]
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert 0 < shares[0] < 1  # type: ignore[operator]
    assert shares[-1] == 1
    assert files.read(io.BytesIO(JSON)).share_read is None
    table = pa.table({"text": ["a"], "label": ["x"]})
    pq.write_table(table, tmp_path / "t.parquet")
    with files.read(tmp_path / "t.parquet") as reader:
        assert reader.share_read is None  # it is not read from its beginning to its end


def test_convert_tells_how_far_it_is(tmp_path: Path) -> None:
    files.write([("a", ["x"])] * 20_000, tmp_path / "t.jsonl")
    seen: list[int] = []
    files.convert(tmp_path / "t.jsonl", tmp_path / "t.csv", on_batch=lambda reader: seen.append(reader.n_examples))
    assert seen == [8192, 16384, 20000]


def test_a_part_of_a_batch() -> None:
    lines = b'{"text": "a", "label": "x", "weight": 2}\n{"text": "b", "label": "y"}\n{"text": "c", "label": "z"}\n'
    batch = next(files.read(io.BytesIO(lines)))
    part = batch.part(1, 3)
    assert list(part) == list(batch)[1:3]
    assert part.where(0) == "the stream, line 2"
    matrix = next(files.read(io.BytesIO(b"0 1:1\n1 2:1\n")))
    assert list(matrix.part(1)) == list(matrix)[1:]
