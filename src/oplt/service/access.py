# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Who may do what. Each route names its scope in `opt`; without a file of tokens, the loopback address is trusted."""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from oplt.service.errors import ForbiddenError
from oplt.service.tokens import Tokens

__all__ = ["check_access", "who_asks"]

_LOCAL = "local"  # who learnt, if there are no tokens


def check_access(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuse a request whose token does not allow it, and note who it is from."""
    scope = handler.opt.get("scope")
    tokens: Tokens | None = connection.app.state.tokens
    if scope is None or tokens is None:
        connection.state.who = _LOCAL
        return
    kind, _, given = connection.headers.get("authorization", "").partition(" ")
    token = tokens.find(given.strip()) if kind.lower() == "bearer" and given else None
    if token is None:
        raise ForbiddenError(
            "token-missing", "the request has no valid token", hint='Send the header "Authorization: Bearer TOKEN".'
        )
    if not token.allows(scope):
        raise ForbiddenError("token-not-sufficient", f"the token {token.name!r} does not allow this", got=scope)
    connection.state.who = token.name


def who_asks(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """Return the name of the token of a request that `check_access` let pass."""
    return getattr(connection.state, "who", None)
