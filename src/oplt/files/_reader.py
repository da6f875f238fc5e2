# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Reading batches of examples from files of any format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oplt._typing import Label
from oplt.checks import count, refuse
from oplt.errors import InvalidInputError
from oplt.files import _fasttext, _jsonl, _lines, _parquet, _table, _vw, _xmlc
from oplt.files._examples import Batch, Columns, Example, Problems
from oplt.files._formats import PLAIN, SAMPLE, checked, chosen, of_first_line
from oplt.files._source import Source, decoded
from oplt.validation import TEXT, holds_text

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["Reader", "read"]

_BATCH = 8192  # examples, as many as a model processes in one batch
_MOST_CHARACTERS = 1 << 25  # of the examples of a batch
_CHARACTERS_OF_A_FEATURE = 32  # about as much memory

_Parser: TypeAlias = Callable[[Iterator[tuple[int, str]], Columns, Problems], Iterator[Example]]

_LINE_FORMATS: dict[str, _Parser] = {
    "fasttext": _fasttext.examples,
    "vw": _vw.examples,
    PLAIN: _lines.examples,
    **{name: partial(_table.examples, delimiter=delimiter) for name, delimiter in _table.DELIMITERS.items()},
}


def read(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    format: str | None = None,  # noqa: A002 (it is one)
    batch: int = _BATCH,
    on_error: str = "raise",
    columns: Columns | None = None,
    live: bool = False,
) -> Reader:
    r"""Read examples from a file, a batch at a time, with bounded memory whatever the size of the file.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, or a binary stream. It may be plain or compressed by gzip, bzip2, xz or
        zstd, which is detected from the content. Text must be UTF-8, with or without a byte order mark; lines end with
        LF or CR LF.
    format
        ``"xmlc"`` (also LIBSVM), ``"jsonl"``, ``"csv"``, ``"tsv"``, ``"parquet"``, ``"fasttext"`` or ``"vw"`` (Vowpal
        Wabbit). If not given, it is detected from the first ten lines and the name; it is an error if they leave it
        open or disagree. ``"text"``, which is never detected, reads each line, even an empty one, as a text without
        labels (``labels=None``).
    batch
        Maximum number of examples per batch. Batches of long examples are smaller.
    on_error
        ``"raise"``: the first invalid line is an error. ``"skip"``: invalid lines are skipped and counted in
        `Reader.skipped`. Errors that concern the whole file are always raised.
    columns
        The fields or columns to read, for JSONL, CSV, TSV and Parquet.
    live
        Return a batch as soon as no further line is available, instead of waiting until it is full. For a pipe or a
        terminal, whose next line may take long to arrive.

    Returns
    -------
    An iterator over batches.

    Raises
    ------
    InvalidInputError
        Immediately, if the format cannot be detected or the file is empty. While iterating, if a line is not valid; the
        message names the file, the line, what was found and what was expected.

    Examples
    --------
    >>> import io
    >>> from oplt import OnlinePLT
    >>> file = io.BytesIO(b'{"features": {"purrs": 1}, "label": "cat"}\n{"features": {"barks": 1}, "label": "dog"}\n')
    >>> model = OnlinePLT()
    >>> for batch in read(file):
    ...     model.learn_many(batch.X, batch.Y, weights=batch.weights)
    >>> model.n_examples, model.n_labels
    (2, 2)
    """
    if on_error not in ("raise", "skip"):
        refuse("on_error", '"raise" or "skip"', on_error)
    if not isinstance(columns, Columns | None):
        refuse("columns", "oplt.files.Columns(...)", columns)
    size = count("batch", batch)
    known = None if format is None else checked(format)
    return Reader(Source(source, live=live), known, size, columns or Columns(), skip=on_error == "skip")


class Reader:
    r"""An iterator over batches of examples, returned by `read`. It closes its file at the end, or when it is closed.

    Attributes
    ----------
    format
        The format of the file.
    n_examples
        Number of examples read so far.
    skipped
        The lines skipped so far: their `count`, and the first `errors`.

    Examples
    --------
    >>> import io
    >>> with read(io.BytesIO(b"__label__cat it purrs\n__label__dog it barks\n"), batch=1) as reader:
    ...     for batch in reader:
    ...         print(reader.format, batch.where(0), batch.X, batch.Y)
    fasttext the stream, line 1 ['it purrs'] [['cat']]
    fasttext the stream, line 2 ['it barks'] [['dog']]
    >>> reader.n_examples, reader.skipped.count
    (2, 0)
    """

    def __init__(
        self,
        source: Source,
        format: str | None,  # noqa: A002 (it is one)
        size: int,
        columns: Columns,
        *,
        skip: bool,
    ) -> None:
        self.n_examples = 0
        self._source = source
        try:
            is_parquet = format == "parquet" or (format is None and source.start.startswith(_parquet.MAGIC))
            self.skipped = Problems(source.name, skip=skip, unit="row" if is_parquet else "line")
            self.format, self._batches = self._begin("parquet" if is_parquet else format, size, columns)
        except BaseException:
            source.close()
            raise

    def _begin(self, format: str | None, size: int, columns: Columns) -> tuple[str, Iterator[Batch]]:  # noqa: A002
        if format == "parquet":
            examples = _parquet.examples(self._source, size, columns, self.skipped)
            return format, _gathered(examples, size, self.skipped, self._source.would_wait)
        lines = self._source.lines(self.skipped)
        sample = _sample(lines, format, columns)
        lines = chain(sample, lines)
        is_blank = format != PLAIN and len(sample) < SAMPLE and not any(line.strip() for _, line in sample)
        if not self._source.start or is_blank:
            self.skipped.fatal("no-examples", "the file is empty")
        format = chosen(format, self._source.name, [line for _, line in sample], columns)  # noqa: A001
        if format == "parquet":  # by its name only
            what = "the name suggests a Parquet file, but the content is not Parquet"
            self.skipped.fatal("parquet-not-readable", what, hint=_parquet.NOT_READABLE)
        if columns.keep and format in ("xmlc", "vw", "fasttext", PLAIN):
            self._expect_to_keep(format, columns)
        if format == "xmlc":
            return format, _xmlc.batches(lines, size, self.skipped, self._source.would_wait)
        if format == "jsonl":  # its decoder takes bytes
            examples = _jsonl.examples(lines, columns, self.skipped)
        else:
            examples = _LINE_FORMATS[format](decoded(lines, self.skipped), columns, self.skipped)
        return format, _gathered(examples, size, self.skipped, self._source.would_wait)

    def _expect_to_keep(self, format: str, columns: Columns) -> None:  # noqa: A002
        """Reject `Columns.keep` for formats that have no fields other than the text."""
        texts = ("text",) if format in ("fasttext", PLAIN) else ()
        missing = next((name for name in columns.keep if name not in texts), None)
        if missing is not None:
            only = "its lines have no fields other than the text" if texts else "its lines have no named fields"
            self.skipped.fatal("field-missing", f"{missing!r} cannot be kept: the format is {format}, and {only}")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch:
        try:
            batch = next(self._batches)
        except BaseException:
            self.close()
            raise
        self.n_examples += len(batch)
        return batch

    @property
    def share_read(self) -> float | None:
        """Fraction of the file's bytes on disk that has been read; None for pipes and for Parquet."""
        return None if self.format == "parquet" else self._source.share_read

    def examples(self) -> Iterator[tuple[Any, list[Label], float]]:
        """Iterate over single examples: x, labels and weight, as `oplt.evaluate.progressive` takes them."""
        return chain.from_iterable(self)

    def close(self) -> None:
        """Close the file; nothing more is read."""
        self._batches = iter(())
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sample(lines: Iterator[tuple[int, bytes]], format: str | None, columns: Columns) -> list[tuple[int, bytes]]:  # noqa: A002
    """Read only as many lines as are needed to detect the format: in a pipe, the next line may take long to arrive."""
    sample: list[tuple[int, bytes]] = []
    for number, line in islice(lines, SAMPLE):
        sample.append((number, line))
        if line.strip() and (format or of_first_line(line, columns)):
            break
    return sample


def _gathered(
    examples: Iterable[Example], size: int, problems: Problems, would_wait: Callable[[], bool]
) -> Iterator[Batch]:
    kept: list[Example] = []
    n_characters = 0
    first: Example | None = None
    for example in examples:
        first = first or example
        if holds_text(example.x) != holds_text(first.x):
            kinds = ("a text", "features") if holds_text(example.x) else ("features", "a text")
            what = f"the example has {kinds[0]}, but that in {problems.unit} {first.number} has {kinds[1]}"
            problems.bad(example.number, InvalidInputError("texts-and-features-mixed", what))
            continue
        kept.append(example)
        n_characters += _size(example.x)
        if len(kept) == size or n_characters >= _MOST_CHARACTERS or would_wait():
            yield _batch(kept, problems)
            kept, n_characters = [], 0
    if kept:
        yield _batch(kept, problems)


def _size(x: Any) -> int:
    """Estimate the memory of an example, in characters."""
    if isinstance(x, str):
        return len(x)
    return len(x) * _CHARACTERS_OF_A_FEATURE + (len(x[TEXT]) if holds_text(x) else 0)


def _batch(examples: list[Example], problems: Problems) -> Batch:
    xs, labels, weights, numbers, kept = map(list, zip(*examples, strict=True))
    weighted = any(weight != 1 for weight in weights)
    return Batch(
        xs,
        labels,
        np.array(weights, dtype=np.float32) if weighted else None,
        np.array(numbers, dtype=np.int64),
        problems.source,
        problems.unit,
        None if kept[0] is None else kept,
    )
