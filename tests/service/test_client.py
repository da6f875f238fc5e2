# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The clients learn each example once, however often a request has to be repeated."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from oplt.client import AsyncClient, Client, ServerError
from oplt.service.served_model import ServedModel
from tests.service.processes import serving
from tests.service.running import new_folder, served, stream, twin_of

EXAMPLES = stream(400)
PAIRS = [(one.features, one.labels) for one in EXAMPLES]


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ServedModel]:
    with served(new_folder(tmp_path)) as one:
        yield one


@pytest.fixture
def url(model: ServedModel) -> Iterator[str]:
    with serving({"m": model}) as client:
        yield str(client.base_url)


class Flaky(httpx.BaseTransport):
    """Loses every other answer, after the server has got the request."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self._turn = itertools.count()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._inner.handle_request(request)
        if next(self._turn) % 2 == 0:
            answer.read()
            msg = "lost"
            raise httpx.ReadError(msg)
        return answer

    def close(self) -> None:
        self._inner.close()


def test_lost_answers_do_not_count_twice(url: str, model: ServedModel) -> None:
    sent: list[int] = []
    with Client(url) as client:
        client._http.close()
        client._http = httpx.Client(transport=Flaky())
        position = client.learn_many(PAIRS, batch=150, progress=sent.append)
        assert (position, sent) == (400, [150, 300, 400])
        found = client.predict_many([x for x, _ in PAIRS[:20]], k=3, read_after=position)
        described = client.model(fingerprint=True)
    twin = twin_of(EXAMPLES)
    assert described["fingerprint"] == twin.fingerprint()
    assert found == list(twin.predict_many([x for x, _ in PAIRS[:20]], k=3))
    assert model.journal.last == 400


def test_a_call_can_be_repeated_with_its_key(url: str, model: ServedModel) -> None:
    with Client(url, model="m") as client:
        client.learn_many(PAIRS[:200], batch=100, key="import-7")
        assert client.learn_many(PAIRS, batch=100, key="import-7") == 400
        assert client.learn_one({"a": 1.0, 7: 2.0}, "x", weight=2.0, key="one") == 401
        assert client.learn_one({"a": 1.0, 7: 2.0}, "x", weight=2.0, key="one") == 401
        assert client.predict_one({7: 1.0}, k=1, allow={"x"}, read_after=401)[0][0] == "x"
    assert model.journal.last == 401


def test_examples_may_have_keys_of_their_own(url: str, model: ServedModel) -> None:
    examples = [(x, labels, 1.0, f"key-{i}") for i, (x, labels) in enumerate(PAIRS[:10])]

    async def again() -> list[int]:
        async with AsyncClient(url) as client:
            return await client.learn_batch(examples[5:])

    with Client(url) as client:
        assert client.learn_batch(examples[:6]) == [1, 2, 3, 4, 5, 6]
        assert client.learn_batch(examples[4:8]) == [5, 6, 7, 8]
        assert asyncio.run(again()) == [6, 7, 8, 9, 10]
        assert client.learn_many(examples, batch=3) == 10
    assert model.journal.last == 10


def test_errors_have_codes(url: str) -> None:
    with Client(url) as client:
        with pytest.raises(ServerError) as refused:
            client.learn_one({"a": 1e300}, ["x"])
        assert (refused.value.code, refused.value.status) == ("value-out-of-range", 400)
        with pytest.raises(ServerError) as text:
            client.predict_one("a text")
        assert text.value.code == "model-takes-others"
    with Client("http://127.0.0.1:9", retries=1) as nobody, pytest.raises(ServerError) as missing:
        nobody.model()
    assert (missing.value.code, missing.value.status) == ("server-not-reachable", 0)


def test_the_asynchronous_client(url: str) -> None:
    async def examples() -> AsyncIterator[Any]:
        for pair in PAIRS[200:]:
            yield pair

    async def run() -> tuple[int, Any, Any]:
        async with AsyncClient(url) as client:
            await client.learn_many(PAIRS[:200], batch=64)
            position = await client.learn_many(examples(), batch=64)
            one = await client.predict_one(PAIRS[0][0], k=2, read_after=position)
            return position, one, await client.model(fingerprint=True)

    position, one, described = asyncio.run(run())
    twin = twin_of(EXAMPLES)
    assert position == 400
    assert one == twin.predict_one(PAIRS[0][0], k=2)
    assert described["fingerprint"] == twin.fingerprint()
