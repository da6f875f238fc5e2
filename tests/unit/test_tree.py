# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

from oplt import LabelTree, OnlinePLT


def test_nested_lists_there_and_back() -> None:
    nested = [["a", ["b", 3]], "c", ["d"]]
    tree = LabelTree.from_nested(nested)
    assert tree.to_nested() == nested
    assert (tree.n_labels, tree.depth, tree.n_nodes) == (5, 3, 9)
    assert tree.children(0) == [1, 2, 3]


def test_a_models_tree_starts_an_equal_tree() -> None:
    model = OnlinePLT(arity=2, max_leaves=2)
    model.learn_many([{i: 1.0} for i in range(9)], list("abcdefghi"))
    again = OnlinePLT.from_tree(model.tree, arity=2, max_leaves=2)
    assert again.tree == model.tree
    assert again.n_examples == 0
    assert again.n_labels == 9


def test_the_tree_of_an_empty_model() -> None:
    tree = OnlinePLT().tree
    assert (tree.n_nodes, tree.n_labels, tree.depth, tree.to_nested()) == (1, 0, 0, [])
    assert OnlinePLT.from_tree(tree).fingerprint() == OnlinePLT(history=0).fingerprint()


def test_the_tree_of_a_single_label() -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, "x")
    assert str(model.tree) == "0 'x'"
    assert model.tree.to_nested() == ["x"]


def test_trees_differ_by_labels_and_by_shape() -> None:
    tree = LabelTree.from_nested(["a", ["b", "c"]])
    assert tree == LabelTree.from_nested(["a", ["b", "c"]])
    assert tree != LabelTree.from_nested(["a", ["b", "d"]])
    assert tree != LabelTree.from_nested([["a", "b"], "c"])
    assert tree != "tree"
