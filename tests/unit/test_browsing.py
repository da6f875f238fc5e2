# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Browsers of models, compared with the tree and the classifiers themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, OnlinePLT, _core
from oplt.browsing import Browser, Known, NodeView
from oplt.datasets import make_stream


def trained(n: int = 1500, **settings: Any) -> OnlinePLT:
    X, Y = zip(*make_stream(n, n_labels=120, seed=3), strict=True)
    model = OnlinePLT(arity=4, max_leaves=6, **settings)
    model.learn_many(X, Y)
    return model


def walk(browser: Browser, tree: int = 0) -> list[NodeView]:
    """Visit all nodes from the root."""
    found = [browser.node(tree=tree)]
    for view in found:  # grows while it is walked through
        found.extend(browser.node(child.node, tree=tree) for child in view.children)
    return found


@pytest.mark.parametrize("policy", ["best-greedy", "random", "complete", "flat"])
def test_all_nodes_are_found_once(policy: str) -> None:
    trees = 2 if policy in ("best-greedy", "random") else 1
    model = trained(policy=policy, trees=trees)
    counts = model.labels.counts()
    browser = Browser(model)
    for tree in range(trees):
        views = walk(browser, tree)
        assert {view.label for view in views} - {None} == set(counts)
        assert len(views) == len({view.node for view in views}) == len(model._state().tree(tree)[0])
        below = {view.node: {view.label} - {None} for view in views}
        for view in reversed(views):
            if view.parent is not None:
                below[view.parent] |= below[view.node]
        for view in views:
            assert view.n_labels == len(below[view.node])
            assert view.path[-1] == view.node
            assert view.path[0] == 0
            assert (view.parent is None) == (view.node == 0)
            assert [child.n_examples for child in view.children] == sorted(
                (sum(counts[label] for label in below[child.node]) for child in view.children), reverse=True
            )
            for child in view.children:
                order = sorted(below[child.node], key=lambda label: (-counts[label], list(counts).index(label)))
                assert list(child.examples) == order[:3]
    for label in counts:
        for tree, path in browser.label(label).paths:
            assert browser.node(path[-1], tree=tree).label == label


@pytest.mark.parametrize("learner", ["arow", "adagrad"])
def test_features_are_those_of_the_classifier(learner: str) -> None:
    model = trained(learner=learner)
    state = model._state()
    browser = Browser(model)
    label = model.labels[3]
    ((_, path),) = browser.label(label).paths
    ids, weights, confidence = state.classifier(path[-1]) or ((), (), ())
    strengths = weights * confidence if learner == "arow" else weights
    named = dict(zip(_core.feature_names(state, list(ids)), strengths.tolist(), strict=True))
    named.pop(None, None)
    found = browser.label(label, n=7).features
    assert [value for _, value in found.positive] == pytest.approx(sorted(named.values(), reverse=True)[:7])
    assert [value for _, value in found.negative] == pytest.approx(sorted(named.values())[:7])
    for name, value in found.positive + found.negative:
        assert value == pytest.approx(named[name])
    assert browser.node(path[-1], n=7).features == found
    assert browser.label(label, n=0).features.positive == ()
    assert all(value > 0 for _, value in browser.label(label, n=10_000).features.positive)


def test_frequent_words_do_not_come_first() -> None:
    texts = ["the cat in the house purrs", "the dog in the yard barks", "the cow in the meadow moos"] * 5
    model = OnlinePLT(features="text")
    model.learn_many(texts, ["cat", "dog", "cow"] * 5)
    for label, words in [("cat", {"cat", "house", "purrs"}), ("cow", {"cow", "meadow", "moos"})]:
        assert {name for name, _ in Browser(model).label(label, n=3).features.positive} == words


def test_several_trees_are_averaged() -> None:
    model = trained(trees=3)
    label = model.labels[0]
    browser = Browser(model)
    found = browser.label(label, n=1)
    assert [tree for tree, _ in found.paths] == [0, 1, 2]
    ((name, strength),) = found.features.positive
    each = [dict(browser.node(path[-1], tree=tree, n=100_000).features.positive) for tree, path in found.paths]
    against = [dict(browser.node(path[-1], tree=tree, n=100_000).features.negative) for tree, path in found.paths]
    total = sum(own.get(name, 0.0) + other.get(name, 0.0) for own, other in zip(each, against, strict=True))
    assert strength == pytest.approx(total / 3)


def test_a_batch_model() -> None:
    X, Y = zip(*make_stream(300, n_labels=30, seed=3), strict=True)
    model = PLT.fit(X, Y)
    views = walk(Browser(model))
    assert {view.label for view in views} - {None} == set(model.labels)


def test_models_with_little_in_them() -> None:
    model = OnlinePLT(features="text")
    empty = Browser(model).node()
    assert (empty.n_labels, empty.children, empty.label, empty.parent, empty.path) == (0, (), None, None, (0,))
    assert Browser(model).title(0) == "no labels yet"
    model.labels.add("cow", text="moos")
    model.learn_one("nothing", [])
    assert Browser(model).label("cow").paths == ()
    assert Browser(model).label("cow").features.positive == ()
    model.learn_one("a cat", "cat")
    assert Browser(model).node().label == "cat"  # the root is its leaf
    assert Browser(model).label("cat").paths == ((0, (0,)),)


def test_label_operations() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}], ["one", "two", "three", 7])
    model.labels.remove("two")
    model.labels.hide("three")
    model.labels.merge("one", into="three")
    model.labels.rename("three", "drei")
    browser = Browser(model)
    assert {child.label for child in browser.node().children} == {"drei", 7}
    assert browser.node().n_labels == 2
    assert [one.kind for one in browser.label("one").operations] == ["hide", "merge", "rename"]
    assert browser.label("one").label == "drei"
    assert browser.label(7).to_dict()["operations"] == []
    assert browser.title(0) == "drei and 1 more"


def test_what_is_not_there() -> None:
    browser = Browser(trained(100))
    with pytest.raises(InvalidInputError, match="the model knows no label 'x'"):
        browser.label("x")
    with pytest.raises(InvalidInputError, match="tree 0 has no such node"):
        browser.node(100_000)
    with pytest.raises(InvalidInputError, match="tree 0 has no such node"):
        browser.node(-1)
    with pytest.raises(InvalidInputError, match="1 trees"):
        browser.node(tree=1)


def test_pages_of_children() -> None:
    browser = Browser(trained(policy="flat"))
    whole = browser.node()
    pages = [browser.node(offset=begin, limit=7).children for begin in range(0, whole.n_children + 7, 7)]
    assert [child for page in pages for child in page] == list(whole.children)
    assert pages[-1] == ()


def test_what_is_known_does_not_outlive_a_change() -> None:
    known, model = Known(), OnlinePLT()
    for i, (x, labels) in enumerate(make_stream(200, n_labels=50, seed=5)):
        model.learn_one(x, labels)
        if i % 50 == 10:
            model.labels.remove(model.labels[0])
        with_it, without = walk(Browser(model, known=known)), walk(Browser(model))
        assert with_it == without
    index = known.indexes[0]
    assert Browser(model, known=known).node() == Browser(model).node()
    assert known.indexes[0] is index
    assert np.array_equal(index.present, model._state().present_labels())
