# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A damaged journal: a clear error, or the same model. Never another one that nobody notices."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from oplt.labels import LabelOperation
from oplt.service import _journal_file
from oplt.service.errors import JournalError
from oplt.service.journal import Journal
from oplt.service.served_model import ServedModel
from tests.service.running import PATIENCE, learn_all, new_folder, served, stream, until

N_TRIALS = 1500
N_SERVED = 40
PAGE = 4096


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder whose journal holds records of all kinds, and only the first snapshot."""
    examples = stream(300, key="k")
    folder = new_folder(tmp_path_factory.mktemp("damage"))
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, examples[:200])
        model.change_labels(LabelOperation("hide", str(examples[0].labels[0]))).result(PATIENCE)
        position = model.snapshot().result(PATIENCE).position
        learn_all(model, examples[200:250])
        model.forget([3, 7]).result(PATIENCE)
        model.roll_back(position).result(PATIENCE)
        learn_all(model, examples[250:])
        until(lambda: model.learned == model.journal.last)
        for info in model.snapshots.list()[1:]:
            model.snapshots.remove(info)
    assert [path.name for path in folder.glob("journal*")] == ["journal.sqlite"]
    return folder


def damaged(whole: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Damage a file: a bit, a byte, a lost page, two pages that changed places, a lost end."""
    content = bytearray(whole)
    page = PAGE * rng.randrange(len(content) // PAGE)
    place = page + rng.randrange(100) if rng.random() < 0.4 else rng.randrange(len(content))  # headers matter most
    kind = rng.choice(["bit", "bit", "byte", "zeros", "pages", "cut"])
    if kind == "bit":
        content[place] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        content[place] = rng.randrange(256)
    elif kind == "zeros":
        content[page : page + PAGE] = bytes(PAGE)
    elif kind == "pages":
        other = PAGE * rng.randrange(len(content) // PAGE)
        content[page : page + PAGE], content[other : other + PAGE] = (
            content[other : other + PAGE],
            content[page : page + PAGE],
        )
    else:
        del content[place:]
    return kind, bytes(content)


def everything_in(path: Path) -> list[object]:
    journal = Journal(path, "os")
    try:
        records = journal.read(0, 10_000)
        rollbacks = [(one.position, one.target) for one in journal.rollbacks()]
        return [journal.last, records, rollbacks, journal.forgotten_positions(10_000, 0)]
    finally:
        journal.close()


def test_what_is_read_from_a_damaged_file_is_right(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "journal.sqlite").read_bytes()
    path = tmp_path / "journal.sqlite"
    path.write_bytes(whole)
    expected = everything_in(path)
    rng = random.Random(7)  # noqa: S311 (not a secret)
    seen: Counter[str] = Counter()
    codes: set[str] = set()
    for _ in range(N_TRIALS):
        kind, content = damaged(whole, rng)
        if not content:
            continue
        for old in tmp_path.glob("journal*"):
            old.unlink()
        path.write_bytes(content)
        try:
            found = everything_in(path)
        except JournalError as error:
            codes.add(error.code)
            seen["reported"] += 1
        else:
            assert found == expected, kind
            seen["unharmed"] += 1  # free space, or something that is not read
    assert codes <= {"journal-damaged", "journal-not-writable", "journal-version-unknown"}
    assert min(seen["reported"], seen["unharmed"]) > N_TRIALS // 20, seen


def test_a_server_never_has_another_model(folder: Path, tmp_path: Path) -> None:
    with served(folder, snapshot_at_end=False) as model:
        until(lambda: model.is_ready)
        expected = model.model.fingerprint()
    whole = (folder / "journal.sqlite").read_bytes()
    rng = random.Random(11)  # noqa: S311 (not a secret)
    seen: Counter[str] = Counter()
    for trial in range(N_SERVED):
        copy = tmp_path / f"{trial}"
        shutil.copytree(folder, copy)
        kind, content = damaged(whole, rng)
        (copy / "journal.sqlite").write_bytes(content)
        outcome = outcome_of(copy)
        assert outcome in (expected, "journal-damaged", "journal-not-writable"), (trial, kind)
        seen["same" if outcome == expected else "reported"] += 1
        shutil.rmtree(copy)
    assert seen["reported"] > 0


def outcome_of(folder: Path) -> str:
    """Serve a folder. Returns the code of the error, or the fingerprint of the model when it is ready."""
    try:
        with served(folder, snapshot_at_end=False) as model:
            deadline = time.monotonic() + PATIENCE
            while not model.is_ready and model.learner.failure is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            return model.learner.failure.code if model.learner.failure is not None else model.model.fingerprint()
    except JournalError as error:
        return error.code


@pytest.mark.parametrize("content", [b"", None])
def test_a_journal_that_is_gone_is_not_begun_anew(folder: Path, tmp_path: Path, content: bytes | None) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with served(copy) as model:
        until(lambda: model.is_ready)
        last = model.journal.last
    if content is None:
        (copy / "journal.sqlite").unlink()
    else:
        (copy / "journal.sqlite").write_bytes(content)
    with pytest.raises(JournalError, match=f"the journal is empty, but there is a snapshot of position {last}"):
        ServedModel(copy)


def test_a_large_journal_is_checked_where_it_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_journal_file, "_CHECKED", 0)
    path = tmp_path / "journal.sqlite"
    content = bytearray((folder / "journal.sqlite").read_bytes())
    place = content.index(b'"labels"', len(content) // 2)
    content[place + 1] ^= 1
    path.write_bytes(content)
    journal = Journal(path)
    with pytest.raises(JournalError) as error:
        journal.read(0, 10_000)
    journal.close()
    assert error.value.code == "journal-damaged"
