# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The paper's Definition 1, bit for bit: online learning equals IPLT on the final tree."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import LabelTree, OnlinePLT
from tests.property.proper import assert_models_proper, assert_proper, core_classifiers
from tests.property.strategies import (
    POLICIES,
    RULES,
    SHAPES,
    Example,
    Settings,
    Stream,
    crowded_stream,
    label_trees,
    learn,
    learn_and_close,
    long_stream,
    model_settings,
    streams,
    trained,
)
from tests.reference import oplt_classifiers, oplt_examples
from tests.reference import oplt_reference as reference


def assert_equals_iplt_on_its_tree(online: OnlinePLT, settings: Settings, stream: Stream) -> None:
    assert_models_proper(online, learn(OnlinePLT.from_tree(online.tree, **settings), stream))


def assert_equals_iplt_on_its_fixed_tree(online: OnlinePLT, settings: Settings, stream: Stream) -> None:
    fixed = learn(OnlinePLT.from_tree(online.tree, **{**settings, "policy": "fixed"}), stream)
    assert fixed.tree == online.tree
    assert_proper(core_classifiers(online), core_classifiers(fixed))
    assert core_classifiers(fixed, auxiliary=True) == {}


def warmly_started(settings: Settings, stream: Stream, n_sample: int) -> OnlinePLT:
    """Train OPLT-W: the tree and the first classifiers from a sample, the rest of the stream online."""
    sample = stream[:n_sample]
    model = OnlinePLT.warm_start(
        [example.x for example in sample],
        [example.labels for example in sample],
        weights=[example.weight for example in sample],
        **settings,
    )
    return learn(model, stream[n_sample:])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_proper(policy: str, rule: Settings, data: st.DataObject) -> None:
    settings = data.draw(model_settings(policy, **rule))
    stream = data.draw(streams())
    assert_equals_iplt_on_its_tree(trained(settings, stream), settings, stream)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_proper_on_a_long_stream(policy: str, arity: int, max_leaves: int, rule: Settings) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves, **rule}
    stream = long_stream(seed=arity)
    assert_equals_iplt_on_its_tree(trained(settings, stream), settings, stream)


def assert_equals_iplt_closed_with_it(settings: Settings, stream: Stream, closed_at: int) -> None:
    online = learn_and_close(OnlinePLT(**settings), stream, closed_at)
    assert online.closed_at == closed_at
    iplt = learn_and_close(OnlinePLT.from_tree(online.tree, **settings), stream, closed_at)
    assert_models_proper(online, iplt)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_a_closed_model_is_proper(policy: str, rule: Settings, data: st.DataObject) -> None:
    settings = data.draw(model_settings(policy, **rule))
    stream = data.draw(streams())
    assert_equals_iplt_closed_with_it(settings, stream, data.draw(st.integers(0, len(stream))))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_a_closed_model_is_proper_on_a_long_stream(policy: str, arity: int, max_leaves: int, rule: Settings) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves, **rule}
    assert_equals_iplt_closed_with_it(settings, long_stream(seed=arity), closed_at=120)


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_proper_if_examples_bring_hundreds_of_new_labels(
    policy: str, arity: int, max_leaves: int, *, spread: bool
) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves, "spread_new_labels": spread}
    stream = crowded_stream(seed=3)
    assert_equals_iplt_on_its_tree(trained(settings, stream), settings, stream)


# They are spread below one node of the old tree: by balance, as in a balanced tree; at random, somewhat deeper.
@pytest.mark.parametrize("alpha", [0.0, 0.75, 1.0])
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), [shape for shape in SHAPES if shape[0] != "flat"])
def test_hundreds_of_new_labels_in_one_example_keep_the_tree_shallow(
    policy: str, arity: int, max_leaves: int, alpha: float
) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves, "alpha": alpha}
    model = trained(settings, long_stream(seed=3, n_examples=30, n_labels=20))
    depth = model.depth
    model.learn_one({0: 1.0, 1: -1.0}, [f"new {i}" for i in range(600)])
    levels = math.log(600, arity) * (1.5 if policy == "random" else 1)
    assert model.depth <= depth + 1 + levels


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_proper_from_a_given_tree(policy: str, data: st.DataObject) -> None:
    settings = data.draw(model_settings(policy, arity=data.draw(st.sampled_from([2, 3, 4])), max_leaves=5))
    stream = data.draw(streams())
    online = learn(OnlinePLT.from_tree(data.draw(label_trees()), **settings), stream)
    assert_equals_iplt_on_its_tree(online, settings, stream)


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_a_fixed_tree_gets_the_same_classifiers_without_auxiliary_ones(policy: str, data: st.DataObject) -> None:
    settings = data.draw(model_settings(policy))
    stream = data.draw(streams().filter(lambda stream: any(example.labels for example in stream)))
    assert_equals_iplt_on_its_fixed_tree(trained(settings, stream), settings, stream)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_a_fixed_tree_on_a_long_stream(policy: str, arity: int, max_leaves: int, rule: Settings) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves, **rule}
    stream = long_stream(seed=arity)
    assert_equals_iplt_on_its_fixed_tree(trained(settings, stream), settings, stream)


@given(data=st.data())
def test_labels_that_a_fixed_tree_lacks_leave_no_trace(data: st.DataObject) -> None:
    tree, stream = data.draw(label_trees()), data.draw(streams())
    settings = data.draw(model_settings("fixed"))
    known = [example._replace(labels=[label for label in example.labels if label in tree.labels]) for example in stream]
    model = learn(OnlinePLT.from_tree(tree, **settings), stream)
    assert model.fingerprint() == learn(OnlinePLT.from_tree(tree, **settings), known).fingerprint()
    assert model.tree == tree


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_a_warm_start_is_proper(policy: str, data: st.DataObject) -> None:
    settings = data.draw(model_settings(policy))
    stream = data.draw(streams().filter(lambda stream: any(example.labels for example in stream)))
    n_sample = data.draw(st.integers(0, len(stream)))
    assert_equals_iplt_on_its_tree(warmly_started(settings, stream, n_sample), settings, stream)
    assert_equals_iplt_on_its_fixed_tree(warmly_started(settings, stream, n_sample), settings, stream)


@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_a_warm_start_is_proper_on_a_long_stream(policy: str, arity: int, max_leaves: int) -> None:
    settings = {"policy": policy, "arity": arity, "max_leaves": max_leaves}
    stream = long_stream(seed=5)
    online = warmly_started(settings, stream, n_sample=100)
    assert_equals_iplt_on_its_tree(online, settings, stream)
    assert_equals_iplt_on_its_fixed_tree(online, settings, stream)


@pytest.mark.parametrize("max_leaves", [4, 8])
@pytest.mark.parametrize("policy", POLICIES)
def test_several_new_labels_in_a_given_node_of_leaves_and_others(policy: str, max_leaves: int) -> None:
    """Online growth never makes a node with several leaves beside internal nodes, but a given tree may have one."""
    settings = {"policy": policy, "arity": 4, "max_leaves": max_leaves, "sparsity": 0.0}
    online = OnlinePLT.from_tree(LabelTree.from_nested([["a", "b"], "c", "d"]), **settings)
    stream = [Example({"f": 1.0}, ["a"]), Example({"g": 1.0}, ["c"]), Example({"f": 1.0}, ["e", "f", "g", "h"])]
    assert_equals_iplt_on_its_tree(learn(online, stream), settings, stream)


@given(data=st.data())
def test_a_tree_over_all_labels_is_left_as_it_is(data: st.DataObject) -> None:
    settings = data.draw(model_settings())
    stream = data.draw(streams())
    tree = trained(settings, stream).tree
    assert learn(OnlinePLT.from_tree(tree, **settings), stream).tree == tree


# --- The test can fail ------------------------------------------------------------------------------------------------

# Each label is new, so that each example except the first initialises classifiers from the root's auxiliary one.
_STREAM_OF_NEW_LABELS = [({"a": 1.0}, ["first"]), ({"b": 1.0}, ["second"]), ({"a": 1.0, "c": 2.0}, ["third"])]


def check_the_reference(learner: str) -> None:
    settings = oplt_examples.Settings(arity=2, max_leaves=4, learner=learner, sparsity=0.0)
    reader = oplt_examples.Reader(settings)
    stream = [reader.example(*example) for example in _STREAM_OF_NEW_LABELS]
    model = reference.oplt_init(settings)
    reference.oplt_train(model, stream)
    assert_proper(_cells(model.classifiers), _cells(reference.iplt_train(model.tree, settings, stream)))


def _cells(classifiers: dict[int, oplt_classifiers.Classifier]) -> dict[int, dict[int, tuple[float, float]]]:
    return {
        node: {feature: (weight, accumulator) for feature, (weight, accumulator) in classifier.items()}
        for node, classifier in classifiers.items()
    }


@pytest.mark.parametrize("learner", ["adagrad", "arow"])
def test_the_reference_is_proper(learner: str) -> None:
    check_the_reference(learner)


@pytest.mark.parametrize("learner", ["adagrad", "arow"])
@pytest.mark.parametrize("missing", [0, 1])
def test_one_missing_auxiliary_update_is_caught(missing: int, learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = reference.update_classifiers
    n_calls = 0

    def without_one_auxiliary_update(model: reference.Model, example: oplt_examples.Example) -> None:
        nonlocal n_calls
        before = oplt_classifiers.copy_classifier(model.auxiliary[reference.ROOT])
        complete(model, example)
        if n_calls == missing:
            model.auxiliary[reference.ROOT] = before
        n_calls += 1

    monkeypatch.setattr(reference, "update_classifiers", without_one_auxiliary_update)
    with pytest.raises(AssertionError, match="in node|of node"):
        check_the_reference(learner)
    assert n_calls == len(_STREAM_OF_NEW_LABELS)
