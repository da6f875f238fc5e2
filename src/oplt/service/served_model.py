# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model that is served: its folder, its journal, the thread that learns, and the threads that ask.

An example is acknowledged when the journal holds it, and learned in the order of the journal by one thread. Predictions
read the model while it learns and never wait for the journal.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from oplt.browsing import Known
from oplt.labels import LabelOperation
from oplt.model import OnlinePLT
from oplt.plt import PLT
from oplt.service.errors import BusyError, NotFoundError, RefusedError, UnavailableError
from oplt.service.examples import Example, check, encode
from oplt.service.folder import Folder
from oplt.service.journal import Journal, NewRecord
from oplt.service.learner import CHECK, Learner, LearnerEvents
from oplt.service.monitoring import Monitor
from oplt.service.restoring import expect_journal, newest_usable, takes_texts
from oplt.service.retention import tidy_up
from oplt.service.settings import ServingSettings
from oplt.service.snapshots import SnapshotInfo, SnapshotStore

__all__ = ["ServedModel"]

_log = logging.getLogger(__name__)


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
        self.texts = takes_texts(found[0])
        self.browsed = Known()  # what requests that look around in the model share
        self.followed_at = 0.0  # when a follower last asked, on the monotonic clock
        self._lock = threading.Lock()
        self._in_flight = 0
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="oplt-snapshot")
        self._saving: Future[SnapshotInfo] | None = None
        self._snapshot_at = (found[1], time.monotonic())
        self._checked = -1
        self._is_closing = False
        events = LearnerEvents(self._after_step, self._after_replacement)
        self.learner = Learner(found, self.journal, self.snapshots, self.monitor, events, name=name)
        self.learner.start()

    # What is known

    @property
    def learned(self) -> int:
        """The position up to which the journal has been learned."""
        return self.learner.learned

    @property
    def model(self) -> OnlinePLT:
        """The model, which changes while it learns; see `Learner.state`."""
        return self.learner.model

    @property
    def n_pending(self) -> int:
        """Number of records that are to be learned, or on their way to the disk."""
        return max(0, self.journal.last - self.learned) + self._in_flight

    @property
    def lag(self) -> int:
        """Number of records of the leader that this follower has not learned yet; 0 for a leader."""
        return max(0, self.leader_last - self.learned) if self.leader is not None else 0

    @property
    def is_ready(self) -> bool:
        """Whether everything that the journal held at the start has been learned, and learning works."""
        return not self.reasons_not_ready()

    def reasons_not_ready(self) -> list[str]:
        """Say why the model is not ready, without internals; nothing if it is."""
        reasons = []
        learned, until = self.learned, self.learner.recovered_until
        if learned < until:
            reasons.append(f"recovering: {learned:,} of {until:,} records")
        if self.learner.failure is not None:
            reasons.append("learning has failed")
        if self.journal.failure is not None:
            reasons.append("the journal cannot be written")
        if self.diverged is not None:
            reasons.append("the model differs from its leader's")
        return reasons

    def fingerprint(self) -> tuple[int, str]:
        """Return a position and the fingerprint of the model there. It takes a pass over the whole model."""
        state, position = self.learner.moment()
        return position, state.fingerprint()

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
        check(examples, texts=self.texts)
        return self._append([NewRecord("learn", encode(one), one.key, who) for one in examples])

    def forget(self, positions: Sequence[int], *, who: str | None = None, key: str | None = None) -> Future[list[int]]:
        """Append a request to forget the examples at these positions of the journal, and to erase them there."""
        self._expect_to_lead()
        first = self.journal.first
        for position in positions:
            found = self.journal.read(position - 1, 1) if first <= position <= self.journal.last else []
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
        if position < self.journal.first - 1:  # recovery could not go from there to the rollback
            raise RefusedError(
                "journal-trimmed",
                "the records after this snapshot were removed by the retention rule, so it can only be downloaded",
                got=str(position),
                hint="To continue from it, download it and serve it in a new folder.",
            )
        return self._append([NewRecord("rollback", str(position).encode(), key, who)])

    def change_labels(
        self, operation: LabelOperation, *, who: str | None = None, key: str | None = None
    ) -> Future[list[int]]:
        """Append an operation on labels. It may be refused when its turn comes; see `Learner.refusal`."""
        self._expect_to_lead()
        content = msgspec.json.encode(LabelOperation.from_dict(operation.to_dict()).to_dict())
        return self._append([NewRecord("labels", content, key, who)])

    def snapshot(self) -> Future[SnapshotInfo]:
        """Write a snapshot of the present model, in the background."""
        state, position = self.learner.moment()
        self._snapshot_at = (position, time.monotonic())
        return self._saver.submit(self._save, state, position)

    def _expect_to_lead(self) -> None:
        if self.learner.failure is not None:
            raise UnavailableError(
                "learning-failed", "the model cannot learn at present", hint="The log of the server says why."
            )
        if self.leader is not None:
            raise RefusedError(
                "is-follower",
                "this server follows another one and does not learn by itself",
                hint="Send examples to its leader, whose address GET /v1/model shows. If the leader is lost, make this"
                " server a leader with oplt promote.",
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

    # What follows a step of the learner

    def _after_step(self, is_idle: bool) -> None:  # noqa: FBT001
        self._check_fingerprint(idle=is_idle)
        self._snapshot_if_due()

    def _after_replacement(self) -> None:
        self.browsed = Known()
        self.snapshot()

    def _check_fingerprint(self, *, idle: bool) -> None:
        """Note the fingerprint at positions where followers compare theirs: at multiples of 8,192, and when idle."""
        is_followed = self.leader is not None or time.monotonic() - self.followed_at < 60
        is_due = idle or self.learned % CHECK == 0
        if not is_followed or not is_due or self._checked == self.learned:
            return
        self._checked = self.learned
        self._saver.submit(self._note, self.model.snapshot(), self.learned)

    def _note(self, state: PLT, position: int) -> None:
        self.note_fingerprint(position, state.fingerprint())

    def note_fingerprint(self, position: int, fingerprint: str) -> None:
        """Keep a fingerprint for followers."""
        if self.journal.failure is None and not self._is_closing:
            self.journal.note_fingerprint(position, fingerprint)

    # Snapshots

    def _snapshot_if_due(self) -> None:
        position, when = self._snapshot_at
        if self.learned == position or (self._saving is not None and not self._saving.done()):
            return
        is_old = time.monotonic() - when > self.settings.snapshot_seconds
        if is_old or self.learned - position >= self.settings.snapshot_records:
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
        if self._is_closing:
            return
        self._is_closing = True
        self.learner.stop()
        last = self.snapshots.list()
        if snapshot and self.learner.failure is None and (not last or last[-1].position != self.learned):
            try:
                self.snapshot().result()
            except OSError:
                _log.exception("%s: no last snapshot; the next start replays more of the journal", self.name)
        if snapshot:
            self.monitor.save()
        self._saver.shutdown()
        self.journal.close()
        self._folder.close()
        self.learner.release()
