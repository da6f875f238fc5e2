# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A tree in the language of Graphviz."""

from __future__ import annotations

from oplt._typing import Label
from oplt.drawing._outline import Item, outline
from oplt.tree import LabelTree

__all__ = ["as_dot"]


def as_dot(
    tree: LabelTree, *, depth: int | None = None, children: int | None = None, label: Label | None = None
) -> str:
    """Write a tree in DOT, the language of Graphviz; by default, the whole tree.

    Parameters
    ----------
    tree
        The `tree` of a model, or any other.
    depth
        Draw at most `depth` levels below the root.
    children
        Draw at most `children` children of each node.
    label
        Draw only the path to this label, and the other children of its parent.

    Examples
    --------
    >>> print(as_dot(LabelTree.from_nested(["cat", ["dog", "wolf"]]), depth=1))
    digraph {
      label="3 of 5 nodes and 1 of 3 labels are drawn."; rankdir=LR; node [shape=box];
      0 [label="node 0: 3 labels"];
      1 [label="cat"];
      2 [label="node 2: 2 labels (dog, wolf)"];
      0 -> 1;
      0 -> 2;
    }
    """
    chosen = outline(tree, depth, children, label, whole=True)
    nodes = [f"  {place} [{_attributes(item)}];" for place, item in enumerate(chosen.items)]
    edges = [f"  {item.parent} -> {place};" for place, item in enumerate(chosen.items) if place]
    head = f"  label={_quoted(chosen.left_out or chosen.title)}; rankdir=LR; node [shape=box];"
    return "\n".join(["digraph {", head, *nodes, *edges, "}"])


def _attributes(item: Item) -> str:
    style = ", style=bold" if item.is_sought else ", shape=plaintext" if item.node is None else ""
    return f"label={_quoted(item.caption())}{style}"


def _quoted(text: str) -> str:
    r"""Quote a text. Graphviz interprets backslashes (\N is the node's name) and HTML entities."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'
