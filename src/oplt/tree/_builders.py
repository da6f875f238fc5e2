# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Trees built ahead of training: from examples, from a taxonomy, from a list of labels in order or at random."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from oplt import _core
from oplt._typing import IdArray, Label, LabelRows, Rows
from oplt.checks import count
from oplt.errors import InvalidInputError
from oplt.params import Settings
from oplt.tree._label_tree import LabelTree
from oplt.validation import NamedLabels, NamedRows, as_labels, as_rows, check_names, plain_names
from oplt.wording import briefly

__all__ = ["balanced_random", "cluster", "complete", "from_parents", "kmeans"]


def kmeans(
    X: Rows,  # noqa: N803 (a matrix)
    Y: LabelRows,  # noqa: N803 (a matrix)
    *,
    arity: int = 2,
    max_leaves: int = 100,
    seed: int = 0,
    threads: int = 1,
) -> LabelTree:
    """Cluster similar labels by hierarchical balanced 2-means, as Parabel does.

    The vector of a label is the normalized sum of its examples, each scaled to norm 1. A set of labels is split in two
    by balanced spherical 2-means, which starts from two random labels as centroids: the half of the labels that prefer
    the first centroid to the second most strongly forms the first cluster, the centroids are recomputed, and so on
    until the mean similarity of labels to their centroids improves by less than 0.0001. For an arity of 4, each half is
    split again; in general, a set that is to become k clusters is split in the ratio ⌈k/2⌉ to ⌊k/2⌋, so that the
    clusters of a node differ in size by at most one label.

    Parameters
    ----------
    X, Y
        Features and labels of examples, in any form that `OnlinePLT.learn_many` accepts. The tree has the labels that
        occur in them.
    arity
        Number of children of an internal node.
    max_leaves
        A set of at most `max_leaves` labels is not split further: the labels become the leaves of one node. At least
        `arity`.
    seed
        Seed of the random choice of initial centroids.
    threads
        Number of threads. The tree depends neither on it nor on the machine.

    References
    ----------
    Prabhu, Kag, Harsola, Agrawal, Varma: Parabel: partitioned label trees for extreme classification with application
    to dynamic search advertising. WWW 2018.

    Examples
    --------
    >>> X = [{"purrs": 1, "fur": 1}, {"gray": 1, "hard": 1}, {"barks": 1, "fur": 1}, {"red": 1, "hard": 1}]
    >>> print(kmeans(X, ["cat", "granite", "dog", "brick"], max_leaves=2))
    0
    ├─ 1
    │  ├─ 2 'granite'
    │  └─ 3 'brick'
    └─ 4
       ├─ 5 'cat'
       └─ 6 'dog'
    """
    rows = as_rows(X)
    return cluster(rows, as_labels(Y, len(rows)), _shape(arity, max_leaves, seed), threads)


def cluster(rows: NamedRows, labels: NamedLabels, settings: Settings, threads: int) -> LabelTree:
    """Build the tree of `kmeans` from validated examples, with the arity, max_leaves and seed of the settings."""
    parents, ids, names = _core.cluster_labels(
        rows.indptr,
        rows.names,
        rows.values,
        labels.indptr,
        labels.names,
        arity=settings.arity,
        max_leaves=settings.max_leaves,
        seed=settings.seed,
        threads=count("threads", threads),
    )
    return _named(parents, ids, names)


def balanced_random(labels: Iterable[Label], *, arity: int = 2, max_leaves: int = 100, seed: int = 0) -> LabelTree:
    """Build a tree of the same shape as that of `kmeans`, with the labels in random order.

    Parameters
    ----------
    labels
        Distinct strings or integers.
    arity, max_leaves
        As for `kmeans`.
    seed
        Seed of the random order, which is the same on every machine.

    Examples
    --------
    >>> tree = balanced_random(range(1000), arity=4, max_leaves=20)
    >>> tree.n_labels, tree.depth
    (1000, 4)
    """
    names = _distinct(labels)
    settings = _shape(arity, max_leaves, seed)
    parents, ids = _core.shuffled_tree(
        len(names), arity=settings.arity, max_leaves=settings.max_leaves, seed=settings.seed
    )
    return _named(parents, ids, names)


def complete(labels: Iterable[Label], *, arity: int = 2) -> LabelTree:
    """Build the complete tree: all levels are full except the last, which is filled from the left.

    Parameters
    ----------
    labels
        Distinct strings or integers, from left to right.
    arity
        Number of children of an internal node (the last one may have fewer).

    Examples
    --------
    >>> complete(["a", "b", "c", "d", "e"]).to_nested()
    [[['a', 'b'], 'c'], ['d', 'e']]
    """
    names = _distinct(labels)
    b = count("arity", arity, least=2)
    n_internal = -(-(len(names) - 1) // (b - 1)) if names else 0
    n_nodes = max(1, n_internal + len(names))
    parents = (np.arange(n_nodes) - 1) // b  # nodes are numbered level by level; -1 for the root
    last_level = 0
    while b * last_level + 1 < n_nodes:
        last_level = b * last_level + 1
    n_deepest = n_nodes - last_level
    in_order_of_nodes = names[n_deepest:] + names[:n_deepest]  # the deepest leaves are left of all others
    return LabelTree(parents, [*[None] * (n_nodes - len(names)), *in_order_of_nodes])


def from_parents(parents: Mapping[Label, Label | None], *, labels: Iterable[Label] | None = None) -> LabelTree:
    """Build a tree from a taxonomy.

    Parameters
    ----------
    parents
        The parent of each category; None for a root, or NaN, which is what an empty cell is in pandas. Several roots
        are joined under a common one. Every parent must itself be a key, so that misspelled names are caught.
    labels
        The categories that are labels; by default, those without children. A label that has children gets a leaf of its
        own beside them. Branches without labels are left out, and a node that would have a single child is replaced by
        that child, since its classifier would have nothing to distinguish.

    Examples
    --------
    >>> taxonomy = {"animal": None, "cat": "animal", "dog": "animal", "puppy": "dog", "whelp": "dog", "stone": None}
    >>> from_parents(taxonomy).to_nested()
    [['cat', ['puppy', 'whelp']], 'stone']
    >>> from_parents(taxonomy, labels=["cat", "dog", "puppy", "stone"]).to_nested()
    [['cat', ['dog', 'puppy']], 'stone']
    """
    children = _children(parents)
    order: list[Label | None] = [None]  # parents before children, below the common root None
    for name in order:
        order.extend(children[name])
    if len(order) <= len(parents):
        cycle = _cycle(parents, set(parents).difference(order))
        raise InvalidInputError("tree-not-valid", f"the parents form a cycle: {cycle}")
    wanted = {name for name in parents if not children[name]} if labels is None else set(_distinct(labels))
    unknown = next((name for name in wanted if name not in parents), None)
    if unknown is not None:
        raise InvalidInputError(
            "unknown-label",
            f"the label {unknown!r} is not in the taxonomy",
            hint="Add it to parents, with the parent None if it is a root.",
        )
    nested: dict[Label | None, Any] = {}  # a label, or a list as of `LabelTree.from_nested`
    for name in reversed(order):
        below = [part for part in map(nested.__getitem__, children[name]) if not isinstance(part, list) or part]
        parts = [name, *below] if name in wanted else below
        nested[name] = parts[0] if len(parts) == 1 else parts
    whole = nested[None]
    return LabelTree.from_nested(whole) if isinstance(whole, list) else LabelTree([-1], [whole])


def _children(parents: Mapping[Label, Label | None]) -> dict[Label | None, list[Label]]:
    if not isinstance(parents, Mapping):
        raise InvalidInputError(
            "tree-not-valid", "parents must be a mapping from each name to its parent", got=type(parents).__name__
        )
    check_names(list(parents), "name")
    children: dict[Label | None, list[Label]] = {name: [] for name in (None, *parents)}
    for name, given in parents.items():
        parent = None if _is_missing(given) else given
        bad = None if parent is None else _core.first_bad_name([parent])
        if bad is not None:
            raise InvalidInputError(
                "name-not-valid", f"the parent of {name!r} must be one name, or None for a root", got=bad[1]
            )
        if parent not in children:
            raise InvalidInputError(
                "tree-not-valid",
                f"the parent of {name!r}, {parent!r}, is not a key of parents itself",
                hint="Add it, with the parent None if it is a root.",
            )
        children[parent].append(name)
    return children


def _is_missing(parent: Any) -> bool:
    """Recognize NaN and pandas.NA, without importing pandas."""
    return (isinstance(parent, float) and math.isnan(parent)) or type(parent).__name__ == "NAType"


def _cycle(parents: Mapping[Label, Any], unreachable: set[Label]) -> str:
    """Describe a cycle. A name that is not below a root is in a cycle or below one."""
    way = [next(name for name in parents if name in unreachable)]
    while way[-1] not in way[:-1]:
        way.append(parents[way[-1]])
    return " → ".join(repr(name) for name in way[way.index(way[-1]) :])


def _shape(arity: int, max_leaves: int, seed: int) -> Settings:
    """Validate the parameters that are also settings of models."""
    return Settings(arity=arity, max_leaves=max_leaves, seed=seed)


def _distinct(labels: Iterable[Label]) -> list[Label]:
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise InvalidInputError("labels-not-valid", "labels must be a list of names", got=briefly(labels))
    given = list(labels)
    check_names(given, "label")
    names = plain_names(given)
    seen: set[Label] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise InvalidInputError("label-twice", f"label {i}, {name!r}, occurs twice, but labels must be distinct")
        seen.add(name)
    return names


def _named(parents: IdArray, ids: IdArray, names: list[Label]) -> LabelTree:
    """Make a tree from the arrays that the core returns."""
    labels = [None if label == _core.NONE else names[label] for label in ids.tolist()]
    return LabelTree(np.where(parents == _core.NONE, -1, parents.astype(np.int64)), labels)
