# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Arrays that answer questions about a tree in the time of the answer, not of the tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oplt._typing import IdArray

__all__ = ["TreeIndex"]

_Numbers = npt.NDArray[np.int64]


class TreeIndex:
    """An index of one tree. Labels that have been removed, or merged into others, are left out.

    Making it takes a few passes over the nodes, all in NumPy: about 10 ms for 60,000 of them.

    Parameters
    ----------
    parents, ids
        The parent of each node and the label of each leaf; NONE for none.
    present
        The labels that the model has, in ascending order.
    """

    def __init__(self, parents: IdArray, ids: IdArray, present: IdArray) -> None:
        self.parents, self.ids, self.present = parents, ids, present
        is_present = np.zeros(int(present.max(initial=0)) + 2, dtype=bool)  # the last entry: NONE, removed labels
        is_present[present] = True
        self.has_label: npt.NDArray[np.bool_] = is_present[np.minimum(ids, len(is_present) - 1)]
        # The children of all nodes, parent by parent; the root, whose parent is NONE, is the last entry.
        self._by_parent = np.argsort(parents, kind="stable")
        self._bounds = np.searchsorted(parents[self._by_parent], np.arange(len(parents) + 1))
        levels = self._levels()
        self.n_labels = self._count(levels)
        self.begin = self._places(levels)  # of each node: where the labels below it begin in `labels`
        leaves = np.flatnonzero(self.has_label)
        self.labels: IdArray = np.empty(len(leaves), dtype=np.uint32)  # so that those below a node are in one piece
        self.labels[self.begin[leaves]] = ids[leaves]
        self._leaf_of = np.full(len(is_present), -1, dtype=np.int64)
        self._leaf_of[ids[leaves]] = leaves

    def is_of(self, parents: IdArray, ids: IdArray, present: IdArray) -> bool:
        """Return whether it is the index of this tree."""
        return (
            np.array_equal(parents, self.parents)
            and np.array_equal(ids, self.ids)
            and np.array_equal(present, self.present)
        )

    def children(self, node: int) -> _Numbers:
        """Return the children of a node that lead to labels, in order of arrival."""
        found: _Numbers = self._by_parent[self._bounds[node] : self._bounds[node + 1]]
        return found[self.n_labels[found] > 0]

    def below(self, node: int) -> slice:
        """Return where the labels below a node are in `labels`."""
        begin = int(self.begin[node])
        return slice(begin, begin + int(self.n_labels[node]))

    def parent(self, node: int) -> int | None:
        """Return the parent of a node; None for the root."""
        return None if node == 0 else int(self.parents[node])

    def path(self, node: int) -> tuple[int, ...]:
        """Return the nodes from the root to this one."""
        nodes = [node]
        while nodes[-1] != 0:
            nodes.append(int(self.parents[nodes[-1]]))
        return tuple(reversed(nodes))

    def leaf_of(self, label: int) -> int | None:
        """Return the leaf of a label; None if it has none."""
        leaf = int(self._leaf_of[label]) if label < len(self._leaf_of) else -1
        return None if leaf < 0 else leaf

    def _levels(self) -> list[_Numbers]:
        """Return the nodes level by level, siblings next to each other."""
        levels = [np.zeros(1, dtype=np.int64)]
        while True:
            begins, ends = self._bounds[levels[-1]], self._bounds[levels[-1] + 1]
            sizes = ends - begins
            if not sizes.any():
                return levels
            offsets = np.repeat(begins - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
            levels.append(self._by_parent[offsets + np.arange(len(offsets))])

    def _count(self, levels: list[_Numbers]) -> _Numbers:
        n_labels: _Numbers = self.has_label.astype(np.int64)
        for level in reversed(levels[1:]):
            np.add.at(n_labels, self.parents[level], n_labels[level])
        return n_labels

    def _places(self, levels: list[_Numbers]) -> _Numbers:
        """Return, for each node, the number of labels before those below it, in the order of a depth-first walk."""
        places: _Numbers = np.zeros(len(self.parents), dtype=np.int64)
        for level in levels[1:]:
            parents = self.parents[level]
            before = np.cumsum(self.n_labels[level]) - self.n_labels[level]
            is_first = np.concatenate(([True], parents[1:] != parents[:-1]))
            first = np.maximum.accumulate(np.where(is_first, np.arange(len(level)), 0))
            places[level] = places[parents] + before - before[first]
        return places
