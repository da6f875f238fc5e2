# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Compressed files, recognized by their first bytes when they are read and by their names when they are written."""

from __future__ import annotations

import importlib
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast

from oplt.errors import InvalidInputError, MissingPackageError

__all__ = ["LONGEST_MAGIC", "Compression", "by_magic", "by_name", "telling_damage"]


@dataclass(frozen=True)
class Compression:
    """A kind of compression: its magic bytes, the suffix of its files, and the module that opens them."""

    magic: bytes
    suffix: str
    module: str

    def open(self, file: IO[bytes], mode: str) -> IO[bytes]:
        """Open a file for reading (``"rb"``) or writing (``"wb"``) on top of another one, which stays open."""
        return cast("IO[bytes]", self._opener().open(file, mode))

    def _opener(self) -> Any:
        try:
            return importlib.import_module(self.module)
        except ModuleNotFoundError:
            # Python's own modules are always available, except zstd before 3.14.
            raise MissingPackageError(
                "package-missing",
                f"{self.suffix} files need the package backports.zstd",
                hint="Run: pip install 'oplt[zstd]'",
            ) from None


_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"

_COMPRESSIONS = (
    Compression(b"\x1f\x8b", ".gz", "gzip"),
    Compression(b"BZh", ".bz2", "bz2"),
    Compression(b"\xfd7zXZ\x00", ".xz", "lzma"),
    Compression(b"\x28\xb5\x2f\xfd", ".zst", _ZSTD),
)

LONGEST_MAGIC = max(len(kind.magic) for kind in _COMPRESSIONS)


def by_magic(start: bytes) -> Compression | None:
    """Find the compression of a file by its first bytes; None if it is not compressed."""
    return next((kind for kind in _COMPRESSIONS if start.startswith(kind.magic)), None)


def by_name(name: str) -> Compression | None:
    """Find the compression of a file by its name; None if it is not compressed."""
    return next((kind for kind in _COMPRESSIONS if name.lower().endswith(kind.suffix)), None)


@contextmanager
def telling_damage(name: str) -> Iterator[None]:
    """Report damaged compressed data as one kind of error, whichever module finds it."""
    try:
        yield
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read; errors in its content have no errno
        raise _damaged(name) from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":  # raised by a module that may not be installed
            raise _damaged(name) from None
        raise


def _damaged(name: str) -> InvalidInputError:
    return InvalidInputError(
        "file-damaged",
        "the compressed data is damaged or truncated",
        where=name,
        hint="Copy or download it again.",
    )
