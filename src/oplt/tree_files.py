# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Trees as text files, in the format of docs/format.md. `oplt.trees` is where users find this."""

from __future__ import annotations

import json
import operator
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oplt import _core
from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.tree import LabelTree

__all__ = ["load", "save"]

MAGIC = "oplt-tree"
VERSION = 1
_FIRST_NODE = 2  # the line of node 0: lines count from 1, and the first one is the header
_NODE = re.compile(r"(-1|[0-9]{1,18})(?:\t(.+))?")


def save(tree: LabelTree, path: str | os.PathLike[str]) -> None:
    r"""Write a tree to a text file.

    The first line is ``oplt-tree 1``. Each other line is a node, 0, 1, 2, … in this order: its parent (-1 for node 0,
    the root) and, for a leaf, a tab and its label in JSON: a string or an integer. The file holds the old content or
    the new, whatever happens meanwhile, and only a file that holds a tree is overwritten.

    Parameters
    ----------
    tree
        What `tree` of a model gives, or any other.
    path
        File to write.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.txt"
    >>> save(LabelTree.from_nested([["cat", "dog"], 7]), path)
    >>> print(path.read_text().replace("\t", " "), end="")
    oplt-tree 1
    -1
    0
    0 7
    1 "cat"
    1 "dog"
    """
    if not isinstance(tree, LabelTree):
        msg = f"tree must be a LabelTree, got {type(tree).__name__}"
        raise InvalidInputError(msg)
    leaves, labels = tree.leaves()
    bad = _core.first_bad_name(labels)
    if bad is not None:
        msg = f"the label of node {leaves[bad[0]]} is {bad[1]}: labels are non-empty strings or integers"
        raise InvalidInputError(msg)
    lines = [f"{MAGIC} {VERSION}", *map(_line, tree.parents.tolist(), tree.labels)]
    with replacing(Path(path), MAGIC.encode(), "tree") as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _line(parent: int, label: Label | None) -> str:
    if label is None:
        return str(parent)
    plain = str(label) if isinstance(label, str) else operator.index(label)
    return f"{parent}\t{json.dumps(plain, ensure_ascii=False)}"


def load(path: str | os.PathLike[str]) -> LabelTree:
    r"""Read a tree that `save` wrote, or somebody's program in its format.

    Parameters
    ----------
    path
        File to read.

    Raises
    ------
    InvalidInputError
        If the file is not a tree, naming the first line that is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.txt"
    >>> _ = path.write_text('oplt-tree 1\n-1\n0\n0\t"stone"\n1\t"cat"\n1\t"dog"\n')
    >>> load(path).to_nested()
    [['cat', 'dog'], 'stone']
    """
    try:
        return _tree(Path(path).read_bytes())
    except InvalidInputError as error:
        msg = f"{os.fspath(path)}, {error}"
        raise InvalidInputError(msg) from None


def _tree(content: bytes) -> LabelTree:
    try:
        lines = content.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _wrong(line, f"byte {content[error.start]:#04x} is not UTF-8") from None
    _check_header(lines[0])
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    if len(lines) == 1:
        raise _wrong(_FIRST_NODE, "there is no node; a tree has a root at least, whose line is -1")
    nodes = [_parsed(number, line, len(lines) - 1) for number, line in enumerate(lines[1:], _FIRST_NODE)]
    tree = LabelTree([parent for parent, _ in nodes], [label for _, label in nodes])
    _check_leaves(tree)
    _check_all_below_the_root(tree)
    return tree


def _check_header(line: str) -> None:
    magic, _, version = line.partition(" ")
    if magic != MAGIC:
        raise _wrong(1, f"a tree file begins with '{MAGIC} {VERSION}', got {line[:40]!r}")
    if version != str(VERSION):
        raise _wrong(1, f"version {version!r} of the format, but this oplt reads version {VERSION}")


def _parsed(number: int, line: str, n_nodes: int) -> tuple[int, Label | None]:
    found = _NODE.fullmatch(line)
    if found is None:
        raise _wrong(number, f"a node is its parent's number and, for a leaf, a tab and a label, got {line[:40]!r}")
    parent = int(found[1])
    if (parent == -1) != (number == _FIRST_NODE):
        raise _wrong(number, f"the parent is {parent}: -1 is for the root, which is the first node and no other")
    if parent >= n_nodes:
        raise _wrong(number, f"the parent is {parent}, but nodes are 0 to {n_nodes - 1}")
    if found[2] is None:
        return parent, None
    try:
        label: Any = json.loads(found[2])
    except (ValueError, RecursionError) as error:
        raise _wrong(number, f"the label {found[2][:40]!r} is not JSON: {error}") from None
    bad = _core.first_bad_name([label])
    if bad is not None:
        raise _wrong(number, f"the label is {bad[1]}: labels are non-empty strings or integers")
    return parent, label


def _check_leaves(tree: LabelTree) -> None:
    line_of: dict[Label, int] = {}
    for node, label in enumerate(tree.labels):
        has_children = bool(tree.children(node))
        if label is None and not has_children and tree.n_nodes > 1:
            raise _wrong(node + _FIRST_NODE, f"node {node} has neither children nor a label")
        if label is not None and has_children:
            raise _wrong(node + _FIRST_NODE, f"node {node} has children and the label {label!r}; only leaves have one")
        if label is not None and label in line_of:
            raise _wrong(node + _FIRST_NODE, f"the label {label!r} is that of line {line_of[label]}, too")
        if label is not None:
            line_of[label] = node + _FIRST_NODE


def _check_all_below_the_root(tree: LabelTree) -> None:
    lost = set(range(tree.n_nodes)).difference(_below(tree))
    if lost:
        node = min(lost)
        raise _wrong(node + _FIRST_NODE, f"node {node} is not below the root: its parents form a cycle")


def _below(tree: LabelTree) -> Iterator[int]:
    stack = [0]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(tree.children(node))


def _wrong(line: int, what: str) -> InvalidInputError:
    return InvalidInputError(f"line {line}: {what}")
