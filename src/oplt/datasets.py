# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Data sets from files, and synthetic streams."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core
from oplt._typing import FloatArray, PointerArray
from oplt.checks import Number, count, path_of
from oplt.compression import LONGEST_MAGIC, by_magic, telling_damage
from oplt.errors import InvalidInputError

__all__ = ["load_xmlc", "make_stream"]

_Matrix: TypeAlias = "sp.csr_array[np.float32, tuple[int, int]]"

_BLOCK_BYTES = 1 << 20

_NEGATIVE = (
    "Labels are the columns of a matrix here. Read labels such as -1 and +1 with oplt.files.read(path, format='xmlc')."
)

_OWN_WORDS = 4  # words of each label
_TOPIC_WORDS = 20  # words shared by the labels of a topic
_COMMON_WORDS = 500  # noise words
_LABELS_PER_TOPIC = 10


def load_xmlc(path: str | os.PathLike[str], *, threads: int | None = None) -> tuple[_Matrix, _Matrix]:
    r"""Read a data set in the text format of the extreme classification repository or of LIBSVM.

    The first line may be a header `N d m`: the numbers of examples, features and labels. Every other line is an
    example, `l1,l2,... f:v f:v ...`: its labels, then its non-zero features with their values. A line that begins with
    a blank or with a pair `f:v` has no labels. Labels and features are integers from 0 and are not renumbered; labels
    may also be written as `+1` and `1.0`. LIBSVM files often number features from 1, in which case column 0 is empty. A
    label of -1 cannot be a column: use `oplt.files.read`. Blanks are any number of spaces and tabs. Text after a `#` is
    ignored, and so is a line that holds nothing else.

    An empty line is an example with neither labels nor features, except at the end of the file, where it is ignored
    unless the header counts it.

    Parameters
    ----------
    path
        Text file, plain or compressed by gzip, bzip2, xz or zstd, which is detected from its content.
    threads
        Number of parsing threads; by default, one per CPU. The result does not depend on it.

    Returns
    -------
    X
        Features, float32, one row per example, `d` columns. The features of a row are in ascending order; a feature
        that occurs twice in a line is stored twice, which SciPy treats as the sum. Values are correctly rounded.
    Y
        Labels: 1 where a label applies, `m` columns. The labels of a row are in ascending order, without duplicates.

    Without a header, `d` and `m` are the largest feature and label plus 1, so those of a training and a test set may
    differ. `OnlinePLT` accepts that.

    Raises
    ------
    InvalidInputError
        If a line is not in the format (a value is not a finite number, an index is outside the header's range), if the
        number of examples differs from the header's, or if compressed data is damaged. The message names the first
        invalid line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 4 3\n0,2 1:0.5 3:1e-2\n1 0:2\n")
    >>> X, Y = load_xmlc(path)
    >>> X.shape, Y.toarray().tolist()
    ((2, 4), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    """
    n_threads = count("threads", (os.cpu_count() or 1) if threads is None else threads)
    text = _read(path_of(path))
    try:
        x, (labels, y_indptr), (n_features, n_labels) = _core.parse_text(text, n_threads)
    except InvalidInputError as error:
        located = error.at(f"{os.fspath(path)}, {error.where}")
        raise (located.with_hint(_NEGATIVE) if error.what.startswith("label '-") else located) from None
    ones = np.ones(len(labels), dtype=np.float32)
    return _as_csr(*x, n_features), _as_csr(ones, labels, y_indptr, n_labels)


def _as_csr(values: FloatArray, indices: npt.NDArray[np.int32], indptr: PointerArray, n_columns: int) -> _Matrix:
    """Make a CSR matrix without copying its large arrays: SciPy would widen the indices to the type of the pointers."""
    pointers = indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr
    return sp.csr_array((values, indices, pointers), shape=(len(indptr) - 1, n_columns))


def _read(path: Path) -> npt.NDArray[np.uint8]:
    with path.open("rb") as file:
        compression = by_magic(file.peek(LONGEST_MAGIC))
        if compression is not None:
            with telling_damage(str(path)), compression.open(file, "rb") as stream:
                return np.frombuffer(_decompress(stream), dtype=np.uint8)
        if path.is_file():
            return np.fromfile(file, dtype=np.uint8)  # much faster than read(): NumPy's memory is in huge pages
        return np.frombuffer(file.read(), dtype=np.uint8)  # a pipe, say


def _decompress(stream: IO[bytes]) -> memoryview:
    """Read everything into one growing buffer: `stream.read()` would hold the text twice."""
    text = io.BytesIO()
    shutil.copyfileobj(stream, text, _BLOCK_BYTES)
    return text.getbuffer()


def make_stream(
    n_examples: int, *, n_labels: int = 1000, labels_per_example: float = 1.5, words_per_label: int = 6, seed: int = 0
) -> Iterator[tuple[dict[str, float], list[str]]]:
    """Generate a stream of documents whose labels and words keep emerging.

    Label frequencies follow Zipf's law. Labels appear at random times throughout the stream, each with words of its
    own. A document has one or more labels of one topic, with a few words of each label, some words of the topic and
    some noise words, so that its labels can be learned, but not perfectly.

    Parameters
    ----------
    n_examples
        Length of the stream.
    n_labels
        Number of labels by the end of the stream (rare ones may never occur).
    labels_per_example
        Mean number of labels of an example, at least 1.
    words_per_label
        Number of words of each label of an example, and of its topic.
    seed
        Seed of the random number generator.

    Returns
    -------
    An iterator over pairs of features (word counts) and labels.

    Examples
    --------
    >>> x, labels = next(make_stream(100, seed=7))
    >>> all(isinstance(word, str) for word in x), len(labels) >= 1
    (True, True)
    """
    count("n_examples", n_examples)
    count("n_labels", n_labels)
    count("words_per_label", words_per_label)
    count("seed", seed, least=0, most=2**64 - 1)
    Number(least=1)("labels_per_example", labels_per_example)
    return _stream(n_examples, n_labels, labels_per_example, words_per_label, np.random.default_rng(seed))


def _stream(
    n_examples: int, n_labels: int, labels_per_example: float, words_per_label: int, rng: np.random.Generator
) -> Iterator[tuple[dict[str, float], list[str]]]:
    n_topics = -(-n_labels // _LABELS_PER_TOPIC)
    zipf = rng.permutation(1.0 / np.arange(1, n_labels + 1))
    cumulated = np.cumsum(zipf)  # labels are numbered in order of birth
    births = np.sort(rng.uniform(0, n_examples, n_labels))
    births[0] = 0
    common = np.cumsum(1.0 / np.arange(1, _COMMON_WORDS + 1))

    for t in range(n_examples):
        n_born = int(np.searchsorted(births, t, side="right"))
        first = int(np.searchsorted(cumulated[:n_born], rng.uniform(0, cumulated[n_born - 1])))
        topic = first % n_topics
        n_extra = rng.poisson(labels_per_example - 1)
        siblings = topic + n_topics * rng.integers(0, -(-(n_born - topic) // n_topics), n_extra)
        labels = dict.fromkeys([first, *siblings.tolist()])  # distinct, in order
        words: list[str] = []
        for label in labels:
            n_own = int(rng.binomial(words_per_label, 0.6))
            words.extend(f"term-{label}-{i}" for i in rng.integers(0, _OWN_WORDS, n_own))
            words.extend(f"topic-{topic}-{i}" for i in rng.integers(0, _TOPIC_WORDS, words_per_label - n_own))
        words.extend(f"word-{i}" for i in np.searchsorted(common, rng.uniform(0, common[-1], words_per_label)))
        counts: dict[str, float] = {}
        for word in words:
            counts[word] = counts.get(word, 0.0) + 1.0
        yield counts, [f"topic-{topic}/label-{label}" for label in labels]
