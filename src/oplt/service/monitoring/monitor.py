# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Watches a served model: the learner reports what it learns, and everyone may ask how the model does."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oplt.model import OnlinePLT
from oplt.persistence import replacing
from oplt.service.examples import Example, Name, Rows
from oplt.service.monitoring.changes import Block, Change, Detector
from oplt.service.monitoring.labels import LabelCounts, LabelsPart, RecentLabels
from oplt.service.monitoring.latency import Latencies
from oplt.service.monitoring.predicting import Budget, Predicted, predict, unknown_terms
from oplt.service.monitoring.windows import AGES, COUNTS, N_BINS, History, Latest, Sums, Window, bucket

__all__ = ["Monitor", "Noted"]

_log = logging.getLogger(__name__)
_VERSION = 1
_MOST_CHANGES = 500
_MEASURE = 1.0  # seconds between two measurements of memory, each of which takes about 0.1 ms


@dataclass(frozen=True)
class Noted:
    """What was noted just before examples are learned."""

    begin: float
    spent: float
    n_labels: int
    n_features: int
    predicted: list[Predicted]


# The smallest changes that are reported, and the range of the values
_WATCHED = {"p1": (0.02, 1.0), "confidence": (0.02, 2.0), "new_labels": (0.02, 1.0), "unknown_features": (0.01, 1.0)}


class _Saved(msgspec.Struct):
    """All that survives a restart."""

    version: int = _VERSION
    history: History = msgspec.field(default_factory=History)
    latest: Latest = msgspec.field(default_factory=Latest)
    changes: list[Change] = msgspec.field(default_factory=list)
    n_changes: dict[str, int] = msgspec.field(default_factory=dict)
    blocks: dict[str, list[Block]] = msgspec.field(default_factory=lambda: {of: [] for of in _WATCHED})
    labels: list[LabelsPart] = msgspec.field(default_factory=lambda: [LabelsPart(), LabelsPart()])


class Monitor:
    """Keeps windows over the whole stream, the changes in it, and what the latest examples say about each label.

    The learner calls `before` and `after` around what it learns. All other methods may be called from any thread.

    Parameters
    ----------
    path
        The file that keeps it over restarts.
    share
        The share of the learner's time that may be spent; 0 switches predictions off.
    """

    def __init__(self, path: Path, share: float = 0.03) -> None:
        self.latencies = Latencies()  # of predict requests
        self._path = path
        self._budget = Budget(share)
        self._measured, self._memory = -math.inf, 0
        self._lock = threading.Lock()
        self._labels = RecentLabels()
        self._kept = _read(path)
        self._labels.load(self._kept.labels)
        self._detectors = {of: Detector(*_WATCHED[of], blocks) for of, blocks in self._kept.blocks.items()}

    # What the learner calls

    def before(self, model: OnlinePLT, examples: Sequence[Example], rows: Rows) -> Noted:
        """Predict some of the examples that are learned next, and note how much the model knows."""
        begin = time.monotonic()
        predicted = predict(model, examples, rows, self._budget.affordable())
        return Noted(time.time(), time.monotonic() - begin, model.n_labels, model.n_features, predicted)

    def after(self, model: OnlinePLT, noted: Noted, examples: Sequence[Example], rows: Rows, *, last: int) -> None:
        """Count examples that have been learned; `last` is the position of the last one."""
        begin = time.monotonic()
        unknown_terms(model, noted.predicted, rows, noted.n_features)
        first = last - len(examples) + 1
        sums = Sums(first, last, noted.begin, time.time(), len(examples), new_labels=model.n_labels - noted.n_labels)
        for one in noted.predicted:
            _count(sums, one)
        if begin - self._measured > _MEASURE:
            self._measured, self._memory = begin, model.memory_bytes
        sums.memory_bytes = self._memory
        state = model._state()
        names = state.label_names(state.find_labels([label for one in examples for label in one.labels]))
        del state
        with self._lock:
            self._labels.add(len(examples), names)
            for one in noted.predicted:
                self._labels.add_prediction((facts.label, facts.is_found) for facts in one.labels)
            sums.latencies = self.latencies.since_last()
            self._kept.history.add(sums)
            self._kept.latest.add(sums)
            self._detect(sums, noted.predicted)
        self._budget.spend(noted.spent + time.monotonic() - begin, len(noted.predicted))

    def _detect(self, sums: Sums, predicted: Sequence[Predicted]) -> None:
        values = {
            "p1": [float(one.hits[0]) for one in predicted],
            "confidence": [one.confidence - one.hits[0] for one in predicted],
            "new_labels": [float(any(facts.count == 0 for facts in one.labels)) for one in predicted],
            "unknown_features": [one.n_unknown / one.n_features for one in predicted if one.n_features],
        }
        kept = self._kept
        for of, detector in self._detectors.items():
            found = detector.add(values[of], sums.first, sums.begin)
            if found is not None:
                block, before, after = found
                change = Change(block.position, block.time, of, before, after)
                _log.info("%s: %s has changed from %.4f to %.4f at %d", self._path.parent.name, of, before, after,
                    block.position)  # fmt: skip
                kept.changes = [*kept.changes, change][-_MOST_CHANGES:]
                kept.n_changes[of] = kept.n_changes.get(of, 0) + 1

    # What can be asked

    def windows(self) -> list[Window]:
        """Return the windows of the stream, oldest first; the last one may still be filling."""
        with self._lock:
            windows = list(self._kept.history.windows)
            if windows:
                last, waiting = windows[-1], self.latencies.since_last(only_look=True)
                windows[-1] = last.with_latencies(waiting)
        return [Window.of(one) for one in windows]

    def latest(self) -> Window | None:
        """Return the figures over the latest 500 to 1,000 predicted examples; None if nothing was learned."""
        with self._lock:
            sums = self._kept.latest.sums()
        return None if sums is None else Window.of(sums)

    def changes(self) -> list[Change]:
        """Return the changes that were detected, oldest first; of very many, the last ones."""
        return self._kept.changes

    def n_changes(self) -> dict[str, int]:
        """Return the number of changes of each figure so far."""
        return {of: self._kept.n_changes.get(of, 0) for of in _WATCHED}

    def recent_labels(self) -> tuple[int, dict[Name, LabelCounts]]:
        """Return the number of the latest examples, and how often each label occurred in them."""
        with self._lock:
            return self._labels.counts()

    # Over restarts

    def save(self) -> None:
        """Write it to its file. If that fails, it is logged, and the file stays as it was."""
        with self._lock:
            self._kept.labels = self._labels.save()
            content = msgspec.json.encode(self._kept)
            self._kept.labels = []
        try:
            with replacing(self._path) as file:
                file.write(content)
        except OSError as error:
            _log.error("%s could not be written: %s", self._path, error)


def _count(sums: Sums, one: Predicted) -> None:
    sums.n += 1
    sums.hits = [a + b for a, b in zip(sums.hits, one.hits, strict=True)]
    place = min(N_BINS - 1, int(one.confidence * N_BINS))
    sums.right_in_bin[place] += one.hits[0]
    sums.sum_in_bin[place] += one.confidence
    sums.n_features += one.n_features
    sums.n_unknown += one.n_unknown
    for facts in one.labels:
        by_count, by_age = bucket(COUNTS, facts.count), bucket(AGES, facts.age)
        sums.true_by_count[by_count] += 1
        sums.found_by_count[by_count] += facts.is_found
        sums.true_by_age[by_age] += 1
        sums.found_by_age[by_age] += facts.is_found


def _read(path: Path) -> _Saved:
    """Read what was saved; if there is nothing that can be read, start anew."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Saved)
    except FileNotFoundError:
        return _Saved()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _log.warning("%s is not readable, so monitoring starts anew: %s", path, error)
        return _Saved()
    if found.version != _VERSION or found.blocks.keys() != _WATCHED.keys() or len(found.labels) != 2:
        _log.warning("%s is of another version, so monitoring starts anew", path)
        return _Saved()
    return found
