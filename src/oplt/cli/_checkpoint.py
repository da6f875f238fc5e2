# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Checkpoints of a model in training, from which the same command can resume.

The model is saved to `FILE.partial`. `FILE.partial.json` beside it records the command that created it. The latter is
written once, before the first model, and never changes, so the two are consistent even if the machine crashes.
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

_SAMPLE = 1 << 16  # bytes at the start of a file that are digested
_ENDING = 64  # bytes at the end of a model file, which contain the checksum of the rest


def command_of(
    paths: tuple[str, ...], data: DataOptions, passes: int, options: ModelOptions, kind: str
) -> dict[str, Any]:
    """Collect the arguments of `oplt train` that determine the result."""
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
    """Collect the arguments of `oplt learn` that determine the result."""
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
    """The checkpoint file of a model in training.

    Parameters
    ----------
    target
        Where the finished model will be saved.
    command
        The result of `command_of` or `learn_command_of`.
    every
        Seconds between two checkpoints; 0: save only on request.
    """

    def __init__(self, target: Path, command: dict[str, Any], every: float = 0) -> None:
        self.path = beside(target, ".partial")
        self._about = self.path.with_name(f"{self.path.name}.json")
        self._command = command
        self._every = every
        self._last = time.monotonic()
        self._is_mine = False

    def load(self, threads: int) -> OnlinePLT | None:
        """Load the checkpoint of an earlier run of the same command; None if there is none."""
        if not self.path.exists():
            return None
        start_anew = f"To start from scratch, remove {self.path}."
        if not self._about.exists():
            raise InvalidInputError(
                "checkpoint-not-usable",
                f"{self._about}, which records the command that created the checkpoint, is missing",
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
                f"the checkpoint was created by a different command: {'; '.join(differences)}",
                where=str(self.path),
                hint=f"Rerun that command to resume. {start_anew}",
            )
        return OnlinePLT.load(self.path, threads=threads)

    def is_due(self) -> bool:
        """Check whether the next save is due."""
        return bool(self._every) and time.monotonic() - self._last >= self._every

    def save(self, model: OnlinePLT) -> None:
        """Save the model in its current state. If that fails, the previous checkpoint stays intact."""
        if not self._is_mine:
            with replacing(self._about) as file:
                file.write(json.dumps(self._command, indent=1).encode())
            self._is_mine = True
        model.save(self.path)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the checkpoint once the model is finished."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)


def _differences_of_commands(saved: Any, now: dict[str, Any]) -> list[str]:
    """List the differences; if the commands themselves differ, only the other command."""
    if not isinstance(saved, dict) or saved.get("command", "train") not in ("train", "learn"):
        raise TypeError(saved)
    before = {"command": "train", **saved}  # files of earlier versions lack it
    if before["command"] != now["command"]:
        return [f"oplt {before['command']}"]
    return _differences(before, now)


def _differences(saved: Any, now: Any, name: str = "") -> list[str]:
    """List the differences, named by the innermost key."""
    if isinstance(saved, dict) and isinstance(now, dict):
        return [found for key in {**saved, **now} for found in _differences(saved.get(key), now.get(key), key)]
    if isinstance(saved, list) and isinstance(now, list) and len(saved) == len(now) and name == "data":
        return [found for before, after in zip(saved, now, strict=True) for found in _differences(before, after, name)]
    if saved == now:
        return []
    in_words = {
        "beginning": "the beginning of a data file has changed",
        "bytes": f"a data file had {_shown(saved)} bytes and now has {_shown(now)}",
        "checksum": "the model has changed since then",
    }
    return [in_words.get(name, f"{name} was {_shown(saved)} and is now {_shown(now)}")]


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
