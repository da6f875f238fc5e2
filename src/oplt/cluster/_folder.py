# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The folder of a sharded model: the files of its parts, a journal of what was learned since, and a manifest.

The manifest says which files belong together and how far they go in the journal. It is replaced atomically after all
of them have been written, so a crash at any time leaves a manifest whose files exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from oplt.cluster._parts import Source
from oplt.errors import ModelFormatError
from oplt.persistence import replacing
from oplt.service.folder import Folder
from oplt.service.journal import Journal

__all__ = ["Manifest", "ModelFolder"]

_MANIFEST = "manifest.json"
_JOURNAL = "journal.sqlite"
_PART = re.compile(r"(top|shard-\d+)-\d+\.oplt")
_OWN = re.compile(rf"lock|{_JOURNAL}(-wal|-shm)?|\.oplt-.*\.tmp|{_PART.pattern}")  # what a crash may leave
_FORMAT = 1


class Manifest(msgspec.Struct, frozen=True):
    """Which files make up the model, and which records of the journal they include."""

    n_shards: int
    top: str  # the top of the model, or the whole model as long as it has not been cut
    sources: list[list[Source]]  # by shard; none if the model has not been cut
    position: int  # in the journal
    generation: int  # the largest number in the name of a file so far
    format: int = _FORMAT


class ModelFolder:
    """The folder of a sharded model. One process at a time uses it; the system releases the lock when it ends."""

    def __init__(self, path: Path, *, is_new: bool) -> None:
        path = path.resolve()  # other processes have other working directories
        if is_new:
            path.mkdir(parents=True, exist_ok=True)
        exists = (path / _MANIFEST).exists()
        if is_new and (exists or not all(_OWN.fullmatch(one.name) for one in path.iterdir())):
            raise ModelFormatError(
                "folder-not-empty",
                "the folder for a new sharded model must be empty",
                where=str(path),
                hint="Choose another folder, or continue with ShardedPLT.open." if exists else "Choose another folder.",
            )
        if not is_new and not exists:
            raise ModelFormatError(
                "not-a-model-file",
                "the folder does not hold a sharded model",
                where=str(path),
                hint="ShardedPLT(folder=...) makes one.",
            )
        self.path = path
        self._lock = Folder(path)
        try:
            self.manifest = self._read() if exists else None
            self.journal = Journal(path / _JOURNAL)
        except BaseException:
            self._lock.close()
            raise
        self._number = self.manifest.generation if self.manifest else 0

    def next_files(self, n_shards: int) -> tuple[str, list[str]]:
        """Return names for the file of the top, and for those of the shards, that no file of this model has had."""
        self._number += 1
        return f"top-{self._number}.oplt", [f"shard-{i}-{self._number}.oplt" for i in range(n_shards)]

    def commit(
        self, top: str, sources: list[list[Source]], n_shards: int, position: int, in_use: Iterable[str] = ()
    ) -> None:
        """Write the manifest; the files include the records up to a position. Removes what is not needed any more.

        Files that are in use stay, because shards on other machines may have mapped them: not every network file system
        keeps a file that has been removed.
        """
        self._write(Manifest(n_shards, top, sources, position, self._number))
        self.journal.trim(position).result()
        kept = {top, *in_use, *(one.file for own in sources for one in own)}
        for path in self.path.iterdir():
            if _PART.fullmatch(path.name) and path.name not in kept:  # the user may keep other files here
                path.unlink(missing_ok=True)

    def assign(self, sources: list[list[Source]]) -> None:
        """Change only which shard has which subtrees."""
        assert self.manifest is not None  # noqa: S101 (a model that has been cut has one)
        self._write(msgspec.structs.replace(self.manifest, sources=sources, n_shards=len(sources)))

    def close(self) -> None:
        """Close the journal and release the lock."""
        self.journal.close()
        self._lock.close()

    def _read(self) -> Manifest:
        path = self.path / _MANIFEST
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
        except msgspec.MsgspecError as error:
            raise ModelFormatError("model-damaged", f"the manifest is not valid: {error}", where=str(path)) from None
        if manifest.format != _FORMAT:
            raise ModelFormatError(
                "format-version-unknown",
                "the folder has a format that this version of oplt does not know",
                where=str(path),
                got=str(manifest.format),
                hint="Install a newer oplt.",
            )
        return manifest

    def _write(self, manifest: Manifest) -> None:
        with replacing(self.path / _MANIFEST) as file:
            file.write(msgspec.json.encode(manifest))
        self.manifest = manifest
