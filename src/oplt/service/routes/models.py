# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a model is and knows, and its snapshots."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter
from litestar.response import File

from oplt.labels import LabelOperation
from oplt.service.access import who_asks
from oplt.service.answers import ERRORS
from oplt.service.errors import NotFoundError
from oplt.service.label_listing import Order, list_labels
from oplt.service.routes._common import Key, Position, Served, applied, in_thread, read_after
from oplt.service.served_model import ServedModel
from oplt.service.snapshots import SnapshotInfo
from oplt.service.structs import (
    Applied,
    LabelChange,
    LabelsAnswer,
    ModelAnswer,
    MonitoringAnswer,
    SnapshotsAnswer,
)

__all__ = [
    "change_label",
    "create_snapshot",
    "download_snapshot",
    "labels",
    "model",
    "monitoring",
    "roll_back",
    "snapshots",
]

_Search = Annotated[str, QueryParameter(max_length=1000, description="Only labels that contain this, ignoring case.")]
_Sort = Annotated[
    Order,
    QueryParameter(
        description="In order of arrival, newest first, or by number of examples. Of the latest examples: labels that "
        "were missed most often (wrong), or whose share differs most from the share before (drift)."
    ),
]
_Offset = Annotated[int, QueryParameter(ge=0, le=2**40)]
_Limit = Annotated[int, QueryParameter(ge=1, le=10_000)]


@get("/model", opt={"scope": "predict"}, responses=ERRORS, summary="Describe the model")
async def model(served: Served, request: Request[Any, Any, Any], fingerprint: FromQuery[bool] = False) -> ModelAnswer:  # noqa: FBT002
    """Describe the model. With `fingerprint`, which takes a pass over the whole model, also its digest."""
    return await in_thread(request, _described, served, fingerprint)


def _described(served: ServedModel, fingerprint: bool) -> ModelAnswer:  # noqa: FBT001
    position, digest = served.fingerprint() if fingerprint else (served.learned, None)
    current = served.model
    return ModelAnswer(
        name=served.name,
        takes="texts" if served.texts else "features",
        n_examples=current.n_examples,
        n_labels=current.n_labels,
        n_features=current.n_features,
        memory_bytes=current.memory_bytes,
        position=position,
        journal=served.journal.last,
        ready=served.is_ready,
        durability=served.settings.durability,
        settings=current.settings,
        leader=served.leader,
        diverged=served.diverged,
        progressive=served.monitor.latest(),
        fingerprint=digest,
    )


@get("/monitoring", opt={"scope": "predict"}, responses=ERRORS, summary="How the model does over the stream")
async def monitoring(served: Served, request: Request[Any, Any, Any]) -> MonitoringAnswer:
    """Return precision, calibration, new labels and more by window of the stream, and the changes in it."""
    return await in_thread(request, lambda: MonitoringAnswer(served.monitor.windows(), served.monitor.changes()))


@get("/labels", opt={"scope": "predict"}, responses=ERRORS, summary="List labels")
async def labels(
    served: Served,
    request: Request[Any, Any, Any],
    search: _Search = "",
    sort: _Sort = "arrival",
    offset: _Offset = 0,
    limit: _Limit = 100,
) -> LabelsAnswer:
    """List the labels of the model."""
    return await in_thread(request, list_labels, served, search, sort, offset, limit)


@post("/labels", status_code=200, opt={"scope": "admin"}, responses=ERRORS, summary="Change a label")
async def change_label(
    data: JSONBody[LabelChange], served: Served, request: Request[Any, Any, Any], key: Key = None
) -> Applied:
    """Add, rename, hide, unhide, remove or merge a label. No operation changes what the tree says about others."""
    features = data.features if isinstance(data.features, dict | None) else dict(data.features)
    operation = LabelOperation(data.kind, data.label, data.other, data.text, features)
    future = await in_thread(request, lambda: served.change_labels(operation, who=who_asks(request), key=key))
    return await applied(served, future)


@get("/snapshots", opt={"scope": "predict"}, responses=ERRORS, summary="List snapshots")
async def snapshots(served: Served, request: Request[Any, Any, Any]) -> SnapshotsAnswer:
    """List the snapshots, oldest first."""
    return SnapshotsAnswer(await in_thread(request, served.snapshots.list))


@post("/snapshots", status_code=201, opt={"scope": "admin"}, responses=ERRORS, summary="Create a snapshot")
async def create_snapshot(served: Served, request: Request[Any, Any, Any]) -> SnapshotInfo:
    """Learn what the journal holds now, then write a snapshot. The answer comes when it is on disk."""
    await read_after(served, served.journal.last)
    return await asyncio.wrap_future(await in_thread(request, served.snapshot))


@get(
    "/snapshots/{position:int}/file",
    opt={"scope": "admin"},
    responses=ERRORS,
    summary="Download a snapshot",
    media_type="application/octet-stream",
)
async def download_snapshot(served: Served, request: Request[Any, Any, Any], position: Position) -> File:
    """Download a snapshot: a model file, which `OnlinePLT.load` and every command read."""
    found = await in_thread(request, served.snapshots.at, position)
    if found is None:
        raise NotFoundError("no-such-snapshot", "there is no snapshot at this position", got=str(position))
    return File(
        path=served.snapshots.path(found.position),
        filename=f"{served.name}-{found.position}.oplt",
        media_type="application/octet-stream",
    )


@post(
    "/snapshots/{position:int}/rollback",
    status_code=200,
    opt={"scope": "admin"},
    responses=ERRORS,
    summary="Roll back to a snapshot",
)
async def roll_back(served: Served, request: Request[Any, Any, Any], position: Position, key: Key = None) -> Applied:
    """Return to the model of a snapshot. What was learned since no longer counts, but stays in the journal."""
    future = await in_thread(request, lambda: served.roll_back(position, who=who_asks(request), key=key))
    return await applied(served, future)
