# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Streams, settings and trees for the property tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from oplt import LabelTree, OnlinePLT
from oplt.validation import is_indicator

POLICIES = ["best-greedy", "random", "complete", "cpet", "flat"]

# (policy, arity, max_leaves) for long streams; the last three policies ignore one or both of the numbers.
SHAPES = [
    *((policy, *shape) for policy in POLICIES[:3] for shape in [(2, 2), (2, 100), (3, 5), (16, 32), (70, 130)]),
    *(("complete", arity, arity) for arity in [2, 5, 70]),
    ("cpet", 2, 2),
    ("flat", 2, 2),
]

Name = str | int
Settings = dict[str, Any]


class Example(NamedTuple):
    x: dict[Name, float]
    labels: list[Name]
    weight: float = 1.0


Stream = list[Example]

# Few features, so that examples overlap: integers, and strings whose UTF-8 order is not alphabetical.
FEATURES: list[Name] = [0, 3, -7, 2**40, "a", "b", "Z", "é", "日本"]
LABELS: list[Name] = [5, 1, -2, 2**33, "x", "y", "yy", "Ä", "語", "𝄞", "\uffff", "0", *range(100, 112)]
SMALL_NUMBERS: list[Name] = list(range(9))
COLUMN_LABELS: list[Name] = list(range(14))

# Eighths, so that they and their sums are exact in float32, in any order.
values = st.integers(-16, 16).filter(bool).map(lambda n: n / 8)
weights = st.sampled_from([1.0, 1.0, 0.5, 3.0])


def rows(features: Sequence[Name] = FEATURES) -> st.SearchStrategy[dict[Name, float]]:
    return st.dictionaries(st.sampled_from(features), values, max_size=5)


def examples(features: Sequence[Name] = FEATURES, labels: Sequence[Name] = LABELS) -> st.SearchStrategy[Example]:
    """Draw an example with any number of labels, including none and duplicates, any of which may be new."""
    lists = st.lists(st.sampled_from(labels), max_size=4).filter(lambda given: not is_indicator(given))
    return st.builds(Example, rows(features), lists, weights)


@st.composite
def streams(
    draw: st.DrawFn, features: Sequence[Name] = FEATURES, labels: Sequence[Name] = LABELS, max_size: int = 16
) -> Stream:
    """Draw examples, some of which are repeated later."""
    size = draw(st.integers(1, max_size))  # by default, Hypothesis draws short lists, which give small trees
    drawn = draw(st.lists(examples(features, labels), min_size=size, max_size=size))
    again = draw(st.lists(st.integers(0, len(drawn) - 1), max_size=4))
    return drawn + [drawn[i] for i in again]


# Streams whose names are the columns of a matrix.
numbered_streams = streams(SMALL_NUMBERS, COLUMN_LABELS)


# Learners that update every cell of every classifier, or only some of them.
RULES: list[Settings] = [
    {"learner": "adagrad", "gate": 0.0, "learning_rate": 0.25},
    {"learner": "adagrad", "gate": 0.1},
    {"learner": "arow", "sparsity": 0.0, "arow_r": 1.0},
    {"learner": "arow", "sparsity": 0.5},
]


@st.composite
def tree_settings(draw: st.DrawFn, policy: str | None = None, **fixed: Any) -> Settings:
    """Draw settings of a tree, with small `arity` and `max_leaves`, so that all ways to extend it occur."""
    arity = draw(st.sampled_from([2, 2, 3, 5]))
    rule = {} if "learner" in fixed else draw(st.sampled_from(RULES))
    drawn = {
        "policy": draw(st.sampled_from(POLICIES)) if policy is None else policy,
        "alpha": draw(st.sampled_from([0.0, 0.3, 0.75, 1.0])),
        "arity": arity,
        "max_leaves": arity + draw(st.sampled_from([0, 1, 3])),
        "spread_new_labels": draw(st.booleans()),
        **rule,
        "bias": draw(st.booleans()),
        "normalize": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**64 - 1)),
    }
    return {**drawn, **fixed}


@st.composite
def model_settings(draw: st.DrawFn, policy: str | None = None, **fixed: Any) -> Settings:
    """Draw settings for `OnlinePLT`."""
    return {**draw(tree_settings(policy, **fixed)), "label_memory": draw(st.sampled_from([0, 3, 512]))}


@st.composite
def all_settings(draw: st.DrawFn) -> Settings:
    """Draw settings for `OnlinePLT`, including several trees and a limited history."""
    drawn = {**draw(model_settings()), "history": draw(st.sampled_from([0, 5, 1000]))}
    may_vary = drawn["policy"] in {"best-greedy", "random"}
    return {**drawn, "trees": draw(st.sampled_from([1, 1, 3]))} if may_vary else drawn


@st.composite
def label_trees(draw: st.DrawFn, labels: Sequence[Name] = LABELS[::2]) -> LabelTree:
    """Draw trees of any shape over some labels: each is added to an internal node or to a new one below it."""
    internal: list[list[Any]] = [[]]
    for label in draw(st.permutations(labels))[: draw(st.integers(1, len(labels)))]:
        node = internal[draw(st.integers(0, len(internal) - 1))]
        if draw(st.booleans()):
            internal.append([label])
            node.append(internal[-1])
        else:
            node.append(label)
    return LabelTree.from_nested(internal[0])


def long_stream(seed: int, n_examples: int = 250, n_labels: int = 140) -> Stream:
    """Make a stream too long for Hypothesis, in which a label's examples are similar and new labels keep appearing.

    It leads to nodes of more than 64 children, at which the core's sibling blocks change their layout.
    """
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    stream = []
    for i in range(n_examples):
        seen = 1 + n_labels * i // n_examples
        labels: list[Name] = [source.randrange(seen) for _ in range(source.choice([0, 1, 1, 2, 3]))] + [seen - 1]
        x: dict[Name, float] = {f"of {label}": source.randint(1, 16) / 8 for label in labels[:2]}
        x.update({source.randrange(40): source.randint(-16, 16) / 8 for _ in range(4)})
        labels = list(dict.fromkeys(labels)) if is_indicator(labels) else labels  # which would be rejected
        stream.append(Example(x, labels if source.random() < 0.9 else [], source.choice([1.0, 1.0, 0.5, 3.0])))
    return stream


def crowded_stream(seed: int, n_new: int = 300) -> Stream:
    """Make a short stream in which three examples bring hundreds of new labels each, to a tree of some labels."""
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    stream = long_stream(seed, n_examples=30, n_labels=20)
    for i in range(3):
        x: dict[Name, float] = {source.randrange(40): source.randint(-16, 16) / 8 for _ in range(4)}
        crowd: list[Name] = [f"crowd {i}, {label}" for label in range(n_new)]
        stream.insert(10 * (i + 1), Example(x, [*crowd, 0], source.choice([1.0, 3.0])))
        stream.append(Example(x, source.sample(crowd, 5)))
    return stream


def learn(model: OnlinePLT, stream: Stream) -> OnlinePLT:
    """Learn one by one, the simplest way."""
    for x, labels, weight in stream:
        model.learn_one(x, labels, weight=weight)
    return model


def learn_and_close(model: OnlinePLT, stream: Stream, closed_at: int) -> OnlinePLT:
    """Learn one by one. Close the model after some examples, as it would be if it had reached `max_memory` there."""
    learn(model, stream[:closed_at])
    model._core.close()
    return learn(model, stream[closed_at:])


def trained(settings: Settings, stream: Stream, make: Callable[..., OnlinePLT] = OnlinePLT) -> OnlinePLT:
    return learn(make(**settings), stream)


def trained_tree(settings: Settings, stream: Stream, make: Callable[..., OnlinePLT] = OnlinePLT) -> OnlinePLT:
    """Train a model that predicts by its tree alone, exactly."""
    return trained({**settings, "label_memory": 0}, stream, make)
