# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Reading: from a file of any format to batches of examples."""

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

_BATCH = 8192  # examples, as many as a model takes at once
_MOST_CHARACTERS = 1 << 25  # of the examples of a batch
_CHARACTERS_OF_A_FEATURE = 32  # about as much memory

_Parser: TypeAlias = Callable[[Iterator[tuple[int, str]], Columns, Problems], Iterator[Example]]

_LINE_FORMATS: dict[str, _Parser] = {
    "jsonl": _jsonl.examples,
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
    r"""Read examples from a file, a batch at a time: memory is bounded whatever the size of the file.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, or a stream of bytes. Plain, or compressed by gzip, bzip2, xz or zstd: the
        content tells. Texts are UTF-8, with or without a byte order mark; lines end with LF or CR LF.
    format
        ``"xmlc"`` (also LIBSVM), ``"jsonl"``, ``"csv"``, ``"tsv"``, ``"parquet"``, ``"fasttext"`` or ``"vw"`` (Vowpal
        Wabbit). If not given, the first ten lines and the name tell; if they do not, or disagree, that is an error.
        ``"text"``, which nothing tells: each line, even an empty one, is a text without labels (``labels=None``).
    batch
        Examples of a batch, at most. Long ones make smaller batches.
    on_error
        ``"raise"``: the first line that is no example is an error. ``"skip"``: such lines are left out and counted in
        `Reader.skipped`. A file that is damaged as a whole is an error in any case.
    columns
        Which fields or columns hold what, for JSONL, CSV, TSV and Parquet.
    live
        Do not wait for more lines while there are examples to give: a batch holds those that are here. For a pipe or a
        terminal, whose next line may take long to come.

    Returns
    -------
    An iterator of batches.

    Raises
    ------
    InvalidInputError
        If the format cannot be told or the file is empty, at once; if a line is wrong, when it is come to, naming the
        file, the line, what was found and what was expected.

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
    r"""An iterator of batches of examples, made by `read`. It closes its file at the end, or when it is closed.

    Attributes
    ----------
    format
        The format that is read.
    n_examples
        Examples given so far.
    skipped
        What was left out so far: its `count`, and the first `errors`.

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
            self.skipped.fatal("no-examples", "there is no example: the file is empty")
        format = chosen(format, self._source.name, [line for _, line in sample], columns)  # noqa: A001
        if format == "parquet":  # by its name only
            what = "by its name it is a Parquet file, but not by its content"
            self.skipped.fatal("parquet-not-readable", what, hint=_parquet.NOT_READABLE)
        if columns.keep and format in ("xmlc", "vw", "fasttext", PLAIN):
            self._expect_to_keep(format, columns)
        if format == "xmlc":
            return format, _xmlc.batches(lines, size, self.skipped, self._source.would_wait)
        examples = _LINE_FORMATS[format](decoded(lines, self.skipped), columns, self.skipped)
        return format, _gathered(examples, size, self.skipped, self._source.would_wait)

    def _expect_to_keep(self, format: str, columns: Columns) -> None:  # noqa: A002
        """Refuse to keep fields of a format that has none, but for the text."""
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
        """Share of the file's bytes, as they lie on the disk, that has been read; None for pipes and for Parquet."""
        return None if self.format == "parquet" else self._source.share_read

    def examples(self) -> Iterator[tuple[Any, list[Label], float]]:
        """Go through single examples: x, labels and weight, as `oplt.evaluate.progressive` takes them."""
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
    """Take as many of the first lines as it takes to tell the format: of a pipe, the next one may be long in coming."""
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
    """Tell how much memory an example takes, as characters."""
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
