# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Sources of lines: a file, standard input or a stream, plain or compressed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from oplt.checks import path_of
from oplt.compression import LONGEST_MAGIC, by_magic, telling_damage
from oplt.errors import InvalidInputError
from oplt.files._examples import Problems
from oplt.wording import briefly

__all__ = ["MOST_LINE_BYTES", "Source", "as_text", "decoded"]

MOST_LINE_BYTES = 1 << 26  # longer lines are rejected, so that memory is bounded for any input

_BUFFER = 1 << 16  # bytes, as many as a pipe holds

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Source:
    """The decompressed bytes of a file. If it is live, it knows whether the next line is available."""

    def __init__(self, given: Any, *, live: bool = False) -> None:
        self._live = live
        self.path: Path | None = None  # of a file that can be opened again
        self._owned = False
        file = self._opened(given)
        try:
            self.start = _first_bytes(file)
            self._bytes = _Rejoined(self.start, file)
            self._buffer = io.BufferedReader(self._bytes, _BUFFER)
            self.compression = by_magic(self.start)
            self._stream = self.compression.open(self._buffer, "rb") if self.compression else self._buffer
        except BaseException:
            self._close(file)
            raise
        self._file = file
        self._n_taken = 0  # bytes of the lines that were given, if it is live

    @property
    def share_read(self) -> float | None:
        """Fraction of the file's bytes that has been read; None if its size is not known."""
        if self.path is None or not self.path.is_file():
            return None
        return self._bytes.n_given / max(self.path.stat().st_size, self._bytes.n_given, 1)

    def would_wait(self) -> bool:
        """Check whether it is live and the next line is not available yet. This is unknown for compressed data."""
        if not self._live or self._buffer is not self._stream:
            return False
        return self._n_taken == self._bytes.n_given or b"\n" not in self._buffer.peek()

    def _opened(self, given: Any) -> IO[bytes]:
        if given == "-":
            self.name = "standard input"
            return sys.stdin.buffer
        if isinstance(given, (str, os.PathLike)):
            self.path, self.name, self._owned = path_of(given), os.fspath(given), True
            return self.path.open("rb")
        if isinstance(given, io.TextIOBase) or not callable(getattr(given, "read", None)):
            raise InvalidInputError(
                "source-not-readable",
                "what to read must be a path, '-' for standard input, or a stream of bytes",
                got=briefly(given),
            )
        name = getattr(given, "name", None)
        self.name = name if isinstance(name, str) else "the stream"
        return given  # type: ignore[no-any-return]

    def lines(self, problems: Problems) -> Iterator[tuple[int, bytes]]:
        """Iterate over numbered lines, from 1, with their line ends; a byte order mark is removed."""
        readline = self._counted_line if self._live else self._stream.readline
        with telling_damage(self.name):
            line = _without_bom(readline(MOST_LINE_BYTES), problems)
            number = 1
            while line:
                if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
                    while not line.endswith(b"\n") and (line := readline(MOST_LINE_BYTES)):
                        pass
                    problems.bad(number, _too_long())
                else:
                    yield number, line
                line = readline(MOST_LINE_BYTES)
                number += 1

    def _counted_line(self, most: int) -> bytes:
        line = self._stream.readline(most)
        self._n_taken += len(line)
        return line

    def close(self) -> None:
        """Close the file, if it was opened here."""
        self._close(self._file)

    def _close(self, file: IO[bytes]) -> None:
        if self._owned:
            file.close()


class _Rejoined(io.RawIOBase):
    """A stream, rewound: its first bytes, which have been read already, come again."""

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        self.n_given = 0
        self._start = start
        self._read: Any = getattr(rest, "read1", rest.read)  # the bytes that are available, without waiting for more

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        chunk = self._start[: len(view)] if self._start else self._read(len(view))
        self._start = self._start[len(chunk) :]
        view[: len(chunk)] = chunk
        self.n_given += len(chunk)
        return len(chunk)


def _too_long() -> InvalidInputError:
    what = f"the line is longer than {MOST_LINE_BYTES >> 20} MiB"
    return InvalidInputError("line-too-long", what, hint="Check that the file has one example per line.")


def _first_bytes(file: IO[bytes]) -> bytes:
    start = b""
    while len(start) < LONGEST_MAGIC and (more := file.read(LONGEST_MAGIC - len(start))):
        if not isinstance(more, bytes):
            raise InvalidInputError(
                "source-not-readable",
                "the stream to read yields text, but bytes are needed",
                hint="Open it in binary mode.",
            )
        start += more
    return start


def _without_bom(line: bytes, problems: Problems) -> bytes:
    encoding = _OTHER_BOMS.get(line[:2]) or _utf16_without_bom(line[:2])
    if encoding:
        hint = f"Convert it, for example with iconv -f {encoding} -t UTF-8."
        problems.fatal("not-utf-8", f"the text is {encoding}, but it must be UTF-8", hint=hint)
    return line.removeprefix(_BOM)


def _utf16_without_bom(start: bytes) -> str | None:
    """Recognize UTF-16 by its first character: if that is ASCII, one of its two bytes is zero."""
    if start.count(0) != 1:
        return None
    return "UTF-16BE" if start[0] == 0 else "UTF-16LE"


def decoded(lines: Iterator[tuple[int, bytes]], problems: Problems) -> Iterator[tuple[int, str]]:
    """Iterate over the lines as text, with their line ends; lines that are not UTF-8 are invalid."""
    for number, line in lines:
        try:
            yield number, as_text(line)
        except InvalidInputError as error:
            problems.bad(number, error)


def as_text(line: bytes) -> str:
    """Decode a line."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        what = f"byte {line[error.start]:#04x} in position {error.start + 1} is not UTF-8"
        hint = "If the file is Latin-1, convert it, for example with iconv -f LATIN1 -t UTF-8."
        raise InvalidInputError("not-utf-8", what, hint=hint) from None
