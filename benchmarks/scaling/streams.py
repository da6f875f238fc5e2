# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Generated streams of any size, batch by batch: labels emerge all along, and their frequencies follow Zipf's law.

Each label has its own words, drawn from one vocabulary. Half of an example's features are words of its labels, so
that they can be learnt; the others are noise, whose frequencies also follow Zipf's law, but with a flatter head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

FLAT_HEAD = 100.0  # about this many noise words are equally frequent; else few would be distinct
BATCH = 16384

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """A stream of examples with one or two labels each, in which all `n_labels` occur."""

    n_labels: int
    n_examples: int
    n_features: int  # of each example; occasionally fewer, if words coincide
    vocabulary: int = 200_000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that there are enough examples for all labels."""
        if self.n_labels > self.n_examples:
            msg = f"{self.n_labels} labels cannot emerge in {self.n_examples} examples: one a time"
            raise ValueError(msg)

    def batches(self) -> Iterator[tuple[Any, Any]]:
        """Yield features (CSR, float32) and labels (CSR indicator) of the next examples."""
        for begin in range(0, self.n_examples, BATCH):
            rows = np.arange(begin, min(begin + BATCH, self.n_examples))
            yield self._examples(rows, np.random.default_rng([self.seed, begin]))

    def after(self, n_examples: int) -> tuple[Any, Any]:
        """Return examples that could follow the end of the stream, with labels that have occurred."""
        rows = np.full(n_examples, self.n_examples)
        return self._examples(rows, np.random.default_rng([self.seed, self.n_examples]))

    def _examples(self, rows: Ints, rng: np.random.Generator) -> tuple[Any, Any]:
        known, before = self._emerged(rows), self._emerged(rows - 1)
        labels = np.stack([zipf(known, rng), zipf(known, rng)], axis=1)
        labels[:, 1] = np.where(known > before, known - 1, labels[:, 1])  # the label that emerges here
        n_noise = self.n_features // 2
        n_words = self.n_features - n_noise  # per label: an example has the i-th word of one of its labels
        owner = labels[np.arange(len(rows))[:, None], rng.integers(0, 2, (len(rows), n_words))]
        words = scatter(owner * n_words + np.arange(n_words), self.vocabulary)
        noise = zipf(np.full((len(rows), n_noise), self.vocabulary), rng, FLAT_HEAD)
        features = np.concatenate([words, noise], axis=1)
        return matrix(features, self.vocabulary), matrix(labels, self.n_labels)

    def _emerged(self, rows: Ints) -> Ints:
        """Return the number of labels that have occurred up to these rows."""
        return np.minimum(-(-(rows + 1) * self.n_labels // self.n_examples), self.n_labels)


def zipf(sizes: Ints, rng: np.random.Generator, head: float = 1.0) -> Ints:
    """Draw from 0 … size - 1, with probabilities that fall about like 1 / (head + number)."""
    drawn = head * ((sizes / head + 1) ** rng.random(sizes.shape) - 1)
    return np.minimum(drawn.astype(np.int64), sizes - 1)


def scatter(numbers: Ints, size: int) -> Ints:
    """Map numbers to 0 … size - 1 pseudo-randomly but deterministically (the finaliser of SplitMix64)."""
    mixed = numbers.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(size)).astype(np.int64)


def matrix(columns: Ints, n_columns: int) -> Any:
    """Make a CSR matrix with ones at the given columns of each row, each column once."""
    indptr = np.arange(0, columns.size + 1, columns.shape[1])
    found = sp.csr_array((np.ones(columns.size, np.float32), columns.ravel(), indptr), (len(columns), n_columns))
    found.sum_duplicates()
    found.data[:] = 1
    return found
