# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A progress bar, on terminals only."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from oplt.cli._console import console, is_quiet

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["Bar", "bytes_as_text"]

_EVERY = 0.2  # seconds between two updates
_WIDE = 110  # columns of a terminal with room for a bar beside the text, which matters more


class Bar:
    """Shows progress, remaining time and a short text; nothing if the output is not a terminal."""

    def __init__(self, title: str, *, wanted: bool = True) -> None:
        self._title = title
        self._wanted = wanted
        self._progress: Any = None
        self._shown = 0.0

    def __enter__(self) -> Self:
        target = console(stderr=True)
        if self._wanted and sys.stderr.isatty() and not target.is_dumb_terminal and not is_quiet():
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.table import Column

            self._progress = Progress(
                TextColumn(self._title),
                *([BarColumn(bar_width=20)] if target.width >= _WIDE else []),
                TaskProgressColumn(),
                TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
                TextColumn("{task.fields[says]}", table_column=Column()),  # may wrap to a second line
                console=target,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),  # prints lines above the bar, but only on a terminal
            )
            self._task = self._progress.add_task("", total=None, says="")
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def is_due(self) -> bool:
        """Whether the bar is shown and due for an update."""
        return self._progress is not None and time.monotonic() - self._shown >= _EVERY

    def show(self, share: float | None, says: str) -> None:
        """Show the completed share, if it is known."""
        if self._progress is not None:
            self._shown = time.monotonic()
            total = None if share is None else 1.0
            self._progress.update(self._task, total=total, completed=share or 0.0, says=says)


def bytes_as_text(n_bytes: int) -> str:
    """Format a size for people.

    Examples
    --------
    >>> bytes_as_text(40), bytes_as_text(2_500), bytes_as_text(1_234_567_890)
    ('40 B', '2.5 kB', '1,235 MB')
    """
    if n_bytes < 1e3:
        return f"{n_bytes} B"
    number, unit = (n_bytes / 1e3, "kB") if n_bytes < 1e6 else (n_bytes / 1e6, "MB")
    return f"{number:.1f} {unit}" if number < 100 else f"{number:,.0f} {unit}"
