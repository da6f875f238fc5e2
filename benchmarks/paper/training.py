# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The systems of the paper as models of the library, trained as the paper trains them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from experiments import System

from oplt import PLT, OnlinePLT
from oplt.tree import kmeans

POLICIES = {"R": "random", "B": "best-greedy"}


def shuffled(X: Any, Y: Any, seed: int) -> tuple[Any, Any]:
    """Shuffle the examples, differently for each seed, as the paper does."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    return X[order], Y[order]


def train(system: System, X: Any, Y: Any, seed: int, max_leaves: int) -> Iterator[tuple[int, OnlinePLT | PLT, float]]:
    """Yield (passes, model, seconds so far) after each pass. The examples are in random order already."""
    n_sample = round(system.warm * X.shape[0]) or X.shape[0]
    begin = time.process_time()
    if system.name == "Parabel":
        tree = kmeans(X, Y, arity=2, max_leaves=max_leaves, seed=seed)
        yield 1, PLT.fit(X, Y, trees=tree, seed=seed), time.process_time() - begin
        return
    model = untrained(system, X[:n_sample], Y[:n_sample], seed, max_leaves)
    if system.name == "IPLT":  # with a sample, trained only on that
        X, Y = X[:n_sample], Y[:n_sample]
    seconds = time.process_time() - begin
    for passes in range(1, system.passes + 1):
        begin = time.process_time()
        model.learn_many(X, Y)
        seconds += time.process_time() - begin
        yield passes, model, seconds


def untrained(system: System, X: Any, Y: Any, seed: int, max_leaves: int) -> OnlinePLT:
    """Make the model: empty, or from a tree built from these examples."""
    policy = POLICIES.get(system.policy, "best-greedy" if system.name == "OPLT-W" else "fixed")
    changes = {"alpha": system.alpha, "max_leaves": max_leaves, "seed": seed}
    if system.name == "OPLT":
        return OnlinePLT.paper(policy=policy, **changes)
    settings = {**OnlinePLT.paper(**changes).settings, "policy": policy}
    tree = kmeans(X, Y, arity=2, max_leaves=max_leaves, seed=seed)
    return OnlinePLT.from_tree(tree, **settings)
