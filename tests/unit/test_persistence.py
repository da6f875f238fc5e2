# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import os
import pickle
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from oplt import PLT, InvalidInputError, InvalidParameterError, ModelFormatError, OnlinePLT, OpltError, persistence
from oplt.datasets import make_stream


@pytest.fixture
def model() -> OnlinePLT:
    model = OnlinePLT(arity=2, max_leaves=3, policy="random", seed=5)
    for x, labels in make_stream(200, n_labels=40, seed=3):
        model.learn_one(x, labels)
    return model


def test_a_loaded_model_goes_on_as_if_never_saved(model: OnlinePLT, tmp_path: Path) -> None:
    model.save(tmp_path / "m.oplt")
    loaded = OnlinePLT.load(tmp_path / "m.oplt")
    assert loaded.settings == model.settings
    for x, labels in make_stream(200, n_labels=80, seed=4):
        model.learn_one(x, labels)
        loaded.learn_one(x, labels)
    assert loaded.fingerprint() == model.fingerprint()


def test_equal_models_write_equal_files(model: OnlinePLT, tmp_path: Path) -> None:
    model.save(tmp_path / "a")
    OnlinePLT.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_empty_model_can_be_saved(tmp_path: Path) -> None:
    OnlinePLT().save(tmp_path / "m")
    assert OnlinePLT.load(tmp_path / "m").fingerprint() == OnlinePLT().fingerprint()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal_and_apart(model: OnlinePLT, duplicate) -> None:  # noqa: ANN001 (a function of a model)
    other = duplicate(model)
    assert other.fingerprint() == model.fingerprint()
    other.learn_one({"a": 1.0}, "new")
    assert other.n_labels == model.n_labels + 1


@pytest.mark.parametrize("keep", [0, 4, 8, 30, 200, -40, -1])
def test_a_cut_off_file_is_refused(model: OnlinePLT, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "m.oplt"
    model.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelFormatError, match=r"m\.oplt: "):
        OnlinePLT.load(path)


# With a memory, the file is ten times as large.
@pytest.mark.parametrize(("label_memory", "step"), [(0, 7), (512, 61), pytest.param(0, 1, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed(tmp_path: Path, label_memory: int, step: int) -> None:
    small = OnlinePLT(label_memory=label_memory)
    small.learn_many([{"a": 1.0}, {"b": 2.0}], ["x", "y"])
    path = tmp_path / "m.oplt"
    small.save(path)
    whole = path.read_bytes()
    for i in range(0, len(whole), step):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x20]) + whole[i + 1 :])
        with pytest.raises(ModelFormatError):
            OnlinePLT.load(path)


def test_a_newer_format_is_refused_saying_so(model: OnlinePLT, tmp_path: Path) -> None:
    path = tmp_path / "m.oplt"
    model.save(path)
    data = bytearray(path.read_bytes())
    data[8] = 99
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match="m.oplt: the file has format version 99, .*a newer one") as raised:
        OnlinePLT.load(path)
    assert raised.value.code == "format-version-unknown"


@pytest.mark.parametrize("settings", [b"[]", b'{"kind": "online", "settings": []}', b"[" * 100_000])
def test_settings_that_are_none_are_reported_as_damage(model: OnlinePLT, settings: bytes) -> None:
    content = bytearray()
    model._core.snapshot().save(settings, content.extend)
    with pytest.raises(ModelFormatError, match="the settings in the file are not valid"):
        persistence.from_bytes(content)


def test_another_file_is_not_overwritten(model: OnlinePLT, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("precious")
    with pytest.raises(InvalidInputError, match="is not an oplt model"):
        model.save(path)
    assert path.read_text() == "precious"


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    model: OnlinePLT, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.oplt"
    model.save(path)
    old = path.read_bytes()
    model.learn_one({"a": 1.0}, "new")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["m.oplt"]


def test_saving_again_keeps_the_permissions(model: OnlinePLT, tmp_path: Path) -> None:
    path = tmp_path / "m.oplt"
    model.save(path)
    path.chmod(0o640)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_saving_again_keeps_the_owner(model: OnlinePLT, tmp_path: Path) -> None:
    path = tmp_path / "m.oplt"
    model.save(path)
    os.chown(path, 1000, 1000)
    model.save(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1000, 1000)


def test_saves_to_one_file_at_the_same_time_all_succeed(model: OnlinePLT, tmp_path: Path) -> None:
    path = tmp_path / "m.oplt"
    snapshot = model.snapshot()
    with ThreadPoolExecutor(4) as pool:
        for saved in [pool.submit(snapshot.save, path) for _ in range(400)]:
            saved.result()
    assert [file.name for file in tmp_path.iterdir()] == ["m.oplt"]
    assert PLT.load(path).fingerprint() == snapshot.fingerprint()


def test_a_folder_is_not_a_target(model: OnlinePLT, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="pass the path of a file"):
        model.save(tmp_path)


def test_an_empty_file_is_a_target(model: OnlinePLT, tmp_path: Path) -> None:
    (tmp_path / "m.oplt").touch()
    model.save(tmp_path / "m.oplt")
    assert PLT.load(tmp_path / "m.oplt").n_labels == model.n_labels


def test_a_snapshot_is_saved_in_the_background_too(model: OnlinePLT, tmp_path: Path) -> None:
    snapshot = model.snapshot()
    snapshot.save(tmp_path / "m.oplt", wait=False).result()
    assert PLT.load(tmp_path / "m.oplt").fingerprint() == snapshot.fingerprint()


def test_flags_are_checked(model: OnlinePLT, tmp_path: Path) -> None:
    model.save(tmp_path / "m.oplt")
    with pytest.raises(InvalidParameterError, match="verify must be True or False, got 'no'"):
        PLT.load(tmp_path / "m.oplt", verify=cast("bool", "no"))
    with pytest.raises(InvalidParameterError, match="wait must be True or False, got 0"):
        model.save(tmp_path / "m.oplt", wait=cast("Any", 0))


def test_a_missing_folder_is_named(model: OnlinePLT, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist.*nowhere"):
        model.save(tmp_path / "nowhere" / "m.oplt")


def test_a_link_stays_a_link(model: OnlinePLT, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert OnlinePLT.load(tmp_path / "file").fingerprint() == model.fingerprint()


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        OnlinePLT.load(tmp_path / "none")


def test_errors_of_the_library_have_one_base() -> None:
    assert issubclass(ModelFormatError, OpltError)
    assert issubclass(InvalidInputError, (OpltError, ValueError))
