# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`POST /v1/learn`, its stream, and `POST /v1/forget`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from typing import Any

import msgspec
from litestar import Request, post
from litestar.params import JSONBody

from oplt.errors import InvalidInputError, OpltError
from oplt.service.access import who_asks
from oplt.service.answers import ERRORS
from oplt.service.bodies import parsed
from oplt.service.errors import BusyError
from oplt.service.examples import Example
from oplt.service.routes._common import Key, Served, applied, in_thread
from oplt.service.served_model import ServedModel
from oplt.service.structs import Applied, Forget, Learn, Learned, StreamLearned

__all__ = ["answer_learn", "forget", "learn", "learn_stream"]

_FEW = 50  # examples that are checked without a thread
_BATCH = 500  # lines of a stream that are appended together
_LONGEST_LINE = 1 << 20
_DECODER = msgspec.json.Decoder(Example)


@post("/learn", status_code=200, opt={"scope": "learn"}, responses=ERRORS, summary="Learn examples")
async def learn(data: JSONBody[Learn], served: Served, request: Request[Any, Any, Any], key: Key = None) -> Learned:
    """Learn one example or several, all or none.

    The answer comes when they are on disk. They are learned in the order of their positions, usually within
    milliseconds; a prediction with `read_after` waits for that. An example with a `key`, or a request with the header
    Idempotency-Key, that was received before is not learned again; the answer has its first position.
    """
    return await answer_learn(served, data, request.app.state.pool, key=key, who=who_asks(request))


async def answer_learn(
    served: ServedModel, data: Learn, pool: Executor, *, key: str | None, who: str | None
) -> Learned:
    """Answer a request."""
    examples = _examples(data)
    if key is not None:
        examples = [_with_key(one, f"{key}/{i}") for i, one in enumerate(examples)]
    if len(examples) > _FEW:
        loop = asyncio.get_running_loop()
        future = await loop.run_in_executor(pool, lambda: served.learn(examples, who=who))
    else:
        future = served.learn(examples, who=who)
    positions = await asyncio.wrap_future(future)
    return Learned(max(positions, default=served.journal.last), positions)


def _examples(data: Learn) -> list[Example]:
    is_one = data.text is not None or data.features is not None or data.labels is not None
    if data.examples is None:
        if data.labels is None:
            raise InvalidInputError(
                "labels-missing", "there is neither 'labels' nor 'examples'", hint="Send [] if no label applies."
            )
        return [Example(data.text, data.features, labels=data.labels, weight=data.weight, key=data.key)]
    if is_one or data.key is not None:
        raise InvalidInputError("text-and-features", "the request has both an example and 'examples'")
    return data.examples


def _with_key(example: Example, key: str) -> Example:
    return example if example.key is not None else msgspec.structs.replace(example, key=key)


@post(
    "/learn/stream",
    status_code=200,
    opt={"scope": "learn"},
    responses=ERRORS,
    request_max_body_size=None,
    summary="Learn a stream of examples",
)
async def learn_stream(served: Served, request: Request[Any, Any, Any], key: Key = None) -> StreamLearned:
    """Learn a stream of any length: one example per line (application/x-ndjson).

    If the server is busy, it reads more slowly. An error names a line, or the batch of lines that was refused; all
    lines before it have been accepted. With the header Idempotency-Key, the same stream can be sent again after an
    interruption: what was accepted the first time is not learned again.
    """
    who, n_examples, position = who_asks(request), 0, served.journal.last
    async for numbers, examples in _batches(request, key):
        try:
            positions = await _append(served, examples, who)
        except OpltError as error:
            raise error.at(f"lines {numbers[0]} to {numbers[-1]}: {error.where or 'an example'}") from None
        n_examples += len(examples)
        position = max(positions)
    return StreamLearned(position, n_examples)


async def _append(served: ServedModel, examples: list[Example], who: str | None) -> list[int]:
    while True:
        try:
            return await asyncio.wrap_future(served.learn(examples, who=who))
        except BusyError:
            await asyncio.sleep(0.05)


async def _batches(request: Request[Any, Any, Any], key: str | None) -> AsyncIterator[tuple[list[int], list[Example]]]:
    numbers: list[int] = []
    examples: list[Example] = []
    number = 0
    async for line in _lines(request):
        number += 1
        if not line.strip():
            continue
        try:
            example = _parsed(line, number)
        except InvalidInputError:
            if examples:
                yield numbers, examples
            raise
        numbers.append(number)
        examples.append(example if key is None else _with_key(example, f"{key}/{number}"))
        if len(examples) == _BATCH:
            yield numbers, examples
            numbers, examples = [], []
    if examples:
        yield numbers, examples


def _parsed(line: bytes, number: int) -> Example:
    try:
        return parsed(_DECODER, line, "the line")
    except InvalidInputError as error:
        raise InvalidInputError("not-json", error.what, where=f"line {number}") from None


async def _lines(request: Request[Any, Any, Any]) -> AsyncIterator[bytes]:
    rest = b""
    async for part in request.stream():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > _LONGEST_LINE:
            raise InvalidInputError("line-too-long", f"a line has more than {_LONGEST_LINE:,} bytes")
    if rest:
        yield rest


@post("/forget", status_code=200, opt={"scope": "admin"}, responses=ERRORS, summary="Forget examples")
async def forget(data: JSONBody[Forget], served: Served, request: Request[Any, Any, Any], key: Key = None) -> Applied:
    """Forget the examples at these positions of the journal: the model becomes one that never learned them.

    They are erased from the journal, and snapshots that contain them are removed. It takes about as long as learning
    all examples did; predictions continue meanwhile.
    """
    future = await in_thread(request, lambda: served.forget(data.positions, who=who_asks(request), key=key))
    return await applied(served, future)
