# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What is removed: old snapshots and records, by rule, and snapshots that contain forgotten examples."""

from __future__ import annotations

from oplt.service.journal import Journal
from oplt.service.restoring import is_tainted
from oplt.service.settings import ServingSettings
from oplt.service.snapshots import SnapshotStore

__all__ = ["tidy_up"]


def tidy_up(store: SnapshotStore, journal: Journal, settings: ServingSettings) -> None:
    """Remove what the rules allow, though never what recovery needs.

    Recovery needs the last two snapshots from which the journal leads to the present model, the second in case the
    first is damaged, and all records after the earlier one. If there is none without forgotten examples, all stay.
    """
    lineage = journal.lineage(journal.last)
    snapshots = store.list()
    good = [info for info in snapshots if not is_tainted(journal, info)]
    usable = [info.position for info in good if lineage.passes(info.position)]
    if usable:
        kept = {info.position for info in [*good[:1], *good[-max(2, settings.keep_snapshots) :]]} | set(usable[-2:])
        for info in snapshots:
            if info.position not in kept:
                store.remove(info)
    if settings.keep_journal is not None and len(usable) >= 2:
        first = min(usable[-2] + 1, journal.last - settings.keep_journal + 1)
        if first > journal.first and journal.failure is None:
            journal.trim(first)
