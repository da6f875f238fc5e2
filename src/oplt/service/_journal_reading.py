# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How a journal is read: each thread has a connection of its own, and sees what has been committed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oplt.service._journal_file import Record, connect, rows_to_records
from oplt.service.errors import JournalError
from oplt.service.lineage import Lineage, Rollback

__all__ = ["JournalReading"]

_MOST_RECENT = 8192  # records
_MOST_BYTES = 32 << 20


class _RecentRecords:
    """The latest records, for readers that keep up. Reading them from the file would take as long as learning them."""

    def __init__(self) -> None:
        self._records: list[Record] = []  # without gaps
        self._bytes = 0

    def after(self, position: int, limit: int) -> list[Record]:
        """Return up to `limit` records that follow a position; none if they are not here."""
        begin = position + 1 - self._records[0].position if self._records else -1
        return self._records[begin : begin + limit] if begin >= 0 else []

    def add(self, records: Sequence[Record]) -> None:
        """Add records, and drop the oldest ones if there are too many."""
        self._records += records
        self._bytes += _size(records)
        if len(self._records) > _MOST_RECENT or self._bytes > _MOST_BYTES:
            self._records = self._records[-_MOST_RECENT // 2 :] if self._bytes <= _MOST_BYTES else []
            self._bytes = _size(self._records)

    def clear(self) -> None:
        """Drop all records."""
        self._records, self._bytes = [], 0


def _size(records: Sequence[Record]) -> int:
    return sum(len(record.content or b"") for record in records)


class JournalReading:
    """The part of `Journal` that reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last = 0
        self._recent = _RecentRecords()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._committed = threading.Condition()  # readers wait for records
        self._is_closing = self._is_released = False

    @property
    def last(self) -> int:
        """The position of the last durable record; 0 if there is none."""
        return self._last

    @property
    def first(self) -> int:
        """The position of the first record that is still there; 1 if there has never been any."""
        found = self._query("SELECT min(position) FROM records")[0][0]
        return int(found) if found else self.last + 1

    @property
    def id_in_file(self) -> str:
        """The id of the journal, which no other one has."""
        found = self._query("SELECT value FROM meta WHERE name = 'id'")
        if not found:
            raise self._damaged(LookupError("it has no id"))
        return str(found[0][0])

    @property
    def last_in_file(self) -> int:
        """The position of the last record, if another process writes the file; 0 if there is none."""
        return int(self._query("SELECT max(position) FROM records")[0][0] or 0)

    def read(self, after: int, limit: int = 1000) -> list[Record]:
        """Read up to `limit` records that follow a position.

        Raises
        ------
        JournalError
            If a record is missing or damaged, or was removed by the retention rule.
        """
        with self._committed:
            recent = self._recent.after(after, limit)
        if recent:
            return recent
        records = rows_to_records(self._rows(self._reader(), "position > ?", (after,), limit))
        expected = after + 1
        for record in records:
            if record.position != expected:
                is_first = expected == after + 1
                raise JournalError(
                    "journal-trimmed" if is_first else "journal-damaged",
                    "the record was removed by the retention rule" if is_first else "the record is missing",
                    where=f"{self.path}, record {expected}",
                )
            expected += 1
        return records

    def wait(self, after: int, timeout: float, *, until_released: bool = True) -> bool:
        """Wait until there is a record after a position. Returns whether there is one.

        With `until_released`, the wait also ends when the server is about to stop.
        """
        with self._committed:
            self._committed.wait_for(
                lambda: self._last > after or self._is_closing or (until_released and self._is_released), timeout
            )
            return self._last > after

    def close_readers(self) -> None:
        """Close all connections that read."""
        for connection in self._readers:
            connection.close()
        self._readers.clear()
        self._local = threading.local()

    def release_readers(self) -> None:
        """Let nobody wait for records any more, because the server is about to stop."""
        with self._committed:
            self._is_released = True
            self._committed.notify_all()

    def lineage(self, position: int) -> Lineage:
        """Return which records made the model at a position."""
        return Lineage(self.rollbacks(), position)

    def rollbacks(self) -> list[Rollback]:
        """Return all rollbacks, in order."""
        found = self._query("SELECT position, content FROM records WHERE kind = 'rollback' ORDER BY position")
        try:
            return [Rollback(position, int(content)) for position, content in found]
        except (TypeError, ValueError) as error:
            raise self._damaged(error) from error

    def learned_positions(self, since: int, until: int, forgotten_after: int) -> list[int]:
        """Return the positions of examples, except those that were forgotten by a record up to `forgotten_after`."""
        found = self._query(
            "SELECT position FROM records WHERE position BETWEEN ? AND ? AND kind = 'learn'"
            " AND (forgotten IS NULL OR forgotten > ?) ORDER BY position",
            (since, until, forgotten_after),
        )
        return [position for (position,) in found]

    def label_operations(self, until: int) -> list[tuple[int, bytes]]:
        """Return the operations on labels up to a position, without those that were erased."""
        return self._query(
            "SELECT position, content FROM records WHERE position <= ? AND kind = 'labels' AND content IS NOT NULL",
            (until,),
        )

    def forgotten_positions(self, until: int, forgotten_after: int) -> list[tuple[int, int]]:
        """Return the records up to a position that a record after `forgotten_after` erased, each with that record."""
        return self._query(
            "SELECT position, forgotten FROM records WHERE forgotten > ? AND position <= ?", (forgotten_after, until)
        )

    def fingerprints(self, limit: int = 100) -> list[tuple[int, str]]:
        """Return the latest fingerprints that were noted, latest first."""
        return self._query("SELECT position, fingerprint FROM fingerprints ORDER BY position DESC LIMIT ?", (limit,))

    def fingerprint_at(self, position: int) -> str | None:
        """Return the noted fingerprint at a position, if there is one."""
        found = self._query("SELECT fingerprint FROM fingerprints WHERE position = ?", (position,))
        return str(found[0][0]) if found else None

    def _rows(self, connection: sqlite3.Connection, where: str, values: tuple[Any, ...], limit: int = -1) -> list[Any]:
        query = f"SELECT * FROM records WHERE {where} ORDER BY position LIMIT ?"  # noqa: S608 (`where` is ours)
        try:
            return connection.execute(query, (*values, limit)).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _query(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._reader().execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _reader(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = connect(self.path)
            found.execute("PRAGMA query_only = ON")
            with self._committed:
                self._readers.append(found)
        return found

    def _damaged(self, error: Exception) -> JournalError:
        return JournalError(
            "journal-damaged",
            "the journal cannot be read",
            where=str(self.path),
            got=str(error),
            hint="Restore the folder from a copy, or start anew from a snapshot.",
        )
