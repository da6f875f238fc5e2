# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The file of a journal: its tables, and records as rows with a checksum."""

from __future__ import annotations

import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from oplt.service.errors import JournalError, RefusedError

__all__ = ["NewRecord", "Record", "connect", "expect_whole", "insert", "prepare", "read_last", "rows_to_records"]

_FORMAT = "1"
_CHECKED = 1 << 28  # bytes of the largest file that is checked as a whole when it is opened
_BUSY = 10.0  # seconds; readers never hold the file for long

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    position INTEGER PRIMARY KEY, kind TEXT NOT NULL, content BLOB, key TEXT, who TEXT, time REAL NOT NULL,
    forgotten INTEGER, checksum INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS keys ON records (key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS rollbacks ON records (position) WHERE kind = 'rollback';
CREATE INDEX IF NOT EXISTS forgotten ON records (forgotten) WHERE forgotten IS NOT NULL;
CREATE TABLE IF NOT EXISTS fingerprints (position INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL);
"""


@dataclass(frozen=True)
class NewRecord:
    """Something to append: an example, or an operation on the model.

    Parameters
    ----------
    kind
        ``learn`` (the content is an example), ``forget`` (positions), ``rollback`` (a position) or ``labels`` (an
        operation on labels).
    content
        Bytes whose meaning depends on the kind.
    key
        The idempotency key: a second record with the same key is not appended.
    who
        The name of the token that sent it.
    """

    kind: str
    content: bytes
    key: str | None = None
    who: str | None = None


class Record(NamedTuple):
    """A record of the journal."""

    position: int
    kind: str
    content: bytes | None  # None: erased
    key: str | None
    who: str | None
    time: float  # seconds since 1970
    forgotten: int | None = None  # the record that erased this one

    @property
    def checksum(self) -> int:
        """A checksum of all fields; SQLite itself has none."""
        fields = f"{self.position}|{self.kind}|{self.key}|{self.who}|{self.time!r}|{self.forgotten}|"
        return zlib.crc32(self.content or b"", zlib.crc32(fields.encode(errors="surrogatepass")))

    def erased(self, by: int) -> Record:
        """Copy the record without its content."""
        return self._replace(content=None, forgotten=by)

    def row(self) -> tuple[Any, ...]:
        """Make the row of the table."""
        return (*self, self.checksum)


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that leaves transactions to the caller and may be closed by any thread."""
    return sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)


def expect_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Check the structure of a file, so that no damage makes records disappear unnoticed.

    It takes about 0.3 s per 100 MB. Larger files are only checked where they are read: the checksum of each record, and
    that none is missing between two others.
    """
    if path.stat().st_size > _CHECKED:
        return
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)


def prepare(
    connection: sqlite3.Connection, path: Path, *, synchronous: str, identity: str | None = None, begin: int = 0
) -> None:
    """Set up the writing connection, and create the tables of a new file, which starts after position `begin`."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.executescript(_TABLES)
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (_FORMAT,))
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('id', ?)", (identity or uuid.uuid4().hex,))
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('begin', ?)", (str(begin),))
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()[0]
    if found != _FORMAT:
        raise JournalError(
            "journal-version-unknown",
            "the journal has a format that this version of oplt does not know",
            where=str(path),
            got=found,
            hint="Install a newer oplt.",
        )


def read_last(connection: sqlite3.Connection) -> int:
    """Return the position of the last record; that before the first one if there is none."""
    last = connection.execute("SELECT max(position) FROM records").fetchone()[0]
    if last is not None:
        return int(last)
    return int(connection.execute("SELECT value FROM meta WHERE name = 'begin'").fetchone()[0])


def insert(connection: sqlite3.Connection, records: Sequence[NewRecord], added: list[int]) -> list[int]:
    """Insert the records whose keys are new. Returns the positions of all; those of new ones are added to `added`."""
    known = {record.key: _position_of(connection, record) for record in records if record.key is not None}
    position = read_last(connection)
    now = time.time()
    positions, rows = [], []
    for record in records:
        before = known.get(record.key) if record.key is not None else None
        if before is not None:
            positions.append(before)
            continue
        position += 1
        if record.key is not None:
            known[record.key] = position
        positions.append(position)
        rows.append(Record(position, record.kind, record.content, record.key, record.who, now).row())
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    if rows:
        added.append(position)
    return positions


def _position_of(connection: sqlite3.Connection, record: NewRecord) -> int | None:
    query = "SELECT position, kind, content FROM records WHERE key = ?"
    found = connection.execute(query, (record.key,)).fetchone()
    if found is None:
        return None
    position, kind, content = found
    if content is not None and (kind, content) != (record.kind, record.content):
        raise RefusedError(
            "key-used-before",
            f"the idempotency key was used for record {position}, which is different",
            got=repr(record.key),
            hint="Use a new key for each example; send the same key only to repeat a request.",
        )
    return int(position)


def rows_to_records(rows: Iterable[tuple[Any, ...]]) -> list[Record]:
    """Make records of rows, and verify them."""
    records = []
    for position, kind, content, key, who, when, forgotten, checksum in rows:
        record = Record(position, kind, content, key, who, when, forgotten)
        if not isinstance(content, bytes | None) or record.checksum != checksum:
            raise JournalError(
                "journal-damaged",
                "the checksum of a record does not match",
                where=f"record {position} of the journal",
                hint="Restore the folder from a copy, or start anew from a snapshot.",
            )
        records.append(record)
    return records
