# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Errors of the service. The HTTP layer answers each class with its status."""

from __future__ import annotations

from oplt.errors import OpltError

__all__ = ["BusyError", "ForbiddenError", "JournalError", "NotFoundError", "RefusedError", "UnavailableError"]


class JournalError(OpltError, RuntimeError):
    """The journal cannot be written or read. Nothing was acknowledged."""


class BusyError(OpltError, RuntimeError):
    """There is more to learn than the server may queue. Try again later."""


class UnavailableError(OpltError, RuntimeError):
    """The server cannot do this now."""


class RefusedError(OpltError, ValueError):
    """A request is well-formed, but contradicts an earlier one or the state of the model."""


class NotFoundError(OpltError, LookupError):
    """There is no model, snapshot or journal record of this name or position."""


class ForbiddenError(OpltError, PermissionError):
    """The request has no token, or one that does not allow it."""
