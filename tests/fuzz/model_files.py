# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Model files, disassembled and reassembled with correct checksums: docs/format.md describes them."""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["Array", "arrays_of", "file_of", "with_array"]

_HEADER = b"OPLTMODL" + struct.pack("<I", 2) + bytes(52)
_MASK = 2**64 - 1
_ODD = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_LANES = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)


class Array(NamedTuple):
    """One array of a file."""

    name: bytes
    value_size: int
    content: bytes


def arrays_of(file: bytes) -> list[Array]:
    """Take a file apart."""
    (at,) = struct.unpack_from("<Q", file, len(file) - 40)
    (n_arrays,) = struct.unpack_from("<I", file, at)
    at += 4
    arrays = []
    for _ in range(n_arrays):
        (length,) = struct.unpack_from("<I", file, at)
        name = file[at + 4 : at + 4 + length]
        value_size, offset, n_bytes = struct.unpack_from("<IQQ", file, at + 4 + length)
        arrays.append(Array(name, value_size, file[offset : offset + n_bytes]))
        at += 40 + length
    return arrays


def file_of(arrays: list[Array]) -> bytes:
    """Put a file together."""
    file = bytearray(_HEADER)
    table = bytearray(struct.pack("<I", len(arrays)))
    for name, value_size, content in arrays:
        table += struct.pack("<I", len(name)) + name
        table += struct.pack("<IQQQQ", value_size, len(file), len(content), *_checksum(content))
        file += content + bytes(-len(content) % 64)
    trailer = struct.pack("<QQQQ", len(file), len(table), *_checksum(bytes(table)))
    return bytes(file + table + trailer + b"OPLTEND.")


def with_array(file: bytes, name: str, content: bytes) -> bytes:
    """Replace an array."""
    return file_of([one._replace(content=content) if one.name == name.encode() else one for one in arrays_of(file)])


def _spread(x: int) -> int:
    x = (x ^ x >> 30) * _ODD[1] & _MASK
    x = (x ^ x >> 27) * _ODD[2] & _MASK
    return x ^ x >> 31


def _checksum(content: bytes) -> tuple[int, int]:
    lanes = list(_LANES)
    for i, (word,) in enumerate(struct.iter_unpack("<Q", content + bytes(-len(content) % 32))):
        lane = lanes[i % 4] + word * _ODD[0] & _MASK
        lanes[i % 4] = (lane << 31 | lane >> 33) * _ODD[1] & _MASK
    a, b = len(content), ~len(content) & _MASK
    for lane in lanes:
        a, b = _spread(a ^ lane) * _ODD[0] & _MASK, _spread(b + lane & _MASK) * _ODD[2] & _MASK
    return _spread(a), _spread(b)
