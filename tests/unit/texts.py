# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts and settings shared by several tests."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from oplt.text import TextFeatures

TEXTS = [
    "Heap overflow in the Linux kernel",
    "Cross-site scripting (XSS) in WordPress 4.7.2",
    "The Linux kernel before 5.1 allows a heap overflow, heap corruption",
    "",
    "SQL injection in WordPress plug-in",
    "Überlauf im Kernel: 日本語 и русский ТЕКСТ",
]
LABELS = [["linux:kernel"], ["wordpress:wordpress", "xss"], ["linux:kernel"], [], ["wordpress:wordpress"], ["other", 7]]

SETTINGS: list[dict[str, Any]] = [
    {},
    {"ngrams": (1, 2)},
    {"ngrams": None, "chars": (3, 4)},
    {"chars": (2, 3), "idf": False},
    {"sublinear": False, "max_features": 15},
    {"ngrams": (1, 3), "max_features": 20},
]


def texts_and_labels(n: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Make texts whose words indicate their labels, and in which new words and labels keep appearing."""
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    texts, labels = [], []
    for i in range(n):
        topic = source.randrange(3 + i // 20)
        words = [f"Topic{topic}-{source.randrange(6)}" for _ in range(5)] + [f"noise{source.randrange(10 + i)}"]
        texts.append(" ".join(words))
        labels.append([f"label {topic}"] if source.random() < 0.95 else [])
    return texts, labels


def as_dicts(features: TextFeatures, matrix: Any) -> list[dict[Any, float]]:
    names = features.names
    rows = np.split(np.arange(matrix.nnz), matrix.indptr[1:-1])
    return [{names[matrix.indices[i]]: float(matrix.data[i]) for i in row} for row in rows]
