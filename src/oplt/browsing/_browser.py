# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A browser of a model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from oplt import _core
from oplt._typing import Label
from oplt.browsing._index import TreeIndex
from oplt.browsing._objects import Child, Evidence, LabelView, NodeView
from oplt.checks import count
from oplt.errors import InvalidInputError
from oplt.labels import LabelOperation
from oplt.params import Settings
from oplt.predictor import Predictor

__all__ = ["Browser", "Known"]

_EXAMPLES = 3  # labels by name for each child
_MOST_EVIDENCE = 1000  # nodes whose features are kept
_IDF_GROWTH = 1.02  # growth of the number of examples up to which the idf from before is used
_Floats = npt.NDArray[np.float64]
_Cells = tuple[npt.NDArray[Any], _Floats]  # ids of features, and their strengths


class Known:
    """What browsers of one model share: arrays about its trees and terms, but no state of the model.

    An index is used as long as its tree has not changed, document frequencies until the model has learned 2 % more, and
    the features of a node until it learns at all.
    """

    def __init__(self) -> None:
        self.indexes: dict[int, TreeIndex] = {}
        self.evidence: dict[tuple[int, int, int], Evidence] = {}  # by tree, node and number of features
        self.evidence_at = 0  # the number of examples by then
        self.idf: tuple[int, _Floats] = (0, np.empty(0))  # and the number of examples by then


class Browser:
    """A browser of a model as it is now: later updates of the model do not change what it shows.

    Parameters
    ----------
    model
        An `OnlinePLT` or a `PLT`.
    known
        What earlier browsers of the same model have found out, so that this one need not do it again. Begin anew with
        each model object, and after `OnlinePLT.forget`.

    Notes
    -----
    It keeps the state of the model alive, so that an `OnlinePLT` that learns on takes more memory: do not keep it for
    long.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> from oplt.browsing import Browser
    >>> model = OnlinePLT(features="text")
    >>> model.learn_many(["The cat purrs", "The dog barks"] * 3, ["cat", "dog"] * 3)
    >>> browser = Browser(model)
    >>> [name for name, strength in browser.label("cat", n=2).features.positive]
    ['cat', 'purrs']
    >>> root = browser.node()
    >>> root.n_labels, [child.label for child in root.children]
    (2, ['cat', 'dog'])
    """

    def __init__(self, model: Predictor, *, known: Known | None = None) -> None:
        settings = model._settings
        self._state = model._state()
        self._has_confidence = isinstance(settings, Settings) and settings.learner == "arow"
        self._has_idf = settings.features is not None and settings.features.idf
        self.n_trees: int = settings.trees
        self._known = known or Known()
        self._indexes: dict[int, TreeIndex] = {}

    def node(
        self, node: int | None = None, *, tree: int = 0, offset: int = 0, limit: int | None = None, n: int = 10
    ) -> NodeView:
        """Show a node.

        Parameters
        ----------
        node
            Its number, as explanations have it; the root if not given.
        tree
            The number of the tree.
        offset, limit
            Show only these children: `limit` of them, after the first `offset`.
        n
            Number of features for and against it.
        """
        number = 0 if node is None else node
        index = self._index(tree)
        if not 0 <= number < len(index.parents):
            raise InvalidInputError("unknown-node", f"tree {tree} has no such node", got=str(number))
        children = self._ranked(index, number)
        stop = None if limit is None else offset + limit
        return NodeView(
            tree=tree,
            node=number,
            parent=index.parent(number),
            path=index.path(number),
            label=self._label_of(index, number),
            n_labels=int(index.n_labels[number]),
            features=self._evidence_of(number, tree, n),
            n_children=len(children),
            children=tuple(self._child(index, child) for child in children[offset:stop].tolist()),
        )

    def label(self, label: Label, *, n: int = 10) -> LabelView:
        """Show a label, which may be given by any of its names, with `n` features for and against it."""
        found = self._state.find_label(label)
        if found is None:
            raise InvalidInputError("unknown-label", f"the model knows no label {label!r}")
        indexes = [self._index(tree) for tree in range(self.n_trees)]
        leaves = [(tree, index.leaf_of(found)) for tree, index in enumerate(indexes)]
        known = [(tree, leaf) for tree, leaf in leaves if leaf is not None]
        return LabelView(
            label=self._names([found])[0],
            paths=tuple((tree, indexes[tree].path(leaf)) for tree, leaf in known),
            features=self._evidence_of(known[0][1], known[0][0], n)
            if len(known) == 1
            else self._evidence([self._cells(leaf, tree) for tree, leaf in known], n),
            operations=tuple(self._operations(found)),
        )

    def title(self, node: int, *, tree: int = 0) -> str:
        """Name a node by its label, or by the most frequent label below it and the number of the others."""
        index = self._index(tree)
        label = self._label_of(index, node)
        if label is not None:
            return str(label)
        most = self._most_frequent(index, node, 1)
        n_others = int(index.n_labels[node]) - 1
        return f"{most[0]} and {n_others:,} more" if most and n_others else str(most[0]) if most else "no labels yet"

    def _operations(self, label: int) -> Iterator[LabelOperation]:
        names = {*self._names([label]), *(name for owner, name in self._state.label_aliases() if owner == label)}
        for kind, n_examples, own, other, text, features in self._state.label_operations():
            if own in names or other in names:
                yield LabelOperation(cast("Any", kind), own, other, text, features, n_examples)

    def _index(self, tree: int) -> TreeIndex:
        if not 0 <= count("tree", tree, least=0) < self.n_trees:
            raise InvalidInputError("unknown-tree", f"the model has {self.n_trees} trees, from 0", got=str(tree))
        if tree not in self._indexes:
            parts = (*self._state.tree(tree), self._present)
            earlier = self._known.indexes.get(tree)
            index = earlier if earlier is not None and earlier.is_of(*parts) else TreeIndex(*parts)
            if index is not earlier:
                self._known.evidence = {}
            self._known.indexes[tree] = self._indexes[tree] = index
        return self._indexes[tree]

    @cached_property
    def _present(self) -> npt.NDArray[np.uint32]:
        return self._state.present_labels()

    @cached_property
    def _counts(self) -> npt.NDArray[np.int64]:
        """The number of examples of each label, by its id."""
        counts = np.zeros(int(self._present.max(initial=0)) + 1, dtype=np.int64)
        counts[self._present] = self._state.label_counts(self._present)[0]
        return counts

    @cached_property
    def _idf(self) -> _Floats | None:
        """The inverse document frequency of each term; the copy of the terms that it needs takes 10 ms for 100,000."""
        if not self._has_idf:
            return None
        n_examples, idf = self._known.idf
        if not n_examples <= self._state.n_examples <= _IDF_GROWTH * n_examples:
            text = self._state.text_features()
            idf = np.log((1 + text.n_texts) / (1 + text.counts())) + 1 if text is not None else np.empty(0)
            self._known.idf = (self._state.n_examples, idf)
        return idf

    def _names(self, ids: Any) -> list[Label]:
        return self._state.label_names(np.array(ids, dtype=np.uint32))

    def _label_of(self, index: TreeIndex, node: int) -> Label | None:
        return self._names([index.ids[node]])[0] if index.has_label[node] else None

    def _ranked(self, index: TreeIndex, node: int) -> npt.NDArray[np.int64]:
        """Return the children of a node, those with most examples first."""
        children = index.children(node)
        before = np.concatenate(([0], np.cumsum(self._counts[index.labels])))
        begin = index.begin[children]
        n_examples = before[begin + index.n_labels[children]] - before[begin]
        return children[np.argsort(-n_examples, kind="stable")]

    def _child(self, index: TreeIndex, node: int) -> Child:
        ids = index.labels[index.below(node)]
        return Child(
            node=node,
            label=self._label_of(index, node),
            n_labels=len(ids),
            n_examples=int(self._counts[ids].sum()),
            examples=tuple(self._most_frequent(index, node, _EXAMPLES)),
        )

    def _most_frequent(self, index: TreeIndex, node: int, n: int) -> list[Label]:
        ids = index.labels[index.below(node)]
        counts = self._counts[ids]
        return self._names(ids[_largest(counts, ids, n)])

    def _cells(self, node: int, tree: int) -> _Cells:
        """Return the features of a node's classifier, without the bias, and their strengths."""
        cells = self._state.classifier(node, tree=tree)
        if cells is None:
            return np.empty(0, dtype=np.uint32), np.empty(0)
        ids, weights, accumulators = cells
        is_feature = ids < self._state.n_features
        ids, strengths = ids[is_feature], weights[is_feature].astype(np.float64)
        if self._has_confidence:
            strengths *= accumulators[is_feature]
        if self._idf is not None and len(self._idf) > 0:  # it may be from before the latest terms
            strengths *= self._idf[np.minimum(ids, len(self._idf) - 1)]
        return ids, strengths

    def _evidence_of(self, node: int, tree: int, n: int) -> Evidence:
        known, n_examples = self._known, self._state.n_examples
        if known.evidence_at != n_examples or len(known.evidence) >= _MOST_EVIDENCE:
            known.evidence, known.evidence_at = {}, n_examples
        kept = known.evidence
        if (tree, node, n) not in kept:
            kept[tree, node, n] = self._evidence([self._cells(node, tree)], n)
        return kept[tree, node, n]

    def _evidence(self, trees: list[_Cells], n: int) -> Evidence:
        if not trees:
            return Evidence()
        ids, strengths = trees[0]
        if len(trees) > 1:
            ids, places = np.unique(np.concatenate([own for own, _ in trees]), return_inverse=True)
            total = np.bincount(places.reshape(-1), np.concatenate([own for _, own in trees]), len(ids))
            strengths = total / len(trees)

        return Evidence(self._strongest(ids, strengths, n), self._strongest(ids, -strengths, n, sign=-1))

    def _strongest(self, ids: Any, strengths: _Floats, n: int, sign: int = 1) -> tuple[tuple[Any, float], ...]:
        places = _largest(strengths, ids, n)
        places = places[strengths[places] > 0]
        names = _core.feature_names(self._state, ids[places].tolist())
        return tuple(zip(names, (sign * strengths[places]).tolist(), strict=True))


def _largest(values: npt.NDArray[Any], ids: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    """Return the places of the n largest values, largest first; among equal ones, of those with the smallest ids."""
    places = np.arange(len(values))
    if n < len(values):
        least = np.partition(values, len(values) - n)[len(values) - n] if n > 0 else np.inf
        places = np.flatnonzero(values >= least)
    return places[np.lexsort((ids[places], -values[places]))[:n]]
