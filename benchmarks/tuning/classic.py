# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The default settings on small classic sets, compared with the tree alone.

Run: python benchmarks/tuning/classic.py [--seeds 5]

Uses data sets that come with scikit-learn: digits, breast cancer and wine, standardised and raw. *topics* are
generated texts like those of 20 newsgroups, which would have to be downloaded: 20 topics, most words common to all. One
pass in random order over two thirds, P@1 and ECE@1 in percent on the rest: mean of several seeds, and the standard
deviation of P@1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from oplt import OnlinePLT, metrics

SYSTEMS: dict[str, dict[str, Any]] = {"default": {}, "tree alone": {"label_memory": 0}}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"| | {' | '.join(f'{name}: P@1 | ECE@1' for name in SYSTEMS)} |\n|{'---|' * (1 + 2 * len(SYSTEMS))}")
    for name, X, y, is_scaled in sets():
        cells = []
        for settings in SYSTEMS.values():
            results = (
                np.array([run(X, y, settings, seed, is_scaled=is_scaled) for seed in range(arguments.seeds)]) * 100
            )
            cells += [f"{results[:, 0].mean():.1f} ± {results[:, 0].std():.1f}", f"{results[:, 1].mean():.1f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def sets() -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield name, rows, classes, and whether to standardise."""
    for name, load in (("breast cancer", load_breast_cancer), ("digits", load_digits), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        yield f"{name}, standardised", X, y, True
        yield name, X, y, False
    texts, topics = made_topics()
    yield "topics (texts)", texts, topics, False


def made_topics(n: int = 4000, n_topics: int = 20) -> tuple[Any, Any]:
    """Generate texts of 60 words by Zipf's law; one word in eight belongs to the text's topic."""
    random = np.random.default_rng(0)
    ranks = 1.0 / np.arange(1, 5001)
    topical = 1.0 / np.arange(1, 401)
    topics = random.integers(n_topics, size=n)
    texts = []
    for topic in topics:
        common = [f"w{word}" for word in random.choice(5000, size=53, p=ranks / ranks.sum())]
        own = [f"t{(topic * 300 + word) % 6000}" for word in random.choice(400, size=7, p=topical / topical.sum())]
        texts.append(" ".join([*common, *own]))
    return np.array(texts, dtype=object), topics


def run(X: Any, y: Any, settings: dict[str, Any], seed: int, *, is_scaled: bool) -> tuple[float, float]:
    """Learn and test one split."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
    if is_scaled:
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    is_text = train.dtype == object
    model = OnlinePLT(**settings, **({"features": "text"} if is_text else {}))
    model.learn_many(list(train) if is_text else train, y_train.tolist())
    scores = metrics.Scores(1)
    scores.add(model.predict_many(list(test) if is_text else test, k=1), y_test.tolist())
    return scores.precision(1), scores.ece(1)


if __name__ == "__main__":
    main()
