# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What is in a model, as facts to read and to print."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from oplt import _core
from oplt._typing import Label
from oplt.params import BatchSettings, Settings, TextSettings
from oplt.persistence import SavedModel

__all__ = ["Block", "Inspection", "LabelCount", "LabelCounts", "TreeSize", "inspect"]


@dataclass(frozen=True)
class TreeSize:
    """How large one tree is. `n_weights` are those of all its classifiers."""

    n_nodes: int
    depth: int
    n_weights: int


@dataclass(frozen=True)
class Block:
    """The classifiers of a node's children, which share their features, and the node's auxiliary classifier."""

    tree: int  # from 0
    node: int
    n_labels: int  # below the node
    n_weights: int


@dataclass(frozen=True)
class LabelCount:
    """A label and how many of its examples have been learnt."""

    label: Label
    n_examples: int


@dataclass(frozen=True)
class LabelCounts:
    """How often labels occurred."""

    most: tuple[LabelCount, ...]  # the most frequent labels, those of most examples first
    least: tuple[LabelCount, ...]  # the least frequent ones, those of fewest examples first
    n_once: int  # labels of a single example


@dataclass(frozen=True)
class Inspection:
    """What is in a model: what `Predictor.inspect` found.

    Attributes
    ----------
    kind
        ``"online"``, or ``"batch"`` for a batch-trained model.
    only_predicts
        Whether `PLT.for_prediction` made it, so that it cannot be updated.
    takes
        What its examples are: ``"texts"`` or ``"features"``.
    settings
        All settings, those of text features under ``"features"``.
    changed
        The settings that differ from the defaults.
    n_examples, n_labels, n_features
        What it has seen.
    trees
        The size of each tree.
    largest_blocks
        The nodes whose children's classifiers have the most weights, over all trees.
    memory
        Bytes by part, without what lies in a mapped file. Its values sum to `memory_bytes`.
    labels
        The most and least frequent labels; None for a model without a label memory, which alone counts them.
    threshold
        The tuned threshold for all labels; None if there is none.
    n_own_thresholds
        How many labels have tuned thresholds of their own.
    """

    kind: Literal["online", "batch"]
    only_predicts: bool
    takes: Literal["texts", "features"]
    settings: dict[str, Any]
    changed: dict[str, Any]
    n_examples: int
    n_labels: int
    n_features: int
    trees: tuple[TreeSize, ...]
    largest_blocks: tuple[Block, ...]
    memory: dict[str, int]
    labels: LabelCounts | None
    threshold: float | None
    n_own_thresholds: int

    @property
    def n_nodes(self) -> int:
        """Nodes of all trees."""
        return sum(tree.n_nodes for tree in self.trees)

    @property
    def n_weights(self) -> int:
        """Weights of all trees; see `Predictor.n_cells`."""
        return sum(tree.n_weights for tree in self.trees)

    @property
    def depth(self) -> int:
        """Depth of the deepest tree."""
        return max(tree.depth for tree in self.trees)

    @property
    def memory_bytes(self) -> int:
        """Memory that the learnt state takes."""
        return sum(self.memory.values())

    def to_dict(self) -> dict[str, Any]:
        """Make plain values of it, sums included, that can be written as JSON."""
        sums = ("n_nodes", "n_weights", "depth", "memory_bytes")
        return {**asdict(self), **{name: getattr(self, name) for name in sums}}


def inspect(model: SavedModel, n: int) -> Inspection:
    """Look at a model; `n` is how many blocks and labels are named at each end."""
    settings, state = model.settings, model.state
    trees = _core.tree_sizes(state)
    return Inspection(
        kind="online" if isinstance(settings, Settings) else "batch",
        only_predicts=model.only_predicts,
        takes="texts" if settings.features else "features",
        settings=asdict(settings),
        changed=_changed(settings),
        n_examples=state.n_examples,
        n_labels=state.n_labels,
        n_features=state.n_features,
        trees=tuple(TreeSize(len(n_labels), depth, n_weights) for depth, n_labels, _, n_weights in trees),
        largest_blocks=_largest_blocks(trees, n),
        memory=_core.memory_parts(state),
        labels=_label_counts(state, n),
        threshold=None if model.thresholds is None else model.thresholds.value,
        n_own_thresholds=0 if model.thresholds is None else len(model.thresholds.labels),
    )


def _changed(settings: Settings | BatchSettings | TextSettings) -> dict[str, Any]:
    """Tell what differs from the defaults; of text features, which are there or not, again what differs."""
    defaults = type(settings)()
    changed = {name: value for name, value in asdict(settings).items() if value != getattr(defaults, name)}
    text = getattr(settings, "features", None)
    return {**changed, "features": _changed(text)} if text else changed


def _largest_blocks(trees: list[Any], n: int) -> tuple[Block, ...]:
    blocks = [
        Block(number, node, int(n_labels[node]), int(n_weights[node]))
        for number, (_, n_labels, n_weights, _) in enumerate(trees)
        for node in np.argsort(-n_weights.astype(np.int64), kind="stable")[:n].tolist()
        if n_weights[node] > 0
    ]
    return tuple(sorted(blocks, key=lambda block: -block.n_weights)[:n])


def _label_counts(state: _core.ModelState, n: int) -> LabelCounts | None:
    counts = _core.label_counts(state)
    if counts is None:
        return None
    ascending = np.argsort(counts, kind="stable").astype(np.uint32)
    descending = np.argsort(-counts.astype(np.int64), kind="stable").astype(np.uint32)

    def named(ids: Any) -> tuple[LabelCount, ...]:
        return tuple(map(LabelCount, state.label_names(ids), counts[ids].tolist()))

    return LabelCounts(named(descending[:n]), named(ascending[:n]), int((counts == 1).sum()))
