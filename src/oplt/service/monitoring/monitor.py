# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Watches a served model: the learner reports what it learns, and everyone may ask how the model does."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oplt.model import OnlinePLT
from oplt.persistence import replacing
from oplt.service.examples import Example, Name, Rows
from oplt.service.monitoring.changes import WATCHED, Block, Change, Detector
from oplt.service.monitoring.labels import LabelCounts, LabelsPart, RecentLabels
from oplt.service.monitoring.latency import Latencies
from oplt.service.monitoring.predicting import Budget, Predicted, predict, unknown_terms, values_of
from oplt.service.monitoring.windows import AGES, COUNTS, N_BINS, History, Latest, Sums, Window, bucket

__all__ = ["Monitor", "Noted"]

_log = logging.getLogger(__name__)
_VERSION = 1
_MOST_CHANGES = 500
_PART = 20  # predicted examples that are put into the windows together, which saves time
_MEASURE = 1.0  # seconds between two measurements of memory, each of which takes about 0.1 ms


@dataclass
class Noted:
    """What was noted just before examples are learned."""

    begin: float
    spent: float
    n_labels: int
    n_features: int
    predicted: list[Predicted]


class _Saved(msgspec.Struct):
    """All that survives a restart."""

    version: int = _VERSION
    history: History = msgspec.field(default_factory=History)
    latest: Latest = msgspec.field(default_factory=Latest)
    changes: list[Change] = msgspec.field(default_factory=list)
    n_changes: dict[str, int] = msgspec.field(default_factory=dict)
    blocks: dict[str, list[Block]] = msgspec.field(default_factory=lambda: {of: [] for of in WATCHED})
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
        self._is_broken = False
        self._measured, self._memory = -math.inf, 0
        self._lock = threading.Lock()
        self._labels = RecentLabels()
        self._part: Sums | None = None  # what has not been put into the windows yet
        self._kept = _read(path)
        self._labels.load(self._kept.labels)
        self._detectors = {of: Detector(WATCHED[of], blocks=blocks) for of, blocks in self._kept.blocks.items()}

    # What the learner calls

    def before(self, model: OnlinePLT, examples: Sequence[Example], rows: Rows) -> Noted | None:
        """Predict some of the examples that are learned next, and note how much the model knows."""
        if self._is_broken:
            return None
        try:
            n = self._budget.affordable()
            begin = time.monotonic()
            predicted = predict(model, examples, rows, n) if n else []
            n_features = model.n_features if predicted else 0
            return Noted(time.time(), time.monotonic() - begin, model.n_labels, n_features, predicted)
        except Exception:  # noqa: BLE001 (whatever it is, learning goes on)
            self._stop()
            return None

    def after(
        self, model: OnlinePLT, noted: Noted, examples: Sequence[Example], rows: Rows, *, first: int, last: int
    ) -> None:
        """Count examples that have been learned; `first` and `last` are positions."""
        begin = time.monotonic()
        try:
            new_labels = model.n_labels - noted.n_labels
            if begin - self._measured > _MEASURE:
                self._measured, self._memory = begin, model.memory_bytes
            if noted.predicted:
                unknown_terms(model, noted.predicted, rows, noted.n_features)
            with self._lock:
                part = self._part
                if part is None:
                    part = self._part = Sums(first, last, noted.begin, noted.begin)
                part.last, part.end = last, time.time()
                part.n_learned += len(examples)
                part.new_labels += new_labels
                self._labels.add(len(examples), [label for one in examples for label in one.labels])
                self._count(part, noted, first)
                if part.is_full(_PART):
                    self._put()
        except Exception:  # noqa: BLE001 (as above)
            self._stop()
        spent = noted.spent + (time.monotonic() - begin if noted.predicted else 0.0)
        self._budget.spend(spent, len(noted.predicted))

    def _stop(self) -> None:
        self._is_broken = True
        _log.exception("%s: monitoring has stopped until the next start", self._path.parent.name)

    def keep_known(self, model: OnlinePLT) -> None:
        """Drop the names of labels that the model has forgotten."""
        state = model._state()
        with self._lock:
            self._labels.keep(lambda label: state.find_label(label) is not None)

    def _count(self, part: Sums, noted: Noted, first: int) -> None:
        for one in noted.predicted:
            _count(part, one)
            for facts in one.labels:
                self._labels.add_prediction(facts.label, is_found=facts.is_found)
            for of, value in values_of(one).items():
                found = self._detectors[of].add(value, first + one.row, noted.begin)
                if found is not None:
                    self._note_change(of, *found)

    def _note_change(self, of: str, block: Block, before: float, after: float) -> None:
        where = self._path.parent.name
        _log.info("%s: %s changed from %.4f to %.4f at %d", where, of, before, after, block.position)
        change = Change(block.position, block.time, of, before, after)
        self._kept.changes = [*self._kept.changes, change][-_MOST_CHANGES:]
        self._kept.n_changes[of] = self._kept.n_changes.get(of, 0) + 1

    def _put(self) -> None:
        """Put what was counted since the last time into the windows."""
        part, latencies = self._part, self.latencies.since_last()
        if part is None:
            self._kept.history.note_latencies(latencies)
            return
        part.latencies, part.memory_bytes = latencies, self._memory
        self._kept.history.add(part)
        self._kept.latest.add(part)
        self._part = None

    # What can be asked

    def windows(self) -> list[Window]:
        """Return the windows of the stream, oldest first; the last one may still be filling."""
        with self._lock:
            self._put()
            windows = list(self._kept.history.windows)
        return [Window.of(one) for one in windows]

    def latest(self) -> Window | None:
        """Return the figures over the latest 500 to 1,000 predicted examples; None if nothing was learned."""
        with self._lock:
            self._put()
            sums = self._kept.latest.sums()
        return None if sums is None else Window.of(sums)

    def changes(self) -> list[Change]:
        """Return the changes that were detected, oldest first; of very many, the last ones."""
        return self._kept.changes

    def n_changes(self) -> dict[str, int]:
        """Return the number of changes of each figure so far."""
        return {of: self._kept.n_changes.get(of, 0) for of in WATCHED}

    def recent_labels(self, names: Iterable[Name]) -> tuple[int, dict[Name, LabelCounts]]:
        """Return the number of the latest examples, and the counts of those of these labels that occurred in them."""
        with self._lock:
            return self._labels.n_examples, self._labels.counts(names)

    def all_recent_labels(self) -> tuple[int, list[tuple[Name, int, int]]]:
        """Return the number of the latest examples, and how often each label occurred, and was missed, in parts."""
        with self._lock:
            return self._labels.n_examples, self._labels.rows()

    # Over restarts

    def save(self) -> None:
        """Write it to its file. If that fails, it is logged, and the file stays as it was."""
        with self._lock:
            self._put()
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
    sums = [*found.history.windows, found.latest.before, found.latest.now]
    is_whole = all(one is None or one.is_whole for one in sums) and len(found.labels) == 2
    if found.version != _VERSION or found.blocks.keys() != WATCHED.keys() or not is_whole:
        _log.warning("%s was written by another version, so monitoring starts anew", path)
        return _Saved()
    return found
