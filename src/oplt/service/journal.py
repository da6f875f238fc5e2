# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The journal: an ordered, durable list of everything that changes a model, in one SQLite file.

One thread writes, on one connection. It commits whatever has arrived while it was busy together (group commit), so the
cost of a disk flush is shared by all callers that wait for it. Anything may read at the same time.

After a failed commit nothing is acknowledged, and nothing further is accepted until the journal has been reopened and
its write-ahead log moved into the database: after a failed flush, the system may have dropped what it had not written,
and later commits must not depend on it.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oplt.errors import OpltError
from oplt.service._journal_file import (
    NewRecord,
    Record,
    connect,
    expect_whole,
    insert,
    prepare,
    read_last,
    rows_to_records,
    write,
)
from oplt.service._journal_reading import JournalReading
from oplt.service.errors import JournalError

__all__ = ["Durability", "Journal", "NewRecord", "Record"]

Durability = Literal["full", "second", "os"]

_log = logging.getLogger(__name__)
_MOST_TOGETHER = 4096  # records in one transaction
_MOST_FINGERPRINTS = 1000
_FORGET_FINGERPRINTS = (
    "DELETE FROM fingerprints WHERE position <"
    " (SELECT position FROM fingerprints ORDER BY position DESC LIMIT 1 OFFSET ?)"
)
_RETRY = 1.0  # seconds between attempts to reopen a journal that could not be written
_FLUSH = 1.0  # seconds after which `second` flushes


@dataclass
class _Task:
    """Something to do in a transaction, and who waits for it."""

    future: Future[Any]
    size: int = 1
    run: Callable[[sqlite3.Connection], Any] | None = None
    records: Sequence[NewRecord] = ()  # to append, instead of `run`


class Journal(JournalReading):
    """A journal file. All methods may be called from any thread.

    Parameters
    ----------
    path
        The file, which is created if it does not exist.
    durability
        When an appended record is acknowledged. ``"full"``: after a flush to disk; nothing acknowledged is ever lost.
        ``"second"``: after it was handed to the operating system, which is told to flush every second; a power failure
        or a crash of the system loses at most about a second. ``"os"``: likewise, but the system decides when to flush,
        usually within half a minute. A crash or kill of the process alone loses nothing in any of these modes.
    identity, begin
        Of a new file: its id and the position after which it starts, if it follows another journal.
    """

    def __init__(
        self, path: Path, durability: Durability = "full", *, identity: str | None = None, begin: int = 0
    ) -> None:
        super().__init__(path)
        self._start = (identity, begin)
        self.durability: Durability = durability
        self._tasks: deque[_Task] = deque()
        self._submitted = threading.Condition()  # the writing thread waits for tasks
        self._failure: JournalError | None = None
        self._failed_at = 0.0
        self._unflushed_since: float | None = None
        self._has_erased = False
        self._added: list[Record] = []  # by the present transaction
        self._connection = self._open()
        self.id = self._identity()
        self._thread = threading.Thread(target=self._work, name="oplt-journal", daemon=True)
        self._thread.start()

    # Writing

    def append(self, records: Sequence[NewRecord]) -> Future[list[int]]:
        """Append records, all or none. The future returns their positions once they are durable.

        A record whose key is in the journal already is not appended again: its position is that of the first one. If
        its content differs from the first one's, the future raises `RefusedError`.
        """
        return self._submit(_Task(Future(), len(records), records=records))

    def replicate(self, records: Sequence[Record]) -> Future[None]:
        """Append records of another journal at their positions, which must follow the last one."""
        return self._submit(_Task(Future(), len(records), lambda connection: self._replicated(connection, records)))

    def mark_forgotten(self, positions: Iterable[int], by: int) -> Future[None]:
        """Erase the content of records, and note the record that asked for it."""
        chosen = list(positions)

        def run(connection: sqlite3.Connection) -> None:
            of_one = "position = ? AND forgotten IS NULL"  # what is forgotten stays so, by the first request
            rows = [row for one in chosen for row in self._rows(connection, of_one, (one,))]
            for record in rows_to_records(rows):
                erased = record.erased(by)
                connection.execute(
                    "UPDATE records SET content = NULL, forgotten = ?, checksum = ? WHERE position = ?",
                    (by, erased.checksum, record.position),
                )
            self._has_erased = True
            if chosen:  # the model at these positions cannot be compared any more
                connection.execute("DELETE FROM fingerprints WHERE position >= ? AND position < ?", (min(chosen), by))

        return self._submit(_Task(Future(), len(chosen), run))

    def note_fingerprint(self, position: int, fingerprint: str) -> Future[None]:
        """Keep the fingerprint of the model at a position, for followers to compare."""

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO fingerprints VALUES (?, ?)", (position, fingerprint))
            connection.execute(_FORGET_FINGERPRINTS, (_MOST_FINGERPRINTS,))

        return self._submit(_Task(Future(), run=run))

    def trim(self, first: int) -> Future[int]:
        """Delete the records before a position, though never the last one. The future returns how many."""

        def run(connection: sqlite3.Connection) -> int:
            until = min(first, read_last(connection))
            connection.execute("DELETE FROM fingerprints WHERE position < ?", (until,))
            return connection.execute("DELETE FROM records WHERE position < ?", (until,)).rowcount

        return self._submit(_Task(Future(), run=run))

    def _replicated(self, connection: sqlite3.Connection, records: Sequence[Record]) -> None:
        for expected, record in enumerate(records, self._last + len(self._added) + 1):
            if record.position != expected:
                raise JournalError(
                    "journal-damaged",
                    f"record {record.position} cannot follow record {expected - 1}",
                    where=str(self.path),
                    hint="Remove the folder of this follower, so that it starts anew from the leader's snapshot.",
                )
        write(connection, records)
        self._added += records

    def _submit(self, task: _Task) -> Future[Any]:
        with self._submitted:
            if self._is_closing:
                raise JournalError("shutting-down", "the server is shutting down", hint="Try again later.")
            self._tasks.append(task)
            self._submitted.notify()
        return task.future

    @property
    def failure(self) -> JournalError | None:
        """Why nothing can be appended at present; None if it can."""
        return self._failure

    # The writing thread

    def close(self) -> None:
        """Finish what has been submitted, flush it and close the file."""
        with self._submitted:
            self._is_closing = True
            self._submitted.notify_all()
        with self._committed:
            self._committed.notify_all()
        self._thread.join()
        for connection in [*self._readers, self._connection]:
            connection.close()

    def _open(self) -> sqlite3.Connection:
        try:
            connection = connect(self.path)
            expect_whole(connection, self.path)
            synchronous = "FULL" if self.durability == "full" else "NORMAL"
            identity, begin = self._start
            prepare(connection, self.path, synchronous=synchronous, identity=identity, begin=begin)
            self._last = read_last(connection)
        except sqlite3.OperationalError as error:
            raise self._not_writable(error) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter: a message that quotes damaged bytes
            raise self._damaged(error) from error
        with self._committed:
            self._recent.clear()
        return connection

    def _identity(self) -> str:
        try:
            return str(self._connection.execute("SELECT value FROM meta WHERE name = 'id'").fetchone()[0])
        except (sqlite3.DatabaseError, TypeError) as error:
            self._connection.close()
            raise self._damaged(error) from error

    def _work(self) -> None:
        while True:
            tasks = self._taken()
            if tasks:
                self._run(tasks)
            self._flush_if_due(now=not tasks)
            if not tasks and self._is_closing:
                return

    def _taken(self) -> list[_Task]:
        with self._submitted:
            self._submitted.wait_for(lambda: self._tasks or self._is_closing, self._until_flush())
            tasks: list[_Task] = []
            size = 0
            while self._tasks and (not tasks or size + self._tasks[0].size <= _MOST_TOGETHER):
                task = self._tasks.popleft()
                if task.future.set_running_or_notify_cancel():  # from now on, it cannot be cancelled
                    tasks.append(task)
                    size += task.size
            return tasks

    def _run(self, tasks: list[_Task]) -> None:
        if self._failure is not None and not self._has_recovered():
            for task in tasks:
                task.future.set_exception(self._failure)
            return
        self._added = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            done = self._changed(tasks)
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 (whatever it is, this thread must go on)
            self._fail(error, [task for task in tasks if not task.future.done()])
            return
        self._after_commit()
        with self._committed:
            if any(task.run is not None for task in tasks):
                self._recent.clear()  # which records were changed is not worth knowing
            if self._added:
                self._last = self._added[-1].position
                self._recent.add(self._added)
                self._committed.notify_all()
        for task, result in done:
            task.future.set_result(result)

    def _changed(self, tasks: list[_Task]) -> list[tuple[_Task, Any]]:
        """Perform tasks. Returns those that were not refused, with their results."""
        done: list[tuple[_Task, Any]] = []
        for run, some in itertools.groupby(tasks, lambda task: task.run):
            part = list(some)
            results = self._inserted(part) if run is None else [self._result_of(run)]
            for task, result in zip(part, results, strict=True):
                if isinstance(result, OpltError):
                    task.future.set_exception(result)
                else:
                    done.append((task, result))
        return done

    def _inserted(self, tasks: list[_Task]) -> Sequence[Any]:
        try:
            results, added = insert(self._connection, [task.records for task in tasks], self._last + len(self._added))
        except JournalError as error:  # a record of the same key is damaged; nothing was written yet
            return [error] * len(tasks)
        self._added += added
        return results

    def _result_of(self, run: Callable[[sqlite3.Connection], Any]) -> Any:
        try:
            return run(self._connection)
        except OpltError as error:  # refused, before it changed anything
            return error

    def _after_commit(self) -> None:
        if self.durability == "second" and self._unflushed_since is None:
            self._unflushed_since = time.monotonic()
        if self._has_erased:  # the log still holds what was erased from the database
            self._has_erased = False
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                _log.warning("erased records stay in the log of the journal for a while: %s", error)

    def _fail(self, error: Exception, tasks: list[_Task]) -> None:
        self._failure, self._failed_at = self._not_writable(error), time.monotonic()
        _log.error("the journal cannot be written, so nothing is accepted: %s", self._failure)
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:  # the connection is closed and replaced anyway
            _log.debug("rolling back failed", exc_info=True)
        for task in tasks:
            task.future.set_exception(self._failure)

    def _has_recovered(self) -> bool:
        """Reopen the file, and move everything from the log to the database, so that new commits start a new log."""
        if time.monotonic() - self._failed_at < _RETRY:
            return False
        self._failed_at = time.monotonic()
        try:
            self._connection.close()
            self._connection = self._open()
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if busy:
                return False
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('recovered', ?)", (str(time.time()),))
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OSError, JournalError) as error:
            _log.warning("the journal still cannot be written: %s", error)
            return False
        self._failure = None
        with self._committed:  # a commit that was reported as failed may be there nevertheless
            self._committed.notify_all()
        _log.warning("the journal can be written again, from record %d on", self._last + 1)
        return True

    def _until_flush(self) -> float | None:
        if self._unflushed_since is None:
            return None
        return max(0.0, self._unflushed_since + _FLUSH - time.monotonic())

    def _flush_if_due(self, *, now: bool) -> None:
        if self._unflushed_since is None:
            return
        if not (now and self._is_closing) and time.monotonic() - self._unflushed_since < _FLUSH:
            return
        self._unflushed_since = None
        try:
            handle = os.open(f"{self.path}-wal", os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            self._fail(error, [])

    def _not_writable(self, error: Exception) -> JournalError:
        hint = "Free some space." if "full" in str(error) else "Check the disk and the permissions."
        return JournalError(
            "journal-not-writable",
            "the journal cannot be written",
            where=str(self.path),
            got=str(error),
            hint=f"{hint} Nothing is acknowledged; repeat the request with the same key, since it may be on disk.",
        )
