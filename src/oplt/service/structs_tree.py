# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Answers about the tree, and about one label in it."""

from __future__ import annotations

from typing import Literal

import msgspec

from oplt.service.examples import Name
from oplt.service.structs import LabelAnswer

__all__ = ["ChildAnswer", "LabelOperationAnswer", "LabelPageAnswer", "NodeAnswer", "PathAnswer", "StepAnswer"]


class StepAnswer(msgspec.Struct):
    """A node on the path from the root. Its title is its label, or the most frequent one below it."""

    node: int
    title: str


class ChildAnswer(msgspec.Struct):
    """A child of a node. `examples` are the names of the most frequent labels below it."""

    node: int
    label: Name | None
    n_labels: int
    n_examples: int
    examples: list[Name]


class NodeAnswer(msgspec.Struct):
    """A node of a tree, and a page of its children, those with most examples first.

    `words` and `against` are the features that speak most for and against the labels below the node, compared with
    those of its siblings. Each has its strength: the weight in the node's classifier, times the confidence in it, times
    the inverse document frequency of a word.
    """

    n_trees: int
    tree: int
    node: int
    parent: int | None
    path: list[StepAnswer]
    label: Name | None
    n_labels: int
    words: list[tuple[Name, float]]
    against: list[tuple[Name, float]]
    n_children: int
    children: list[ChildAnswer]


class PathAnswer(msgspec.Struct):
    """The nodes from the root to the leaf of a label."""

    tree: int
    nodes: list[int]


class LabelOperationAnswer(msgspec.Struct):
    """What somebody did to a label, after the model had learned `n_examples`."""

    kind: Literal["add", "rename", "hide", "unhide", "remove", "merge"]
    label: Name
    other: Name | None
    n_examples: int


class LabelPageAnswer(LabelAnswer, kw_only=True):
    """A label, its places in the trees, the features for and against it as for a node, and what people did to it."""

    path: list[PathAnswer]
    words: list[tuple[Name, float]]
    against: list[tuple[Name, float]]
    operations: list[LabelOperationAnswer]
