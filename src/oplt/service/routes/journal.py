# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`GET /v1/journal`, which followers and audits read, and the promotion of a follower."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, cast

import msgspec
from litestar import Request, Response, get, post
from litestar.params import QueryParameter

from oplt.service.answers import ERRORS
from oplt.service.errors import JournalError, NotFoundError, RefusedError
from oplt.service.journal import Record
from oplt.service.routes._common import Served
from oplt.service.served_model import ServedModel
from oplt.service.structs import Applied, Fingerprint, JournalAnswer, RecordAnswer

__all__ = ["journal", "promote"]

_MOST_BYTES = 8 << 20  # of one answer

_After = Annotated[int, QueryParameter(ge=0, le=2**62)]
_Limit = Annotated[int, QueryParameter(ge=1, le=5000)]
_Wait = Annotated[float, QueryParameter(ge=0, le=30, description="Seconds to wait for a record if there is none.")]


@get("/journal", opt={"scope": "admin"}, responses=ERRORS, summary="Read the journal")
async def journal(
    served: Served, request: Request[Any, Any, Any], after: _After = 0, limit: _Limit = 1000, wait: _Wait = 0.0
) -> Response[JournalAnswer]:
    """Read the records after a position: who sent what, and when. Followers learn from them."""
    if wait > 0:
        served.followed_at = time.monotonic()
        pool = request.app.state.waiting
        await asyncio.get_running_loop().run_in_executor(pool, served.journal.wait, after, wait)
    pool = request.app.state.pool
    found = await asyncio.get_running_loop().run_in_executor(pool, _read, served, after, limit)
    return cast("Response[JournalAnswer]", Response(found, media_type="application/json"))


def _read(served: ServedModel, after: int, limit: int) -> bytes:
    own = served.journal
    try:
        records = own.read(after, limit)
    except JournalError as error:
        if error.code != "journal-trimmed":
            raise
        raise NotFoundError("journal-trimmed", "these records were removed by the retention rule") from None
    answers: list[RecordAnswer] = []
    size = 0
    for record in records:
        size += 100 + len(record.content or b"")
        if answers and size > _MOST_BYTES:
            break
        answers.append(_answer(record))
    noted = [Fingerprint(position, digest) for position, digest in own.fingerprints()]
    return msgspec.json.encode(JournalAnswer(own.id, own.first, own.last, served.learned, answers, noted))


def _answer(record: Record) -> RecordAnswer:
    content = msgspec.Raw(record.content if record.content is not None else b"null")
    return RecordAnswer(
        record.position, record.kind, content, record.key, record.who, record.time, record.forgotten
    )  # fmt: skip


@post("/promote", status_code=200, opt={"scope": "admin"}, responses=ERRORS, summary="Make a follower a leader")
async def promote(served: Served) -> Applied:
    """Stop following, and accept examples. Stop the old leader first."""
    if served.leader is None:
        raise RefusedError("is-leader", "this server does not follow another one")
    if served.diverged is not None:
        raise RefusedError("has-diverged", "the model differs from its leader's, so it cannot take its place")
    served.leader = None
    return Applied(served.journal.last, applied=True)
