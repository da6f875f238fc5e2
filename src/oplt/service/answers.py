# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Errors as answers: one JSON shape, a status for each class, and nothing about the inside of the server."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi.datastructures import ResponseSpec

from oplt.errors import InvalidInputError, InvalidParameterError, OpltError
from oplt.service.bodies import UNKNOWN, explained
from oplt.service.errors import (
    BusyError,
    ForbiddenError,
    JournalError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from oplt.service.structs import ErrorAnswer, ErrorDetails

__all__ = ["ERRORS", "HANDLERS", "KEY_RULE", "described", "error_body"]

KEY_RULE = "Idempotency-Key must have 1 to 100 visible ASCII characters"  # no other header is checked

_log = logging.getLogger(__name__)
_RETRY_AFTER = "1"  # seconds

_STATUS: list[tuple[type[OpltError], int]] = [
    (BusyError, 429),
    (NotFoundError, 404),
    (RefusedError, 409),
    (ForbiddenError, 403),
    (UnavailableError, 503),
    (JournalError, 503),
    (InvalidInputError, 400),
    (InvalidParameterError, 400),
]

_SAYS = {
    400: "The request is not valid.",
    401: "The request has no valid token.",
    403: "The token does not allow this.",
    404: "There is no such thing.",
    408: "The request took too long to arrive.",
    409: "The request contradicts an earlier one, or the state of the model.",
    413: "The request is too large.",
    415: "The request is not JSON.",
    429: "Too many examples wait to be learned. Try again later.",
    503: "The server cannot do this at present. Try again later.",
}
ERRORS = {
    status: ResponseSpec(ErrorAnswer, description=says, generate_examples=False) for status, says in _SAYS.items()
}

_CODES = {
    400: "request-not-valid",
    401: "token-missing",
    404: "no-such-address",
    405: "method-not-allowed",
    408: "request-too-slow",
    413: "request-too-large",
    415: "content-type-not-json",
}


def _status_of(error: OpltError) -> int:
    """Return the HTTP status of an error."""
    if error.code == "token-missing":
        return 401
    return next((status for cls, status in _STATUS if isinstance(error, cls)), 500)


def error_body(code: str, message: str) -> bytes:
    """Make the body of an answer that reports an error."""
    return msgspec.json.encode(ErrorAnswer(ErrorDetails(code, message)))


def _answer(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response[Any]:
    return Response(
        content=error_body(code, message), status_code=status, headers=headers, media_type="application/json"
    )


def described(error: Exception) -> tuple[int, str, str, dict[str, str]]:
    """Return the status, code, message and headers of the answer to an error, and log those that are our own."""
    if isinstance(error, RecursionError):
        return 400, "request-not-valid", "the request is nested too deeply", {}
    if not isinstance(error, OpltError):
        _log.error("a request failed", exc_info=error)
        return 500, "internal-error", "the server failed; its log says why", {}
    status = _status_of(error)
    if status < 500:
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": _RETRY_AFTER}
        return status, error.code, str(error), headers if status in (401, 429) else {}
    _log.error("answered %d: %s", status, error)  # where and what was found may name files: only in the log
    return status, error.code, f"{error.what}. Try again later.", {"Retry-After": _RETRY_AFTER}


def _of_error(_: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    return _answer(*described(error))


def _of_framework(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    if error.status_code >= 500:
        _log.error("answered %d: %s", error.status_code, error)
        return _answer(error.status_code, "internal-error", "the server failed; its log says why")
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    message = _said(request, error, headers)
    return _answer(error.status_code, _CODES.get(error.status_code, "request-refused"), message, headers)


def _said(request: Request[Any, Any, Any], error: HTTPException, headers: dict[str, str]) -> str:
    """Reword the message of the framework."""
    if error.status_code == 404:
        return f"there is no address {request.url.path}. GET /openapi/openapi.json lists all addresses"
    if error.status_code == 405:
        methods = sorted({method.strip() for value in headers.values() for method in value.split(",")} - {"OPTIONS"})
        return f"{request.url.path} does not accept {request.method}. Use {' or '.join(methods)}"
    handler = request.scope.get("route_handler")  # missing if the request was refused before its address was looked at
    if error.status_code != 400 or handler is None:
        return error.detail or "the request is not valid"
    field = handler.parsed_data_field
    wanted = field.annotation if field is not None else None
    if not isinstance(error, ValidationException) or not isinstance(error.extra, list):
        return explained(error.detail, wanted)
    return "; ".join(_explained(request, wanted, **one) for one in error.extra)


def _explained(request: Request[Any, Any, Any], wanted: Any, *, message: str, key: str = "", source: str = "") -> str:
    if message == "'data'":  # a KeyError of the framework
        return explained("", wanted)
    if source == "header":
        return KEY_RULE
    sent = request.query_params if source == "query" else UNKNOWN
    return explained(message if key in ("", "data") else f"{message} - at `$.{key}`", wanted, sent)


HANDLERS: dict[Any, Any] = {HTTPException: _of_framework, Exception: _of_error}
