# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Journals as streams: the journal of an ``oplt serve``, or a file of messages of its own. They need no broker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from oplt.errors import InvalidParameterError
from oplt.service._journal_reading import JournalReading
from oplt.service.errors import JournalError
from oplt.service.journal import Journal, NewRecord, Record
from oplt.streams._address import Address
from oplt.streams._interface import START, Message, Output, StreamError, messages_lost

__all__ = ["JournalSink", "JournalSource", "make_sink", "make_source"]

_FILE = "journal.sqlite"
_KIND = "message"  # of the records that a sink appends
_POLL = 0.05  # seconds between two looks at a journal, which another process writes


def make_source(address: Address) -> JournalSource:
    """Make a source."""
    address.expect_options()
    return JournalSource(Path(address.name))


def make_sink(address: Address) -> JournalSink:
    """Make a sink."""
    address.expect_options()
    return JournalSink(Path(address.name))


class JournalSource:
    """A journal, which a server or a sink may be writing in another process.

    Parameters
    ----------
    path
        The file, or the folder of a served model.
    """

    def __init__(self, path: Path) -> None:
        self._path = path / _FILE if path.is_dir() else path
        if not self._path.is_file():
            raise InvalidParameterError(
                "stream-not-found",
                "there is no such journal",
                where=f"journal:{path}",
                hint="Pass the folder of a served model, MODEL.served, or a journal file.",
            )
        self._journal = JournalReading(self._path)
        self.name = f"journal {self._journal.id_in_file}"
        self._position = 0
        self._is_new = True  # nothing was read yet: begin with the first record that is there
        self._skip_lost = False

    def open(self, position: str, proof: str, *, skip_lost: bool = False) -> None:  # noqa: ARG002 (the id is the name)
        """Continue after a position."""
        self._skip_lost = skip_lost
        self._is_new = position == START
        self._position = 0 if self._is_new else int(position)
        last = self._journal.last_in_file
        if last < self._position and not skip_lost:
            what = f"the journal ends with record {last:,}, but the model has learned up to {self._position:,}"
            raise messages_lost(what, str(self._path))
        self._position = min(self._position, last)
        for rollback in self._journal.rollbacks():
            if rollback.position > self._position:  # it undoes records before it: stop before they are learned
                raise self._not_followed(rollback.position, "is of the kind 'rollback'")

    def read(self, limit: int, wait: float) -> Sequence[Message]:
        """Read the next messages."""
        deadline = time.monotonic() + wait
        while True:
            records = self._records(limit)
            left = deadline - time.monotonic()
            if records or left <= 0:
                break
            time.sleep(min(_POLL, left))
        messages = [self._message(record) for record in records]
        if messages:
            self._position, self._is_new = records[-1].position, False
        return messages

    def _records(self, limit: int) -> list[Record]:
        if self._is_new:
            self._position = self._journal.first - 1
        try:
            return self._journal.read(self._position, limit)
        except JournalError as error:
            if error.code != "journal-trimmed":
                raise StreamError(error.code, error.what, where=error.where, got=error.got, hint=error.hint) from None
            if not self._skip_lost:
                what = f"the records after {self._position:,} were removed before they were learned"
                raise messages_lost(what, str(self._path)) from None
            self._position = self._journal.first - 1
            return self._journal.read(self._position, limit)

    def _message(self, record: Record) -> Message:
        if record.kind not in ("learn", _KIND) or record.content is None:
            what = f"is of the kind {record.kind!r}" if record.content is not None else "was erased"
            raise self._not_followed(record.position, what)
        return Message(str(record.position), record.content)

    def _not_followed(self, position: int, what: str) -> StreamError:
        return StreamError(
            "record-not-followed",
            f"the record {what}, but only examples can be learned from a journal",
            where=f"{self._path}, record {position}",
            hint="To do all that the server does, follow it: oplt serve --follow URL.",
        )

    def note_saved(self, position: str) -> None:
        """Do nothing: a server does not need to know who reads its journal."""

    def close(self) -> None:
        """Close the file."""
        self._journal.close_readers()


class JournalSink:
    """A journal file of messages. A repetition is recognized by its key: each output is there once.

    Parameters
    ----------
    path
        The file, which is created if it does not exist. It cannot be the journal of a server.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir() or (path.parent / "snapshots").is_dir():
            raise InvalidParameterError(
                "sink-used-otherwise",
                "the journal of a server can only be written by the server",
                where=f"journal:{path}",
                hint="Pass a file of its own, or send examples to the server: oplt learn --server URL.",
            )
        self._journal = Journal(path)

    def check(self) -> None:
        """Do nothing: the file was opened for writing when the sink was made."""

    def publish(self, outputs: Sequence[Output]) -> None:
        """Append messages."""
        self._journal.append([NewRecord(_KIND, output.body, key=output.key) for output in outputs]).result()

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
