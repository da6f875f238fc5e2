# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Clients of `oplt serve`, one that waits for answers and one for asyncio.

They need the package httpx: ``pip install 'oplt[client]'``. A request that fails on the way, or that the server is too
busy for, is repeated with the same idempotency key, so that no example is learned twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from oplt._typing import Label, Row
from oplt.errors import MissingPackageError, OpltError

try:
    import httpx
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise MissingPackageError(
        "package-missing", "oplt.client needs the package httpx", hint="Run: pip install 'oplt[client]'"
    ) from None

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["AsyncClient", "Client", "ServerError"]

_AGAIN = (429, 502, 503, 504)
_LONGEST_PAUSE = 5.0  # seconds
Progress = Callable[[int], None]


class ServerError(OpltError, RuntimeError):
    """The server refused a request, or did not answer. `status` is the HTTP status; 0 if there was no answer."""

    status = 0


class _Requests:
    """What both clients have in common: what is sent, and what an answer means."""

    def __init__(self, url: str, token: str | None, model: str | None, retries: int, timeout: float) -> None:
        self._base = f"{url.rstrip('/')}/v1" + (f"/models/{model}" if model else "")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._retries = retries
        self._timeout = timeout

    def _pause(self, attempt: int, answer: httpx.Response | None) -> float:
        given = str(answer.headers.get("retry-after", "")) if answer is not None else ""
        pause = float(min(_LONGEST_PAUSE, 0.1 * 2**attempt))
        return max(pause, min(_LONGEST_PAUSE, float(given))) if given.isdecimal() else pause

    def _result(self, answer: httpx.Response | None, problem: Exception | None) -> Any:
        if answer is None:
            raise ServerError(
                "server-not-reachable", "the server does not answer", where=self._base, got=str(problem),
                hint="Check the address, and whether the server runs.",
            )  # fmt: skip
        if answer.is_success:
            return answer.json()
        try:
            details = answer.json()["error"]
            error = ServerError(str(details["code"]), str(details["message"]))
        except (ValueError, LookupError, TypeError):
            error = ServerError("server-not-oplt", "the answer is not that of an oplt server", where=self._base)
        error.status = answer.status_code
        raise error


class Client(_Requests):
    """A client that waits for each answer. It can be used by several threads, and as a context manager.

    Parameters
    ----------
    url
        The address of the server, such as ``http://127.0.0.1:8000``.
    token
        The token, if the server requires one.
    model
        The name of the model, if it is not the first one of the server.
    retries
        How often a request is repeated if it fails on the way or the server is busy.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(
        self, url: str, *, token: str | None = None, model: str | None = None, retries: int = 8, timeout: float = 60.0
    ) -> None:
        super().__init__(url, token, model, retries, timeout)
        self._http = httpx.Client(headers=self._headers, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(self, method: str, path: str, *, json: Any = None, key: str | None = None, **query: Any) -> Any:
        """Send a request to an address of the model, such as ``/model``, and return the answer."""
        headers = {} if key is None else {"Idempotency-Key": key}
        answer, problem = None, None
        for attempt in range(self._retries + 1):
            try:
                answer = self._http.request(method, self._base + path, json=json, headers=headers, params=query)
            except httpx.TransportError as error:
                answer, problem = None, error
            if answer is not None and answer.status_code not in _AGAIN:
                break
            if attempt < self._retries:
                time.sleep(self._pause(attempt, answer))
        return self._result(answer, problem)

    def predict_one(self, x: Row | str, k: int | None = None, **options: Any) -> list[tuple[Label, float]]:
        """Predict the labels of one example; `options` are `threshold`, `allow`, `deny` and `read_after`."""
        return self.predict_many([x], k, **options)[0]

    def predict_many(
        self, xs: Iterable[Row | str], k: int | None = None, **options: Any
    ) -> list[list[tuple[Label, float]]]:
        """Predict the labels of many examples, a thousand per request."""
        found: list[list[tuple[Label, float]]] = []
        for part in _parts(xs, 1000):
            found += _predictions(self.request("POST", "/predict", json=_question(part, k, options)))
        return found

    def learn_one(self, x: Row | str, labels: Iterable[Label], *, weight: float = 1.0, key: str | None = None) -> int:
        """Learn an example. Returns its position in the journal, for `read_after`, as soon as it is on disk."""
        return self.learn_many([(x, labels, weight)], key=key)

    def learn_many(
        self, examples: Iterable[Any], *, batch: int = 500, key: str | None = None, progress: Progress | None = None
    ) -> int:
        """Learn many examples in batches. Returns the position of the last one.

        Parameters
        ----------
        examples
            Pairs (x, labels), triples (x, labels, weight), or (x, labels, weight, key), with a key for each example.
        batch
            Number of examples per request.
        key
            The idempotency key. If the call is repeated with the same key, batch and examples, what the server has
            already received is not learned again. Without it, only repetitions within this call are recognized.
        progress
            Called with the number of examples sent so far.
        """
        name, position, n_sent = key or uuid.uuid4().hex, 0, 0
        for i, part in enumerate(_parts(examples, batch)):
            position = self.request("POST", "/learn", json=_to_learn(part), key=f"{name}.{i}")["position"]
            n_sent += len(part)
            if progress is not None:
                progress(n_sent)
        return position

    def learn_batch(self, examples: Iterable[Any]) -> list[int]:
        """Learn examples in a single request, all or none, and return their positions in the journal.

        An example whose key the server has received before keeps its first position.
        """
        json, key = _to_learn(list(examples)), uuid.uuid4().hex
        found: list[int] = self.request("POST", "/learn", json=json, key=key)["positions"]
        return found

    def model(self, *, fingerprint: bool = False) -> dict[str, Any]:
        """Describe the model."""
        found: dict[str, Any] = self.request("GET", "/model", fingerprint=fingerprint)
        return found


class AsyncClient(_Requests):
    """The same for asyncio; see `Client`. Use it as an asynchronous context manager."""

    def __init__(
        self, url: str, *, token: str | None = None, model: str | None = None, retries: int = 8, timeout: float = 60.0
    ) -> None:
        super().__init__(url, token, model, retries, timeout)
        self._http = httpx.AsyncClient(headers=self._headers, timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def request(self, method: str, path: str, *, json: Any = None, key: str | None = None, **query: Any) -> Any:
        """Send a request to an address of the model, such as ``/model``, and return the answer."""
        headers = {} if key is None else {"Idempotency-Key": key}
        answer, problem = None, None
        for attempt in range(self._retries + 1):
            try:
                answer = await self._http.request(method, self._base + path, json=json, headers=headers, params=query)
            except httpx.TransportError as error:
                answer, problem = None, error
            if answer is not None and answer.status_code not in _AGAIN:
                break
            if attempt < self._retries:
                await asyncio.sleep(self._pause(attempt, answer))
        return self._result(answer, problem)

    async def predict_one(self, x: Row | str, k: int | None = None, **options: Any) -> list[tuple[Label, float]]:
        """Predict the labels of one example."""
        return (await self.predict_many([x], k, **options))[0]

    async def predict_many(
        self, xs: Iterable[Row | str], k: int | None = None, **options: Any
    ) -> list[list[tuple[Label, float]]]:
        """Predict the labels of many examples."""
        found: list[list[tuple[Label, float]]] = []
        for part in _parts(xs, 1000):
            found += _predictions(await self.request("POST", "/predict", json=_question(part, k, options)))
        return found

    async def learn_one(
        self, x: Row | str, labels: Iterable[Label], *, weight: float = 1.0, key: str | None = None
    ) -> int:
        """Learn an example; see `Client.learn_one`."""
        return await self.learn_many([(x, labels, weight)], key=key)

    async def learn_many(
        self,
        examples: Iterable[Any] | AsyncIterator[Any],
        *,
        batch: int = 500,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Learn many examples, which may come from an asynchronous iterator; see `Client.learn_many`."""
        name, position, n_sent, i = key or uuid.uuid4().hex, 0, 0, 0
        async for part in _async_parts(examples, batch):
            position = (await self.request("POST", "/learn", json=_to_learn(part), key=f"{name}.{i}"))["position"]
            n_sent, i = n_sent + len(part), i + 1
            if progress is not None:
                progress(n_sent)
        return position

    async def learn_batch(self, examples: Iterable[Any]) -> list[int]:
        """Learn examples in a single request; see `Client.learn_batch`."""
        json, key = _to_learn(list(examples)), uuid.uuid4().hex
        found: list[int] = (await self.request("POST", "/learn", json=json, key=key))["positions"]
        return found

    async def model(self, *, fingerprint: bool = False) -> dict[str, Any]:
        """Describe the model."""
        found: dict[str, Any] = await self.request("GET", "/model", fingerprint=fingerprint)
        return found


def _parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


async def _async_parts(items: Any, size: int) -> AsyncIterator[list[Any]]:
    if not hasattr(items, "__aiter__"):
        for part in _parts(items, size):
            yield part
        return
    part = []
    async for item in items:
        part.append(item)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _as_input(x: Any) -> dict[str, Any]:
    """Make what a request holds of a text, of features, or of a text with features."""
    if isinstance(x, str):
        return {"text": x}
    if not isinstance(x, Mapping):
        raise ServerError("row-not-a-mapping", "an example must be a text or a mapping", got=type(x).__name__)
    if isinstance(x.get("text"), str):
        return {"text": x["text"], "features": {name: value for name, value in x.items() if name != "text"}}
    if all(isinstance(name, str) for name in x):
        return {"features": {name: float(value) for name, value in x.items()}}
    return {"features": [[name if isinstance(name, str) else int(name), float(value)] for name, value in x.items()]}


def _question(xs: list[Any], k: int | None, options: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in {"k": k, **options}.items() if value is not None}
    given.update({name: list(given[name]) for name in ("allow", "deny") if name in given})
    return {"examples": [_as_input(x) for x in xs], **given}


def _predictions(answer: Any) -> list[list[tuple[Label, float]]]:
    return [list(zip(one["labels"], one["probabilities"], strict=True)) for one in answer["predictions"]]


def _to_learn(examples: list[Any]) -> dict[str, Any]:
    found = []
    for x, labels, *more in examples:
        names = [labels] if isinstance(labels, (str, int)) else list(labels)
        weight = {"weight": float(more[0])} if more else {}
        key = {"key": str(more[1])} if len(more) > 1 and more[1] is not None else {}
        found.append({**_as_input(x), "labels": names, **weight, **key})
    return {"examples": found}
