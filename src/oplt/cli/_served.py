# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Model files that `oplt serve` has taken over: what the server has learned is in a folder beside the file.

Without these checks, a command would silently answer without it, or change a file that the server no longer reads.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import click

from oplt.cli._console import WrongDataError, note
from oplt.wording import number_of

__all__ = ["check_served", "note_if_served"]

# This name and those of files are as in `oplt.service`, which tests check; repeated so that commands start quickly.
_SUFFIX = ".served"

# What to do instead, by command.
_INSTEAD = {
    "learn": "send the examples to the server with oplt learn --server URL",
    "labels": "send the change to the server with POST /v1/labels",
    "forget": "use POST /v1/forget of the server, which forgets what it has learned",
}


def note_if_served(model: Path) -> None:
    """Tell the user that the file lacks what a server has learned since."""
    snapshot = _newest_snapshot(model)
    if snapshot is None:
        return
    server = "oplt predict --server URL, or " if click.get_current_context().info_name == "predict" else ""
    note(
        f"Note: {model} was served, and what the server has learned since is in {_folder(model)}, not in this file."
        f" Use {server}the newest snapshot, {snapshot}.{_what_lacks(snapshot)}"
    )


def check_served(target: Path, model: Path | None = None, *, source: str | None = None) -> None:
    """Refuse to update a model file that is served. If a command replaces such a file, or reads it, print a note.

    Parameters
    ----------
    target
        The model file that will be written.
    model
        The model file that is read, if any.
    source
        The stream that is learned. If it is the journal of the server, the file becomes equal to the served model.
    """
    if model is not None and model.resolve() == target.resolve():
        if source is None or not _is_journal_of(_folder(target), source):
            _expect_not_served(target)
        return
    if _newest_snapshot(target) is not None:
        note(
            f"Note: oplt serve {target} will not use the new file as long as the folder {_folder(target)} exists, which"
            " holds what the server has learned from the old one. To serve the new model, remove the folder first."
        )
    if model is not None:
        note_if_served(model)


def _expect_not_served(model: Path) -> None:
    snapshot = _newest_snapshot(model)
    if snapshot is None:
        return
    name = str(click.get_current_context().info_name)
    instead = f"{_INSTEAD[name]}, or " if name in _INSTEAD else ""
    advice = f"{instead}update a copy: pass {snapshot} as MODEL, and --out FILE."
    raise WrongDataError(
        f"{model}: oplt serve has taken over this model, and keeps what it has learned in {_folder(model)}; changes"
        f" to this file would not reach it. {advice[0].upper()}{advice[1:]}{_what_lacks(snapshot)}"
    )


def _folder(model: Path) -> Path:
    return Path(f"{model}{_SUFFIX}")


def _newest_snapshot(model: Path) -> Path | None:
    """Return the model file of the newest snapshot. A folder without one is left from a start that failed."""
    with suppress(OSError):  # for example, a name that is too long
        files = (path.with_suffix(".oplt") for path in (_folder(model) / "snapshots").glob("*.json"))
        return max((path for path in files if path.is_file()), default=None)  # positions are padded with zeros
    return None


def _what_lacks(snapshot: Path) -> str:
    """Say what the journal has after a snapshot, and how to get a newer one; nothing if it is up to date."""
    n = _last_position(snapshot.parent.parent / "journal.sqlite") - int(snapshot.stem)
    if n <= 0:
        return ""
    return (
        f" That snapshot lacks the last {number_of(n, 'record')} of the journal; to write a newer one, send"
        " POST /v1/snapshots to the server. If it is not running, start oplt serve and stop it again once it is ready."
    )


def _last_position(journal: Path) -> int:
    """Return the position of the last record; 0 if there is none, or if the journal cannot be read."""
    import sqlite3  # imported lazily because few models are served

    with (
        suppress(sqlite3.Error, OSError),
        closing(sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True)) as file,
    ):
        return int(file.execute("SELECT max(position) FROM records").fetchone()[0] or 0)
    return 0


def _is_journal_of(folder: Path, source: str) -> bool:
    scheme, _, path = source.partition(":")
    return scheme == "journal" and folder.resolve() in (Path(path).resolve(), Path(path).resolve().parent)
