# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Saving and loading models, as files and as bytes, in the format of docs/format.md.

Loading runs no code from the file. Writing is atomic: a file holds either the old model or the new one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from oplt import _core
from oplt.checks import Flag
from oplt.declarations import declared
from oplt.errors import InvalidInputError, ModelFormatError, OpltError
from oplt.params import BatchSettings, Settings
from oplt.stream_state import StreamState
from oplt.thresholds import Thresholds

if os.name == "posix":
    import fcntl

__all__ = [
    "MODEL",
    "SUBTREES",
    "TREE",
    "SavedModel",
    "fingerprint",
    "from_bytes",
    "opened",
    "part_sizes",
    "read",
    "replacing",
    "to_bytes",
    "what_is",
    "write",
    "write_in_background",
]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its magic bytes, and the function that reads it."""

    name: str
    magic: bytes
    reader: str


MODEL = Kind("model", b"OPLTMODL", "PLT.load")
SUBTREES = "subtrees"  # the kind of the settings in a file that has only a part of a model
TREE = Kind("tree", b"oplt-tree ", "oplt.tree.load")

_VERIFY = Flag()
_RESTORE = "The file is damaged: restore a copy of it, or train the model again."

AnySettings = Settings | BatchSettings


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds."""

    settings: AnySettings
    state: _core.ModelState
    only_predicts: bool = False
    thresholds: Thresholds | None = None
    stream: StreamState | None = None


def _encoded(model: SavedModel) -> bytes:
    kind = "online" if isinstance(model.settings, Settings) else "batch"
    header = {"kind": kind, "only_predicts": model.only_predicts, "settings": asdict(model.settings)}
    tuned = {} if model.thresholds is None else {"thresholds": model.thresholds.to_dict()}
    stream = {} if model.stream is None else {"stream": model.stream.to_dict()}
    return json.dumps({**header, **tuned, **stream}, sort_keys=True).encode()


class _Header(NamedTuple):
    settings: AnySettings
    only_predicts: bool
    thresholds: Thresholds | None
    stream: StreamState | None


def _decoded(encoded: bytes) -> _Header:
    try:
        header = json.loads(encoded)
        if header["kind"] == SUBTREES:
            _refuse_part()
        kind = {"online": Settings, "batch": BatchSettings}[header["kind"]]
        given = header["settings"]
        unknown = set(given) - {one.name for one in declared(kind)}
        known = kind(**{name: value for name, value in given.items() if name not in unknown})
        only_predicts = bool(header["only_predicts"])
        thresholds = Thresholds.from_dict(header["thresholds"]) if "thresholds" in header else None
        stream = StreamState.from_dict(header["stream"]) if "stream" in header else None
    except ModelFormatError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        why = f": {error}" if isinstance(error, OpltError) else ""
        raise ModelFormatError(
            "model-damaged",
            f"the settings in the file are not valid{why}",
            hint=_RESTORE,
        ) from None
    if unknown:
        raise ModelFormatError(
            "format-version-unknown",
            f"the file has the setting {min(unknown)!r}, which this version of oplt does not know",
            hint="Install a newer oplt.",
        )
    if kind is Settings and "learner" not in given:  # from a development version; the default would be wrong
        raise ModelFormatError(
            "format-version-unknown",
            "the file does not say by which learner its classifiers were trained",
            hint="Train the model again.",
        )
    return _Header(known, only_predicts, thresholds, stream)


def fingerprint(model: SavedModel) -> str:
    """Return a digest of the whole state. Only equal models have equal digests.

    Where a model stands in a stream is not part of it: a model that has learned the same examples otherwise is equal.
    """
    return model.state.checksum(_encoded(replace(model, stream=None))).hex()


def to_bytes(model: SavedModel) -> bytearray:
    """Return the content of a model file."""
    content = bytearray()
    model.state.save(_encoded(model), content.extend)
    return content


def write(model: SavedModel, path: Path) -> None:
    """Save a model."""
    with replacing(path, MODEL) as file:
        model.state.save(_encoded(model), file.write)


def write_in_background(model: SavedModel, path: Path) -> Future[None]:
    """Save a model in a background thread, which the interpreter waits for before it exits."""
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            write(model, path)
            future.set_result(None)
        except BaseException as error:  # noqa: BLE001 (the future raises it)
            future.set_exception(error)

    Thread(target=run, name="oplt-save").start()
    return future


def read(path: Path, *, verify: bool, may_be_cut: bool = False) -> SavedModel:
    """Load a model file. Large parts stay in the mapped file until they are modified."""
    verify = _VERIFY("verify", verify)
    if (path / "manifest.json").is_file():
        raise ModelFormatError(
            "model-of-another-kind",
            "this is a folder, perhaps that of a sharded model, and not a model file",
            where=str(path),
            hint="Open a sharded model with oplt.cluster.ShardedPLT.open; its method save writes a model file.",
        )
    try:
        with path.open("rb") as file:
            return _loaded(opened(file), verify=verify, may_be_cut=may_be_cut)
    except ModelFormatError as error:
        located = error.at(str(path))
        raise (located.with_hint(_RESTORE) if error.code == "model-damaged" else located) from None


def part_sizes(path: Path) -> dict[str, int]:
    """Return the size in bytes of each part of a model file: features, labels, trees, ranking and others."""
    with path.open("rb") as file:
        arrays = opened(file).sizes()
    parts: dict[str, int] = {}
    for name, n_bytes in arrays.items():
        part = name.partition("/")[0]
        parts[part] = parts.get(part, 0) + n_bytes
    return parts


def from_bytes(content: bytes | bytearray, *, verify: bool = True) -> SavedModel:
    """Load a model from the content of a model file."""
    if not content.startswith(MODEL.magic):
        _refuse_kind(content)
    return _loaded(_core.ModelFile.copy(content), verify=verify)


def opened(file: IO[bytes]) -> _core.ModelFile:
    """Open the arrays of a model file."""
    begin = file.read(len(MODEL.magic))
    if begin != MODEL.magic:
        _refuse_kind(begin + file.read(16))
    return _core.ModelFile.map(file.fileno()) if _core.CAN_MAP else _core.ModelFile.copy(begin + file.read())


def _loaded(file: _core.ModelFile, *, verify: bool, may_be_cut: bool = False) -> SavedModel:
    if verify:
        file.verify()
    header = _decoded(file.array("settings"))
    state = _core.ModelState.load(file, header.settings.to_load(), verify)
    if _core.is_cut(state) and not may_be_cut:
        _refuse_part()
    return SavedModel(header.settings, state, header.only_predicts, header.thresholds, header.stream)


def _refuse_part() -> None:
    raise ModelFormatError(
        "model-of-another-kind",
        "the file is a part of a sharded model",
        hint="Open the folder with oplt.cluster.ShardedPLT.open; its method save writes the whole model.",
    )


def _refuse_kind(content: bytes | bytearray) -> None:
    raise ModelFormatError("not-a-model-file", f"the file is not an oplt {MODEL.name}: {what_is(content)}")


def what_is(data: bytes | bytearray) -> str:
    """Describe a file of another kind, by its first bytes."""
    for kind in (MODEL, TREE):
        if data.startswith(kind.magic):
            return f"it is an oplt {kind.name}, which {kind.reader} reads"
    return f"it begins with {bytes(data[:16])!r}" if data else "it is empty"


@contextmanager
def replacing(path: Path, kind: Kind | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`, which replaces it if no error occurs.

    If `kind` is given, an existing file is replaced only if it is of that kind. A pipe or a device is written to
    directly.
    """
    if kind is None and path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()  # follow symbolic links
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "the path is a folder; pass the path of a file", str(path))
    if not path.parent.is_dir():
        what = kind.name if kind else "file"
        raise FileNotFoundError(errno.ENOENT, f"the folder to save the {what} in does not exist", str(path.parent))
    if kind and path.exists() and not _begins_with(path, kind.magic):
        raise InvalidInputError(
            "target-of-another-kind",
            f"the file exists and is not an oplt {kind.name}",
            where=str(path),
            hint="Save under another name, or remove the file first.",
        )
    family = _temporary_family(path)
    _remove_abandoned(path.parent, family)
    handle, temporary = _create(path, family)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":  # while the lock is held, so that no other save considers it abandoned
                temporary.replace(path)
        if os.name != "posix":  # where an open file cannot be renamed
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _temporary_family(path: Path) -> str:
    """Return the common prefix of temporary files for one target; its length does not depend on the target's name."""
    return f".oplt-{hashlib.blake2b(os.fsencode(path.name), digest_size=8).hexdigest()}-"


def _create(target: Path, family: str) -> tuple[int, Path]:
    """Create a locked file that is never readable by users who cannot read the target."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        # Each time another name: a save that found the former file abandoned may be about to remove it by its name.
        temporary = target.with_name(f"{family}{secrets.token_hex(8)}.tmp")
        if target.exists():
            handle = os.open(temporary, flags, 0o600)
            with suppress(FileNotFoundError):  # another save may remove it, because it is not locked yet
                _take_access_from(target, temporary)
        else:
            handle = os.open(temporary, flags, 0o666)  # less the umask
        if os.name != "posix":
            return handle, temporary
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            return handle, temporary
        os.close(handle)  # another save removed it as abandoned before it was locked


def _take_access_from(target: Path, temporary: Path) -> None:
    """Copy the owner and permissions of the target, as far as the process is allowed to."""
    status = target.stat()
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
    with suppress(OSError):
        temporary.chmod(stat.S_IMODE(status.st_mode))


def _remove_abandoned(folder: Path, family: str) -> None:
    """Remove temporary files of saves that were killed. A file that is still being written is locked."""
    if os.name != "posix":
        return
    for left in folder.glob(f"{family}*.tmp"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _begins_with(path: Path, magic: bytes) -> bool:
    """Check whether a file begins with these bytes, or is empty, as new temporary files are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) in (magic, b"")


def _sync_directory(directory: Path) -> None:
    """Flush the directory, so that the new name survives a crash. Windows does not need this."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
