# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Data sets in the text format of the extreme classification repository, found through OPLT_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from oplt.datasets import load_xmlc


def folder() -> Path:
    """Return the folder that OPLT_DATA names."""
    path = os.environ.get("OPLT_DATA")
    if not path:
        msg = "set OPLT_DATA to the folder of the data sets: <name>/train.txt.xz and <name>/test.txt.xz in each"
        raise SystemExit(msg)
    return Path(path)


def part(name: str, which: str) -> Path:
    """Return the file of a data set that is called train.txt or test.txt, plain or compressed."""
    candidates = [folder() / name / f"{which}.txt{suffix}" for suffix in ("", ".xz", ".gz", ".bz2")]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        msg = f"there is no {candidates[0]}, neither plain nor as .xz, .gz or .bz2"
        raise SystemExit(msg)
    return found


def load(path: Path) -> tuple[Any, list[list[int]]]:
    """Read features (CSR) and lists of labels."""
    X, Y = load_xmlc(path)
    return X, [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]


def precision_at(k: int, predictions: Any, labels: list[list[int]]) -> float:
    """Compute the fraction of relevant labels among the first k; always divided by k, as the repository does."""
    hits = sum(label in set(true) for row, true in zip(predictions, labels, strict=True) for label, _ in row[:k])
    return hits / (k * len(labels))
