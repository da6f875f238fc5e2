# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The folder of a served model: how it is made from a model file, and a lock that lets one process use it.

It holds `journal.sqlite`, the folder `snapshots`, `monitoring.json`, and `source.json`, which says from which file it
was made.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from oplt.errors import ModelFormatError
from oplt.model import OnlinePLT
from oplt.persistence import replacing
from oplt.service.errors import JournalError, RefusedError
from oplt.service.snapshots import SnapshotStore

if os.name == "posix":
    import fcntl

__all__ = ["SUFFIX", "Folder", "prepare_folder", "start_empty"]

SUFFIX = ".served"


class _Source(msgspec.Struct):
    """The model file that a folder was made from, or that did not exist then."""

    path: str
    bytes: int | None = None
    mtime_ns: int | None = None


class Folder:
    """Keeps other processes from using the folder. The system releases the lock when the process ends."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        if os.name != "posix":
            return
        self._handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise JournalError(
                "folder-in-use",
                "another process uses this folder",
                where=str(path),
                hint="Stop it first: one process at a time can use it.",
            ) from None

    def close(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def prepare_folder(model: Path) -> Path:
    """Return the folder of a model: the path itself if it is one, otherwise a folder beside the model file.

    The folder is made if it does not exist; it then starts with a copy of the model, and the file is not read again.
    """
    if model.is_dir():
        if not (model / "snapshots").is_dir():
            raise ModelFormatError(
                "not-a-model-file",
                "the folder does not hold a served model",
                where=str(model),
                hint=f"Pass a file name, such as {model / 'tags.oplt'}.",
            )
        return model
    folder = model.with_name(model.name + SUFFIX)
    status = model.stat() if model.exists() or not folder.is_dir() else None  # raises if there is neither
    store = SnapshotStore(folder / "snapshots")
    if store.list():
        if status is not None:
            _expect_source(folder, model, status)
        return folder
    OnlinePLT.load(model, verify=False)  # refuses what cannot learn, before anything is copied
    store.add_file(model, 0)
    if status is not None:
        _note_source(folder, model, status)
    return folder


def start_empty(model: Path, *, texts: bool) -> Path:
    """Make the folder of a new, empty model with the default settings, unless there is one that was served."""
    folder = model.with_name(model.name + SUFFIX)
    store = SnapshotStore(folder / "snapshots")
    if not store.list() and not (folder / "journal.sqlite").exists():  # a crash may have left an unfinished folder
        _note_source(folder, model, None)
        new = OnlinePLT(features="text" if texts else None)
        store.save(new.snapshot(), 0)
    return folder


def _note_source(folder: Path, model: Path, status: os.stat_result | None) -> None:
    source = _Source(str(model.resolve()))
    if status is not None:
        source.bytes, source.mtime_ns = status.st_size, status.st_mtime_ns
    with replacing(folder / "source.json") as file:
        file.write(msgspec.json.encode(source))


def _expect_source(folder: Path, model: Path, status: os.stat_result) -> None:
    """Refuse to go on if the model file was replaced or created, since one of the two would be ignored."""
    path = folder / "source.json"
    if not path.exists():
        return
    source = msgspec.json.decode(path.read_bytes(), type=_Source)
    if (source.bytes, source.mtime_ns) != (status.st_size, status.st_mtime_ns):
        is_new = source.bytes is None
        how = "was created after oplt serve --new had created" if is_new else "has changed since it was copied to"
        raise RefusedError(
            "model-replaced",
            f"the model file {how} {folder.name}",
            where=str(model),
            hint=f"To continue with what the server has learned, serve {folder} instead. To serve the model file,"
            " remove that folder.",
        )
