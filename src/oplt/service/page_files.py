# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The files of the page that people see at `/`.

All files of the folder `page` are read once, into a table by address. A request is looked up there, so that no path
from a request reaches the file system. The files hold nothing about a model, so that everybody may read them; what the
page shows comes from the other addresses, which ask for a token.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["PageFiles"]

_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_POLICY = (
    b"default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),  # ask each time, which costs an answer without content: never an old file
]


class _File(NamedTuple):
    body: bytes
    tag: bytes
    headers: list[tuple[bytes, bytes]]


class PageFiles:
    """An ASGI application that answers the addresses of the page, and leaves others to the next one."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._files = _read()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        file = self._files.get(scope["path"]) if is_read else None
        if file is None:
            await self._app(scope, receive, send)
            return
        scope["path_template"] = "/"
        asked = dict(scope["headers"]).get(b"if-none-match", b"")
        if file.tag in [tag.strip().removeprefix(b"W/") for tag in asked.split(b",")]:
            await send({"type": "http.response.start", "status": 304, "headers": file.headers})
            await send({"type": "http.response.body", "body": b""})
            return
        headers = [*file.headers, (b"content-length", str(len(file.body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else file.body})


def _read() -> dict[str, _File]:
    found = {}
    for entry in files("oplt.service").joinpath("page").iterdir():
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is None:
            continue
        body = entry.read_bytes()
        tag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
        address = "/" if entry.name == "index.html" else f"/page/{entry.name}"
        found[address] = _File(body, tag, [(b"content-type", kind), (b"etag", tag), *_HEADERS])
    return found
