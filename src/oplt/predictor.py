# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Prediction and inspection, which batch-trained and online models share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from oplt import _core, explanation, inspection, persistence
from oplt._typing import IdArray, Label, PointerArray, Row, Rows
from oplt.checks import count, refuse
from oplt.errors import InvalidParameterError
from oplt.explanation import Explanation
from oplt.feature_kinds import FeatureKinds
from oplt.inspection import Inspection
from oplt.labels import Labels
from oplt.params import BatchSettings, Settings, search_params
from oplt.persistence import SavedModel
from oplt.predictions import Predictions, named
from oplt.stream_state import StreamState
from oplt.text import TextFeatures
from oplt.thresholds import Thresholds
from oplt.tree import LabelTree
from oplt.validation import NamedRows, Texts, as_input, as_inputs, as_label_set
from oplt.wording import number_of

__all__ = ["Predictor", "State"]

State: TypeAlias = _core.ModelState
_Core: TypeAlias = _core.ModelState | _core.OnlineModel
_Threshold: TypeAlias = "float | Thresholds | Literal['tuned'] | None"


@dataclass(frozen=True)
class _Question:
    """The options of one prediction. The core knows a single threshold; per-label thresholds are applied afterwards."""

    params: _core.SearchParams
    own: Thresholds | None = None
    k: int | None = None  # number of labels to keep among those that reach their own thresholds
    allow: list[Label] | None = None  # only these labels; None: all
    deny: list[Label] | None = None  # none of these

    @property
    def is_plain(self) -> bool:
        """Whether all labels may be returned."""
        return self.allow is None and self.deny is None


class Predictor:
    """A label tree with its classifiers: what `PLT` and `OnlinePLT` have in common."""

    _settings: Settings | BatchSettings
    _threads: int
    _core: _Core
    _thresholds: Thresholds | None = None
    _stream: StreamState | None = None
    _kinds: FeatureKinds
    _is_quick: bool  # the core can take single examples directly, since no Python pattern splits their texts

    def _begin(self) -> None:
        """Set up the state that is not saved."""
        self._kinds = FeatureKinds()
        self._is_quick = self._settings.features is None or self._settings.features.token_pattern is None

    def _state(self) -> State:
        """Return the current state of the model, which does not change afterwards."""
        raise NotImplementedError

    def _saved(self) -> SavedModel:
        """Return what is written to a file."""
        return SavedModel(self._settings, self._state(), thresholds=self._thresholds, stream=self._stream)

    def predict_one(
        self,
        x: Row | str,
        k: int | None = None,
        *,
        threshold: _Threshold = None,
        beam: int | None = None,
        allow: Iterable[Label] | None = None,
        deny: Iterable[Label] | None = None,
    ) -> list[tuple[Label, float]]:
        """Predict the labels of one example.

        Parameters
        ----------
        x
            The features of the example, or its text if the model takes texts. Features that the model has never seen
            are ignored.
        k
            Return at most `k` labels; 5 if neither `k` nor `threshold` is given. The ten most probable labels and their
            probabilities do not depend on `k`.
        threshold
            Return only labels whose probability is at least `threshold`. Without `k`, return all of them; the time
            grows with their number. ``"tuned"`` uses the thresholds of the model, see `thresholds`; `Thresholds` of
            your own are accepted as well.
        beam
            Beam width: the number of nodes to expand on each level of the tree. If not given, a model without a label
            memory searches its tree exactly. A model with a label memory, which ranks candidates, uses 16 (10 in each
            of several trees); for `k` above 10, it uses 2·k, and without `k`, 100 and more, as long as further labels
            reach `threshold`.
        allow, deny
            Return only labels in `allow`, if it is given, and none in `deny`: still `k` of them, since all others are
            skipped during the search. The probability of a label does not depend on them (in a model of several trees
            without a label memory, it may be slightly larger). Labels that the model does not know are ignored.

        Returns
        -------
        Labels and their probabilities, most probable first; empty if the model has no labels yet. With a label memory,
        an example that has no known feature gets the base rates of the labels, and the probabilities of all labels sum
        to at most 1 as long as every example had at most one label.
        """
        question = self._question(k, threshold, beam, allow, deny)
        found = _core.predict_one(self._core, x, question.params) if self._is_quick and question.is_plain else None
        if found is None:
            return self._predict(self._as_row(x), question, threads=1)[0]
        if question.own is None:
            return found
        least = question.own.of([label for label, _ in found]).tolist()
        return [pair for pair, own in zip(found, least, strict=True) if pair[1] >= own][: question.k]

    def predict_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        k: int | None = None,
        *,
        threshold: _Threshold = None,
        beam: int | None = None,
        allow: Iterable[Label] | None = None,
        deny: Iterable[Label] | None = None,
    ) -> Predictions:
        """Predict the labels of many examples; see `predict_one` for the parameters.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> for labels in model.predict_many([{"purrs": 1}, {"barks": 1}], k=1):
        ...     print(labels[0][0])
        cat
        dog
        >>> model.predict_one({"purrs": 1}, k=1, deny=["cat"])[0][0]
        'dog'
        """
        return self._predict(self._as_rows(X), self._question(k, threshold, beam, allow, deny), self._threads)

    def explain(self, x: Row | str, label: Label | None = None) -> Explanation:
        """Explain why a label has its probability for one example.

        Parameters
        ----------
        x
            The example, as for `predict_one`.
        label
            The label, predicted or not. If not given, the most probable one.

        Returns
        -------
        The path to the label in each tree, the evidence of the label memory, how both are weighed, and how the label
        compares with the best one. `str` formats it for a terminal. Its probability is exactly the one of
        ``predict_one(x, k)`` if that returns the label, for `k` up to 10 (without a label memory, up to 20), and
        otherwise that of ``predict_one(x, k=1, allow=[label])``.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT(features="text")
        >>> model.learn_many(["It purrs softly", "It barks"], ["cat", "dog"])
        >>> found = model.explain("It purrs", "cat")
        >>> found.probability == dict(model.predict_one("It purrs"))["cat"]
        True
        >>> found.memory.features[0].feature
        'purrs'
        """
        text = self._settings.features
        hashed = text is not None and text.hash_bits is not None
        return explanation.explain(self._state(), self._as_row(x), label, hashed=hashed)

    @property
    def thresholds(self) -> Thresholds | None:
        """The thresholds that ``threshold="tuned"`` uses, saved with the model; None if there are none.

        `oplt.thresholds.tune` chooses them. Updates of the model do not change them.
        """
        return self._thresholds

    def _question(
        self,
        k: int | None,
        threshold: _Threshold,
        beam: int | None,
        allow: Iterable[Label] | None,
        deny: Iterable[Label] | None,
    ) -> _Question:
        if isinstance(threshold, str):
            threshold = self._tuned(threshold)
        allowed = None if allow is None else as_label_set(allow, "allow")
        denied = None if deny is None else as_label_set(deny, "deny")
        if not isinstance(threshold, Thresholds):
            return _Question(search_params(k, threshold, beam), allow=allowed, deny=denied)
        checked = search_params(k, threshold.value, beam)
        if not threshold.labels:
            return _Question(checked, allow=allowed, deny=denied)
        return _Question(search_params(None, threshold.least, beam), threshold, k, allowed, denied)

    def _tuned(self, threshold: str) -> Thresholds:
        if threshold != "tuned":
            refuse("threshold", "a number, 'tuned' or Thresholds", threshold)
        if self._thresholds is None:
            raise InvalidParameterError(
                "thresholds-not-tuned",
                "threshold='tuned' needs thresholds, but the model has none",
                hint="Choose them with oplt.thresholds.tune(model, X, Y), then set model.thresholds.",
            )
        return self._thresholds

    def _as_row(self, x: Row | str) -> NamedRows | Texts:
        text = self._settings.features
        row = as_input(x, texts=text is not None, pattern=text.pattern if text else None)
        return self._of_own_kind(row) if isinstance(row, NamedRows) and not isinstance(x, Mapping) else row

    def _as_rows(self, X: Rows | Iterable[str]) -> NamedRows | Texts:  # noqa: N803 (a matrix)
        text = self._settings.features
        rows = as_inputs(X, texts=text is not None, pattern=text.pattern if text else None)
        return self._of_own_kind(rows) if isinstance(rows, NamedRows) else rows

    def _of_own_kind(self, rows: NamedRows) -> NamedRows:
        """Reject features of a different kind from those that the model was trained on."""
        self._kinds.update(self._core)
        self._kinds.check(rows, lambda names: self._state().known_features(names))
        return rows

    def _predict(self, rows: NamedRows | Texts, question: _Question, threads: int) -> Predictions:
        state = self._state()
        allowed, denied = (
            None if names is None else state.find_labels(names) for names in (question.allow, question.deny)
        )
        indptr, ids, scores = state.predict(rows.to_core(), question.params, threads, allowed, denied)
        if question.own is not None:
            distinct, places = np.unique(ids, return_inverse=True)
            own = question.own.of(state.label_names(distinct))[places.reshape(-1)]
            indptr, kept = _kept(indptr, scores >= own, question.k)
            ids, scores = ids[kept], scores[kept]
        return Predictions(named(ids, state.label_names), scores, indptr, state.n_examples)

    def fingerprint(self) -> str:
        """Return a 128-bit digest of the whole state, settings included. Equal models have equal fingerprints.

        The position in a `stream` is not part of it.
        """
        return persistence.fingerprint(self._saved())

    @property
    def stream(self) -> StreamState | None:
        """Where the model stands in the stream that it learns from (`oplt.streams`); None if there is none.

        It is saved with the model and stays with it, whatever else the model learns, so that no message is learned
        twice.
        """
        return self._saved().stream

    @property
    def tree(self) -> LabelTree:
        """The present tree; of several trees, the first.

        Labels that have been removed or merged into others are left out, although their leaves stay in the model until
        its tree is regrown.
        """
        state = self._state()
        parents, ids = state.tree()
        return _named_tree(parents, np.where(np.isin(ids, state.present_labels()), ids, _core.NONE), state.label_names)

    @property
    def threads(self) -> int:
        """Number of threads of `predict_many` and `learn_many`. It can be changed, and has no effect on results."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = count("threads", threads)

    @property
    def labels(self) -> Labels:
        """The labels that the model knows, in order of arrival, with the number of examples of each.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
        >>> list(model.labels), "dog" in model.labels
        (['cat', 'dog'], True)
        """
        return Labels(self._state)

    @property
    def n_labels(self) -> int:
        """Number of labels, without those that have been removed or merged into others."""
        return self._state().n_labels

    @property
    def n_features(self) -> int:
        """Number of features seen so far; for texts, the number of terms that are kept."""
        return self._state().n_features

    @property
    def features(self) -> TextFeatures | None:
        """A copy of the present text features; None if the model does not take texts.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT(features="text")
        >>> model.learn_one("Heap overflow in the kernel", "linux:kernel")
        >>> model.features.names
        ['heap', 'in', 'kernel', 'overflow', 'the']
        """
        core = self._state().text_features()
        return None if core is None else TextFeatures._of(cast("Any", self._settings.features), core)

    @property
    def n_examples(self) -> int:
        """Number of examples learned so far."""
        return self._state().n_examples

    @property
    def depth(self) -> int:
        """Number of edges on the longest path from the root to a leaf, over all trees."""
        return self._state().depth

    @property
    def n_cells(self) -> int:
        """Number of weights, in all trees, that are or have been non-zero.

        An updated weight takes 8 bytes, plus the overhead of its row. The initial weights of a new label's classifier
        are counted, but are stored only once an update changes them.
        """
        return self._state().n_cells

    @property
    def memory_bytes(self) -> int:
        """Memory of the model in bytes, without parts that are still in a memory-mapped file.

        While an `OnlinePLT` regrows its tree, the new one is included.
        """
        return sum(self._memory().values())

    def _memory(self) -> dict[str, int]:
        """Count the bytes of each part."""
        return _core.memory_parts(self._state())

    def inspect(self, n: int = 5) -> Inspection:
        """Describe the model: sizes, memory by part, its largest nodes, its most and least frequent labels.

        Parameters
        ----------
        n
            Number of nodes, of most frequent and of least frequent labels to list.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT(trees=2)
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
        >>> found = model.inspect()
        >>> found.changed, found.n_nodes
        ({'trees': 2}, 6)
        >>> found.labels.most[0]
        LabelCount(label='dog', n_examples=2)
        """
        return inspection.inspect(self._saved(), self._memory(), count("n", n, least=0))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the model."""
        return asdict(self._settings)

    def __repr__(self) -> str:
        defaults = asdict(type(self._settings)())
        changed = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if value != defaults[name])
        state = self._state()
        learnt = ", ".join(
            number_of(n, what)
            for n, what in ((state.n_labels, "label"), (state.n_features, "feature"), (state.n_examples, "example"))
        )
        return f"<{type(self).__name__}({changed}): {learnt}, depth {state.depth}>"


def _named_tree(parents: IdArray, ids: IdArray, names_of: Callable[[IdArray], list[Label]]) -> LabelTree:
    """Make a tree of the nodes that lead to a label. `ids` are those of the labels, NONE for other nodes."""
    nodes = np.flatnonzero(ids != _core.NONE)
    labels = dict(zip(nodes.tolist(), names_of(ids[nodes]), strict=True))
    leads = np.zeros(len(parents), dtype=bool)
    leads[0] = True
    while len(nodes):
        leads[nodes] = True
        nodes = np.unique(parents[nodes])
        nodes = nodes[nodes != _core.NONE]
    kept = np.flatnonzero(leads)
    own = parents[kept]
    number = np.cumsum(leads) - 1
    new_parents = np.where(own == _core.NONE, -1, number[np.where(own == _core.NONE, 0, own)])
    return LabelTree(new_parents, [labels.get(node) for node in kept.tolist()])


def _kept(
    indptr: PointerArray, wanted: npt.NDArray[np.bool_], k: int | None
) -> tuple[PointerArray, npt.NDArray[np.bool_]]:
    """Keep the first k wanted labels of each row. Returns the new row pointers and a mask of the kept labels."""
    n_before = np.concatenate(([0], np.cumsum(wanted)))
    rank = n_before[:-1] - np.repeat(n_before[indptr[:-1]], np.diff(indptr))
    kept = wanted if k is None else wanted & (rank < k)
    return np.concatenate(([0], np.cumsum(kept)))[indptr], kept
