# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Requests and answers of the HTTP interface. The OpenAPI description is made from these classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from oplt.service.examples import Example, ExampleKey, Features, Input, Name
from oplt.service.monitoring import Change, Window
from oplt.service.snapshots import SnapshotInfo

__all__ = [
    "Applied",
    "ErrorAnswer",
    "Explain",
    "Fingerprint",
    "Forget",
    "Health",
    "JournalAnswer",
    "LabelAnswer",
    "LabelChange",
    "LabelsAnswer",
    "Learn",
    "Learned",
    "ModelAnswer",
    "ModelsAnswer",
    "MonitoringAnswer",
    "Predict",
    "Prediction",
    "Predictions",
    "RecentLabel",
    "RecordAnswer",
    "SnapshotsAnswer",
    "StreamLearned",
]

MOST_EXAMPLES = 10_000  # in one request
_Positions = Annotated[list[Annotated[int, Meta(ge=1, le=2**62)]], Meta(min_length=1, max_length=MOST_EXAMPLES)]
_Names = Annotated[list[Name], Meta(max_length=100_000)]


class ErrorDetails(msgspec.Struct):
    """What went wrong: a code for programs and a message for people."""

    code: str
    message: str


class ErrorAnswer(msgspec.Struct):
    """The body of every answer that reports an error."""

    error: ErrorDetails


class Predict(msgspec.Struct, forbid_unknown_fields=True):
    """Either one example, as `text` or `features`, or several in `examples`."""

    text: str | None = None
    features: Features | None = None
    examples: Annotated[list[Input], Meta(max_length=1000)] | None = None
    k: Annotated[int, Meta(ge=1, le=1000)] | None = None
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    allow: _Names | None = None
    deny: _Names | None = None
    read_after: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class Prediction(msgspec.Struct):
    """The labels of one example, most probable first."""

    labels: list[Name]
    probabilities: list[float]


class Predictions(msgspec.Struct):
    """A prediction for each example. `position`: all records of the journal up to it had been learned."""

    predictions: list[Prediction]
    position: int


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """Either one example, or several in `examples`."""

    text: str | None = None
    features: Features | None = None
    labels: Annotated[list[Name], Meta(max_length=100_000)] | None = None
    weight: float = 1.0
    key: ExampleKey | None = None
    examples: Annotated[list[Example], Meta(max_length=MOST_EXAMPLES)] | None = None


class Learned(msgspec.Struct):
    """The examples are on disk, at these positions of the journal; `position` is the last one."""

    position: int
    positions: list[int]


class StreamLearned(msgspec.Struct):
    """The examples of a stream are on disk."""

    position: int
    n_examples: int


class Forget(msgspec.Struct, forbid_unknown_fields=True):
    """The positions of the examples to forget."""

    positions: _Positions


class Applied(msgspec.Struct):
    """The request is on disk, at this position. If it takes long, it may not have been applied yet."""

    position: int
    applied: bool


class LabelChange(msgspec.Struct, forbid_unknown_fields=True):
    """An operation on a label: `other` is the new name (rename) or the label to merge it into (merge).

    `text` and `features` describe a label that is added.
    """

    kind: Literal["add", "rename", "hide", "unhide", "remove", "merge"]
    label: Name
    other: Name | None = None
    text: str | None = None
    features: Features | None = None


class RecentLabel(msgspec.Struct):
    """A label in the latest examples: how often it occurred, and how often it was among the first five answers then.

    `share` is the share of the latest examples that have it, and `drift` how many times that is the share before; null
    if it did not occur before. `recall` is null if no example that has it was predicted.
    """

    n: int
    recall: float | None
    share: float
    drift: float | None


class LabelAnswer(msgspec.Struct):
    """A label, the number of its examples, the numbers of the first and the last one, and further names."""

    label: Name
    n_examples: int
    first: int | None
    last: int | None
    hidden: bool
    aliases: list[Name]
    recent: RecentLabel | None = None


class LabelsAnswer(msgspec.Struct):
    """A page of the labels that match; `total` counts all of them."""

    total: int
    labels: list[LabelAnswer]


class Explain(msgspec.Struct, forbid_unknown_fields=True):
    """An example, and the label to explain; the best one if it is left out."""

    text: str | None = None
    features: Features | None = None
    label: Name | None = None


class ModelAnswer(msgspec.Struct):
    """A model: its size, what it has learned, and how well it predicted that before."""

    name: str
    takes: str  # texts or features
    n_examples: int
    n_labels: int
    n_features: int
    memory_bytes: int
    position: int  # learned so far
    journal: int  # the last position of the journal
    ready: bool
    durability: str
    settings: dict[str, Any]
    leader: str | None = None
    diverged: str | None = None
    progressive: Window | None = None
    fingerprint: str | None = None  # of the model at `position`; only if asked for


class ModelsAnswer(msgspec.Struct):
    """The names of all models; requests without a name mean the first one."""

    models: list[str]


class MonitoringAnswer(msgspec.Struct):
    """The windows of the stream and the changes that were detected, oldest first; the last window may be filling."""

    windows: list[Window]
    changes: list[Change]


class SnapshotsAnswer(msgspec.Struct):
    """All snapshots, oldest first."""

    snapshots: list[SnapshotInfo]


class RecordAnswer(msgspec.Struct):
    """A record of the journal. `content` is null if it was erased."""

    position: int
    kind: str
    content: msgspec.Raw
    key: str | None
    who: str | None
    time: float
    forgotten: int | None


class Fingerprint(msgspec.Struct):
    """The fingerprint of the model at a position."""

    position: int
    fingerprint: str


class JournalAnswer(msgspec.Struct):
    """A part of the journal, for followers."""

    id: str
    first: int
    last: int
    learned: int
    records: list[RecordAnswer]
    fingerprints: list[Fingerprint]


class Health(msgspec.Struct):
    """Whether the server works."""

    status: str
    reasons: list[str]
