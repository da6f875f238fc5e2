# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a browser shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from oplt._typing import Label, Name
from oplt.labels import LabelOperation

__all__ = ["Child", "Evidence", "LabelView", "NodeView"]


@dataclass(frozen=True)
class Evidence:
    """The features that speak most strongly for and against a node, strongest first, each with its strength.

    The strength is the weight of the feature in the node's classifier, times how confident AROW is of that weight,
    times the inverse document frequency of a term, so that neither words that are everywhere nor words that were seen
    once come first. It is negative in `against`.
    """

    positive: tuple[tuple[Name, float], ...] = ()
    negative: tuple[tuple[Name, float], ...] = ()


@dataclass(frozen=True)
class Child:
    """A child of a node: its label if it is a leaf, and the labels below it, some of the most frequent by name."""

    node: int
    label: Label | None
    n_labels: int
    n_examples: int  # of these labels; an example that has two of them counts twice
    examples: tuple[Label, ...]


@dataclass(frozen=True)
class NodeView:
    """A node of a tree.

    Attributes
    ----------
    tree, node, parent
        The numbers of the tree, the node and its parent, which is None for the root.
    path
        The nodes from the root to this one.
    label
        The label of a leaf; otherwise None.
    n_labels
        Number of labels below the node, itself included.
    features
        The features that its classifier goes by. It tells the labels below the node from those of its siblings.
    n_children, children
        How many children the node has, and those that were asked for, most frequent first.
    """

    tree: int
    node: int
    parent: int | None
    path: tuple[int, ...]
    label: Label | None
    n_labels: int
    features: Evidence
    n_children: int
    children: tuple[Child, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class LabelView:
    """A label in the trees of a model.

    Attributes
    ----------
    label
        The label.
    paths
        For each tree that has a leaf for it, the number of the tree and the nodes from the root to the leaf. A label
        that was added, but has no examples yet, has no leaf.
    features
        The features that its leaves' classifiers go by, averaged over the trees.
    operations
        The operations on it, under any of its names, oldest first.
    """

    label: Label
    paths: tuple[tuple[int, tuple[int, ...]], ...]
    features: Evidence
    operations: tuple[LabelOperation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON."""
        return {**asdict(self), "operations": [operation.to_dict() for operation in self.operations]}
