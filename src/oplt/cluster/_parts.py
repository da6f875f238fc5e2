# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The files of a sharded model: its top, and subtrees."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import msgspec

from oplt import _core, persistence
from oplt.errors import ModelFormatError
from oplt.params import Settings
from oplt.persistence import MODEL, SavedModel, replacing

__all__ = ["RESTORE", "Source", "joined", "read_subtrees", "read_top", "subtrees_of", "write_subtrees"]

RESTORE = "Restore the whole folder from a backup, or distribute a saved model anew by ShardedPLT.from_model."


class Source(msgspec.Struct, frozen=True):
    """Some of the subtrees in a file; they are numbered by the position of their roots below the root of the tree."""

    file: str
    positions: list[int]


def read_top(path: Path) -> SavedModel:
    """Load the file of a top, or of a model that has not been cut yet."""
    return persistence.read(path, verify=True, may_be_cut=True)


def write_subtrees(subtrees: _core.Subtrees, settings: Settings, path: Path) -> None:
    """Save subtrees, with the settings by which they are trained."""
    header = json.dumps({"kind": persistence.SUBTREES, "settings": asdict(settings)}, sort_keys=True).encode()
    with replacing(path, MODEL) as file:
        subtrees.save(header, file.write)


def read_subtrees(path: Path, settings: Settings) -> _core.Subtrees:
    """Load a file of subtrees. Large parts stay in the mapped file until they are modified."""
    try:
        with path.open("rb") as file:
            content = persistence.opened(file)
        content.verify()
        return _core.Subtrees.load(content, settings.to_core())
    except ModelFormatError as error:
        raise error.at(str(path)).with_hint(RESTORE) from None


def subtrees_of(sources: list[Source], folder: Path, settings: Settings) -> list[_core.Subtrees]:
    """Load the subtrees of a shard."""
    return [read_subtrees(folder / one.file, settings).chosen(one.positions) for one in sources]


def joined(top: SavedModel, subtrees: list[_core.Subtrees]) -> SavedModel:
    """Make one model of the parts."""
    return replace(top, state=_core.joined(top.state, subtrees))
