# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`OPLTClassifier` beside classifiers of scikit-learn: accuracy and time.

Run: OMP_NUM_THREADS=1 python benchmarks/scikit-learn/run.py [--seeds 3] [--data digits iris topics-20 topics-300]

*digits* and *iris* come with scikit-learn: 1,797 images of 8 x 8 pixels, as they are, and 150 flowers with four
standardized measures. *topics-20* are generated texts of the size of 20 newsgroups, which would have to be downloaded:
18,846 texts of 20 topics, most words common to all. *topics-300* are 15,000 texts of 300 topics. Texts go through
`TfidfVectorizer`, whose time is not counted. Each seed is a different split, two thirds for training. Accuracy is the
mean on the rest and its standard deviation, times are mean CPU seconds of `fit` and `predict` on one thread. The
classifiers have their default settings, except that `LogisticRegression` may take 1,000 iterations and `SGDClassifier`
has the logistic loss, so that all of them have probabilities.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import StandardScaler

from oplt.sklearn import OPLTClassifier

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "OPLTClassifier": OPLTClassifier,
    "SGDClassifier": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "LogisticRegression": lambda: LogisticRegression(max_iter=1000),
    "MultinomialNB": MultinomialNB,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    arguments = parser.parse_args()
    print("| data | classifier | accuracy | fit (s) | predict (s) |\n|---|---|---|---|---|")
    for data in arguments.data:
        X, y = SETS[data]()
        for name, make in CLASSIFIERS.items():
            if make is MultinomialNB and data == "iris":
                continue  # it takes no negative values
            results = np.array([run(make(), X, y, seed) for seed in range(arguments.seeds)])
            accuracy, fit, predict = results.mean(axis=0)
            spread = results[:, 0].std()
            print(f"| {data} | {name} | {accuracy:.3f} ± {spread:.3f} | {fit:.2f} | {predict:.3f} |", flush=True)


def run(classifier: Any, X: Any, y: Any, seed: int) -> tuple[float, float, float]:
    """Train and test on one split."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
    begin = time.process_time()
    classifier.fit(train, y_train)
    middle = time.process_time()
    found = classifier.predict(test)
    end = time.process_time()
    return float(np.mean(found == y_test)), middle - begin, end - middle


def standardized_iris() -> tuple[Any, Any]:
    """Load the flowers."""
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def make_topics(n: int, n_topics: int, n_words: int = 100, n_own: int = 6) -> tuple[Any, Any]:
    """Generate texts by Zipf's law; of `n_words` words, `n_own` belong to the topic, which shares them with others."""
    random = np.random.default_rng(0)
    common, own = (zipf / zipf.sum() for zipf in (1.0 / np.arange(1, size + 1) for size in (30_000, 400)))
    topics = random.integers(n_topics, size=n)
    texts = []
    for topic in topics:
        words = [f"w{word}" for word in random.choice(len(common), size=n_words - n_own, p=common)]
        words += [f"t{(topic * 97 + word) % (20 * n_topics)}" for word in random.choice(len(own), size=n_own, p=own)]
        texts.append(" ".join(words))
    return TfidfVectorizer(sublinear_tf=True).fit_transform(texts), topics


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "digits": lambda: load_digits(return_X_y=True),
    "iris": standardized_iris,
    "topics-20": lambda: make_topics(18_846, 20),
    "topics-300": lambda: make_topics(15_000, 300),
}

if __name__ == "__main__":
    main()
