# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Shared by all systems: the data in the forms that they take, the result, and precision."""

from __future__ import annotations

import lzma
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

TOP = 5


class Skipped(Exception):  # noqa: N818 (it is no error)
    """Raised if a system cannot run; the message says why."""


class NotInstalled(Skipped):
    """Raised if a system is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Result:
    """Measurements of one run; None where a system does not report one."""

    train_s: float  # without loading
    train_cpu_s: float | None  # the same in CPU time, which depends less on other processes
    save_s: float | None  # None: part of train_s
    predict_ms: float  # per example, top 5, without loading
    loaded_mb: float | None  # RSS after loading the training data
    peak_mb: float  # peak RSS of training
    model_mb: float  # on disk
    precision: list[float | None]  # P@1, P@3, P@5 in percent


@dataclass(frozen=True)
class DataSet:
    """A data set, prepared in a folder: plain text for programs, matrices for libraries."""

    name: str
    folder: Path

    def text(self, part: str) -> Path:
        """Return the file of `train` or `test` in the text format of the extreme classification repository."""
        return self.folder / f"{part}.txt"

    def matrices(self, part: str, *, unit_rows: bool = False) -> tuple[Any, Any]:
        """Load features (CSR, float32), as they are or scaled to rows of norm 1, and labels (CSR indicator)."""
        import numpy as np
        import scipy.sparse as sp

        X, Y = (sp.load_npz(self.folder / f"{part}-{kind}.npz") for kind in "XY")
        if unit_rows:
            norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
            X.data /= np.repeat(norms, np.diff(X.indptr))
        return X, Y

    def header(self, part: str) -> tuple[int, int, int]:
        """Return the numbers of examples, features and labels."""
        with self.text(part).open() as file:
            n_examples, n_features, n_labels = map(int, file.readline().split())
        return n_examples, n_features, n_labels

    def is_multi_class(self) -> bool:
        """Tell whether each training example has exactly one label."""
        with self.text("train").open() as file:
            next(file)
            return all((label := line.partition(" ")[0]) and "," not in label for line in file)

    def prepare(self, test_rows: int | None = None) -> None:
        """Write text and matrices from the compressed files; of the test set, optionally only the first rows."""
        import scipy.sparse as sp

        sys.path.insert(0, str(Path(__file__).parents[1]))
        import data

        self.folder.mkdir(parents=True, exist_ok=True)
        for part in ("train", "test"):
            with lzma.open(data.folder() / self.name / f"{part}.txt.xz") as packed, self.text(part).open("wb") as plain:
                n_examples, rest = packed.readline().split(maxsplit=1)
                rows = int(n_examples) if part == "train" or test_rows is None else min(int(n_examples), test_rows)
                plain.write(b"%d %s" % (rows, rest))
                plain.writelines(islice(packed, rows))
            X, Y = data.load(self.text(part))
            sp.save_npz(self.folder / f"{part}-X.npz", sp.csr_matrix(X), compressed=False)
            sp.save_npz(self.folder / f"{part}-Y.npz", indicator(Y, self.header(part)[2]), compressed=False)


def indicator(Y: Any, n_labels: int) -> Any:
    """Make labels (lists, or an indicator matrix) a CSR indicator matrix of float32."""
    import numpy as np
    import scipy.sparse as sp

    if not sp.issparse(Y):
        indptr = np.cumsum([0, *map(len, Y)])
        columns = np.fromiter((label for labels in Y for label in labels), np.int64, indptr[-1])
        Y = sp.csr_matrix((np.ones(len(columns)), columns, indptr), (len(Y), n_labels))
    Y = sp.csr_matrix(Y, dtype=np.float32)
    Y.resize(Y.shape[0], n_labels)
    Y.data[:] = 1
    return Y


def precision(rows: Iterable[Iterable[int]], Y: Any, depths: Iterable[int] = (1, 3, TOP)) -> list[float]:
    """Compute P@k in percent from each row's labels, best first; always divided by k, as the repository does."""
    truth = [set(Y.indices[begin:end].tolist()) for begin, end in pairwise(Y.indptr)]
    hits = [[label in true for label in row] for row, true in zip(rows, truth, strict=True)]
    return [100 * sum(sum(row[:k]) for row in hits) / (k * len(truth)) for k in depths]


def size_mb(path: Path) -> float:
    """Size of a file, or of all files of a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20
