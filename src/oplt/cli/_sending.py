# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt learn --server`: send examples to a server, so that each is learned once, however often it is sent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from oplt.cli._console import note
from oplt.cli._learning import Interrupted, interruptible
from oplt.cli._progress import Bar
from oplt.cli._server import Keys, Server
from oplt.cli._stream import STANDARD_INPUT, Stream, expect_taken
from oplt.wording import number_of

__all__ = ["Sent", "send"]


class Sent:
    """What a server has accepted in this run."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.n_examples = 0
        self.n_known = 0  # examples that it had received before
        self.position = 0
        self._begin: int | None = None  # the last position of its journal before
        self._started = time.perf_counter()

    def started_at(self, position: int | None) -> None:
        """Note the last position of the journal; None if it is unknown."""
        self._begin = position

    def add(self, positions: list[int]) -> None:
        """Count examples by their positions in the journal of the server."""
        self.n_examples += len(positions)
        self.position = max(self.position, *positions)
        if self._begin is not None:
            self.n_known += sum(position <= self._begin for position in positions)

    @property
    def speed(self) -> float:
        """Examples per second."""
        return self.n_examples / max(time.perf_counter() - self._started, 1e-9)

    def summary(self) -> str:
        """Summarize it in a sentence."""
        seconds = time.perf_counter() - self._started
        n = number_of(self.n_examples, "example")
        known = f"; {self.n_known:,} of them it had before, which are not learned again" if self.n_known else ""
        return f"{self.address} has accepted {n} in {seconds:.1f} s ({self.speed:,.0f} a second){known}."

    def values(self) -> dict[str, Any]:
        """Return the same figures for --json."""
        return {
            "server": self.address,
            "sent": self.n_examples,
            "known": self.n_known,
            "position": self.position,
            "seconds": round(time.perf_counter() - self._started, 3),
        }


def send(stream: Stream, paths: tuple[str, ...], address: str, token_file: Path | None, key: str | None) -> Sent:
    """Send a stream to a server."""
    is_repeatable = STANDARD_INPUT not in paths or key is not None
    keys = Keys(key, is_repeatable=is_repeatable)
    sent = Sent(address)
    try:
        with interruptible(), Server(address, token_file) as server, Bar("Sending") as bar:
            sent.started_at(server.position)
            for batch in stream:
                if server.takes is not None:
                    expect_taken(server.takes, address, batch)
                for positions in server.learn(batch, keys):
                    sent.add(positions)
                    if bar.is_due:
                        bar.show(stream.share, f"{sent.n_examples:,} examples, {sent.speed:,.0f}/s")
    except Interrupted as interruption:
        again = " To send the rest, run the same command again." if is_repeatable else ""
        note(f"Interrupted after {number_of(sent.n_examples, 'example')}, which the server keeps.{again}")
        raise click.exceptions.Exit(interruption.exit_code) from None
    return sent
