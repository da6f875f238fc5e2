# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Sources and compression of files, and detection of their format."""

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
    with pytest.raises(InvalidInputError, match="the stream: the compressed data is damaged or truncated"):
        read(compress(lines)[:-9], on_error=on_error, batch=10)


def test_without_zstd_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstd(JSON)
    monkeypatch.setattr(Compression, "_opener", Compression(b"", ".zst", "no_such_module")._opener)
    with pytest.raises(MissingPackageError, match=r"pip install 'oplt\[zstd\]'"):
        read(packed)


def test_byte_order_marks() -> None:
    assert read(b"\xef\xbb\xbf" + JSON) == EXAMPLES
    assert read(b"\xef\xbb\xbftext,label\na,x\n") == EXAMPLES[:1]
    with pytest.raises(
        InvalidInputError,
        match="the stream: the text is UTF-16, but it must be UTF-8. Convert it, for example with iconv",
    ):
        read(JSON.decode().encode("utf-16"))


def test_ends_of_lines_and_blank_lines() -> None:
    assert read(JSON.replace(b"\n", b"\r\n")) == EXAMPLES
    assert read(b"\n \n" + JSON.replace(b"\n", b"\n\r\n\t\n")) == EXAMPLES
    assert read(JSON.rstrip()) == EXAMPLES


def test_what_is_not_utf8_is_a_bad_line() -> None:
    latin = JSON + b'{"text": "\xe9", "label": "z"}\n' + JSON
    with pytest.raises(
        InvalidInputError, match="the stream, line 3: byte 0xe9 in position 11 is not UTF-8. .* convert it"
    ):
        read(latin)
    reader = files.read(io.BytesIO(latin), on_error="skip")
    assert list(reader.examples()) == EXAMPLES * 2
    assert reader.skipped.count == 1


@pytest.mark.parametrize("data", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("format_", [None, "jsonl", "xmlc", "csv"])
def test_an_empty_file(data: bytes, format_: str | None) -> None:
    with pytest.raises(InvalidInputError, match="the stream: the file is empty"):
        read(data, format=format_)


def test_a_file_of_a_header_alone_has_no_examples() -> None:
    assert read(b"text,labels\n") == []
    assert read(b"0 5 3\n") == []


def test_a_line_without_end_takes_no_memory_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "MOST_LINE_BYTES", 1 << 20)
    long = b'{"text": "' + b"x" * (3 << 20) + b'", "label": "x"}\n'
    with pytest.raises(
        InvalidInputError,
        match="the stream, line 3: the line is longer than 1 MiB. Check that the file has one example per line",
    ):
        read(JSON + long + JSON)
    assert read(JSON + long + JSON, on_error="skip") == EXAMPLES * 2


def test_long_examples_make_small_batches() -> None:
    line = b'{"text": "' + b"x" * (1 << 20) + b'", "label": "x"}\n'
    assert [len(batch) for batch in files.read(io.BytesIO(line * 40))] == [32, 8]


class Endless(io.RawIOBase):
    """A stream of many lines that are never all in memory."""

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
            for byte in JSON * 5:  # the lines from which the format is detected
                pipe.write(bytes([byte]))
            pipe.write(JSON)
            assert go_on.wait(30)
            pipe.write(JSON)

    writer = threading.Thread(target=write)
    writer.start()
    with files.read(path, batch=12) as reader:
        assert len(next(reader)) == 12  # without waiting for the rest
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
            "there is no format 'xml'. Pass format=, one of xmlc, jsonl, csv, tsv, parquet, fasttext, vw.",
        ),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"on_error": "ignore"}, 'on_error must be "raise" or "skip", got \'ignore\''),
        ({"columns": {"text": "a"}}, r"columns must be oplt.files.Columns\(...\), got {'text': 'a'}"),
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
            "a.txt: the format cannot be detected from the name or the first lines, got the first line b'some text'",
        ),
        ("a", "\x89PNG\r\n", "the format cannot be detected"),
        (
            "a.csv",
            '{"text": "a", "label": "b"}\n',
            "the name suggests the format csv, but the first lines look like jsonl",
        ),
        ("a.jsonl.gz", "1 2:1\n", "the name suggests the format jsonl, but the first lines look like xmlc"),
        ("a.txt", "1 2:1\nx y\n", "the format cannot be detected"),
    ],
)
def test_a_guess_is_never_silent(tmp_path: Path, name: str, content: str, reason: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InvalidInputError, match=reason) as caught:
        files.read(path)
    assert "Pass format=, one of xmlc, jsonl, csv, tsv, parquet, fasttext, vw" in str(caught.value)


def test_a_live_source_gives_what_is_here() -> None:
    """Each batch has the lines that have arrived; half a line waits for its other half."""
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
        assert reader.share_read is None  # unknown, because it is not read sequentially


def test_a_part_of_a_batch() -> None:
    lines = b'{"text": "a", "label": "x", "weight": 2}\n{"text": "b", "label": "y"}\n{"text": "c", "label": "z"}\n'
    batch = next(files.read(io.BytesIO(lines)))
    part = batch.part(1, 3)
    assert list(part) == list(batch)[1:3]
    assert part.where(0) == "the stream, line 2"
    matrix = next(files.read(io.BytesIO(b"0 1:1\n1 2:1\n")))
    assert list(matrix.part(1)) == list(matrix)[1:]
