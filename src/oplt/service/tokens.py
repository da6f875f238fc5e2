# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Access tokens: random words, of which only hashes are stored, with a name and what they allow."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Literal, get_args

import msgspec

from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.service.errors import UnavailableError

__all__ = ["SCOPES", "Scope", "Token", "Tokens", "add_token", "remove_token"]

Scope = Literal["predict", "learn", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


class Token(msgspec.Struct, frozen=True):
    """A token: its name, what it allows, and its hash. Tokens are random, so a fast hash is enough."""

    name: str
    scopes: list[Scope]
    sha256: str

    def allows(self, scope: str) -> bool:
        """Check whether the token allows something; ``admin`` allows everything."""
        return scope in self.scopes or "admin" in self.scopes


class Tokens:
    """The tokens of a file, which is read again when it changes, so that a token can be withdrawn at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self._tokens: list[Token] = []
        self._refresh()

    def find(self, given: str) -> Token | None:
        """Return the token that was given, if there is one. Takes the same time for all that are wrong.

        Raises
        ------
        UnavailableError
            If the file was removed or damaged meanwhile. What exactly is wrong is none of the business of requests.
        """
        try:
            self._refresh()
        except (OSError, InvalidInputError) as error:
            raise UnavailableError("tokens-not-readable", "the tokens cannot be read", got=str(error)) from None
        digest = _hash(given)
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.sha256, digest):
                found = token
        return found

    def _refresh(self) -> None:
        status = os.stat(self._path)  # noqa: PTH116 (for each request)
        if (status.st_mtime_ns, status.st_ino) != self._read_at:
            self._tokens = _read(self._path)
            self._read_at = (status.st_mtime_ns, status.st_ino)


def add_token(path: Path, name: str, scopes: list[Scope]) -> str:
    """Add a token to a file, which is created if there is none. Returns the token, which is not stored anywhere."""
    tokens = _read(path) if path.exists() else []
    if any(token.name == name for token in tokens):
        raise InvalidInputError(
            "token-name-taken",
            "there is a token of this name",
            where=str(path),
            got=repr(name),
            hint="Remove it first.",
        )
    new = secrets.token_urlsafe(32)
    _write(path, [*tokens, Token(name, scopes, _hash(new))])
    return new


def remove_token(path: Path, name: str) -> None:
    """Withdraw a token. A running server notices it with the next request."""
    tokens = _read(path)
    left = [token for token in tokens if token.name != name]
    if len(left) == len(tokens):
        raise InvalidInputError("unknown-token", "there is no token of this name", where=str(path), got=repr(name))
    _write(path, left)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def _read(path: Path) -> list[Token]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Token])
    except msgspec.MsgspecError as error:
        raise InvalidInputError(
            "tokens-not-valid", "the file does not hold tokens", where=str(path), got=str(error),
            hint="Create one with: oplt token FILE NAME",
        ) from None  # fmt: skip


def _write(path: Path, tokens: list[Token]) -> None:
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # `replacing` keeps these permissions
    with replacing(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(tokens)) + b"\n")
