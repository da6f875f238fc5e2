# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How an online model changes: it learns examples, regrows its tree from them, and forgets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from oplt import _core, forks
from oplt._typing import FloatArray, LabelRows, Labels, Row, Rows
from oplt.checks import count
from oplt.doubts import LabelDoubts
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.labels import LabelOperation, OnlineLabels
from oplt.params import Settings
from oplt.persistence import SavedModel
from oplt.predictor import Predictor, State
from oplt.thresholds import Thresholds
from oplt.validation import (
    TEXT,
    NamedLabels,
    NamedRows,
    Origin,
    Texts,
    as_labels,
    as_labels_of_one,
    as_numbers,
    as_weight,
    as_weights,
    check_names,
)
from oplt.wording import briefly

__all__ = ["OnlineLearner"]

_Core: TypeAlias = _core.OnlineModel

_CHUNK = 65_536  # rows handed to the core per call; their names are copied for it


class OnlineLearner(Predictor):
    """The methods by which `OnlinePLT` changes. Its constructors call `_start`."""

    _core: _Core
    _settings: Settings
    _paired: Callable[[Callable[[], SavedModel]], SavedModel] | None = None  # set by `oplt.streams` while it learns

    def _start(self, settings: Settings, core: _Core, threads: int) -> None:
        self._settings = settings
        self._core = core
        self._threads = count("threads", threads)
        self._know_names(core)
        forks.wait_for(core)

    def _know_names(self, core: _Core) -> None:
        """Start to watch for doubtful names of labels and features."""
        self._doubts = LabelDoubts(core.known_labels, core.labels_since)
        self._n_singles, self._next_look = 0, 1
        self._begin()

    def _state(self) -> State:
        return self._core.snapshot()

    def _saved(self) -> SavedModel:
        """Return what is written to a file: the model and its position in a stream, both of the same moment."""
        return super()._saved() if self._paired is None else self._paired(super()._saved)

    def _memory(self) -> dict[str, int]:
        return _core.memory_parts(self._core)

    @property
    def is_repeating(self) -> bool:
        """Whether the model had already seen the latest examples, as in a second pass; False in the paper's setting.

        Ranking and calibration are not updated on repeated examples, because predictions for them are too optimistic. A
        repetition is noticed after about 16 examples, in a long stream after about a thousand.
        """
        return self._state().is_repeating

    def learn_one(self, x: Row | str, labels: Labels, *, weight: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            The features of the example, as a mapping from names to values; or its text, if the model takes texts.
        labels
            The labels of the example, or a single label; ``[]`` if none applies. New labels extend the tree, unless the
            policy is ``"fixed"``.
        weight
            Weight of the example.
        """
        if not self._is_quick or not _core.learn_one(self._core, x, labels, weight):
            weights = np.array([as_weight(weight)], dtype=np.float32)
            self._learn(self._as_row(x), as_labels_of_one(labels), weights)
        self._n_singles += 1
        if self._n_singles >= self._next_look:  # checked inline: a call would cost as much as a small example
            self._next_look = self._doubts.note(labels, self._n_singles)

    def learn_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from many examples, one after the other; bit for bit the same as calling `learn_one` in a loop.

        If it is interrupted (Ctrl-C), the model has learned the examples up to that point; `n_examples` counts them.

        Parameters
        ----------
        X
            Features: a SciPy sparse or 2-D NumPy matrix, whose column numbers name the features; an iterable of
            mappings from names to values; or a pandas, Polars or Arrow frame, in which each numeric column is a feature
            and a null means that the feature is absent. Duplicate entries of a sparse matrix are summed. An iterable is
            read to its end first, because all examples are validated before the model changes. `oplt.features.join`
            combines several sources of features. For a model that takes texts: an iterable or a column of texts.
        Y
            Labels: a list of labels or a single label for each example; an indicator matrix of 0 and 1, whose column
            numbers name the labels; a column of a frame; or a frame of indicators, whose columns name the labels.
        weights
            Weight of each example; 1 if not given.
        """
        rows = self._as_rows(X)
        labels, checked_weights = as_labels(Y, len(rows)), as_weights(weights, len(rows))
        self._doubts.look_at(labels.names)
        self._learn(rows, labels, checked_weights)

    def regrow(self) -> None:
        """Build a better tree from all examples so far, and train it on them again, in order.

        Where a label goes in the tree is decided by its first example. Regrowing places all labels anew, by 2-means
        over all their examples. The result is bit for bit the model that learns the same stream on the new tree from
        the start (`from_tree`). The label memory and the ranking do not change.

        A model does this by itself whenever its stream has doubled; see the setting `history`. Call it at the end of a
        stream, or before a model is published. It takes less time than learning the stream did, and about twice the
        memory of the tree meanwhile. Other threads can predict and learn during the call; if one of them calls `regrow`
        or `forget`, that call waits for this one. If it is interrupted (Ctrl-C) before it is done, the model stays as
        it was.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT(arity=2, max_leaves=2)
        >>> X = [{"purrs": 1, "fur": 1}, {"gray": 1, "hard": 1}, {"barks": 1, "fur": 1}, {"red": 1, "hard": 1}]
        >>> model.learn_many(X, ["cat", "granite", "dog", "brick"])
        >>> model.regrow()
        >>> model.tree.to_nested()
        [['granite', 'brick'], ['cat', 'dog']]
        """
        self._expect_history("regrow")
        if self._settings.policy != "best-greedy":
            raise InvalidParameterError(
                "policy-prescribes-tree",
                "regrow needs the policy best-greedy, because other policies determine the shape of the tree",
                got=self._settings.policy,
            )
        self._core.regrow(self._threads)

    def forget(self, numbers: int | Iterable[int]) -> None:
        """Forget examples: afterwards, the model is bit for bit the one that never learned them.

        All other examples are learned again, in order, which takes about as long as it did the first time. The model
        forgets all names of features and labels, too, that occurred only in these examples, and thresholds of such
        labels. The examples after a forgotten one then have lower numbers. Trees that were regrown on request are not
        kept: call `regrow` again. An example that was learned twice has two numbers. If the call is interrupted
        (Ctrl-C) before it is done, the model stays as it was.

        Parameters
        ----------
        numbers
            The numbers of the examples, counted from 0 in the order in which they were learned: the number of an
            example is `n_examples` just before it is learned. If another thread forgets examples at the same time,
            the numbers change, and one of the two calls is refused.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"secret": 1}, {"barks": 1}], ["cat", "private", "dog"])
        >>> model.forget(1)
        >>> model.n_examples, model.n_labels
        (2, 2)
        >>> other = OnlinePLT()
        >>> other.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> model.fingerprint() == other.fingerprint()
        True
        """
        self._expect_history("forget")
        n_forgettings = self._core.n_forgettings  # before the numbers are checked: a later forget would change them
        checked = as_numbers(numbers, self.n_examples)
        try:
            self._core.forget(checked, n_forgettings, self._threads)
        finally:  # an interruption may come just after the examples have been forgotten
            self._follow_labels()

    def _follow_labels(self) -> None:
        """Drop what is kept of labels and features that the model does not know any more."""
        n_columns = self._kinds.n_columns
        self._know_names(self._core)
        self._kinds.n_columns = n_columns
        if self._thresholds is not None:
            left = [label for label in self._thresholds.labels if label in self.labels]
            own = {label: self._thresholds.labels[label] for label in left}
            self._thresholds = Thresholds(self._thresholds.value, own)

    @property
    def labels(self) -> OnlineLabels:
        """The labels of the model, in order of arrival, and operations on them: add, rename, hide, remove, merge.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
        >>> model.labels.rename("dog", "hound")
        >>> list(model.labels), "dog" in model.labels
        (['cat', 'hound'], True)
        """
        return OnlineLabels(self._state, self._change_labels)

    def _change_labels(self, operations: list[LabelOperation]) -> int:
        """Perform operations, all or none. Returns the number of those that have had an effect."""
        names = [name for one in operations for name in (one.label, one.other) if name is not None]
        check_names(names, "label")
        checked = [(one.kind, one.label, one.other, self._description(one)) for one in operations]
        state = self._state()
        before = {name: state.label_names(state.find_labels([name])) for name in names}
        del state  # otherwise the labels would be copied before they change
        n_effective = _core.change_labels(self._core, checked)
        if self._thresholds is not None:
            own = dict(self._thresholds.labels)
            for one in operations:
                if one.kind == "merge" and one.other is not None and before[one.label] == before[one.other]:
                    continue  # it was the same label already
                for name in before[one.label]:
                    if one.kind in ("rename", "remove", "merge") and name in own:
                        value = own.pop(name)
                        if one.kind == "rename" and one.other is not None:
                            own[one.other] = value
            self._thresholds = Thresholds(self._thresholds.value, own)
        return n_effective

    def _description(self, operation: LabelOperation) -> Any:
        """Return the description of a label in the form of an example for the core; None if there is none."""
        text, features = operation.text, operation.features
        if text is None and features is None:
            return None
        is_array = isinstance(features, np.ndarray) and self._settings.features is None
        if features is not None and not isinstance(features, Mapping) and not is_array:
            raise InvalidInputError(
                "rows-not-valid",
                "the features that describe a label must be a mapping from feature names to values,"
                " or an array if the model takes arrays",
                got=briefly(features),
            )
        if self._settings.features is None:
            if text is not None:
                raise InvalidInputError(
                    "description-not-valid",
                    "the model takes features, so a label must be described by features",
                    got="a text",
                    hint="Pass features= instead of text=.",
                )
            return self._as_row({} if features is None else features).to_core()
        x: Any = text if features is None else {**features, TEXT: "" if text is None else text}
        return self._as_row(x).to_core()

    @property
    def has_history(self) -> bool:
        """Whether the model keeps all its examples, so that it can regrow its tree and forget examples."""
        state = self._state()
        return self._settings.history > 0 and state.n_in_history == state.n_examples

    @property
    def closed_at(self) -> int | None:
        """The number of examples after which the model was closed; None if it is open.

        A closed model has reached `max_memory`. It goes on learning with the labels and features that it has; new ones
        are ignored.
        """
        return self._state().closed_at

    def _expect_history(self, method: str) -> None:
        if self.has_history:
            return
        n_examples, most = self.n_examples, self._settings.history
        if most == 0:
            why = "it keeps none (history=0)"
        elif n_examples > most:
            why = f"it has learned {n_examples:,} examples and keeps at most {most:,} (history)"
        else:
            why = "it has discarded them to stay within max_memory"
        raise InvalidInputError(
            "no-history",
            f"{method} needs all examples that the model has learned, but {why}",
            hint="A model keeps them if it is created with a larger history and max_memory, and without a given tree.",
        )

    def _learn(self, rows: NamedRows | Texts, labels: NamedLabels, weights: FloatArray | None) -> None:
        self._note_kind(rows)
        chunk = _CHUNK if isinstance(rows, NamedRows) and isinstance(rows.names, list) else max(len(rows), 1)
        for begin in range(0, len(rows), chunk):
            end = min(begin + chunk, len(rows))
            y = labels.chunk(begin, end)
            w = None if weights is None else weights[begin:end]
            self._core.learn(rows.chunk(begin, end).to_core(), y.indptr, y.names, w, self._threads)

    def _note_kind(self, rows: NamedRows | Texts) -> None:
        """Remember what later rows are compared with."""
        if isinstance(rows, NamedRows) and rows.origin is Origin.ARRAY and len(rows):
            self._kinds.n_columns = rows.n_columns
        if isinstance(rows, Texts) and rows.further is not None:
            self._doubts.look_at_further(rows.further)
