# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The journal keeps what it acknowledged, in order, each key once."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt.service import journal as journal_module
from oplt.service.errors import JournalError, RefusedError
from oplt.service.journal import Durability, Journal, NewRecord
from oplt.service.lineage import Lineage, Rollback
from tests.service.running import PATIENCE


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    one = Journal(tmp_path / "journal.sqlite")
    yield one
    one.close()


def new(*contents: str, key: str | None = None) -> list[NewRecord]:
    return [NewRecord("learn", content.encode(), key and f"{key}/{i}", "ann") for i, content in enumerate(contents)]


@pytest.mark.parametrize("durability", ["full", "second", "os"])
def test_records_are_there_after_reopening(tmp_path: Path, durability: Durability) -> None:
    path = tmp_path / "journal.sqlite"
    first = Journal(path, durability)
    assert first.append(new("a", "b")).result(PATIENCE) == [1, 2]
    assert first.append(new("c")).result(PATIENCE) == [3]
    first.close()
    again = Journal(path, durability)
    assert [(r.position, r.kind, r.content, r.who) for r in again.read(1)] == [
        (2, "learn", b"b", "ann"),
        (3, "learn", b"c", "ann"),
    ]
    assert (again.last, again.first, again.id) == (3, 1, first.id)
    again.close()


def test_a_key_counts_once(journal: Journal) -> None:
    assert journal.append(new("a", "b", key="k")).result(PATIENCE) == [1, 2]
    assert journal.append(new("a", "b", "c", key="k")).result(PATIENCE) == [1, 2, 3]
    assert [record.content for record in journal.read(0)] == [b"a", b"b", b"c"]
    with pytest.raises(RefusedError) as refused:
        journal.append(new("x", "b", key="k")).result(PATIENCE)
    assert refused.value.code == "key-used-before"
    assert journal.append(new("d")).result(PATIENCE) == [4]


def test_a_key_counts_once_for_concurrent_requests(journal: Journal) -> None:
    futures = [journal.append(new("same", key="k")) for _ in range(20)]
    assert {tuple(future.result(PATIENCE)) for future in futures} == {(1,)}
    assert journal.last == 1


def test_concurrent_appends_are_whole_and_in_one_order(journal: Journal) -> None:
    found: dict[int, str] = {}

    def send(name: int) -> None:
        for i in range(25):
            texts = [f"{name}-{i}-{j}" for j in range(3)]
            found.update(zip(journal.append(new(*texts)).result(PATIENCE), texts, strict=True))

    threads = [threading.Thread(target=send, args=[name]) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = journal.read(0, limit=10_000)
    assert {record.position: (record.content or b"").decode() for record in records} == found
    assert len(found) == 8 * 25 * 3


def test_a_failed_commit_acknowledges_nothing_and_the_journal_recovers(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(new("a")).result(PATIENCE)
    pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="Free some space") as full:
        journal.append(new("x" * 100_000)).result(PATIENCE)
    assert full.value.code == "journal-not-writable"
    assert journal.failure is full.value
    monkeypatch.setattr(journal_module, "_RETRY", 1e9)
    with pytest.raises(JournalError):  # refused until it has been reopened
        journal.append(new("b")).result(PATIENCE)
    monkeypatch.setattr(journal_module, "_RETRY", 0)
    assert journal.append(new("c")).result(PATIENCE) == [2]  # a new connection has no limit
    assert journal.failure is None
    assert [record.content for record in journal.read(0)] == [b"a", b"c"]


def test_a_request_that_is_given_up_does_not_stop_others(journal: Journal) -> None:
    """A request is cancelled when it takes too long, or when the server stops; the writing thread must go on."""
    is_free, is_busy = threading.Event(), threading.Event()

    def hold(_: sqlite3.Connection) -> None:
        is_busy.set()
        is_free.wait(PATIENCE)

    held = journal._submit(journal_module._Task(Future(), run=hold))
    is_busy.wait(PATIENCE)
    waiting = journal.append(new("a"))
    assert not held.cancel()  # it is being written
    assert waiting.cancel()
    is_free.set()
    held.result(PATIENCE)
    assert journal.append(new("b")).result(PATIENCE) == [1]
    assert [record.content for record in journal.read(0)] == [b"b"]


def test_erased_records_keep_their_place(journal: Journal, tmp_path: Path) -> None:
    journal.append(new("secret-one", "b", "c")).result(PATIENCE)
    journal.note_fingerprint(2, "f2").result(PATIENCE)
    journal.append([NewRecord("forget", b"[1]")]).result(PATIENCE)
    journal.mark_forgotten([1], by=4).result(PATIENCE)
    journal.mark_forgotten([1], by=5).result(PATIENCE)  # stays as it is
    assert [(r.position, r.content, r.forgotten) for r in journal.read(0, 2)] == [(1, None, 4), (2, b"b", None)]
    assert journal.learned_positions(1, 4, 4) == [2, 3]
    assert journal.learned_positions(1, 4, 3) == [1, 2, 3]
    assert journal.fingerprint_at(2) is None
    assert b"secret-one" not in (tmp_path / "journal.sqlite-wal").read_bytes()
    journal.close()
    assert b"secret-one" not in (tmp_path / "journal.sqlite").read_bytes()


def test_trimmed_records_are_told_from_missing_ones(journal: Journal) -> None:
    journal.append(new(*"abcdef")).result(PATIENCE)
    assert journal.trim(4).result(PATIENCE) == 3
    assert (journal.first, journal.last) == (4, 6)
    assert [record.position for record in journal.read(3)] == [4, 5, 6]
    with pytest.raises(JournalError) as trimmed:
        journal.read(1)
    assert trimmed.value.code == "journal-trimmed"
    assert journal.trim(100).result(PATIENCE) == 2  # the last one stays
    assert journal.append(new("g")).result(PATIENCE) == [7]


def test_a_changed_record_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    journal = Journal(path)
    journal.append(new("hello", "world", key="k")).result(PATIENCE)
    journal.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE records SET content = 'hellO' WHERE position = 1")
    connection.close()
    journal = Journal(path)
    with pytest.raises(JournalError) as damaged:
        journal.read(0)
    assert damaged.value.code == "journal-damaged"
    assert [record.content for record in journal.read(1)] == [b"world"]
    with pytest.raises(JournalError) as damaged:  # its key was used again
        journal.append(new("hello", key="k")).result(PATIENCE)
    assert damaged.value.code == "journal-damaged"
    assert journal.append(new("again")).result(PATIENCE) == [3]
    journal.close()


@pytest.mark.parametrize("content", [b"not a database, but a text of more than a hundred bytes" * 20, b"SQLite"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    with pytest.raises(JournalError) as refused:
        Journal(path)
    assert refused.value.code == "journal-damaged"
    assert path.read_bytes() == content


def test_a_log_torn_at_every_byte_of_its_last_commit_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """The last commit is torn while it is written, before it is acknowledged; all earlier ones must be there."""
    path = tmp_path / "journal.sqlite"
    journal = Journal(path)
    journal.append(new("a", "b", key="first")).result(PATIENCE)
    log = tmp_path / "journal.sqlite-wal"
    before = log.stat().st_size
    journal.append(new("c", key="last")).result(PATIENCE)
    whole = log.read_bytes()
    assert len(whole) > before
    copy = tmp_path / "torn"
    copy.mkdir()
    shutil.copyfile(path, copy / path.name)
    torn_log = copy / "journal.sqlite-wal"
    torn_log.write_bytes(whole)
    last_page = 24 + 4096  # a frame of the log: its header and a page
    for end in [*range(len(whole), len(whole) - last_page - 1, -1), before]:
        os.truncate(torn_log, end)
        (copy / "journal.sqlite-shm").unlink(missing_ok=True)
        torn = sqlite3.connect(f"file:{copy / path.name}?mode=ro", uri=True)  # leaves the files as they are
        found = [content for (content,) in torn.execute("SELECT content FROM records ORDER BY position")]
        torn.close()
        assert found == ([b"a", b"b", b"c"] if end == len(whole) else [b"a", b"b"]), end
    journal.close()


def test_a_journal_with_a_torn_log_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    journal = Journal(path)
    journal.append(new("a", "b")).result(PATIENCE)
    journal.append(new("c")).result(PATIENCE)
    copy = tmp_path / "torn"
    copy.mkdir()
    shutil.copyfile(path, copy / path.name)
    (copy / "journal.sqlite-wal").write_bytes((tmp_path / "journal.sqlite-wal").read_bytes()[:-1])
    journal.close()
    recovered = Journal(copy / path.name)
    assert recovered.append(new("d")).result(PATIENCE) == [3]
    assert [record.content for record in recovered.read(0)] == [b"a", b"b", b"d"]
    recovered.close()


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1)), max_size=8), st.integers(0, 5))
def test_a_lineage_is_what_applying_the_records_one_by_one_gives(steps: list[tuple[int, float]], more: int) -> None:
    states: list[list[int]] = [[]]  # the records that made the model at each position
    rollbacks = []
    for n, share in steps:
        for _ in range(n):
            states.append([*states[-1], len(states)])
        target = int(share * (len(states) - 1))
        rollbacks.append(Rollback(len(states), target))
        states.append(states[target])
    for _ in range(more):
        states.append([*states[-1], len(states)])
    for position, expected in enumerate(states):
        lineage = Lineage(rollbacks, position)
        own = {rollback.position for rollback in rollbacks}
        assert [p for p in range(1, position + 1) if p in lineage and p not in own] == expected
        for earlier in range(position + 1):
            if lineage.passes(earlier):
                assert states[earlier] == expected[: len(states[earlier])]
