# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Trees that are built before training, and models that start from them."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from oplt import InvalidInputError, InvalidParameterError, LabelTree, OnlinePLT
from oplt.datasets import make_stream
from oplt.tree import balanced_random, complete, from_parents, kmeans

Examples = tuple[list[dict[str, float]], list[list[str]]]


@pytest.fixture(scope="module")
def examples() -> Examples:
    stream = list(make_stream(1500, n_labels=120, seed=4))
    return [x for x, _ in stream], [labels for _, labels in stream]


def n_leaves(tree: LabelTree) -> list[int]:
    """Count the leaves below each node of a tree whose parents come before their children."""
    counts = [0 if label is None else 1 for label in tree.labels]
    for node in reversed(range(1, tree.n_nodes)):
        counts[tree.parents[node]] += counts[node]
    return counts


# --- k-means ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arity", "max_leaves"), [(2, 2), (2, 10), (3, 3), (4, 9), (31, 31)])
def test_kmeans_balances(examples: Examples, arity: int, max_leaves: int) -> None:
    X, Y = examples
    tree = kmeans(X, Y, arity=arity, max_leaves=max_leaves)
    assert sorted(tree.leaves()[1]) == sorted({label for labels in Y for label in labels})
    counts = n_leaves(tree)
    for node, count in enumerate(counts):
        children = [counts[child] for child in tree.children(node)]
        assert len(children) == (0 if count == 1 else count if count <= max_leaves else arity)
        assert not children or max(children) - min(children) <= 1


def test_kmeans_puts_labels_of_a_topic_together(examples: Examples) -> None:
    def share_of_topic_mates(tree: LabelTree) -> float:
        leaves, labels = tree.leaves()
        place = dict(zip(labels, tree.parents[leaves], strict=True))
        pairs = [(a, b) for a in labels for b in labels if a < b and place[a] == place[b]]
        return float(np.mean([str(a).split("/")[0] == str(b).split("/")[0] for a, b in pairs]))

    clustered = kmeans(*examples, max_leaves=10)
    by_chance = balanced_random(clustered.leaves()[1], max_leaves=10)
    # Chance is 1 of 12 topics. Rare labels, with one or two examples, reveal little of their topics.
    assert share_of_topic_mates(clustered) > 0.25
    assert share_of_topic_mates(by_chance) < 0.15


def test_kmeans_does_not_depend_on_threads_but_on_the_seed(examples: Examples) -> None:
    tree = kmeans(*examples, max_leaves=4)
    assert kmeans(*examples, max_leaves=4, threads=3) == tree
    assert kmeans(*examples, max_leaves=4, seed=1) != tree


def test_kmeans_takes_what_learn_many_takes() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((60, 8)) < 0.3).astype(np.float32)
    Y = (rng.random((60, 12)) < 0.2).astype(int)
    tree = kmeans(X, Y, max_leaves=3)
    lists = [np.flatnonzero(row).tolist() for row in Y]
    mappings = [{int(i): float(row[i]) for i in reversed(np.flatnonzero(row))} for row in X]
    for same in [(sp.csc_array(X), Y), (X, sp.coo_array(Y)), (mappings, lists), (iter(mappings), iter(lists))]:
        assert kmeans(*same, max_leaves=3) == tree
    named = kmeans(X, [[f"label {i:02}" for i in row] for row in lists], max_leaves=3)
    assert named.labels == tuple(None if label is None else f"label {label:02}" for label in tree.labels)
    assert all(type(label) is int for label in tree.leaves()[1])


def test_kmeans_of_few_labels() -> None:
    assert kmeans([{"a": 1.0}], [[]]) == LabelTree([-1], [None])
    assert kmeans([{"a": 1.0}, {}], ["x", []]) == LabelTree([-1], ["x"])
    assert kmeans([{}, {}], ["x", "y"]).to_nested() == ["x", "y"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kmeans([{}], ["x", "y"]), "X has 1 rows but Y has 2"),
        (
            lambda: kmeans([{"a": np.nan}], ["x"]),
            r"row 0 of X: the value of feature 'a' must be finite and at most 1e\+12 in size",
        ),
        (lambda: kmeans([{}], ["x"], arity=1), "arity must be at least 2, got 1"),
        (lambda: kmeans([{}], ["x"], arity=5, max_leaves=4), r"arity must be at most max_leaves \(4\)"),
        (lambda: kmeans([{}], ["x"], seed=-1), "seed must be at least 0"),
        (lambda: kmeans([{}], ["x"], threads=0), "threads must be at least 1"),
        (lambda: balanced_random("abc"), "labels must be a list of names, got 'abc'"),
        (lambda: balanced_random(5), "labels must be a list of names, got 5"),
        (lambda: balanced_random(["a", None]), "label 1 must be a non-empty string or an integer, got None"),
        (lambda: complete(["a", "b", "a"]), "label 2, 'a', occurs twice"),
        (lambda: complete(["a"], arity=1), "arity must be at least 2, got 1"),
    ],
)
def test_a_bad_call_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((InvalidInputError, InvalidParameterError), match=message):
        call()


# --- Trees of lists and of taxonomies ---------------------------------------------------------------------------------


def test_balanced_random_has_the_form_of_kmeans_and_its_own_order(examples: Examples) -> None:
    clustered = kmeans(*examples, arity=3, max_leaves=7)
    labels = sorted(clustered.leaves()[1])
    tree = balanced_random(labels, arity=3, max_leaves=7)
    assert tree.parents.tolist() == clustered.parents.tolist()
    assert sorted(tree.leaves()[1]) == labels
    assert tree.leaves()[1] != labels
    assert tree == balanced_random(labels, arity=3, max_leaves=7)
    assert tree != balanced_random(labels, arity=3, max_leaves=7, seed=1)
    assert balanced_random([]) == LabelTree([-1], [None])


@pytest.mark.parametrize("arity", [2, 3, 7])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 7, 8, 9, 30])
def test_complete_has_the_form_that_the_policy_grows(arity: int, n_labels: int) -> None:
    model = OnlinePLT(policy="complete", arity=arity, max_leaves=arity)
    model.learn_many([{}] * n_labels, list(range(n_labels)))
    tree = complete(range(n_labels), arity=arity)
    assert tree.parents.tolist() == model.tree.parents.tolist()
    flat = [int(part) for part in str(tree.to_nested()).replace("[", "").replace("]", "").split(",")]
    assert flat == list(range(n_labels))  # from left to right


def test_complete_of_no_label() -> None:
    assert complete([]) == LabelTree([-1], [None])


def test_numpy_labels_become_plain_ones() -> None:
    tree = complete(np.array([3, 5]))
    assert [type(label) for label in tree.leaves()[1]] == [int, int]


TAXONOMY = {"root": None, "a": "root", "b": "root", "a1": "a", "a2": "a", "a21": "a2", "b1": "b"}


@pytest.mark.parametrize(
    ("parents", "labels", "nested"),
    [
        (TAXONOMY, None, [["a1", "a21"], "b1"]),
        (TAXONOMY, ["a", "a1", "a2", "a21", "b", "b1"], [["a", "a1", ["a2", "a21"]], ["b", "b1"]]),
        (TAXONOMY, ["root", "a21"], ["root", "a21"]),
        (TAXONOMY, ["a", "b1"], ["a", "b1"]),
        (TAXONOMY, ["a2"], ["a2"]),
        (TAXONOMY, [], []),
        ({}, None, []),
        ({"b": "a", "a": None}, None, ["b"]),
        ({"x": None, "y": None, 3: "y", 4: "y"}, None, ["x", [3, 4]]),
    ],
)
def test_taxonomies(parents: dict[Any, Any], labels: list[Any] | None, nested: list[Any]) -> None:
    tree = from_parents(parents, labels=labels)
    assert tree.to_nested() == nested
    assert OnlinePLT.from_tree(tree).n_labels == tree.n_labels


@pytest.mark.parametrize("dtype", [object, "string"])
def test_empty_cells_of_a_table_are_roots(dtype: Any) -> None:
    table = pd.read_csv(StringIO("name,parent\nanimal,\ncat,animal\ndog,animal\nstone,\n"), dtype=dtype)
    tree = from_parents(dict(zip(table["name"], table["parent"], strict=True)))
    assert tree.to_nested() == [["cat", "dog"], "stone"]


def test_a_very_deep_taxonomy() -> None:
    parents: dict[Any, Any] = {0: None, **{i: i - 1 for i in range(1, 5000)}}
    assert from_parents(parents, labels=range(5000)).depth == 4999


@pytest.mark.parametrize(
    ("parents", "labels", "message"),
    [
        ({"a": "b", "b": "c", "c": "a", "d": "a", "e": None}, None, "cycle: 'a' → 'b' → 'c' → 'a'"),
        ({"a": "a"}, None, "cycle: 'a' → 'a'"),
        ({"d": "a", "a": "b", "b": "a"}, None, "cycle: 'a' → 'b' → 'a'"),
        (
            {"a": "b"},
            None,
            "the parent of 'a', 'b', is not a key of parents itself. Add it, with the parent None if it is a root.",
        ),
        ({"a": None, "b": 1.0}, None, "the parent of 'b' must be one name, or None for a root, got 1.0"),
        ({"a": ["b"]}, None, r"the parent of 'a' must be one name, or None for a root, got \['b'\]"),
        ({"a": None, "": "a"}, None, "name 1 must be a non-empty string or an integer, got an empty string"),
        ({None: None}, None, "name 0 must be a non-empty string or an integer, got None"),
        ({"a": None}, ["b"], "the label 'b' is not in the taxonomy"),
        ({"a": None}, ["a", "a"], "label 1, 'a', occurs twice"),
        ([("a", None)], None, "parents must be a mapping.*got list"),
    ],
)
def test_a_bad_taxonomy_is_refused(parents: Any, labels: list[Any] | None, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        from_parents(parents, labels=labels)


# --- Models that start from a tree ------------------------------------------------------------------------------------


def test_a_fixed_tree_ignores_new_labels() -> None:
    tree = complete(["cat", "dog", "cow"])
    model = OnlinePLT.from_tree(tree, policy="fixed")
    model.learn_many([{"purrs": 1}, {"swims": 1}, {"barks": 1}], ["cat", "fish", ["dog", "wolf"]])
    expected = OnlinePLT.from_tree(tree, policy="fixed")
    expected.learn_many([{"purrs": 1}, {"swims": 1}, {"barks": 1}], ["cat", [], "dog"])
    assert model.fingerprint() == expected.fingerprint()
    assert model.tree == tree
    assert (model.n_labels, model.n_features, model.n_examples) == (3, 3, 3)


def test_a_fixed_model_is_saved_and_goes_on(tmp_path: Path, examples: Examples) -> None:
    X, Y = examples
    model = OnlinePLT.warm_start(X[:200], Y[:200], policy="fixed")
    tree = model.tree
    model.save(tmp_path / "fixed.oplt")
    loaded = OnlinePLT.load(tmp_path / "fixed.oplt")
    for either in (model, loaded):
        either.learn_many(X[200:], Y[200:])
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.tree == tree
    assert loaded.settings["policy"] == "fixed"


def test_a_fixed_tree_without_labels_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="never extends the tree"):
        OnlinePLT.from_tree(LabelTree([-1], [None]), policy="fixed")


def test_a_fixed_tree_learns_fewer_classifiers(examples: Examples) -> None:
    tree = kmeans(*examples)
    fixed, ready = (OnlinePLT.from_tree(tree, policy=policy) for policy in ("fixed", "best-greedy"))
    for model in (fixed, ready):
        model.learn_many(*examples)
    assert fixed._state().n_updates < ready._state().n_updates
    assert fixed.n_cells < ready.n_cells
    assert fixed.tree == ready.tree
    assert list(fixed.predict_many(examples[0])) == list(ready.predict_many(examples[0]))


def test_a_warm_start_is_a_tree_that_is_trained_on_the_sample(examples: Examples) -> None:
    X, Y = examples
    settings = {"arity": 3, "max_leaves": 5, "seed": 7}
    model = OnlinePLT.warm_start(iter(X[:300]), iter(Y[:300]), weights=[2.0] * 300, threads=2, **settings)
    expected = OnlinePLT.from_tree(kmeans(X[:300], Y[:300], **settings), **settings)
    expected.learn_many(X[:300], Y[:300], weights=[2.0] * 300)
    assert model.fingerprint() == expected.fingerprint()
    model.learn_many(X[300:], Y[300:])
    assert model.n_labels == len({label for labels in Y for label in labels}) > expected.n_labels


def test_a_warmly_started_model_learns() -> None:
    stream = make_stream(3000, n_labels=60, seed=1)
    X, Y = zip(*islice(stream, 2500), strict=True)
    model = OnlinePLT.warm_start(X[:250], Y[:250])
    model.learn_many(X[250:], Y[250:])
    hits = [model.predict_one(x, k=1)[0][0] in labels for x, labels in stream]
    assert np.mean(hits) > 0.45  # as for the policies, about half of what it reaches


def test_a_warm_start_without_a_sample_is_a_cold_one() -> None:
    assert OnlinePLT.warm_start([], []).fingerprint() == OnlinePLT(history=0).fingerprint()


def test_a_taxonomy_may_have_numpy_integers() -> None:
    parents = {1: None, np.int64(2): 1, 3: 1}
    assert from_parents(parents).to_nested() == [2, 3]
