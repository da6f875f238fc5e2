# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A start continues from the right snapshot, whatever ended the server before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from oplt import OnlinePLT
from oplt.service.errors import JournalError, NotFoundError, RefusedError
from oplt.service.served_model import ServedModel
from tests.service.running import PATIENCE, learn_all, new_folder, served, stream, twin_of, until

EXAMPLES = stream(1500)


def test_what_a_snapshot_lacks_is_replayed(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, EXAMPLES[:400])
        model.snapshot().result(PATIENCE)
        learn_all(model, EXAMPLES[400:])
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == twin_of(EXAMPLES).fingerprint()


def test_a_damaged_snapshot_falls_back_to_the_one_before(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    with served(folder) as model:
        learn_all(model, EXAMPLES[:300])
        model.snapshot().result(PATIENCE)
        learn_all(model, EXAMPLES[300:600])
    newest = folder / "snapshots" / f"{600:016d}.oplt"
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == twin_of(EXAMPLES[:600]).fingerprint()
        assert newest.with_suffix(".damaged").exists()


def test_an_unfinished_new_folder_is_finished(tmp_path: Path) -> None:
    (tmp_path / "model.oplt.served" / "snapshots").mkdir(parents=True)  # killed during the first start
    with served(new_folder(tmp_path)) as model:
        assert model.is_ready


def test_without_any_good_snapshot_it_says_so(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    for path in (folder / "snapshots").glob("*.oplt"):
        path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(JournalError) as refused:
        ServedModel(folder)
    assert refused.value.code == "snapshot-missing"


def test_retention_keeps_what_recovery_needs(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    with served(folder, keep_snapshots=2, keep_journal=50) as model:
        for begin in range(0, 1000, 200):
            learn_all(model, EXAMPLES[begin : begin + 200])
            model.snapshot().result(PATIENCE)
        until(lambda: model.journal.first == 801)
        assert [info.position for info in model.snapshots.list()] == [0, 800, 1000]
        with pytest.raises(RefusedError) as refused:  # the next start could not continue from there
            model.roll_back(0)
        assert refused.value.code == "journal-trimmed"
        with pytest.raises(NotFoundError) as missing:
            model.forget([3])
        assert missing.value.code == "no-such-position"
    (folder / "snapshots" / f"{1000:016d}.oplt").write_bytes(b"damaged")
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == twin_of(EXAMPLES[:1000]).fingerprint()


def test_a_snapshot_of_records_that_the_journal_lost_is_never_used(tmp_path: Path) -> None:
    """After a power failure, with a durability other than `full`, the journal may end before the last snapshot."""
    folder = new_folder(tmp_path)
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, EXAMPLES[:200])
        model.snapshot().result(PATIENCE)
        learn_all(model, EXAMPLES[200:300])
    shutil.copytree(folder, tmp_path / "earlier.served")
    with served(folder) as model:
        learn_all(model, EXAMPLES[300:400])
    for path in (folder / "snapshots").glob(f"{400:016d}.*"):
        shutil.copy(path, tmp_path / "earlier.served" / "snapshots")
    folder = tmp_path / "earlier.served"
    expected = twin_of(EXAMPLES[:300] + EXAMPLES[600:750]).fingerprint()
    with served(folder, snapshot_at_end=False) as model:
        until(lambda: model.is_ready)
        learn_all(model, EXAMPLES[600:750])
        assert model.model.fingerprint() == expected
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == expected


@pytest.mark.parametrize("can_write", [True, False])
def test_forgetting_is_complete_if_the_server_is_stopped_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_write: bool
) -> None:
    folder = new_folder(tmp_path)
    forget = OnlinePLT.forget
    with served(folder) as model:
        learn_all(model, EXAMPLES[:200])
        model.snapshot().result(PATIENCE)

        def forget_and_stop(own: OnlinePLT, numbers: list[int]) -> None:
            forget(own, numbers)
            model.learner._is_closing.set()

        def fail(*_: object) -> None:
            raise JournalError("journal-not-writable", "the journal cannot be written")

        with monkeypatch.context() as patch:
            patch.setattr(OnlinePLT, "forget", forget_and_stop)
            if not can_write:
                patch.setattr(model.journal, "mark_forgotten", fail)
            model.forget([5]).result(PATIENCE)
            model.learner._thread.join(PATIENCE)
    with served(folder) as model:
        model.learner.when_learned(201).result(PATIENCE)
        assert model.journal.read(4, 1)[0].forgotten == 201
        assert model.model.fingerprint() == twin_of(EXAMPLES[:4] + EXAMPLES[5:200]).fingerprint()
