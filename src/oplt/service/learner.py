# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The thread that learns a journal, record by record, and the model that it changes.

Recovery is no special case: the thread starts with the model of a snapshot and learns the records after its position.
"""

from __future__ import annotations

import itertools
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec

from oplt.errors import InvalidInputError, OpltError
from oplt.model import OnlinePLT
from oplt.plt import PLT
from oplt.service.errors import JournalError, UnavailableError
from oplt.service.examples import Example, Rows
from oplt.service.journal import Journal, Record
from oplt.service.monitoring import Monitor
from oplt.service.restoring import apply_labels, examples_of, learn, lost_operations, numbers_of, restore, rows_of
from oplt.service.snapshots import SnapshotStore
from oplt.service.waiting import Waiting

__all__ = ["CHECK", "Learner", "LearnerEvents"]

_log = logging.getLogger(__name__)
CHECK = 8192  # positions at whose multiples the learner stops, so that followers can compare fingerprints
_SHORT = 16  # examples learned together: the most that a prediction waits for
_LONG = 2048  # the same during a backlog, when predictions read a published copy instead of waiting
_BACKLOG = 512
_IDLE = 0.5  # seconds
_VIEW = 30.0  # seconds between two views for readers
_FORGOTTEN_READERS = 10.0  # seconds without readers after which no view is taken
_LONG_CALL = 0.02  # seconds that a call may take before readers turn to the view
_MOST_REFUSALS = 1000


@dataclass(frozen=True)
class LearnerEvents:
    """What is called, in the thread of the learner, after a chunk of records or a pause, and after a new model."""

    on_step: Callable[[bool], None]  # whether there was nothing to learn
    on_replacement: Callable[[], None]  # an example was forgotten, or the model rolled back


@dataclass(frozen=True)
class _Chunk:
    """Records to learn, decoded and validated if all of them are examples."""

    records: list[Record]
    examples: list[Example] = field(default_factory=list)
    rows: Rows | None = None


class Learner:
    """Learns a journal in a thread of its own. All methods may be called from any thread.

    Parameters
    ----------
    start
        A model and its position in the journal.
    journal, snapshots
        What is learned, and what the model can be rolled back to.
    monitor
        Watches the examples.
    events
        Called after each step.
    name
        The name of the model, for the log.
    """

    def __init__(
        self,
        start: tuple[OnlinePLT, int],
        journal: Journal,
        snapshots: SnapshotStore,
        monitor: Monitor,
        events: LearnerEvents,
        *,
        name: str,
    ) -> None:
        self.model, self.learned = start  # `learned` is the position up to which the journal has been learned
        self.recovered_until = journal.last  # up to here, records were there at the start
        self.failure: OpltError | None = None
        self.n_learned = 0  # since the start
        self._journal = journal
        self._snapshots = snapshots
        self._monitor = monitor
        self._events = events
        self._name = name
        self._view: tuple[PLT | None, int] = (None, 0)  # of a moment ago, and its position
        self._viewed_at = self._read_at = -math.inf
        self._call_began: float | None = None  # when the present call began
        self._refusals: dict[int, OpltError] = {}
        self._turn = threading.Lock()  # held while model and position change together
        self._waiting = Waiting(self.learned)
        self._is_closing = threading.Event()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="oplt-reader")
        self._next: Future[_Chunk] | None = None  # the chunk after the present one
        self._thread = threading.Thread(target=self._work, name="oplt-learner", daemon=True)

    def start(self) -> None:
        """Begin to learn."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the present chunk."""
        self._is_closing.set()
        self._thread.join()
        self._reader.shutdown()

    def release(self) -> None:
        """Tell everybody who waits that nothing more will be learned."""
        self._waiting.fail(UnavailableError("shutting-down", "the server is shutting down"))

    # What others read

    @property
    def is_in_call(self) -> bool:
        """Whether the model is learning at this moment, so that a prediction has to wait a little."""
        return self._call_began is not None

    def state(self, at_least: int = 0) -> tuple[OnlinePLT | PLT, int]:
        """Return a model to predict with, and a position that it includes, which must be `at_least` this one.

        It is the live model, for which a reader waits as long as a few examples take to learn. Rarely, as at the end of
        a regrowth after a restart, that takes seconds: then it is a view from at most half a minute before.
        """
        self._read_at = time.monotonic()
        began, (view, position) = self._call_began, self._view
        if view is not None and position >= at_least and began is not None and self._read_at - began > _LONG_CALL:
            return view, position
        position = self.learned  # before the model: it may include more
        return self.model, position

    def moment(self) -> tuple[PLT, int]:
        """Return a copy of the model, and exactly its position."""
        with self._turn:
            return self.model.snapshot(), self.learned

    def when_learned(self, position: int) -> Future[int]:
        """Return a future that is done when a position has been learned."""
        return self._waiting.until(position)

    def refusal(self, position: int) -> OpltError | None:
        """Return why a record could not be applied; None if it was applied."""
        return self._refusals.get(position)

    # The thread

    def _work(self) -> None:
        while not self._is_closing.is_set():
            try:
                is_idle = not self._journal.wait(self.learned, _IDLE, until_released=False)
                if not is_idle:
                    self._advance()
                self._events.on_step(is_idle)
            except Exception as error:  # noqa: BLE001 (whatever it is, predictions go on)
                _log.exception("%s: learning has stopped after record %d", self._name, self.learned)
                hint = "Restart the server; it recovers from the last snapshot."
                self.failure = error if isinstance(error, OpltError) else OpltError(
                    "learning-failed", "learning failed", got=type(error).__name__, hint=hint
                )  # fmt: skip
                self._waiting.fail(self.failure)
                return

    def _advance(self) -> None:
        """Learn the next records. During a backlog, the records after them are read and decoded meanwhile."""
        n_waiting = self._journal.last - self.learned
        chunk = self._next.result() if self._next is not None else self._read(self.learned, n_waiting)
        self._next = None
        end = chunk.records[-1].position
        if self._journal.last - end > _BACKLOG:
            self._next = self._reader.submit(self._read, end, self._journal.last - end)
        if chunk.rows is not None:
            self._learn(chunk.records, chunk.examples, chunk.rows)
        else:
            self._learn_and_apply(chunk.records)

    def _read(self, after: int, n_waiting: int) -> _Chunk:
        limit = _LONG if n_waiting > _BACKLOG else _SHORT
        records = self._journal.read(after, min(limit, CHECK - after % CHECK))
        if any(record.kind != "learn" for record in records):
            return _Chunk(records)
        examples = examples_of(records)
        return _Chunk(records, examples, rows_of(self.model, examples))

    def _learn_and_apply(self, records: list[Record]) -> None:
        for is_example, some in itertools.groupby(records, lambda record: record.kind == "learn"):
            part = list(some)
            if is_example:
                examples = examples_of(part)
                self._learn(part, examples, rows_of(self.model, examples))
                continue
            for record in part:
                self._apply(record)

    def _learn(self, records: list[Record], examples: list[Example], rows: Rows) -> None:
        first = records[0].position
        is_new = examples and first > self.recovered_until  # and not replayed
        noted = self._monitor.before(self.model, examples, rows) if is_new else None
        with self._turn:
            self._call_began = time.monotonic()
            learn(self.model, rows)
            self.learned = records[-1].position
            self._call_began = None
        if noted is not None:
            self._monitor.after(self.model, noted, examples, rows, first=first, last=self.learned)
        self._refresh_view()
        self.n_learned += len(examples)
        self._waiting.reached(self.learned)

    def _refresh_view(self) -> None:
        """Take a view for readers, but rarely, because each costs a copy of what changes afterwards."""
        now = time.monotonic()
        if now - self._read_at > _FORGOTTEN_READERS:
            self._view = (None, 0)
        elif now - self._viewed_at > _VIEW:
            self._view, self._viewed_at = (self.model.snapshot(), self.learned), now

    # Records that are not examples

    def _apply(self, record: Record) -> None:
        self._view = (None, 0)
        try:
            if record.kind == "forget":
                self._forget(record)
            elif record.kind == "rollback":
                target = int(record.content or b"0")
                model = restore(self._snapshots, self._journal, target, self.model.threads)
                with self._turn:
                    self.model, self.learned = model, record.position
            elif record.kind == "labels":
                self._change_labels(record)
            else:
                raise JournalError("journal-version-unknown", "a record is of an unknown kind", got=record.kind)
        except InvalidInputError as error:  # refused, in every replay alike
            _log.warning("%s: record %d is refused: %s", self._name, record.position, error)
            self._refusals[record.position] = error
            while len(self._refusals) > _MOST_REFUSALS:
                del self._refusals[next(iter(self._refusals))]
        with self._turn:
            self.learned = record.position
        if record.kind != "labels":
            self._events.on_replacement()
        self._waiting.reached(self.learned)

    def _change_labels(self, record: Record) -> None:
        is_effective = False
        try:
            with self._turn:
                is_effective = apply_labels(self.model, record)
                if is_effective:
                    self.learned = record.position
        finally:
            if not is_effective:
                self._mark([record.position], record.position)

    def _forget(self, record: Record) -> None:
        positions = msgspec.json.decode(record.content or b"[]", type=list[int])
        before = record.position - 1
        with self._turn:  # also while records are marked: no snapshot may skip a forgetting that is not marked
            numbers = numbers_of(self._journal, self.model, positions, before, forgotten_after=self._journal.last + 1)
            if numbers:
                self.model.forget(numbers)
            self.learned = record.position
            self._monitor.keep_known(self.model)
            self._mark([*positions, *lost_operations(self._journal, self.model, before)], record.position)

    def _mark(self, positions: list[int], by: int) -> None:
        """Mark records as forgotten, as soon as the journal can be written.

        If the server stops before that, this fails, so that no last snapshot is written: the next start continues from
        an earlier one, and applies the present record again. It does so after a crash, too.
        """
        while True:
            try:
                self._journal.mark_forgotten(positions, by).result()
            except JournalError as error:
                _log.warning("%s: forgotten records cannot be erased yet: %s", self._name, error)
                if self._is_closing.wait(_IDLE):
                    raise
            else:
                return
