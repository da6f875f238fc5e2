# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Models as bytes and as files, in the format of docs/format.md.

Reading runs no code from the file. Writing is atomic: a file holds the old model or the new one, never half of one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from oplt import _core
from oplt.errors import InvalidInputError, InvalidParameterError, ModelFormatError
from oplt.params import BatchSettings, Settings, settings_from, settings_to_save

__all__ = [
    "ENSEMBLE",
    "MODEL",
    "TREE",
    "fingerprint",
    "from_bytes",
    "read",
    "replacing",
    "to_bytes",
    "unpack_header",
    "what_is",
    "write",
]


@dataclass(frozen=True)
class Kind:
    """A kind of file that there is: how it begins, and who reads it."""

    name: str
    magic: bytes
    reader: str


MODEL = Kind("model", b"OPLTMODL", "OnlinePLT.load")
ENSEMBLE = Kind("ensemble", b"OPLTENSM", "Ensemble.load")
TREE = Kind("tree", b"oplt-tree ", "oplt.trees.load")

VERSION = 1  # of the format of models
_HEADER = struct.Struct("<8sIQ")  # magic, version, length of the settings
_DIGEST_SIZE = 32

Write = Callable[[bytes], Any]
AnySettings = Settings | BatchSettings


def _emit(settings: AnySettings, model: _core.Model, write: Write) -> None:
    """Call `write` with all bytes of a model but the checksum."""
    encoded = json.dumps(settings_to_save(settings), sort_keys=True).encode()
    write(_HEADER.pack(MODEL.magic, VERSION, len(encoded)))
    write(encoded)
    model.save(write)


def _emit_checked(settings: AnySettings, model: _core.Model, write: Write) -> None:
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)

    def write_and_sum(chunk: bytes) -> None:
        digest.update(chunk)
        write(chunk)

    _emit(settings, model, write_and_sum)
    write(digest.digest())


def fingerprint(settings: AnySettings, model: _core.Model) -> str:
    """Digest of the whole learnt state: equal models, and only those, have equal ones."""
    digest = hashlib.blake2b(digest_size=16)
    _emit(settings, model, digest.update)
    return digest.hexdigest()


def to_bytes(settings: AnySettings, model: _core.Model) -> bytes:
    """Make the content of a model file."""
    buffer = bytearray()
    _emit_checked(settings, model, buffer.extend)
    return bytes(buffer)


def write(settings: AnySettings, model: _core.Model, path: Path) -> None:
    """Save a model."""
    with replacing(path, MODEL) as file:
        _emit_checked(settings, model, file.write)


@contextmanager
def replacing(path: Path, kind: Kind | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`, which takes its name if all goes well.

    If the kind is told, a file that is there already is replaced only if it is of the same kind.
    """
    path = path.resolve()  # through a link, to the file itself
    if not path.parent.is_dir():
        what = kind.name if kind else "file"
        raise FileNotFoundError(errno.ENOENT, f"there is no such folder to save the {what} in", str(path.parent))
    if kind and path.exists() and not _begins_with(path, kind.magic):
        msg = f"{path} exists and is not an oplt {kind.name}: save under another name, or remove it first"
        raise InvalidInputError(msg)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _begins_with(path: Path, magic: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _sync_directory(directory: Path) -> None:
    """Make the new name survive a crash too. Windows has no such call and no need."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: Path) -> tuple[AnySettings, _core.Model]:
    """Load a model file."""
    try:
        return from_bytes(path.read_bytes())
    except ModelFormatError as error:
        msg = f"{path}: {error}"
        raise ModelFormatError(msg) from None


def unpack_header(data: bytes, header: struct.Struct, kind: Kind, version: int) -> int:
    """Check how a file begins: with its magic, its version and a number, which is returned."""
    if not data.startswith(kind.magic):
        msg = f"not an oplt {kind.name}: {what_is(data)}"
        raise ModelFormatError(msg)
    if len(data) < header.size:
        msg = f"the {kind.name} is cut off after {len(data)} bytes"
        raise ModelFormatError(msg)
    _, found, number = header.unpack_from(data)
    if found != version:
        remedy = "install a newer oplt" if found > version else "the file is damaged"
        msg = f"format version {found} of {kind.name} files, but this oplt reads version {version}: {remedy}"
        raise ModelFormatError(msg)
    return int(number)


def what_is(data: bytes) -> str:
    """Say what a file of another kind is."""
    for kind in (MODEL, ENSEMBLE, TREE):
        if data.startswith(kind.magic):
            return f"it is an oplt {kind.name}, which {kind.reader} reads"
    return f"it begins with {data[:16]!r}" if data else "it is empty"


def from_bytes(data: bytes) -> tuple[AnySettings, _core.Model]:
    """Make a model of the content of a model file."""
    settings_size = unpack_header(data, _HEADER, MODEL, VERSION)
    content, digest = memoryview(data)[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if hashlib.blake2b(content, digest_size=_DIGEST_SIZE).digest() != digest:
        msg = "the checksum does not match: the file is damaged or cut off"
        raise ModelFormatError(msg)
    begin = _HEADER.size + settings_size
    try:
        settings = settings_from(json.loads(bytes(content[_HEADER.size : begin])))
    except (ValueError, TypeError, InvalidParameterError) as error:
        msg = f"the settings cannot be read: {error}"
        raise ModelFormatError(msg) from None
    text = settings.features.to_core() if settings.features else None
    return settings, _core.Model.load(settings.to_core(), np.frombuffer(content[begin:], dtype=np.uint8), text)
