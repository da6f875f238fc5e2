# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Who may do what. Each route names its scope in `opt`; without a file of tokens, the loopback address is trusted."""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from oplt.service.errors import ForbiddenError
from oplt.service.tokens import Tokens

__all__ = ["allowed", "check_access", "who_asks"]

_LOCAL = "local"  # who learned, if there are no tokens


def allowed(tokens: Tokens | None, authorization: str, scope: str | None) -> str:
    """Return who asks. Raises an error if that token does not allow it.

    Parameters
    ----------
    tokens
        All tokens; None if there are none.
    authorization
        The header of this name; empty if there is none.
    scope
        What the request needs; None if everybody may send it.
    """
    if scope is None or tokens is None:
        return _LOCAL
    kind, _, given = authorization.partition(" ")
    token = tokens.find(given.strip()) if kind.lower() == "bearer" and given else None
    if token is None:
        raise ForbiddenError(
            "token-missing", "the request has no valid token", hint='Send the header "Authorization: Bearer TOKEN".'
        )
    if not token.allows(scope):
        raise ForbiddenError(
            "token-not-sufficient",
            f"the token {token.name!r} does not allow this",
            hint=f"It takes a token with the scope {scope}.",
        )
    return token.name


async def check_access(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuse a request whose token does not allow it, and note who it is from."""
    header = connection.headers.get("authorization", "")
    connection.state.who = allowed(connection.app.state.tokens, header, handler.opt.get("scope"))


def who_asks(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """Return the name of the token of a request that `check_access` let pass."""
    return getattr(connection.state, "who", None)
