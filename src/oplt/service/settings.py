# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Settings of a served model."""

from __future__ import annotations

from dataclasses import dataclass

from oplt.service.journal import Durability

__all__ = ["ServingSettings"]


@dataclass(frozen=True)
class ServingSettings:
    """How a model is served.

    Parameters
    ----------
    durability
        When an example is acknowledged; see `Journal`.
    threads
        Number of threads for learning.
    max_pending
        Number of examples that may wait to be learned. Beyond it, `BusyError` is raised.
    snapshot_records, snapshot_seconds
        A snapshot is written after this many records, or this many seconds if there is anything new.
    keep_snapshots
        Number of snapshots to keep, besides the first one.
    keep_journal
        Keep at least the last N records of the journal, and all that recovery needs; None keeps all.
    progressive_share
        The share of the learner's time that is spent on predicting examples before they are learned.
    """

    durability: Durability = "full"
    threads: int = 1
    max_pending: int = 20_000
    snapshot_records: int = 50_000
    snapshot_seconds: float = 300.0
    keep_snapshots: int = 5
    keep_journal: int | None = None
    progressive_share: float = 0.03
