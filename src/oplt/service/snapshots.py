# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Snapshots of a served model: model files that know their position in the journal.

A snapshot consists of a model file and, written after it, a JSON file with its position and fingerprint. A model file
without one is not a snapshot, so a crash at any time leaves either a whole snapshot or none.
"""

from __future__ import annotations

import logging
import shutil
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from oplt.errors import ModelFormatError
from oplt.model import OnlinePLT
from oplt.persistence import replacing
from oplt.plt import PLT

__all__ = ["SnapshotInfo", "SnapshotStore"]

_log = logging.getLogger(__name__)


class SnapshotInfo(msgspec.Struct, frozen=True):
    """A snapshot: the model after the record at `position`."""

    position: int
    fingerprint: str
    n_examples: int
    n_labels: int
    bytes: int
    time: float  # seconds since 1970


class SnapshotStore:
    """The folder of a model's snapshots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def list(self) -> list[SnapshotInfo]:
        """Return all snapshots, oldest first."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                info = msgspec.json.decode(path.read_bytes(), type=SnapshotInfo)
            except (OSError, msgspec.MsgspecError) as error:
                _log.warning("%s is not readable, so this snapshot is ignored: %s", path, error)
                continue
            if self.path(info.position).is_file():
                found.append(info)
        return sorted(found, key=lambda info: info.position)

    def at(self, position: int) -> SnapshotInfo | None:
        """Return the snapshot at a position, if there is one."""
        return next((info for info in self.list() if info.position == position), None)

    def path(self, position: int) -> Path:
        """Return the path of the model file."""
        return self.folder / f"{position:016d}.oplt"

    def save(self, state: PLT, position: int) -> SnapshotInfo:
        """Write a snapshot."""
        path = self.path(position)
        state.save(path)
        return self._described(state, position)

    def add_file(self, source: Path, position: int) -> SnapshotInfo:
        """Copy a model file, and make it a snapshot."""
        with source.open("rb") as read, replacing(self.path(position)) as written:
            shutil.copyfileobj(read, written, 1 << 20)
        return self._described(PLT.load(self.path(position)), position)

    def _described(self, state: PLT, position: int) -> SnapshotInfo:
        size = self.path(position).stat().st_size
        info = SnapshotInfo(position, state.fingerprint(), state.n_examples, state.n_labels, size, time.time())
        with replacing(self._side(position)) as file:
            file.write(msgspec.json.encode(info))
        return info

    def load(self, info: SnapshotInfo, threads: int) -> OnlinePLT | None:
        """Open a snapshot, to continue learning; None if it is damaged, in which case it is put aside."""
        path = self.path(info.position)
        try:
            return OnlinePLT.load(path, threads=threads)  # which verifies the checksums of the file
        except (ModelFormatError, OSError) as error:
            why = str(error)
        _log.error("snapshot %d is damaged and is not used: %s", info.position, why)
        with suppress(OSError):
            self.put_aside(info, "damaged")
        return None

    def put_aside(self, info: SnapshotInfo, why: str) -> None:
        """Rename the model file, so that it is no snapshot any more, but can be looked at."""
        path = self.path(info.position)
        path.rename(path.with_suffix(f".{why}"))
        self._side(info.position).unlink(missing_ok=True)

    def remove(self, info: SnapshotInfo) -> None:
        """Delete a snapshot."""
        self._side(info.position).unlink(missing_ok=True)
        self.path(info.position).unlink(missing_ok=True)

    def _side(self, position: int) -> Path:
        return self.path(position).with_suffix(".json")
