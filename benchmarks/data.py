# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Data sets in the text format of the extreme classification repository, found through OPLT_DATA."""

from __future__ import annotations

import lzma
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def folder() -> Path:
    """Return the folder that OPLT_DATA names."""
    path = os.environ.get("OPLT_DATA")
    if not path:
        msg = "set OPLT_DATA to the folder of the data sets: <name>/train.txt.xz and <name>/test.txt.xz in each"
        raise SystemExit(msg)
    return Path(path)


def load(path: Path) -> tuple[Any, list[list[int]]]:
    """Read features (CSR) and lists of labels. The first line is `N d m`, each other `l1,l2 f:v f:v …`."""
    with lzma.open(path, "rt") as file:
        n_rows, n_columns, _ = map(int, file.readline().split())
        labels, indices, values, indptr = [], [], [], [0]
        for line in file:
            head, *pairs = line.rstrip("\n").split(" ")
            labels.append([int(label) for label in head.split(",") if label])
            split = [pair.split(":") for pair in pairs if pair]
            indices.extend(int(index) for index, _ in split)
            values.extend(float(value) for _, value in split)
            indptr.append(len(indices))
    return sp.csr_array((np.array(values, np.float32), np.array(indices), indptr), (n_rows, n_columns)), labels


def precision_at(k: int, predictions: Any, labels: list[list[int]]) -> float:
    """Share of relevant labels among the first k; always divided by k, as the repository does."""
    hits = sum(label in set(true) for row, true in zip(predictions, labels, strict=True) for label, _ in row[:k])
    return hits / (k * len(labels))
