# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Trees as text files, in the format of docs/format.md."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from oplt._typing import Label
from oplt.checks import path_of
from oplt.errors import InvalidInputError
from oplt.persistence import TREE, replacing, what_is
from oplt.tree._label_tree import LabelTree
from oplt.wording import briefly

__all__ = ["load", "save"]

_HEADER = "oplt-tree 1"  # name and version of the format
_FIRST_NODE = 2  # the line of node 0, counted from 1, after the header
_NODE = re.compile(r"(-1|[0-9]{1,18})(?:\t(.+))?")


def save(tree: LabelTree, path: str | os.PathLike[str]) -> None:
    r"""Write a tree to a text file.

    The first line is ``oplt-tree 1``. The following lines describe the nodes 0, 1, 2, …, one per line: the parent of
    the node (-1 for node 0, the root) and, for a leaf, a tab and its label in JSON, a string or an integer. The write
    is atomic, and an existing file is overwritten only if it holds a tree.

    Parameters
    ----------
    tree
        The tree of a model, or any other.
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
        raise InvalidInputError("not-a-tree", "tree must be a LabelTree", got=type(tree).__name__)
    lines = [_HEADER, *map(_line, tree.parents.tolist(), tree.labels)]
    with replacing(path_of(path), TREE) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _line(parent: int, label: Label | None) -> str:
    return str(parent) if label is None else f"{parent}\t{json.dumps(label, ensure_ascii=False)}"


def load(path: str | os.PathLike[str]) -> LabelTree:
    r"""Read a tree file, written by `save` or by another program in the same format.

    Parameters
    ----------
    path
        File to read.

    Raises
    ------
    InvalidInputError
        If the file is not a tree; the message names the first invalid line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.txt"
    >>> _ = path.write_text('oplt-tree 1\n-1\n0\n0\t"stone"\n1\t"cat"\n1\t"dog"\n')
    >>> load(path).to_nested()
    [['cat', 'dog'], 'stone']
    """
    try:
        return _tree(path_of(path).read_bytes())
    except InvalidInputError as error:
        raise error.at(f"{os.fspath(path)}, {error.where}") from None


def _tree(content: bytes) -> LabelTree:
    if not content.startswith(TREE.magic):
        what = f"a tree file begins with '{_HEADER}', but {what_is(content)}"
        raise InvalidInputError("not-a-tree", what, where=_line_of(-1))
    try:
        lines = content.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte {content[error.start]:#04x} is not UTF-8"
        raise InvalidInputError("not-utf-8", what, where=f"line {line}") from None
    if lines[0] != _HEADER:
        what = f"the file has a different version of the format; this version of oplt reads '{_HEADER}'"
        raise InvalidInputError("format-version-unknown", what, where=_line_of(-1), got=briefly(lines[0]))
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    if len(lines) == 1:
        raise _wrong(0, "the file has no nodes; a tree has at least a root, whose line is -1")
    nodes = [_parsed(node, line) for node, line in enumerate(lines[1:])]
    return LabelTree._placed([parent for parent, _ in nodes], [label for _, label in nodes], _line_of)


def _parsed(node: int, line: str) -> tuple[int, Label | None]:
    found = _NODE.fullmatch(line)
    if found is None:
        raise _wrong(
            node,
            "the line must hold the number of the node's parent and, for a leaf, a tab and a label",
            got=briefly(line),
        )
    parent = int(found[1])
    if found[2] is None:
        return parent, None
    try:
        label: Any = json.loads(found[2])
    except (ValueError, RecursionError):
        what = "the label is not JSON: it must be a string in double quotes or an integer"
        raise _wrong(node, what, got=briefly(found[2])) from None
    if label is None:  # the tree would take it for an internal node
        raise _wrong(node, "the label must be a non-empty string or an integer", got="null")
    return parent, label


def _line_of(node: int) -> str:
    return f"line {node + _FIRST_NODE}"


def _wrong(node: int, what: str, *, got: str | None = None) -> InvalidInputError:
    return InvalidInputError("tree-not-valid", what, where=_line_of(node), got=got)
