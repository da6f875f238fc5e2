# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The paper's Definition 2: online learning costs at most a constant factor more than IPLT on the final tree.

The factor is 2: an example updates no more classifiers than on the final tree, which has grown since, and at most one
auxiliary classifier for each positive node.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import LabelTree, OnlinePLT
from tests.property.strategies import (
    POLICIES,
    SHAPES,
    Stream,
    label_trees,
    learn,
    long_stream,
    model_settings,
    streams,
    trained,
)
from tests.reference import oplt_reference as reference


def iplt_updates(tree: LabelTree, stream: Stream) -> int:
    """Count the classifiers that IPLT updates: the positive and the negative nodes of each example."""
    plain = reference.Tree()
    plain.parent = [None if parent < 0 else parent for parent in tree.parents.tolist()]
    plain.children = [tree.children(node) for node in range(tree.n_nodes)]
    plain.label = tree.labels  # names serve as ids here
    return sum(len(nodes) for example in stream for nodes in reference.assign_to_nodes(plain, example.labels))


def assert_efficient(model: OnlinePLT, stream: Stream) -> None:
    least = iplt_updates(model.tree, stream)
    assert model._state().n_updates <= 2 * least


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_efficient(policy: str, data: st.DataObject) -> None:
    stream = data.draw(streams())
    assert_efficient(trained(data.draw(model_settings(policy)), stream), stream)


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_efficient_from_a_given_tree(policy: str, data: st.DataObject) -> None:
    stream = data.draw(streams())
    model = OnlinePLT.from_tree(data.draw(label_trees()), **data.draw(model_settings(policy)))
    assert_efficient(learn(model, stream), stream)


@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_efficient_on_a_long_stream(policy: str, arity: int, max_leaves: int) -> None:
    stream = long_stream(seed=1)
    assert_efficient(trained({"policy": policy, "arity": arity, "max_leaves": max_leaves}, stream), stream)


@given(data=st.data())
def test_a_fixed_tree_costs_exactly_what_iplt_costs(data: st.DataObject) -> None:
    tree = data.draw(label_trees())
    stream = [
        example._replace(labels=[label for label in example.labels if label in tree.labels])
        for example in data.draw(streams())
    ]
    model = learn(OnlinePLT.from_tree(tree, **data.draw(model_settings("fixed"))), stream)
    assert model._state().n_updates == iplt_updates(tree, stream)


def test_a_flat_tree_costs_what_iplt_costs() -> None:
    """Only the root's auxiliary classifier is added to IPLT's count, so the counts are of actual updates."""
    stream = long_stream(seed=1, n_examples=50)
    first = trained({"policy": "flat"}, stream)
    again = learn(OnlinePLT.from_tree(first.tree, policy="flat"), stream)
    with_labels = sum(bool(example.labels) for example in stream)
    assert again._state().n_updates == iplt_updates(first.tree, stream) + with_labels
