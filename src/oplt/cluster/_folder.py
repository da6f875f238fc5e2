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

from oplt.cluster._parts import RESTORE, Source
from oplt.errors import ModelFormatError
from oplt.persistence import replacing
from oplt.service.errors import JournalError
from oplt.service.folder import Folder
from oplt.service.journal import Journal

__all__ = ["Manifest", "ModelFolder"]

_MANIFEST = "manifest.json"
_JOURNAL = "journal.sqlite"
_PART = re.compile(r"(top|shard-\d+)-\d+\.oplt")
# What a crash may leave before there is a manifest. Parts with later numbers are those of a model that had one.
_UNFINISHED = re.compile(rf"lock|{_JOURNAL}(-wal|-shm)?|\.oplt-.*\.tmp|(top|shard-\d+)-1\.oplt")
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
        if path.exists() and not path.is_dir():
            raise ModelFormatError(
                "not-a-model-file",
                "a sharded model needs a folder, and this is a file",
                where=str(path),
                hint="To distribute a model file: ShardedPLT.from_model(OnlinePLT.load(file), folder=...).",
            )
        if is_new:
            path.mkdir(parents=True, exist_ok=True)
        exists = (path / _MANIFEST).exists()
        if is_new and (exists or not all(_UNFINISHED.fullmatch(one.name) for one in path.iterdir())):
            raise _not_empty(path, has_model=exists)
        if not is_new and not exists:
            raise ModelFormatError(
                "not-a-model-file",
                "the folder does not hold a sharded model" if path.exists() else "there is no such folder",
                where=str(path),
                hint="Pass the folder that ShardedPLT(folder=...) or ShardedPLT.from_model(..., folder=...) has made.",
            )
        self.path = path
        self._lock = _locked(path)
        try:
            self.manifest = self._read() if exists else None
            self.journal = Journal(path / _JOURNAL)
        except BaseException:
            self._lock.close()
            raise
        try:
            self._expect_journal_of_model()
        except BaseException:
            self.close()
            raise
        self._number = self.manifest.generation if self.manifest else 0

    def _expect_journal_of_model(self) -> None:
        """Refuse a journal that belongs to another model: its records would be learned, or new ones ignored."""
        if self.manifest is None and self.journal.last > 0:
            raise _not_empty(self.path, has_model=False)
        if self.manifest is not None and self.journal.last < self.manifest.position:  # the last one is never trimmed
            raise JournalError(
                "journal-damaged",
                f"the journal must have record {self.manifest.position}, the last one that the files of the model"
                " include",
                where=str(self.path / _JOURNAL),
                got="an empty journal" if self.journal.last == 0 else f"records up to {self.journal.last}",
                hint=RESTORE,
            )

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
            raise ModelFormatError(
                "model-damaged", f"the manifest is not valid: {error}", where=str(path), hint=RESTORE
            ) from None
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


def _locked(path: Path) -> Folder:
    try:
        return Folder(path)
    except JournalError as error:
        raise JournalError(
            error.code,
            "the folder is in use, by another process or by a ShardedPLT of this process that has not been closed",
            where=str(path),
            hint="Stop that process, or call close().",
        ) from None


def _not_empty(path: Path, *, has_model: bool) -> ModelFormatError:
    return ModelFormatError(
        "folder-not-empty",
        "the folder for a new sharded model must be empty",
        where=str(path),
        hint="Choose another folder, or continue with ShardedPLT.open." if has_model else "Choose another folder.",
    )
