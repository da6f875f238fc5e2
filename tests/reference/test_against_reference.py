# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The core against the paper's pseudo-code: exactly the same trees, and the same numbers up to float32 rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oplt import OnlinePLT
from tests.property.proper import Classifiers, core_classifiers
from tests.property.strategies import (
    POLICIES,
    SHAPES,
    Settings,
    Stream,
    crowded_stream,
    learn_and_close,
    long_stream,
    rows,
    streams,
    trained_tree,
    tree_settings,
)
from tests.reference import oplt_classifiers, oplt_examples
from tests.reference import oplt_reference as reference

# Float32 rounds by 6e-8 of a number. A score sums a few products, a step divides by sqrt(eps + G) >= 0.1 and so may
# enlarge an error tenfold, and a stream has some tens of steps: 1e-4 of the number leaves a margin. A number near 0
# from the cancellation of large ones has their error, hence the absolute part.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
PROBABILITY_ABSOLUTE = 1e-6

# When two numbers are compared (which child is better, is the gradient below the gate), float32 and float64 may
# legitimately disagree if the numbers are this close. Rounding changes them by less than 1e-6.
TOO_CLOSE = 1e-4


class Oracle:
    """The reference, trained on the same stream."""

    def __init__(self, settings: Settings, stream: Stream, closed_at: float = math.inf) -> None:
        self.settings = oplt_examples.Settings(**settings)
        self.reader = oplt_examples.Reader(self.settings)
        self.stream = []
        for number, example in enumerate(stream):
            self.reader.is_closed = number >= closed_at
            self.stream.append(self.reader.example(*example))
        self.model = reference.oplt_init(self.settings)
        reference.oplt_train(self.model, self.stream, closed_at)

    @property
    def is_beyond_rounding(self) -> bool:
        return min(self.model.closest_choice, self.model.a_online.closest_to_gate) > TOO_CLOSE

    @property
    def names(self) -> list[str | int]:
        """Names of the labels by id."""
        return list(self.reader.labels)

    def probabilities(self, x: Mapping[str | int, float]) -> dict[str | int, float]:
        found = reference.predict_top_labels(self.model, len(self.names), self.reader.row(x))
        return {self.names[label]: probability for label, probability in found}


def assert_same_tree(core: OnlinePLT, oracle: Oracle) -> None:
    tree = oracle.model.tree
    assert core.tree.parents.tolist() == [-1 if parent is None else parent for parent in tree.parent]
    assert list(core.tree.labels) == [None if label is None else oracle.names[label] for label in tree.label]


def assert_same_classifiers(core: Classifiers, expected: Mapping[int, oplt_classifiers.Classifier]) -> None:
    """Compare the classifiers that the core has; the reference has all auxiliary ones."""
    for node, cells in core.items():
        assert cells.keys() == expected[node].keys()
        for feature, cell in cells.items():
            assert cell == pytest.approx(expected[node][feature], rel=RELATIVE, abs=ABSOLUTE)


def assert_same_predictions(core: OnlinePLT, oracle: Oracle, queries: Iterable[Mapping[str | int, float]]) -> None:
    for x in queries:
        predicted = core.predict_one(x, threshold=0.0)
        expected = oracle.probabilities(x)
        assert dict(predicted) == pytest.approx(expected, rel=RELATIVE, abs=PROBABILITY_ABSOLUTE)
        # Near ties may be ordered either way, so the best are compared by their probabilities.
        assert [p for _, p in predicted] == pytest.approx(
            list(expected.values()), rel=RELATIVE, abs=PROBABILITY_ABSOLUTE
        )


def assert_agrees(core: OnlinePLT, oracle: Oracle, queries: Iterable[Mapping[str | int, float]]) -> None:
    assert_same_tree(core, oracle)
    assert_same_classifiers(core_classifiers(core), oracle.model.classifiers)
    assert_same_classifiers(core_classifiers(core, auxiliary=True), oracle.model.auxiliary)
    if oracle.settings.learner == "adagrad":  # those of AROW are calibrated
        assert_same_predictions(core, oracle, queries)


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_online(policy: str, data: st.DataObject) -> None:
    settings = data.draw(tree_settings(policy))
    stream = data.draw(streams())
    oracle = Oracle(settings, stream)
    assume(oracle.is_beyond_rounding)
    queries = [example.x for example in stream[:3]] + [data.draw(rows()), {"never seen": 1.0, "a": 1.0}, {}]
    assert_agrees(trained_tree(settings, stream), oracle, queries)


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_closed(policy: str, data: st.DataObject) -> None:
    settings = data.draw(tree_settings(policy))
    stream = data.draw(streams())
    closed_at = data.draw(st.integers(0, len(stream)))
    oracle = Oracle(settings, stream, closed_at)
    assume(oracle.is_beyond_rounding)
    core = learn_and_close(OnlinePLT(**settings, label_memory=0), stream, closed_at)
    assert_agrees(core, oracle, [*(example.x for example in stream[:3]), data.draw(rows()), {}])
    expected = reference.iplt_train(oracle.model.tree, oracle.settings, oracle.stream, closed_at)
    assert_same_classifiers(core_classifiers(core), expected)


@given(data=st.data())
def test_on_a_given_tree(data: st.DataObject) -> None:
    """IPLT on the same given tree, by the core and by the reference."""
    settings = data.draw(tree_settings())
    stream = data.draw(streams())
    oracle = Oracle(settings, stream)
    assume(oracle.is_beyond_rounding)
    core = trained_tree(settings, stream, lambda **same: OnlinePLT.from_tree(trained_tree(same, stream).tree, **same))
    expected = reference.iplt_train(oracle.model.tree, oracle.settings, oracle.stream)
    assert_same_classifiers(core_classifiers(core), expected)
    if core.n_labels > 0:
        fixed = trained_tree(
            {**settings, "policy": "fixed"}, stream, lambda **same: OnlinePLT.from_tree(core.tree, **same)
        )
        assert_same_classifiers(core_classifiers(fixed), expected)


# This and the next test assert that no comparison in their streams is too close to call. AROW compares more
# often, hence the shorter stream.
@pytest.mark.parametrize(
    ("rule", "n_examples"), [({"learner": "adagrad", "gate": 0.0}, 200), ({"learner": "arow", "sparsity": 0.0}, 80)]
)
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_on_a_long_stream(policy: str, arity: int, max_leaves: int, rule: Settings, n_examples: int) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves, **rule}
    stream = long_stream(seed=2, n_examples=n_examples, n_labels=n_examples // 2)
    oracle = Oracle(settings, stream)
    assert oracle.is_beyond_rounding
    assert_agrees(trained_tree(settings, stream), oracle, [example.x for example in stream[::20]])


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_hundreds_of_new_labels_in_one_example(policy: str, arity: int, max_leaves: int, *, spread: bool) -> None:
    settings = {
        "policy": policy,
        "arity": arity,
        "max_leaves": max_leaves,
        "spread_new_labels": spread,
        "learner": "adagrad",
        "gate": 0.0,
    }
    stream = crowded_stream(seed=4, n_new=150)
    oracle = Oracle(settings, stream)
    assert oracle.is_beyond_rounding
    assert_agrees(trained_tree(settings, stream), oracle, [example.x for example in stream[::10]])
