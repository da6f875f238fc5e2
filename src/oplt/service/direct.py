# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A shorter way for the two addresses that are used all the time: learn and predict.

The framework describes these addresses and can answer them, too, but takes more time for that than the rest of a
request does. Here, the body is decoded straight into its class, and the same functions answer; a test compares both.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import msgspec

from oplt.errors import InvalidInputError
from oplt.service.access import allowed
from oplt.service.answers import KEY_RULE, described, error_body
from oplt.service.bodies import parsed
from oplt.service.routes.learning import answer_learn
from oplt.service.routes.predicting import answer_predict
from oplt.service.served_model import ServedModel
from oplt.service.structs import Learn, Predict
from oplt.service.tokens import Tokens

__all__ = ["Direct"]

_KEY = re.compile(rb"[\x21-\x7e]{1,100}")
_LEARN = msgspec.json.Decoder(Learn)
_PREDICT = msgspec.json.Decoder(Predict)
_ENCODE = msgspec.json.Encoder().encode
_TOO_LARGE = (413, "request-too-large", "the request is too large")

_Answer = Callable[[bytes, dict[bytes, bytes], str], Awaitable[Any]]


class Direct:
    """An ASGI application that answers two addresses of each model, and leaves others to the framework."""

    def __init__(
        self, app: Any, served: Mapping[str, ServedModel], tokens: Tokens | None, pool: Executor, max_body: int
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._max_body = max_body
        self._routes: dict[str, tuple[str, str, _Answer, Callable[[float], None] | None]] = {}
        for i, (name, model) in enumerate(served.items()):
            self._add(f"/v1/models/{name}", "/v1/models/{model}", model, pool)
            if i == 0:
                self._add("/v1", "/v1", model, pool)

    def _add(self, base: str, template: str, model: ServedModel, pool: Executor) -> None:
        async def learn(body: bytes, headers: dict[bytes, bytes], who: str) -> Any:
            return await answer_learn(model, parsed(_LEARN, body), pool, key=_key(headers), who=who)

        async def predict(body: bytes, _: dict[bytes, bytes], __: str) -> Any:
            return await answer_predict(model, parsed(_PREDICT, body), pool)

        self._routes[f"{base}/learn"] = ("learn", f"{template}/learn", learn, None)
        self._routes[f"{base}/predict"] = ("predict", f"{template}/predict", predict, model.monitor.latencies.add)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        route = self._routes.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        needed, scope["path_template"], answer, scope["note_latency"] = route
        headers = dict(scope["headers"])
        try:
            who = allowed(self._tokens, headers.get(b"authorization", b"").decode("latin-1"), needed)
            body = await self._body(receive)
            if body is None:
                await _send(send, _TOO_LARGE[0], error_body(*_TOO_LARGE[1:]), {"connection": "close"})
                return
            found = await answer(body, headers, who)
        except Exception as error:  # noqa: BLE001 (an answer for each of them)
            status, code, message, more = described(error)
            await _send(send, status, error_body(code, message), more)
        else:
            await _send(send, 200, _ENCODE(found))

    async def _body(self, receive: Any) -> bytes | None:
        """Read the body; None if it is too large."""
        message = await receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            parts, size = [body], len(body)
            while message.get("more_body") and size <= self._max_body:
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
            body = b"".join(parts)
        return body if len(body) <= self._max_body else None


def _key(headers: dict[bytes, bytes]) -> str | None:
    key = headers.get(b"idempotency-key")
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise InvalidInputError("request-not-valid", KEY_RULE)
    return key.decode()


async def _send(send: Any, status: int, body: bytes, more: dict[str, str] | None = None) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in (more or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
