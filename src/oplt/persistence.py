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
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np

from oplt import _core
from oplt.errors import InvalidInputError, InvalidParameterError, ModelFormatError
from oplt.params import BatchSettings, Settings, settings_from

__all__ = ["fingerprint", "from_bytes", "read", "replacing", "to_bytes", "write"]

MAGIC = b"OPLTMODL"
VERSION = 1
_HEADER = struct.Struct("<8sIQ")  # magic, version, length of the settings
_DIGEST_SIZE = 32

Write = Callable[[bytes], Any]
AnySettings = Settings | BatchSettings


def _emit(settings: AnySettings, model: _core.Model, write: Write) -> None:
    """Call `write` with all bytes of a model but the checksum."""
    encoded = json.dumps(asdict(settings), sort_keys=True).encode()
    write(_HEADER.pack(MAGIC, VERSION, len(encoded)))
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
    with replacing(path, MAGIC, "model") as file:
        _emit_checked(settings, model, file.write)


@contextmanager
def replacing(path: Path, magic: bytes, what: str) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`, which takes its name if all goes well.

    A file that is there already is replaced only if it begins with `magic`, as all of its kind do.
    """
    path = path.resolve()  # through a link, to the file itself
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no such folder to save the {what} in", str(path.parent))
    if path.exists() and not _begins_with(path, magic):
        msg = f"{path} exists and is not an oplt {what}: it is left alone; save under another name or remove it first"
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


def from_bytes(data: bytes) -> tuple[AnySettings, _core.Model]:
    """Make a model of the content of a model file."""
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        msg = f"not an oplt model: it begins with {data[: len(MAGIC)]!r}"
        raise ModelFormatError(msg)
    if len(data) < _HEADER.size + _DIGEST_SIZE:
        msg = f"the model is cut off after {len(data)} bytes"
        raise ModelFormatError(msg)
    _, version, settings_size = _HEADER.unpack_from(data)
    if version != VERSION:
        remedy = "install a newer oplt" if version > VERSION else "the file is damaged"
        msg = f"format version {version}, but this oplt reads version {VERSION}: {remedy}"
        raise ModelFormatError(msg)
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
    return settings, _core.Model.load(settings.to_core(), np.frombuffer(content[begin:], dtype=np.uint8))
