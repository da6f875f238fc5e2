# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Learn online from a stream of documents whose labels keep emerging.

Each document is predicted before it is learnt, so the precision shown is that on documents never seen before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice

from oplt import OnlinePLT
from oplt.datasets import make_stream

Stream = Iterator[tuple[dict[str, float], list[str]]]


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=60_000, help="length of the stream")
    parser.add_argument("--labels", type=int, default=5_000, help="labels by its end")
    arguments = parser.parse_args()
    stream = make_stream(arguments.examples + 3, n_labels=arguments.labels, seed=1)

    model = OnlinePLT()
    print("Each document is predicted, then learnt. Nothing was known ahead: no label, no word, no tree.\n")
    print("documents   labels  features  depth   P@1 (last 2,000)  P@1 (all)  docs/s")
    learn_progressively(model, islice(stream, arguments.examples), arguments.examples)

    print(f"\nThe model: {model}")
    print(f"Fingerprint: {model.fingerprint()} (the same on every machine)\n")
    show_predictions(model, stream)
    show_tree(model)


def learn_progressively(model: OnlinePLT, stream: Stream, n_examples: int) -> None:
    """Predict, then learn, each document; print a line ten times."""
    recent: deque[bool] = deque(maxlen=2000)
    n_hits = 0
    every = max(1, n_examples // 10)
    started = time.perf_counter()
    for t, (x, labels) in enumerate(stream, start=1):
        predicted = model.predict_one(x, k=1)
        hit = bool(predicted) and predicted[0][0] in labels
        model.learn_one(x, labels)
        recent.append(hit)
        n_hits += hit
        if sys.stderr.isatty() and t % 500 == 0:
            print(f"\r  {t:,} of {n_examples:,} documents", end="\r", file=sys.stderr)
        if t % every == 0:
            speed = t / (time.perf_counter() - started)
            print(
                f"{t:9,} {model.n_labels:8,} {model.n_features:9,} {model.depth:6} "
                f"{sum(recent) / len(recent):18.3f} {n_hits / t:10.3f} {speed:7,.0f}"
            )


def show_predictions(model: OnlinePLT, stream: Stream) -> None:
    """Predict the rest of the stream."""
    print("The next documents, not learnt, and their predicted labels:")
    for x, labels in stream:
        found = ", ".join(f"{label} ({probability:.2f})" for label, probability in model.predict_one(x, k=3))
        print(f"  {found}\n    true: {', '.join(sorted(labels))}")


def show_tree(model: OnlinePLT) -> None:
    """Print the first lines of the tree."""
    tree = model.tree
    print(f"\nThe tree has {tree.n_nodes:,} nodes. Its beginning:")
    print("\n".join(str(tree).splitlines()[:12]))


if __name__ == "__main__":
    main()
