# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Speed of text vectorization: `TextFeatures` compared with scikit-learn's vectorizers, one thread.

Run: OPLT_DATA=<folder> python benchmarks/micro/text.py nvd-cpe

Texts are those of <name>/train.jsonl.xz, one JSON object with a "text" per line. The systems alternate for five rounds;
medians of CPU time are reported, which depends least on other programs. All make a sparse matrix with rows of norm 1.
`HashingVectorizer` has no vocabulary and no idf: `hash_bits` without idf is its counterpart, and the reference
of all ratios. By default, scikit-learn leaves out words of one character; here it does not.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt.text import TextFeatures

N_ROUNDS = 5
PEER = "scikit-learn, HashingVectorizer"


def load(name: str) -> list[str]:
    """Read the texts of a data set."""
    path = data.folder() / name / "train.jsonl.xz"
    if not path.is_file():
        msg = f"there is no {path}: the data set has no raw texts"
        raise SystemExit(msg)
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def systems(texts: list[str], ngrams: tuple[int, int]) -> dict[str, Callable[[], Any]]:
    """Return the systems to time, by name."""
    own: dict[str, Any] = {"ngrams": ngrams}
    peer: dict[str, Any] = {"ngram_range": ngrams, "token_pattern": r"(?u)\b\w+\b"}
    learnt = TextFeatures(**own).learn(texts)
    fitted = TfidfVectorizer(sublinear_tf=True, **peer).fit(texts)
    hashed = TextFeatures(hash_bits=20, idf=False, sublinear=False, **own).learn(texts)
    return {
        PEER: lambda: HashingVectorizer(**peer).transform(texts),
        "oplt, hash_bits=20, no idf, transform": lambda: hashed.transform(texts),
        "oplt, learn and transform at the time": lambda: TextFeatures(**own).learn_transform(texts),
        "oplt, transform": lambda: learnt.transform(texts),
        "scikit-learn, TfidfVectorizer, fit": lambda: TfidfVectorizer(sublinear_tf=True, **peer).fit(texts),
        "scikit-learn, TfidfVectorizer, transform": lambda: fitted.transform(texts),
    }


def measure(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median processor seconds of each call."""
    seconds: dict[str, list[float]] = {system: [] for system in calls}
    for _ in range(N_ROUNDS):
        for system, call in calls.items():
            start = time.process_time()
            call()
            seconds[system].append(time.process_time() - start)
    return {system: statistics.median(times) for system, times in seconds.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets that have raw texts")
    parser.add_argument("--ngrams", type=int, nargs=2, default=(1, 1), metavar=("LEAST", "MOST"))
    arguments = parser.parse_args()
    print("| data set | system | s | MB/s | ratio |\n|---|---|---|---|---|")
    for name in arguments.names:
        texts = load(name)
        size = sum(len(text.encode()) for text in texts) / 1e6
        found = measure(systems(texts, tuple(arguments.ngrams)))
        for system, seconds in found.items():
            print(f"| {name} | {system} | {seconds:.2f} | {size / seconds:.1f} | {found[PEER] / seconds:.1f} |")


if __name__ == "__main__":
    main()
