# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The part of a tree that is drawn, and its captions, which all kinds of drawings share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from oplt._typing import Label
from oplt.checks import count
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.tree import LabelTree
from oplt.wording import number_of, on_one_line

__all__ = ["Item", "Outline", "as_tree", "labels_below", "leaf_of", "outline"]

_SMALL = 100  # nodes: smaller trees are drawn as a whole by default
_DEPTH = 2  # of a larger one
_CHILDREN = 6
_EXAMPLES = 3  # labels shown for a node that is not expanded


@dataclass(frozen=True)
class Item:
    """A node, or, if `node` is None, a placeholder for further children of its parent that are not drawn."""

    node: int | None
    parent: int  # its place in the outline; -1 for the root
    depth: int
    is_last: bool  # of its parent's items
    label: Label | None
    n_labels: int  # below it, itself included
    n_hidden: int  # children that are not drawn
    examples: tuple[Label, ...]  # some labels below it, if none of its children is drawn
    is_sought: bool

    def caption(self, dots: str = "…") -> str:
        """Return the caption of the item."""
        if self.label is not None:
            return on_one_line(self.label)
        labels = number_of(self.n_labels, "label")
        if self.node is None:
            return f"{dots} {self.n_hidden:,} more ({labels})"
        names = [on_one_line(name) for name in self.examples] + [dots] * (len(self.examples) < self.n_labels)
        return f"node {self.node}: {labels}" + (f" ({', '.join(names)})" if self.examples else "")


@dataclass(frozen=True)
class Outline:
    """The items in preorder: each node before its children."""

    tree: LabelTree
    items: list[Item]

    @property
    def title(self) -> str:
        """The title of the drawing."""
        return f"Tree of {number_of(self.tree.n_labels, 'label')}"

    @property
    def left_out(self) -> str:
        """A sentence that says how much is drawn; empty if everything is."""
        n_nodes = sum(item.node is not None for item in self.items)
        n_labels = sum(item.label is not None for item in self.items)
        if n_nodes == self.tree.n_nodes:
            return ""
        nodes, labels = f"{n_nodes:,} of {self.tree.n_nodes:,} nodes", f"{n_labels:,} of {self.tree.n_labels:,} labels"
        return f"{nodes} and {labels} are drawn."


def outline(tree: LabelTree, depth: int | None, children: int | None, label: Label | None, *, whole: bool) -> Outline:
    """Choose what to draw.

    Parameters
    ----------
    tree, depth, children, label
        As the drawing functions describe them.
    whole
        Draw even a large tree as a whole, if none of the other parameters is given.
    """
    as_tree(tree)
    if label is not None and depth is not None:
        raise InvalidParameterError(
            "parameters-conflict",
            f"label={label!r} and depth={depth!r} cannot be combined: label draws the whole path to it, however deep",
        )
    if not whole and depth is children is label is None and tree.n_nodes > _SMALL:
        depth, children = _DEPTH, _CHILDREN
    deepest = tree.n_nodes if depth is None else count("depth", depth, least=0)
    most = tree.n_nodes if children is None else count("children", children)
    way = None if label is None else _Way(tree, leaf_of(tree, label))
    return Outline(tree, list(_items(tree, deepest, most, way)))


def _items(tree: LabelTree, deepest: int, most: int, way: _Way | None) -> Iterator[Item]:
    below = labels_below(tree)
    stack = [(0, -1, 0, True)]  # a node or -1 for those left out, place of the parent, depth, whether it is the last
    hidden: dict[int, list[int]] = {}  # by place of the parent
    n_items = 0
    while stack:
        node, parent, depth, is_last = stack.pop()
        if node < 0:
            n_labels = sum(below[child] for child in hidden[parent])
            yield Item(None, parent, depth, is_last, None, n_labels, len(hidden[parent]), (), is_sought=False)
        else:
            children = tree.children(node)
            drawn = _drawn(node, children, most, way) if depth < deepest else []
            lost = set(children).difference(drawn)
            n_closed = 0 if drawn else len(children)
            examples = _first_labels(tree, node) if n_closed else ()
            is_sought = way is not None and node == way.leaf
            yield Item(node, parent, depth, is_last, tree.labels[node], below[node], n_closed, examples, is_sought)
            if drawn and lost:
                hidden[n_items] = sorted(lost)
                drawn.append(-1)
            stack.extend((child, n_items, depth + 1, i == 0) for i, child in enumerate(reversed(drawn)))
        n_items += 1


class _Way:
    """Return the nodes from the root to a leaf, as a set, because the path may be long."""

    def __init__(self, tree: LabelTree, leaf: int) -> None:
        self.leaf = leaf
        self.nodes = {leaf}
        node = leaf
        while node != 0:
            node = int(tree.parents[node])
            self.nodes.add(node)


def _drawn(node: int, children: list[int], most: int, way: _Way | None) -> list[int]:
    """Choose children to draw: the first ones; on the path to a leaf, the next node, and at its end all siblings."""
    if way is None:
        return children[:most]
    if node not in way.nodes:
        return []
    on_way = [child for child in children if child in way.nodes]
    if on_way != [way.leaf]:
        return on_way
    if len(children) <= most:
        return children
    return [*[child for child in children if child != way.leaf][: most - 1], way.leaf]


def _first_labels(tree: LabelTree, node: int) -> tuple[Label, ...]:
    found: list[Label] = []
    stack = [node]
    while stack and len(found) < _EXAMPLES:
        node = stack.pop()
        label = tree.labels[node]
        found.extend([] if label is None else [label])
        stack.extend(reversed(tree.children(node)))
    return tuple(found)


def as_tree(tree: Any) -> LabelTree:
    """Check that it is a tree."""
    if not isinstance(tree, LabelTree):
        raise InvalidInputError(
            "not-a-tree", "tree must be a LabelTree, such as the tree of a model", got=type(tree).__name__
        )
    return tree


def leaf_of(tree: LabelTree, label: Label) -> int:
    """Find the leaf of a label; if there is none, the error suggests similar labels."""
    leaves, labels = tree.leaves()
    for leaf, name in zip(leaves, labels, strict=True):
        if name == label:
            return leaf
    wanted = str(label).casefold()
    alike = list(islice((name for name in labels if wanted in str(name).casefold()), 3))
    raise InvalidInputError(
        "unknown-label",
        f"the tree has no label {label!r}{'' if alike else ', and no label that contains it'}",
        hint=f"Did you mean {' or '.join(map(repr, alike))}?" if alike else None,
    )


def labels_below(tree: LabelTree) -> list[int]:
    """Count, for each node, the labels in its subtree."""
    order = [0]
    for node in order:  # grows while it is walked through
        order.extend(tree.children(node))
    below = [int(label is not None) for label in tree.labels]
    parents = tree.parents.tolist()
    for node in reversed(order[1:]):
        below[parents[node]] += below[node]
    return below
