# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A description of a model, to read and to print."""

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
    """The size of one tree. `n_weights` counts the weights of all its classifiers."""

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
    """A label and the number of its examples that have been learned."""

    label: Label
    n_examples: int


@dataclass(frozen=True)
class LabelCounts:
    """Frequencies of labels."""

    most: tuple[LabelCount, ...]  # the most frequent labels, those of most examples first
    least: tuple[LabelCount, ...]  # the least frequent ones, those of fewest examples first
    n_once: int  # labels of a single example


@dataclass(frozen=True)
class Inspection:
    """A description of a model, returned by `Predictor.inspect`.

    Attributes
    ----------
    kind
        ``"online"``, or ``"batch"`` for a batch-trained model.
    only_predicts
        Whether the model was made by `PLT.for_prediction` and so cannot be updated.
    takes
        The kind of its examples: ``"texts"`` or ``"features"``.
    settings
        All settings, those of text features under ``"features"``.
    changed
        The settings that differ from the defaults.
    n_examples, n_labels, n_features
        Numbers of examples, labels and features seen.
    closed_at
        The number of examples after which the model reached `max_memory` and was closed; None if it is open.
    trees
        The size of each tree.
    largest_blocks
        The nodes, over all trees, whose children's classifiers have the most weights.
    memory
        Bytes by part, without parts that are still in a memory-mapped file. The values sum to `memory_bytes`. The part
        ``"regrowth"`` is a new tree that an `OnlinePLT` is building beside the stream; see its setting `history`.
    labels
        The most and least frequent labels.
    threshold
        The tuned threshold for all labels; None if there is none.
    n_own_thresholds
        Number of labels with individual tuned thresholds.
    stream
        The position in the stream that the model learns from, and what was counted (`StreamState.summary`); None if
        there is none.
    """

    kind: Literal["online", "batch"]
    only_predicts: bool
    takes: Literal["texts", "features"]
    settings: dict[str, Any]
    changed: dict[str, Any]
    n_examples: int
    n_labels: int
    n_features: int
    closed_at: int | None
    trees: tuple[TreeSize, ...]
    largest_blocks: tuple[Block, ...]
    memory: dict[str, int]
    labels: LabelCounts
    threshold: float | None
    n_own_thresholds: int
    stream: dict[str, Any] | None

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
        """Memory of the model in bytes."""
        return sum(self.memory.values())

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, totals included, that can be written as JSON."""
        sums = ("n_nodes", "n_weights", "depth", "memory_bytes")
        return {**asdict(self), **{name: getattr(self, name) for name in sums}}


def inspect(model: SavedModel, memory: dict[str, int], n: int) -> Inspection:
    """Describe a model, whose parts take `memory`. List `n` blocks, most frequent and least frequent labels each."""
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
        closed_at=state.closed_at,
        trees=tuple(TreeSize(len(n_labels), depth, n_weights) for depth, n_labels, _, n_weights in trees),
        largest_blocks=_largest_blocks(trees, n),
        memory=memory,
        labels=_label_counts(state, n),
        threshold=None if model.thresholds is None else model.thresholds.value,
        n_own_thresholds=0 if model.thresholds is None else len(model.thresholds.labels),
        stream=None if model.stream is None else model.stream.summary(),
    )


def _changed(settings: Settings | BatchSettings | TextSettings) -> dict[str, Any]:
    """Return the settings that differ from the defaults, and likewise within the settings of text features."""
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


def _label_counts(state: _core.ModelState, n: int) -> LabelCounts:
    ids = state.present_labels()
    counts = state.label_counts(ids)[0].astype(np.int64)
    ascending = np.argsort(counts, kind="stable")
    descending = np.argsort(-counts, kind="stable")

    def named(places: Any) -> tuple[LabelCount, ...]:
        return tuple(map(LabelCount, state.label_names(ids[places]), counts[places].tolist()))

    return LabelCounts(named(descending[:n]), named(ascending[:n]), int((counts == 1).sum()))
