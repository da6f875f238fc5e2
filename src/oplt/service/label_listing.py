# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Pages of the labels of a served model, in various orders. With tens of thousands of labels, it takes milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from oplt import _core
from oplt._typing import IdArray
from oplt.labels import LabelInfo
from oplt.service.examples import Name
from oplt.service.monitoring import LabelCounts, Monitor
from oplt.service.served_model import ServedModel
from oplt.service.structs import LabelAnswer, LabelsAnswer, RecentLabel

__all__ = ["Order", "describe_labels", "list_labels", "recent_label"]

Order: TypeAlias = Literal["arrival", "newest", "examples", "wrong", "drift"]
_Floats: TypeAlias = npt.NDArray[np.float64]


def list_labels(served: ServedModel, search: str, sort: Order, offset: int, limit: int) -> LabelsAnswer:
    """Return a page of the labels whose names contain `search`, ignoring case."""
    state = served.model._state()  # of one moment
    ids = state.present_labels()
    if search:
        pattern = search.casefold()
        names = state.label_names(ids)
        ids = ids[[pattern in str(name).casefold() for name in names]]
    ids = _sorted(state, ids, sort, served.monitor)
    page = np.ascontiguousarray(ids[offset : offset + limit])
    return LabelsAnswer(len(ids), describe_labels(state, page, served.monitor))


def _sorted(state: _core.ModelState, ids: IdArray, sort: Order, monitor: Monitor) -> IdArray:
    if sort == "arrival":
        return ids
    if sort == "newest":
        return ids[::-1]
    counts = state.label_counts(ids)[0].astype(np.float64)
    if sort == "examples":
        return ids[np.argsort(-counts, kind="stable")]
    n_recent, rows = monitor.all_recent_labels()
    lately, missed = _recent_columns(state, ids, rows)
    if sort == "wrong":
        is_wrong = missed > 0
        return ids[is_wrong][np.lexsort((-lately[is_wrong], -missed[is_wrong]))]
    expected = _expected(counts, lately, state.n_examples, n_recent)
    surprise = np.abs(lately - expected) / np.sqrt(expected + 1)  # about a standard deviation of a count
    order = np.argsort(-surprise, kind="stable")
    return ids[order[surprise[order] > 0]]


def _recent_columns(
    state: _core.ModelState, ids: IdArray, rows: Sequence[tuple[Name, int, int]]
) -> tuple[_Floats, _Floats]:
    """Return, for each label, how often it occurred lately, and how often it was not among the first five then."""
    found = [state.find_label(name) for name, _, _ in rows]
    counts = np.array([(n, missed) for _, n, missed in rows], dtype=np.float64).reshape(-1, 2)
    of = np.array([-1 if label is None else label for label in found], dtype=np.int64)
    columns = np.zeros((len(ids), 2))
    if len(ids):
        place = np.minimum(np.searchsorted(ids, of), len(ids) - 1)  # ids ascend
        is_listed = ids[place] == of
        np.add.at(columns, place[is_listed], counts[is_listed])
    return columns[:, 0], columns[:, 1]


def _expected(counts: _Floats, lately: _Floats, n_examples: int, n_recent: int) -> _Floats:
    """Return how often each label would have occurred lately if it had occurred as often as before."""
    n_before = max(0, n_examples - n_recent)
    if n_before == 0:
        return lately
    return np.maximum(counts - lately, 0) * n_recent / n_before


def describe_labels(state: _core.ModelState, ids: IdArray, monitor: Monitor) -> list[LabelAnswer]:
    """Describe labels."""
    aliases: dict[int, list[Name]] = {}
    for label, name in state.label_aliases():
        aliases.setdefault(label, []).append(name)
    names = state.label_names(ids)
    columns = (names, *(one.tolist() for one in state.label_counts(ids)), state.hidden_labels(ids))
    others = [aliases.get(label, []) for label in ids.tolist()]
    n_recent, known = monitor.recent_labels([name for some in (names, *others) for name in some])
    found = []
    for further, name, n, first, last, hidden in zip(others, *columns, strict=True):
        counts = LabelCounts.total([known[one] for one in (name, *further) if one in known])
        recent = _recent(counts, n_recent, n, state.n_examples)
        found.append(LabelAnswer(name, n, first if n else None, last if n else None, hidden, further, recent))
    return found


def recent_label(served: ServedModel, info: LabelInfo) -> RecentLabel | None:
    """Describe what the latest examples say about a label; None if there are none yet."""
    n_recent, known = served.monitor.recent_labels([info.label, *info.aliases])
    return _recent(LabelCounts.total(list(known.values())), n_recent, info.n_examples, served.model.n_examples)


def _recent(counts: LabelCounts, n_recent: int, n: int, n_examples: int) -> RecentLabel | None:
    """Compute what the latest examples say about a label; None if there are none yet."""
    if n_recent == 0:
        return None
    share, n_before, before = counts.n / n_recent, n_examples - n_recent, n - counts.n
    return RecentLabel(
        counts.n,
        counts.found / counts.predicted if counts.predicted else None,
        share,
        share * n_before / before if before > 0 and n_before > 0 else None,
    )
