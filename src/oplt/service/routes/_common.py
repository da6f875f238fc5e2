# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What the routes share: threads for what takes long, and waiting for the learner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Annotated, Any, TypeVar

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import HeaderParameter, PathParameter

from oplt.service.errors import NotFoundError, UnavailableError
from oplt.service.served_model import ServedModel
from oplt.service.structs import Applied

__all__ = ["Key", "Position", "Served", "applied", "in_thread", "read_after"]

_Result = TypeVar("_Result")

_WAIT = 30.0  # seconds that a request may wait for the learner

Key = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        description="A request that is repeated with the same key counts once.",
        required=False,
    ),
]
Served = NamedDependency[ServedModel]  # the model that the address names
Position = Annotated[int, PathParameter(ge=0, le=2**62)]


async def in_thread(request: Request[Any, Any, Any], call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Run something that takes long in a thread, so that other requests do not wait."""
    pool: Executor = request.app.state.pool
    return await asyncio.get_running_loop().run_in_executor(pool, call, *arguments)


async def read_after(served: ServedModel, position: int | None) -> None:
    """Wait until a position has been learned."""
    if position is None or served.learned >= position:
        return
    if position > served.journal.last and served.leader is None:
        raise NotFoundError("no-such-position", f"the journal does not reach position {position}")
    try:
        await asyncio.wait_for(asyncio.wrap_future(served.learner.when_learned(position)), _WAIT)
    except asyncio.TimeoutError:
        raise UnavailableError("not-learned-yet", f"position {position} has not been learned yet") from None


async def applied(served: ServedModel, appended: Future[list[int]]) -> Applied:
    """Wait until a record is durable and, for a while, until it has been applied."""
    (position,) = await asyncio.wrap_future(appended)
    try:
        await asyncio.wait_for(asyncio.wrap_future(served.learner.when_learned(position)), _WAIT)
    except asyncio.TimeoutError:
        return Applied(position, applied=False)
    refusal = served.learner.refusal(position)
    if refusal is not None:
        raise refusal
    return Applied(position, applied=True)
