# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The tree of a model as a value, which can be inspected, saved, or passed to another model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt import _core
from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.validation import plain_names
from oplt.wording import briefly

__all__ = ["LabelTree"]

_ROOT = -1  # the root's entry among the parents


# The place of a node in error messages: its number, or its line in a file.
Place = Callable[[int], str]


def _node(number: int) -> str:
    return f"node {number}"


class LabelTree:
    """A rooted tree whose leaves are labels.

    Parameters
    ----------
    parents
        The parent of each node. Node 0 is the root; its parent is -1.
    labels
        The label of each leaf, a distinct string or integer; None for internal nodes. The tree of a model that has no
        labels yet is a root without a label.

    Examples
    --------
    >>> tree = LabelTree.from_nested([["cat", "dog"], "stone"])
    >>> tree.n_labels, tree.depth
    (3, 2)
    >>> print(tree)
    0
    ├─ 1
    │  ├─ 3 'cat'
    │  └─ 4 'dog'
    └─ 2 'stone'
    """

    def __init__(self, parents: npt.ArrayLike, labels: Iterable[Label | None]) -> None:
        self._fill(parents, labels, _node)

    @classmethod
    def _placed(cls, parents: npt.ArrayLike, labels: Iterable[Label | None], place: Place) -> LabelTree:
        """Make a tree; `place` says in error messages where a node was found."""
        tree = cls.__new__(cls)
        tree._fill(parents, labels, place)
        return tree

    def _fill(self, parents: npt.ArrayLike, labels: Iterable[Label | None], place: Place) -> None:
        self.parents: npt.NDArray[np.int64] = _checked_parents(parents, place)
        self.labels: tuple[Label | None, ...] = _checked_labels(labels, len(self.parents), place)
        self._children: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents.tolist()):
            if parent != _ROOT:
                self._children[parent].append(node)
        self._check_form(place)

    def _check_form(self, place: Place) -> None:
        for node, (children, label) in enumerate(zip(self._children, self.labels, strict=True)):
            if label is None and not children and self.n_nodes > 1:
                raise _wrong(place(node), "the node has neither children nor a label, but every leaf needs a label")
            if label is not None and children:
                raise _wrong(place(node), f"the node has the label {label!r} and children, but only leaves have labels")
        reached = [0]
        for node in reached:  # grows while it is walked through
            reached.extend(self._children[node])
        if len(reached) < self.n_nodes:
            lost = min(set(range(self.n_nodes)).difference(reached))
            raise _wrong(place(lost), "the node is not below the root: its parents form a cycle")

    @classmethod
    def from_nested(cls, nested: Sequence[Any]) -> LabelTree:
        """Make a tree from nested lists of labels; nodes are numbered level by level."""
        if not isinstance(nested, (list, tuple)):
            raise InvalidInputError(
                "tree-not-valid", "nested must be a list of labels and nested lists", got=briefly(nested)
            )
        parents, labels = [_ROOT], [None]
        queue: list[tuple[int, Any]] = [(0, nested)]
        seen = {id(nested)}
        for parent, children in queue:  # grows while it is walked through
            for child in children:
                is_leaf = not isinstance(child, (list, tuple))
                if not is_leaf:
                    if id(child) in seen:  # otherwise the walk would never end, or would find the same labels twice
                        raise InvalidInputError(
                            "tree-not-valid",
                            f"nested holds the list {briefly(child)} more than once, but each node has one parent",
                        )
                    seen.add(id(child))
                    queue.append((len(parents), child))
                parents.append(parent)
                labels.append(child if is_leaf else None)
        return cls(parents, labels)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parents)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.leaves()[0])

    @property
    def depth(self) -> int:
        """Number of edges on the longest path from the root to a leaf."""
        depth, level = -1, [0]
        while level:
            depth, level = depth + 1, [child for node in level for child in self._children[node]]
        return depth

    def children(self, node: int) -> list[int]:
        """Children of a node in order of arrival."""
        return list(self._children[node])

    def leaves(self) -> tuple[list[int], list[Label]]:
        """Nodes that have a label, and their labels."""
        labelled = [(node, label) for node, label in enumerate(self.labels) if label is not None]
        return [node for node, _ in labelled], [label for _, label in labelled]

    def to_nested(self) -> list[Any]:
        """Return nested lists of labels: the inverse of `from_nested`, except for the numbers of the nodes."""
        nested: dict[int, Any] = {node: [] for node in range(self.n_nodes)}
        for node, children in enumerate(self._children):
            nested[node].extend(nested[child] if self._children[child] else self.labels[child] for child in children)
        lone_label = [] if self.labels[0] is None else [self.labels[0]]
        return list(nested[0]) or lone_label

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return np.array_equal(self.parents, other.parents) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((self.parents.tobytes(), self.labels))

    def __repr__(self) -> str:
        return f"<LabelTree of {self.n_labels} labels: {self.n_nodes} nodes, depth {self.depth}>"

    def __str__(self) -> str:
        lines = []
        stack = [(0, "", "")]
        while stack:
            node, branch, indent = stack.pop()
            label = self.labels[node]
            lines.append(f"{branch}{node}" if label is None else f"{branch}{node} {label!r}")
            for i, child in enumerate(reversed(self._children[node])):
                stack.append((child, indent + ("├─ " if i else "└─ "), indent + ("│  " if i else "   ")))
        return "\n".join(lines)


def _wrong(where: str, what: str, *, got: str | None = None) -> InvalidInputError:
    return InvalidInputError("tree-not-valid", what, where=where, got=got)


def _checked_parents(parents: npt.ArrayLike, place: Place) -> npt.NDArray[np.int64]:
    try:
        array = np.asarray(parents)
    except ValueError:  # lists of different lengths
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise InvalidInputError(
            "tree-not-valid",
            "the parents of a tree must be a non-empty list of integers",
            got=briefly(parents),
        )
    is_root = np.arange(len(array)) == 0
    bad = np.where(is_root, array != _ROOT, (array < 0) | (array >= len(array)))
    if bad.any():
        node = int(np.argmax(bad))
        wanted = "-1, as it is the root" if node == 0 else f"a node, 0 to {len(array) - 1}; only node 0 is a root"
        raise _wrong(place(node), f"the parent must be {wanted}", got=str(array[node]))
    checked = array.astype(np.int64)
    checked.flags.writeable = False  # the children are derived from it once
    return checked


def _checked_labels(labels: Iterable[Label | None], n_nodes: int, place: Place) -> tuple[Label | None, ...]:
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise InvalidInputError(
            "tree-not-valid", "the labels of a tree must be a list, with None for internal nodes", got=briefly(labels)
        )
    given = list(labels)
    if len(given) != n_nodes:
        raise InvalidInputError(
            "tree-not-valid", f"the tree has {n_nodes} parents but {len(given)} labels: both need one entry per node"
        )
    leaves = [node for node, label in enumerate(given) if label is not None]
    names = [given[node] for node in leaves]
    bad = _core.first_bad_name(names)
    if bad is not None:
        raise _wrong(place(leaves[bad[0]]), "the label must be a non-empty string or an integer", got=bad[1])
    leaf_of: dict[Label, int] = {}
    for node, name in zip(leaves, plain_names(names), strict=True):
        if leaf_of.setdefault(name, node) != node:
            raise _wrong(place(node), f"the label {name!r} is already the label of {place(leaf_of[name])}")
        given[node] = name
    return tuple(given)
