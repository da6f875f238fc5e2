# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model that is served: its folder, its journal, the thread that learns, and the threads that ask.

An example is acknowledged when the journal holds it, and learned in the order of the journal by one thread. Predictions
read the model while it learns and never wait for the journal. Recovery is no special case: the newest good snapshot is
opened, and the thread learns the records after its position.
"""

from __future__ import annotations

import itertools
import logging
import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from oplt.browsing import Known
from oplt.errors import InvalidInputError, OpltError
from oplt.labels import LabelOperation
from oplt.model import OnlinePLT
from oplt.plt import PLT
from oplt.service.errors import BusyError, JournalError, NotFoundError, RefusedError, UnavailableError
from oplt.service.examples import Example, Rows, as_rows, encode
from oplt.service.folder import Folder
from oplt.service.journal import Journal, NewRecord, Record
from oplt.service.monitoring import Monitor
from oplt.service.restoring import (
    apply_labels,
    examples_of,
    expect_journal,
    learn,
    lost_operations,
    newest_usable,
    numbers_of,
    restore,
    rows_of,
    takes_texts,
)
from oplt.service.retention import tidy_up
from oplt.service.settings import ServingSettings
from oplt.service.snapshots import SnapshotInfo, SnapshotStore
from oplt.service.waiting import Waiting

__all__ = ["ServedModel"]

_log = logging.getLogger(__name__)
_SHORT = 16  # examples learned together: the most that a prediction waits for
_LONG = 2048  # the same during a backlog, when predictions read a published copy instead of waiting
_BACKLOG = 512
_CHECK = 8192  # positions at whose multiples followers compare fingerprints
_IDLE = 0.5  # seconds
_VIEW = 2.0  # seconds between two views for readers
_FORGOTTEN_READERS = 10.0  # seconds without readers after which no view is taken
_LONG_CALL = 0.02  # seconds that the learner's call may take before readers turn to the view
_MOST_REFUSALS = 1000


@dataclass(frozen=True)
class _Chunk:
    """Records to learn, decoded and validated if all of them are examples."""

    records: list[Record]
    examples: list[Example] = field(default_factory=list)
    rows: Rows | None = None


class ServedModel:
    """A model in a folder, which learns what its journal receives.

    Parameters
    ----------
    folder
        The folder, which holds a first snapshot at least; see `Folder`.
    settings
        How to serve it.
    name
        The name of the model in addresses and metrics.

    Notes
    -----
    All methods may be called from any thread.
    """

    def __init__(self, folder: Path, settings: ServingSettings | None = None, *, name: str = "model") -> None:
        self.name = name
        self.settings = settings or ServingSettings()
        self.leader: str | None = None  # the address of the leader, if this model follows one
        self.leader_last = 0  # the last position of the leader's journal, as far as this follower knows
        self.diverged: str | None = None  # how the model differs from its leader's, if it does
        self.agreed = 0  # the last position at which the leader's fingerprint was the same
        self._folder = Folder(folder)
        self.monitor = Monitor(folder / "monitoring.json", self.settings.progressive_share)
        self.snapshots = SnapshotStore(folder / "snapshots")
        self.journal = Journal(folder / "journal.sqlite", self.settings.durability)
        try:
            expect_journal(self.snapshots, self.journal)
            found = newest_usable(self.snapshots, self.journal, self.journal.last, self.settings.threads)
        except BaseException:
            self.journal.close()
            self._folder.close()
            raise
        self.model, self._learned = found
        self.texts = takes_texts(self.model)
        self.recovered_until = self.journal.last  # up to here, records were there when the server started
        self.failure: OpltError | None = None
        self.n_learned = 0  # since the start
        self.browsed = Known()  # what requests that look around in the model share
        self.followed_at = 0.0  # when a follower last asked, on the monotonic clock
        self._view: tuple[PLT | None, int] = (None, 0)  # of a moment ago, and its position
        self._viewed_at = self._read_at = -math.inf
        self._call_began: float | None = None  # when the learner's present call began
        self._refusals: dict[int, OpltError] = {}
        self._turn = threading.Lock()  # held while model and position change together
        self._lock = threading.Lock()
        self._in_flight = 0
        self._waiting = Waiting(self._learned)
        self._is_closing = threading.Event()
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="oplt-snapshot")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="oplt-reader")
        self._next: Future[_Chunk] | None = None  # the chunk after the present one
        self._saving: Future[SnapshotInfo] | None = None
        self._snapshot_at = (self._learned, time.monotonic())
        self._checked = -1
        self._learner = threading.Thread(target=self._work, name="oplt-learner", daemon=True)
        self._learner.start()

    # What is known

    @property
    def learned(self) -> int:
        """The position up to which the journal has been learned."""
        return self._learned

    @property
    def n_pending(self) -> int:
        """Number of records that are to be learned, or on their way to the disk."""
        return max(0, self.journal.last - self._learned) + self._in_flight

    @property
    def lag(self) -> int:
        """Number of records of the leader that this follower has not learned yet; 0 for a leader."""
        return max(0, self.leader_last - self._learned) if self.leader is not None else 0

    @property
    def is_ready(self) -> bool:
        """Whether everything that the journal held at the start has been learned, and learning works."""
        return not self.reasons_not_ready()

    def reasons_not_ready(self) -> list[str]:
        """Say why the model is not ready, without internals; nothing if it is."""
        reasons = []
        if self._learned < self.recovered_until:
            reasons.append(f"recovering: {self._learned:,} of {self.recovered_until:,} records")
        if self.failure is not None:
            reasons.append("learning has failed")
        if self.journal.failure is not None:
            reasons.append("the journal cannot be written")
        if self.diverged is not None:
            reasons.append("the model differs from its leader's")
        return reasons

    def state(self, at_least: int = 0) -> tuple[OnlinePLT | PLT, int]:
        """Return a model to predict with, and a position that it includes, which must be `at_least` this one.

        It is the live model, for which a reader waits as long as a few examples take to learn. Rarely, as at the end of
        a regrowth after a restart, that takes seconds: then it is a view from at most two seconds ago.
        """
        self._read_at = time.monotonic()
        began, (view, position) = self._call_began, self._view
        if view is not None and position >= at_least and began is not None and self._read_at - began > _LONG_CALL:
            return view, position
        position = self._learned  # before the model: it may include more
        return self.model, position

    def fingerprint(self) -> tuple[int, str]:
        """Return a position and the fingerprint of the model there. It takes a pass over the whole model."""
        with self._turn:
            state, position = self.model.snapshot(), self._learned
        return position, state.fingerprint()

    def when_learned(self, position: int) -> Future[int]:
        """Return a future that is done when a position has been learned."""
        return self._waiting.until(position)

    # What changes the model

    def learn(self, examples: Sequence[Example], *, who: str | None = None) -> Future[list[int]]:
        """Append examples to the journal. The future returns their positions once they are durable.

        Raises
        ------
        InvalidInputError
            If an example is not valid. Nothing was appended.
        BusyError
            If too many examples wait to be learned.
        """
        self._expect_to_lead()
        self._expect_room(len(examples))
        as_rows(examples, texts=self.texts)
        return self._append([NewRecord("learn", encode(one), one.key, who) for one in examples])

    def forget(self, positions: Sequence[int], *, who: str | None = None, key: str | None = None) -> Future[list[int]]:
        """Append a request to forget the examples at these positions of the journal, and to erase them there."""
        self._expect_to_lead()
        for position in positions:
            found = self.journal.read(position - 1, 1) if 0 < position <= self.journal.last else []
            if not found or found[0].kind != "learn":
                raise NotFoundError("no-such-position", "there is no example at this position", got=str(position))
        if not self.model.has_history:
            raise RefusedError("no-history", "the model does not keep its examples, so it cannot forget any")
        content = msgspec.json.encode(sorted(set(positions)))
        return self._append([NewRecord("forget", content, key, who)])

    def roll_back(self, position: int, *, who: str | None = None, key: str | None = None) -> Future[list[int]]:
        """Append a request to return to the snapshot at a position. What was learned since no longer counts."""
        self._expect_to_lead()
        if self.snapshots.at(position) is None:
            raise NotFoundError("no-such-snapshot", "there is no snapshot at this position", got=str(position))
        return self._append([NewRecord("rollback", str(position).encode(), key, who)])

    def change_labels(
        self, operation: LabelOperation, *, who: str | None = None, key: str | None = None
    ) -> Future[list[int]]:
        """Append an operation on labels. It may be refused when its turn comes; see `refusal`."""
        self._expect_to_lead()
        content = msgspec.json.encode(LabelOperation.from_dict(operation.to_dict()).to_dict())
        return self._append([NewRecord("labels", content, key, who)])

    def refusal(self, position: int) -> OpltError | None:
        """Return why a record could not be applied; None if it was applied."""
        return self._refusals.get(position)

    def snapshot(self) -> Future[SnapshotInfo]:
        """Write a snapshot of the present model, in the background."""
        with self._turn:
            state, position = self.model.snapshot(), self._learned
        self._snapshot_at = (position, time.monotonic())
        return self._saver.submit(self._save, state, position)

    def _expect_to_lead(self) -> None:
        if self.failure is not None:
            raise UnavailableError(
                "learning-failed", "the model cannot learn at present", hint="The log of the server says why."
            )
        if self.leader is not None:
            raise UnavailableError(
                "is-follower", "this server follows another one and does not learn by itself", got=self.leader
            )

    def _expect_room(self, n: int) -> None:
        if self.n_pending + n > self.settings.max_pending and self.n_pending > 0:
            raise BusyError("queue-full", f"{self.n_pending:,} examples wait to be learned", hint="Try again later.")

    def _append(self, records: list[NewRecord]) -> Future[list[int]]:
        with self._lock:
            self._in_flight += len(records)

        def done(_: Future[list[int]]) -> None:
            with self._lock:
                self._in_flight -= len(records)

        try:
            future = self.journal.append(records)
        except BaseException:
            with self._lock:
                self._in_flight -= len(records)
            raise
        future.add_done_callback(done)
        return future

    # The learning thread

    def _work(self) -> None:
        while not self._is_closing.is_set():
            try:
                if self.journal.wait(self._learned, _IDLE, until_released=False):
                    self._advance()
                else:
                    self._check_fingerprint(idle=True)
                self._snapshot_if_due()
            except Exception as error:  # noqa: BLE001 (whatever it is, predictions go on)
                _log.exception("%s: learning has stopped after record %d", self.name, self._learned)
                hint = "Restart the server; it recovers from the last snapshot."
                self.failure = error if isinstance(error, OpltError) else OpltError(
                    "learning-failed", "learning failed", got=type(error).__name__, hint=hint
                )  # fmt: skip
                self._waiting.fail(self.failure)
                return

    def _advance(self) -> None:
        """Learn the next records. During a backlog, the records after them are read and decoded meanwhile."""
        n_waiting = self.journal.last - self._learned
        chunk = self._next.result() if self._next is not None else self._read(self._learned, n_waiting)
        self._next = None
        end = chunk.records[-1].position
        if self.journal.last - end > _BACKLOG:
            self._next = self._reader.submit(self._read, end, self.journal.last - end)
        if chunk.rows is not None:
            self._learn(chunk.records, chunk.examples, chunk.rows)
        else:
            self._learn_and_apply(chunk.records)
        self._check_fingerprint(idle=False)

    def _read(self, after: int, n_waiting: int) -> _Chunk:
        limit = _LONG if n_waiting > _BACKLOG else _SHORT
        records = self.journal.read(after, min(limit, _CHECK - after % _CHECK))
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
        noted = self.monitor.before(self.model, examples, rows) if is_new else None
        with self._turn:
            self._call_began = time.monotonic()
            learn(self.model, rows)
            self._learned = records[-1].position
            self._call_began = None
        if noted is not None:
            self.monitor.after(self.model, noted, examples, rows, first=first, last=self._learned)
        self._refresh_view()
        self.n_learned += len(examples)
        self._waiting.reached(self._learned)

    def _refresh_view(self) -> None:
        """Take a view for readers, at most every two seconds, because each costs a copy of what changes afterwards."""
        now = time.monotonic()
        if now - self._read_at > _FORGOTTEN_READERS:
            self._view = (None, 0)
        elif now - self._viewed_at > _VIEW:
            self._view, self._viewed_at = (self.model.snapshot(), self._learned), now

    def _apply(self, record: Record) -> None:
        self._view = (None, 0)
        try:
            if record.kind == "forget":
                self._forget(record)
            elif record.kind == "rollback":
                target = int(record.content or b"0")
                model = restore(self.snapshots, self.journal, target, self.settings.threads)
                with self._turn:
                    self.model, self._learned = model, record.position
            elif record.kind == "labels":
                self._change_labels(record)
            else:
                raise JournalError("journal-version-unknown", "a record is of an unknown kind", got=record.kind)
        except InvalidInputError as error:  # refused, in every replay alike
            _log.warning("%s: record %d is refused: %s", self.name, record.position, error)
            self._refusals[record.position] = error
            while len(self._refusals) > _MOST_REFUSALS:
                del self._refusals[next(iter(self._refusals))]
        with self._turn:
            self._learned = record.position
        self._waiting.reached(self._learned)
        if record.kind != "labels":
            self.browsed = Known()
            self.snapshot()

    def _change_labels(self, record: Record) -> None:
        is_effective = False
        try:
            with self._turn:
                is_effective = apply_labels(self.model, record)
                if is_effective:
                    self._learned = record.position
        finally:
            if not is_effective:
                self._mark([record.position], record.position)

    def _forget(self, record: Record) -> None:
        positions = msgspec.json.decode(record.content or b"[]", type=list[int])
        before = record.position - 1
        with self._turn:
            numbers = numbers_of(self.journal, self.model, positions, before, forgotten_after=self.journal.last + 1)
            if numbers:
                self.model.forget(numbers)
            self._learned = record.position
        self.monitor.keep_known(self.model)
        self._mark([*positions, *lost_operations(self.journal, self.model, before)], record.position)

    def _mark(self, positions: list[int], by: int) -> None:
        """Mark records as forgotten. If a crash prevents it, the next start applies the present record again."""
        while not self._is_closing.is_set():
            try:
                self.journal.mark_forgotten(positions, by).result()
            except JournalError:
                time.sleep(_IDLE)
            else:
                return

    def _check_fingerprint(self, *, idle: bool) -> None:
        """Note the fingerprint at positions where followers compare theirs: at multiples of 8,192, and when idle."""
        is_followed = self.leader is not None or time.monotonic() - self.followed_at < 60
        is_due = idle or self._learned % _CHECK == 0
        if not is_followed or not is_due or self._checked == self._learned:
            return
        self._checked = self._learned
        self._saver.submit(self._note, self.model.snapshot(), self._learned)

    def _note(self, state: PLT, position: int) -> None:
        self.note_fingerprint(position, state.fingerprint())

    def note_fingerprint(self, position: int, fingerprint: str) -> None:
        """Keep a fingerprint for followers."""
        if self.journal.failure is None and not self._is_closing.is_set():
            self.journal.note_fingerprint(position, fingerprint)

    # Snapshots

    def _snapshot_if_due(self) -> None:
        position, when = self._snapshot_at
        if self._learned == position or (self._saving is not None and not self._saving.done()):
            return
        is_old = time.monotonic() - when > self.settings.snapshot_seconds
        if is_old or self._learned - position >= self.settings.snapshot_records:
            self._saving = self.snapshot()

    def _save(self, state: PLT, position: int) -> SnapshotInfo:
        try:
            found = self.snapshots.at(position)
            info = found or self.snapshots.save(state, position)
        except OSError as error:
            _log.error("%s: the snapshot at %d could not be written: %s", self.name, position, error)
            raise
        self.note_fingerprint(position, info.fingerprint)
        self.monitor.save()
        tidy_up(self.snapshots, self.journal, self.settings)
        return info

    def close(self, *, snapshot: bool = True) -> None:
        """Stop learning after the present chunk, write a snapshot and close the journal."""
        if self._is_closing.is_set():
            return
        self._is_closing.set()
        self._learner.join()
        last = self.snapshots.list()
        if snapshot and self.failure is None and (not last or last[-1].position != self._learned):
            try:
                self.snapshot().result()
            except OSError:
                _log.exception("%s: no last snapshot; the next start replays more of the journal", self.name)
        if snapshot:
            self.monitor.save()
        self._saver.shutdown()
        self._reader.shutdown()
        self.journal.close()
        self._folder.close()
        self._waiting.fail(UnavailableError("shutting-down", "the server is shutting down"))
