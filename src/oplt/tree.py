# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The tree of a model as a value: to look at, to keep, to start another model from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt._typing import Label
from oplt.errors import InvalidInputError

__all__ = ["LabelTree"]

_ROOT = -1  # the root's entry among the parents


class LabelTree:
    """A rooted tree whose leaves are labels.

    Parameters
    ----------
    parents
        The parent of each node. Node 0 is the root; its parent is -1.
    labels
        The label of each leaf, None for internal nodes. In the tree of a model that has not seen a label yet, the
        root stands alone, without one.

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
        self.parents: npt.NDArray[np.int64] = _checked_parents(parents)
        self.labels: tuple[Label | None, ...] = tuple(labels)
        self._children: list[list[int]] = [[] for _ in self.parents]
        if len(self.labels) != len(self.parents):
            msg = f"the tree has {len(self.parents)} parents but {len(self.labels)} labels: each node needs both"
            raise InvalidInputError(msg)
        for node, parent in enumerate(self.parents.tolist()):
            if parent != _ROOT:
                self._children[parent].append(node)

    @classmethod
    def from_nested(cls, nested: Sequence[Any]) -> LabelTree:
        """Make a tree from lists of labels and of further lists, level by level."""
        if not isinstance(nested, (list, tuple)):
            msg = f"nested must be a list of labels and of further lists, got {nested!r}"
            raise InvalidInputError(msg)
        parents, labels = [_ROOT], [None]
        queue: list[tuple[int, Any]] = [(0, nested)]
        for parent, children in queue:  # grows while it is walked through
            for child in children:
                is_leaf = not isinstance(child, (list, tuple))
                queue.extend([] if is_leaf else [(len(parents), child)])
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
        """Edges on the longest way from the root to a leaf."""
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
        """Make lists of labels and of further lists: undoes `from_nested`, but for the numbers of the nodes."""
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


def _checked_parents(parents: npt.ArrayLike) -> npt.NDArray[np.int64]:
    array = np.asarray(parents)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        msg = f"the parents of a tree must be a list of integers, at least one, got {parents!r}"
        raise InvalidInputError(msg)
    checked = array.astype(np.int64)
    checked.flags.writeable = False  # the children are derived from it once
    others = checked[1:]
    if checked[0] != _ROOT or np.any((others < 0) | (others >= len(checked))):
        msg = f"node 0 is the root, with parent -1; the parents of all others are nodes 0 to {len(checked) - 1}"
        raise InvalidInputError(msg)
    return checked
