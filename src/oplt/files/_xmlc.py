# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The text format of the extreme classification repository and of LIBSVM, read in batches.

`oplt.datasets.load_xmlc` describes it and reads a whole file into memory. Its rules about headers and empty lines also
hold here.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core
from oplt._typing import FloatArray, PointerArray
from oplt.errors import InvalidInputError
from oplt.files._examples import Batch, Example, Problems
from oplt.validation import bad_value
from oplt.wording import briefly, number_of

__all__ = ["batches", "line", "looks_like"]

_HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t\r]*(#.*)?\n?")
_LABELS = re.compile(rb"[-+]?[0-9]+([.]0*)?(,[-+]?[0-9]+([.]0*)?)*")
_SIGNED = re.compile(rb"[ \t]*([-+0-9.eE,]*[-+.][-+0-9.eE,]*)(?=[ \t\r\n#])")  # labels of LIBSVM: -1, +1, 1.0
_PAIR = re.compile(rb"[0-9]+:[-+.0-9eE]+")

_MOST_BYTES = 1 << 25  # of the lines of a batch
_MOST_INDEX = 2**31

Line = tuple[int, bytes]


def looks_like(lines: list[bytes]) -> bool:
    """Check whether the first lines of a file are in the format. After a header, some of them may be invalid."""
    plain = [line for line in lines if not _is_comment(line)]
    if plain and _HEADER.fullmatch(plain[0]):
        return len(plain) == 1 or any(map(_is_example, plain[1:]))
    return all(map(_is_example, plain)) and any(b":" in line for line in plain)


def _is_example(line: bytes) -> bool:
    first, *pairs = line.partition(b"#")[0].split() or [b"0"]
    return all(map(_PAIR.fullmatch, pairs)) and bool(_LABELS.fullmatch(first) or _PAIR.fullmatch(first))


def batches(lines: Iterator[Line], size: int, problems: Problems, would_wait: Callable[[], bool]) -> Iterator[Batch]:
    """Read batches of at most `size` examples; fewer if reading further lines would block."""
    first = next((line for line in lines if not _is_comment(line[1])), None)
    if first is None:
        return
    header = _sizes(first[1], first[0], problems)
    stream = lines if header else chain([first], lines)
    reader = _Reader(header, problems)
    for piece in _pieces(_settled(stream, header[0] if header else 0), size, would_wait):
        batch = reader.batch(piece)
        if len(batch):
            yield batch
    if header and reader.n_lines != header[0]:
        problems.fatal(
            "header-and-lines-differ",
            f"the header says {number_of(header[0], 'example')}, but the file has {reader.n_lines:,}",
            hint="Is the file truncated?" if reader.n_lines < header[0] else None,
        )


class _Reader:
    """Parses pieces of the file into batches, within the limits of the header."""

    def __init__(self, header: tuple[int, int, int] | None, problems: Problems) -> None:
        self.n_lines = 0
        self._limits = header[1:] if header else (_MOST_INDEX, _MOST_INDEX)
        self._shape = header[1:] if header else None
        self._problems = problems

    def batch(self, piece: list[Line]) -> Batch:
        self.n_lines += len(piece)
        piece, signed = self._without_signed(piece)
        text = np.frombuffer(b"".join(line for _, line in piece), dtype=np.uint8)
        (values, features, x_indptr), (labels, y_indptr), shape, bad = _core.parse_lines(text, *self._limits)
        numbers = np.array([number for number, _ in piece], dtype=np.int64)
        for at, what in bad:
            self._problems.bad(int(numbers[at]), InvalidInputError("not-xmlc", what))
        n_features, n_labels = self._shape or shape
        X = _csr(values, features, x_indptr, n_features)  # noqa: N806 (a matrix)
        Y = _csr(np.ones(len(labels), dtype=np.float32), labels, y_indptr, n_labels)  # noqa: N806
        kept = np.delete(numbers, [at for at, _ in bad])
        batch = self._usable(Batch(X, Y, None, kept, self._problems.source))
        return _with_labels(batch, signed) if signed else batch

    def _without_signed(self, piece: list[Line]) -> tuple[list[Line], dict[int, list[int]]]:
        """Cut signed and decimal labels, which XMLC does not have, from their lines; return them by line number."""
        if not any(_SIGNED.match(line) for _, line in piece):
            return piece, {}
        rest: list[Line] = []
        signed: dict[int, list[int]] = {}
        for number, line in piece:
            found = _SIGNED.match(line)
            try:
                if found:
                    signed[number] = [_whole(label) for label in found[1].decode().split(",")]
                rest.append((number, b" " + line[found.end() :] if found else line))
            except InvalidInputError as error:
                self._problems.bad(number, error)
        return rest, signed

    def _usable(self, batch: Batch) -> Batch:
        """Leave out examples with values that are too large for a model."""
        large = np.flatnonzero(~(np.abs(batch.X.data) <= _core.LARGEST_VALUE))
        if not len(large):
            return batch
        rows, first = np.unique(np.searchsorted(batch.X.indptr, large, side="right") - 1, return_index=True)
        for row, at in zip(rows, large[first], strict=True):
            self._problems.bad(int(batch.numbers[row]), bad_value(int(batch.X.indices[at]), f"{batch.X.data[at]:g}"))
        kept = np.delete(np.arange(len(batch)), rows)
        return replace(batch, X=batch.X[kept], Y=batch.Y[kept], numbers=batch.numbers[kept])


def _whole(text: str) -> int:
    """Parse a label as LIBSVM writes it: +1, -1, 1.0."""
    try:
        number = float(text)
        is_whole = number == int(number) and abs(number) < 2**53
    except (ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise InvalidInputError(
            "not-xmlc",
            "a label must be a whole number",
            got=briefly(text),
            hint="Regression targets are not labels.",
        )
    return int(float(text))


def _with_labels(batch: Batch, signed: dict[int, list[int]]) -> Batch:
    """Insert the labels that were cut from their lines."""
    others = [batch.Y.indices[begin:end].tolist() for begin, end in pairwise(batch.Y.indptr.tolist())]
    return replace(
        batch, Y=[signed.get(number, own) for number, own in zip(batch.numbers.tolist(), others, strict=True)]
    )


def _csr(values: FloatArray, indices: npt.NDArray[np.int32], indptr: PointerArray, n_columns: int) -> sp.csr_array:
    """Make a CSR matrix without copying its large arrays: SciPy would widen the indices to the type of the pointers."""
    return sp.csr_array((values, indices, indptr.astype(np.int32)), shape=(len(indptr) - 1, n_columns))


def _is_comment(line: bytes) -> bool:
    return line.lstrip(b" \t").startswith(b"#")


def _sizes(line: bytes, number: int, problems: Problems) -> tuple[int, int, int] | None:
    found = _HEADER.fullmatch(line)
    if found is None:
        return None
    n_examples, n_features, n_labels = map(int, found.groups()[:3])
    if max(n_features, n_labels) > _MOST_INDEX:
        what = f"the header must declare at most {_MOST_INDEX} features and labels"
        problems.fatal("header-too-large", what, line=number, got=str(max(n_features, n_labels)))
    return n_examples, n_features, n_labels


def _settled(lines: Iterator[Line], n_wanted: int) -> Iterator[Line]:
    """Remove comments, and trailing empty lines unless the header counts them; add missing line ends."""
    n_given = 0
    empty = array("q")
    for number, line in lines:
        if not line.strip(b" \t\r\n"):
            empty.append(number)
        elif not _is_comment(line):
            yield from ((at, b"\n") for at in empty)
            n_given += len(empty) + 1
            del empty[:]
            yield number, line if line.endswith(b"\n") else line + b"\n"
    yield from ((at, b"\n") for at in empty[: max(n_wanted - n_given, 0)])


def _pieces(lines: Iterator[Line], size: int, would_wait: Callable[[], bool]) -> Iterator[list[Line]]:
    piece: list[Line] = []
    n_bytes = 0
    for line in lines:
        piece.append(line)
        n_bytes += len(line[1])
        if len(piece) == size or n_bytes >= _MOST_BYTES or would_wait():
            yield piece
            piece, n_bytes = [], 0
    if piece:
        yield piece


def line(example: Example) -> str:
    """Write an example; its names must be numbers."""
    if isinstance(example.x, str):
        raise InvalidInputError("not-writable", "XMLC lines hold features, but the example has a text")
    if example.weight != 1:
        raise InvalidInputError("not-writable", "XMLC lines have no weights", got=f"the weight {example.weight}")
    for what, names in (("feature", example.x), ("label", example.labels)):
        bad = next((name for name in names if isinstance(name, str) or not 0 <= name < _MOST_INDEX), None)
        if bad is not None:
            rule = f"names in XMLC lines must be whole numbers from 0 to {_MOST_INDEX - 1}"
            raise InvalidInputError("not-writable", rule, got=f"the {what} {bad!r}")
    return ",".join(map(str, example.labels)) + "".join(f" {name}:{value + 0!r}" for name, value in example.x.items())
