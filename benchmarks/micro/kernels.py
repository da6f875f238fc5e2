# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The cost of one lookup and of one cell, compared with the memory bandwidth of the same machine in the same run.

Run: python benchmarks/micro/kernels.py

A flat model over few labels is one sibling block (and the root's, of one column), so that each feature of an example
is looked up twice, and without a gate, every label's cell of it is updated. With few features, the block fits into the
cache; with many, each lookup goes to memory. An update reads and writes a weight and an accumulator: 16 bytes per cell.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import oplt

N_EXAMPLES = 4096
FEATURES_PER_EXAMPLE = 40
REPEATS = 5


def measure(n_labels: int, n_features: int) -> tuple[float, float]:
    """Return median seconds of learning and predicting examples whose features and labels are already known."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, n_features, (N_EXAMPLES, FEATURES_PER_EXAMPLE)), axis=1).ravel()
    indptr = np.arange(0, indices.size + 1, FEATURES_PER_EXAMPLE)
    X = sp.csr_array((np.ones(indices.size, np.float32), indices, indptr), (N_EXAMPLES, n_features))
    X.sum_duplicates()
    Y = rng.integers(0, n_labels, N_EXAMPLES)
    model = oplt.OnlinePLT(policy="flat", learner="adagrad", gate=0.0, label_memory=0)
    model.learn_many(X, Y)
    learn = statistics.median(seconds(model.learn_many, X, Y) for _ in range(REPEATS))
    predict = statistics.median(seconds(model.predict_many, X, 1) for _ in range(REPEATS))
    return learn, predict


def seconds(function: Any, *arguments: Any) -> float:
    """Time one call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def copy_bandwidth() -> float:
    """Measure bytes read and written per second by a large copy in one thread."""
    source = np.ones(1 << 25)
    target = np.zeros_like(source)
    return 2 * source.nbytes / min(seconds(np.copyto, target, source) for _ in range(REPEATS))


def main() -> None:
    """Print the table."""
    bandwidth = copy_bandwidth()
    print(f"Memory bandwidth (copy, one thread): {bandwidth / 1e9:.1f} GB/s\n")
    print("| labels | features | learn ns/(feature, block) | learn ns/cell | GB/s | predict ns/(feature, block) |")
    print("|---|---|---|---|---|---|")
    for n_features in (1_000, 1_000_000):
        for n_labels in (2, 8, 16, 32, 63, 100):
            learn, predict = measure(n_labels, n_features)
            lookups = 2 * N_EXAMPLES * FEATURES_PER_EXAMPLE
            cells = N_EXAMPLES * FEATURES_PER_EXAMPLE * (n_labels + 2)  # + 2: the auxiliary and the root's classifier
            print(
                f"| {n_labels} | {n_features:,} | {1e9 * learn / lookups:.1f} | {1e9 * learn / cells:.2f} "
                f"| {16e-9 * cells / learn:.1f} | {1e9 * predict / lookups:.1f} |"
            )


if __name__ == "__main__":
    main()
