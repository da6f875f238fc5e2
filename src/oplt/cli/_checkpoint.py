# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model that is saved while it learns, and from which the same command goes on.

Beside the model, `FILE.partial`, lies `FILE.partial.json`, which says what command it is of. That is written once,
before the first model, and does not change. So the two always fit together, whenever the machine goes down.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oplt.cli._options import DataOptions, beside
from oplt.cli._stream import STANDARD_INPUT
from oplt.errors import InvalidInputError
from oplt.model import OnlinePLT
from oplt.persistence import replacing

if TYPE_CHECKING:
    from oplt.cli._settings import ModelOptions

__all__ = ["Checkpoint", "command_of", "learn_command_of"]

_SAMPLE = 1 << 16  # bytes of a file whose digest is kept
_ENDING = 64  # bytes of a model that hold the checksum of all others


def command_of(
    paths: tuple[str, ...], data: DataOptions, passes: int, options: ModelOptions, kind: str
) -> dict[str, Any]:
    """Tell all of `oplt train` that decides what is learnt."""
    return _as_read_again(
        {
            "command": "train",
            "settings": options.make(kind, threads=1).settings,
            "data": [_file(path) for path in paths],
            "passes": passes,
            "reading": asdict(data),
        }
    )


def learn_command_of(model_path: Path, paths: tuple[str, ...], data: DataOptions, skip: int) -> dict[str, Any]:
    """Tell all of `oplt learn` that decides what is learnt."""
    with model_path.open("rb") as file:
        n_bytes = model_path.stat().st_size
        file.seek(max(n_bytes - _ENDING, 0))
        digest = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
    return _as_read_again(
        {
            "command": "learn",
            "model": {"model": str(model_path), "checksum": digest},
            "data": [_file(path) for path in paths],
            "skip": skip,
            "reading": asdict(data),
        }
    )


def _as_read_again(command: dict[str, Any]) -> dict[str, Any]:
    same: dict[str, Any] = json.loads(json.dumps(command))
    return same


def _file(path: str) -> dict[str, Any]:
    if path == STANDARD_INPUT or not Path(path).is_file():
        return {"path": path}
    with Path(path).open("rb") as file:
        digest = hashlib.blake2b(file.read(_SAMPLE), digest_size=16).hexdigest()
    return {"path": path, "bytes": Path(path).stat().st_size, "beginning": digest}


class Checkpoint:
    """Where a model is kept that is not ready yet.

    Parameters
    ----------
    target
        Where the model will be.
    command
        What `command_of` or `learn_command_of` tells.
    every
        Seconds between two saves; 0: save only when asked to.
    """

    def __init__(self, target: Path, command: dict[str, Any], every: float = 0) -> None:
        self.path = beside(target, ".partial")
        self._about = self.path.with_name(f"{self.path.name}.json")
        self._command = command
        self._every = every
        self._last = time.monotonic()
        self._is_mine = False

    def load(self, threads: int) -> OnlinePLT | None:
        """Load what an earlier run of the same command has saved; None if there is nothing."""
        if not self.path.exists():
            return None
        start_anew = f"To start anew, remove {self.path}."
        if not self._about.exists():
            raise InvalidInputError(
                "checkpoint-not-usable",
                f"there is no {self._about}, which says what command created it",
                where=str(self.path),
                hint=start_anew,
            )
        try:
            saved = json.loads(self._about.read_text(encoding="utf-8"))
            differences = _differences_of_commands(saved, self._command)
        except (ValueError, TypeError, RecursionError):
            raise InvalidInputError(
                "checkpoint-not-usable", "the file is damaged", where=str(self._about), hint=start_anew
            ) from None
        if differences:
            raise InvalidInputError(
                "checkpoint-not-usable",
                f"was created by a different command: {'; '.join(differences)}",
                where=str(self.path),
                hint=f"Rerun that command to resume. {start_anew}",
            )
        return OnlinePLT.load(self.path, threads=threads)

    def is_due(self) -> bool:
        """Tell whether it is time to save."""
        return bool(self._every) and time.monotonic() - self._last >= self._every

    def save(self, model: OnlinePLT) -> None:
        """Save the model as it is. Whatever happens meanwhile, the last one that was saved is whole."""
        if not self._is_mine:
            with replacing(self._about) as file:
                file.write(json.dumps(self._command, indent=1).encode())
            self._is_mine = True
        model.save(self.path)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove it: the model is ready."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)


def _differences_of_commands(saved: Any, now: dict[str, Any]) -> list[str]:
    """Say what differs; of two different commands, only that they are."""
    if not isinstance(saved, dict) or saved.get("command", "train") not in ("train", "learn"):
        raise TypeError(saved)
    before = {"command": "train", **saved}  # which files of earlier versions do not tell
    if before["command"] != now["command"]:
        return [f"oplt {before['command']}"]
    return _differences(before, now)


def _differences(saved: Any, now: Any, name: str = "") -> list[str]:
    """Say what differs, by the innermost name."""
    if isinstance(saved, dict) and isinstance(now, dict):
        return [found for key in {**saved, **now} for found in _differences(saved.get(key), now.get(key), key)]
    if isinstance(saved, list) and isinstance(now, list) and len(saved) == len(now) and name == "data":
        return [found for before, after in zip(saved, now, strict=True) for found in _differences(before, after, name)]
    if saved == now:
        return []
    in_words = {
        "beginning": "a data file begins differently",
        "bytes": f"a data file had {_shown(saved)} bytes and has {_shown(now)}",
        "checksum": "the model has changed since",
    }
    return [in_words.get(name, f"{name} was {_shown(saved)} and is {_shown(now)}")]


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
