# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What every request passes first: checks against other web sites, a time limit for its arrival, and the metrics."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import urlsplit

from oplt.service.answers import error_body
from oplt.service.metrics import Metrics

__all__ = ["Limits"]

_LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]"])
_STREAM = "/learn/stream"


class Limits:
    """An ASGI application around another one.

    Parameters
    ----------
    app
        The application.
    metrics
        Where requests are counted.
    timeout
        Seconds within which a request must arrive; of a stream, each part.
    only_loopback
        Answer only requests that name the loopback address as their host. Without tokens, this is what keeps web
        sites, whose names an attacker can point to the loopback address, from using the server through a browser.
    """

    def __init__(self, app: Any, metrics: Metrics, *, timeout: float = 30.0, only_loopback: bool = True) -> None:
        self._app = app
        self._metrics = metrics
        self._timeout = timeout
        self._only_loopback = only_loopback

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        status = 500

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        refused = self._refusal(scope)
        try:
            if refused is not None:
                await _refuse(sending, *refused)
            else:
                await self._run(scope, receive, sending)
        finally:
            route = scope.get("path_template") or "other"
            seconds = time.perf_counter() - begin
            self._metrics.count(route, scope["method"], status, seconds)
            note_latency = scope.get("note_latency")
            if note_latency is not None and status == 200:
                note_latency(seconds)

    def _refusal(self, scope: Any) -> tuple[int, str, str] | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        if self._only_loopback and name.lower() not in _LOOPBACK:
            return 403, "host-not-local", "without tokens, the server answers only requests to the loopback address"
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return None
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc.lower() != host.lower():
            return 403, "origin-not-allowed", "requests of other web sites are not allowed"
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        is_stream = scope["path"].endswith(_STREAM)
        expected = "application/x-ndjson" if is_stream else "application/json"
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        if kind != expected and (has_body or kind):  # what a form on a web site can send is not JSON
            hint = f"Pass the header content-type: {expected}{'' if is_stream else ', as curl --json does'}"
            return 415, "content-type-not-json", f"the content type must be {expected}, got {kind or 'none'}. {hint}"
        return None

    async def _run(self, scope: Any, receive: Any, send: Any) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 (requests run in tasks)
        end = loop.time() + self._timeout
        is_stream = scope["path"].endswith(_STREAM)
        is_late = is_started = has_arrived = False

        def late() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        async def receiving() -> Any:
            """Receive a part. The clock runs only here: what the server does meanwhile may take longer."""
            nonlocal has_arrived
            if has_arrived:  # whoever still asks waits for the end of the connection
                return await receive()
            timer = loop.call_at(loop.time() + self._timeout if is_stream else end, late)
            try:
                message = await receive()
            finally:
                timer.cancel()
            has_arrived = not message.get("more_body")
            return message

        async def sending(message: Any) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        try:
            await self._app(scope, receiving, sending)
        except asyncio.CancelledError:
            if not is_late or is_started:
                raise
            await _refuse(send, 408, "request-too-slow", "the request took too long to arrive")


async def _refuse(send: Any, status: int, code: str, message: str) -> None:
    body = error_body(code, message)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 408:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
