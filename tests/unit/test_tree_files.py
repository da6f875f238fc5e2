# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Trees as files: saved trees are loaded unchanged, and errors name the line."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest

from oplt import InvalidInputError, LabelTree, OnlinePLT
from oplt.datasets import make_stream
from oplt.tree import load, save


@pytest.mark.parametrize(
    "tree",
    [
        LabelTree([-1], [None]),
        LabelTree([-1], ["x"]),
        LabelTree.from_nested([["a", ["b", 3]], "c", ["d"]]),
        LabelTree.from_nested([[np.int64(3), "a"], [IntEnum("Color", "RED").RED]]),
        LabelTree.from_nested(["3", 3, -(2**63), 'ä\t\n\r"\\', "\u2028 \x85 \x0b", "日本", "\ufeff", "null"]),
    ],
)
def test_there_and_back(tree: LabelTree, tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    save(tree, path)
    assert load(path) == tree
    assert [type(label) for label in load(path).labels] == [type(label) for label in tree.labels]


def test_the_tree_of_a_model_there_and_back(tmp_path: Path) -> None:
    """In a tree grown online, a node may come before its parent."""
    model = OnlinePLT(arity=2, max_leaves=3)
    for x, labels in make_stream(200, n_labels=60):
        model.learn_one(x, labels)
    assert (model.tree.parents > np.arange(model.tree.n_nodes)).any()
    save(model.tree, tmp_path / "tree.txt")
    assert load(tmp_path / "tree.txt") == model.tree


def test_the_file_is_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    save(LabelTree.from_nested([["käse", "a\tb"], np.int64(7)]), path)
    assert path.read_bytes().decode() == 'oplt-tree 1\n-1\n0\n0\t7\n1\t"käse"\n1\t"a\\tb"\n'


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    path.write_bytes(b'oplt-tree 1\r\n-1\r\n0\t"a"\r\n0\t"b"\r\n\r\n')
    assert load(path).to_nested() == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"line 1: a tree file begins with 'oplt-tree 1', but it is empty"),
        ("hello\n", r"line 1: a tree file begins with 'oplt-tree 1', but it begins with b'hello\\n'"),
        (
            "oplt-tree 2\n-1\n",
            r"line 1: the file has a different version.*this version of oplt reads 'oplt-tree 1', got 'oplt-tree 2'",
        ),
        ("oplt-tree 1\n", r"line 2: the file has no nodes"),
        ("oplt-tree 1\n0\n", r"line 2: the parent must be -1, as it is the root, got 0"),
        ("oplt-tree 1\n-1\n-1\n", r"line 3: the parent must be a node, 0 to 1; only node 0 is a root, got -1"),
        ("oplt-tree 1\n-1\n0 7\n", r"line 3: the line must hold the number of the node's parent and.*got '0 7'"),
        ("oplt-tree 1\n-1\n\n0\t1\n", r"line 3: the line must hold the number of the node's parent"),
        ("oplt-tree 1\n-1\n٣\t1\n", r"line 3: the line must hold the number of the node's parent"),
        ("oplt-tree 1\n-1\n5\t1\n", r"line 3: the parent must be a node, 0 to 1; only node 0 is a root, got 5"),
        ("oplt-tree 1\n-1\n0\tcat\n", r"line 3: the label is not JSON: .*in double quotes.*, got 'cat'"),
        ('oplt-tree 1\n-1\n0\t"cat\n', r"line 3: the label is not JSON: .*, got '\"cat'"),
        ("oplt-tree 1\n-1\n0\t" + "[" * 100_000 + "\n", r"line 3: the label is not JSON"),
        ('oplt-tree 1\n-1\n0\t""\n', r"line 3: the label must be a non-empty string.*got an empty string"),
        ("oplt-tree 1\n-1\n0\t1.5\n", r"line 3: the label must be a non-empty string or an integer, got 1.5"),
        ("oplt-tree 1\n-1\n0\tnull\n", r"line 3: the label must be a non-empty string or an integer, got null"),
        ("oplt-tree 1\n-1\n0\t[1]\n", r"line 3: the label must be a non-empty string or an integer, got \[1\]"),
        ("oplt-tree 1\n-1\n0\t9223372036854775808\n", r"line 3: .*more than 64 bits"),
        ("oplt-tree 1\n-1\n0\t1\n0\t2\n0\t1\n", r"line 5: the label 1 is already the label of line 3"),
        ("oplt-tree 1\n-1\n0\t1\n0\n", r"line 4: the node has neither children nor a label"),
        ("oplt-tree 1\n-1\n0\t1\n1\t2\n", r"line 3: the node has the label 1 and children"),
        ("oplt-tree 1\n-1\n0\t1\n3\n2\n", r"line 4: the node is not below the root: its parents form a cycle"),
        (b'oplt-tree 1\n-1\n0\t"\xff"\n', r"line 3: byte 0xff is not UTF-8"),
    ],
)
def test_a_bad_file_is_refused_by_its_line(content: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidInputError, match=rf"tree\.txt, {message}"):
        load(path)


def test_only_trees_are_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    tree = LabelTree.from_nested(["a", "b"])
    save(LabelTree.from_nested(["c"]), path)
    save(tree, path)
    assert load(path) == tree
    path.write_text("precious")
    with pytest.raises(InvalidInputError, match="is not an oplt tree"):
        save(tree, path)
    assert path.read_text() == "precious"
    with pytest.raises(FileNotFoundError, match="folder to save the tree in does not exist"):
        save(tree, tmp_path / "nowhere" / "tree.txt")


def test_what_is_no_tree_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="tree must be a LabelTree, got list"):
        save([["a"], "b"], tmp_path / "tree.txt")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
