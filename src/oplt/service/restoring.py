# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The model at a position of the journal: a snapshot, without what was forgotten since, and the records after it.

Forgetting is exact: a model that forgot an example equals one that never learned it. So an example that is marked as
forgotten is skipped whenever the journal is replayed, and a snapshot that still contains it forgets it when it is
opened. Either way, the result has the same fingerprint.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from oplt.errors import InvalidInputError
from oplt.model import OnlinePLT
from oplt.service.errors import JournalError
from oplt.service.examples import Example, Rows, as_rows, decode
from oplt.service.journal import Journal, Record
from oplt.service.snapshots import SnapshotInfo, SnapshotStore

__all__ = [
    "apply_labels",
    "examples_of",
    "expect_journal",
    "is_tainted",
    "learn",
    "lost_operations",
    "newest_usable",
    "numbers_of",
    "restore",
    "rows_of",
    "takes_texts",
]

_log = logging.getLogger(__name__)
_CHUNK = 2048  # records that are read and learned together


def takes_texts(model: OnlinePLT) -> bool:
    """Check whether the examples of a model are texts."""
    return model._settings.features is not None


def examples_of(records: Sequence[Record]) -> list[Example]:
    """Return the examples to learn; forgotten ones are left out."""
    return [decode(record.content) for record in records if record.content is not None and record.forgotten is None]


def rows_of(model: OnlinePLT, examples: Sequence[Example]) -> Rows:
    """Make what a model learns of examples. It depends on the settings of the model only."""
    text = model._settings.features
    return as_rows(examples, texts=text is not None, pattern=text.pattern if text else None)


def learn(model: OnlinePLT, rows: Rows) -> None:
    """Learn examples that were valid when they entered the journal, whatever the state of the model is."""
    model._learn(rows.inputs, rows.labels, rows.weights)


def expect_journal(store: SnapshotStore, journal: Journal) -> None:
    """Refuse an empty journal beside snapshots of a later position: it was removed or emptied, and is not a new one.

    A journal that ends before a snapshot has lost records, as a power failure may do unless the durability is `full`.
    Other records will take their positions, so that the snapshot must not be used, then or later: it is put aside.
    """
    ahead = [info for info in store.list() if info.position > journal.last]
    if ahead and journal.last == 0:
        raise JournalError(
            "journal-damaged",
            f"the journal is empty, but there is a snapshot of position {ahead[-1].position:,}",
            where=str(journal.path),
            hint="Restore the journal from a copy, or serve a copy of the snapshot's model file in a new folder.",
        )
    for info in ahead:
        _log.warning("%s ends at %d; snapshot %d is not used", journal.path, journal.last, info.position)
        store.put_aside(info, "lost")


def newest_usable(store: SnapshotStore, journal: Journal, position: int, threads: int) -> tuple[OnlinePLT, int]:
    """Open the newest good snapshot from which the journal leads to the model at a position."""
    lineage = journal.lineage(position)
    first = journal.first
    for info in reversed(store.list()):
        if info.position > position or not lineage.passes(info.position):
            continue
        if info.position < first - 1:
            break
        model = open_snapshot(store, journal, info, threads)
        if model is not None:
            return model, info.position
    raise JournalError(
        "snapshot-missing",
        "there is no usable snapshot from which the journal can be replayed",
        where=str(store.folder),
        hint="Restore the folder from a copy.",
    )


def open_snapshot(store: SnapshotStore, journal: Journal, info: SnapshotInfo, threads: int) -> OnlinePLT | None:
    """Open a snapshot, and forget what has been forgotten since; None if it is damaged."""
    model = store.load(info, threads)
    if model is None:
        return None
    lineage = journal.lineage(info.position)
    since = [p for p, _ in journal.forgotten_positions(info.position, info.position) if p in lineage]
    numbers = numbers_of(journal, model, since, info.position, forgotten_after=info.position) if since else []
    if numbers:
        _log.info("snapshot %d forgets %d examples again", info.position, len(numbers))
        model.forget(numbers)
    return model


def is_tainted(journal: Journal, info: SnapshotInfo) -> bool:
    """Check whether a snapshot contains examples that were forgotten later."""
    lineage = journal.lineage(info.position)
    return any(p in lineage for p, _ in journal.forgotten_positions(info.position, info.position))


def numbers_of(
    journal: Journal, model: Any, positions: Sequence[int], until: int, *, forgotten_after: int
) -> list[int]:
    """Return the numbers that a model at position `until` gives to the examples at these positions."""
    lineage = journal.lineage(until)
    learned = journal.learned_positions(min(positions), until, forgotten_after)
    in_model = [position for position in learned if position in lineage]
    place = {position: i for i, position in enumerate(in_model)}
    first = model.n_examples - len(in_model)
    return [first + place[position] for position in positions if position in place]


def lost_operations(journal: Journal, model: OnlinePLT, until: int) -> list[int]:
    """Return the positions of operations on labels that the model at position `until` no longer has.

    After examples have been forgotten, a model is one that never learned them. Operations on labels that only these
    examples had were not possible in it; their records hold the names of these labels, so they are erased as well.
    """
    lineage = journal.lineage(until)
    kept = {(one.kind, one.label, one.other) for one in model.labels.operations}
    lost = []
    for position, content in journal.label_operations(until):
        one = json.loads(content)
        if position in lineage and (one["kind"], one["label"], one.get("other")) not in kept:
            lost.append(position)
    return lost


def restore(store: SnapshotStore, journal: Journal, position: int, threads: int) -> OnlinePLT:
    """Make the model at a position anew."""
    model, learned = newest_usable(store, journal, position, threads)
    lineage = journal.lineage(position)
    while learned < position:
        records = journal.read(learned, min(_CHUNK, position - learned))
        ours = [record for record in records if record.position in lineage]
        learn_records(model, ours)
        learned = records[-1].position
    return model


def learn_records(model: OnlinePLT, records: Sequence[Record]) -> None:
    """Learn records of one lineage, in which no rollback occurs."""
    batch: list[Record] = []
    for record in records:
        if record.kind == "learn":
            batch.append(record)
            continue
        learn(model, rows_of(model, examples_of(batch)))
        batch = []
        if record.kind == "labels":
            with suppress(InvalidInputError):  # because of examples that have been forgotten since
                apply_labels(model, record)
    learn(model, rows_of(model, examples_of(batch)))


def apply_labels(model: OnlinePLT, record: Record) -> bool:
    """Apply an operation on labels, such as renaming one, unless it is marked. Returns whether it has had an effect.

    An operation that was refused, or has had no effect, is marked as forgotten: otherwise it might be possible in a
    replay, after examples have been forgotten.
    """
    if record.content is None or record.forgotten is not None:
        return True
    return model.labels.apply(json.loads(record.content))
