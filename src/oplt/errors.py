# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Structured errors: programs read the fields of an error, people its message.

These errors leave the model unchanged. A MemoryError during learning leaves it partly updated, and further calls raise
BrokenModelError: reload it from a file. docs/errors.md lists the codes.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = [
    "BrokenModelError",
    "ForkedCallError",
    "InvalidInputError",
    "InvalidParameterError",
    "MissingPackageError",
    "ModelFormatError",
    "OpltError",
    "OpltWarning",
]


class OpltError(Exception):
    """Base class of all errors that the library raises.

    Parameters
    ----------
    code
        A stable identifier of the error, the same in every version: ``"unknown-format"``.
    what
        What is wrong, without place, value and advice: ``"there is no format of this name"``.
    where
        Where it was found: ``"train.csv, line 7"``.
    got
        What was received, as text.
    hint
        What to do about it, in one or two sentences.

    Examples
    --------
    >>> error = OpltError("no-number", "the value must be a number", where="row 3 of X", got="nan", hint="Drop it.")
    >>> print(error)
    row 3 of X: the value must be a number, got nan. Drop it.
    >>> error.code, error.where
    ('no-number', 'row 3 of X')
    """

    def __init__(
        self, code: str, what: str, *, where: str | None = None, got: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(code, what)  # the arguments that pickle uses; the other fields are attributes
        self.code = code
        self.what = what
        self.where = where
        self.got = got
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        got = f", got {self.got}" if self.got is not None else ""
        hint = f". {self.hint}" if self.hint else ""
        return f"{where}{self.what}{got}{hint}"

    def __copy__(self) -> Self:
        # Not left to the copy module: tblib, which Dask imports, makes that return a copy that shares its fields.
        error = type(self).__new__(type(self), *self.args)
        error.__dict__.update(self.__dict__)
        return error

    def at(self, where: str) -> Self:
        """Copy the error with a place that only the caller knows: the line of a file instead of the row of X."""
        error = copy.copy(self)
        error.where = where
        return error

    def with_hint(self, hint: str | None) -> Self:
        """Copy the error with another hint, for users of the command line, say."""
        error = copy.copy(self)
        error.hint = hint
        return error

    def to_dict(self) -> dict[str, str | None]:
        """Convert to plain values that can be written as JSON.

        Examples
        --------
        >>> OpltError("model-damaged", "the checksum does not match", where="m.oplt").to_dict()["message"]
        'm.oplt: the checksum does not match'
        """
        return {
            "code": self.code,
            "message": str(self),
            "what": self.what,
            "where": self.where,
            "got": self.got,
            "hint": self.hint,
        }


class OpltWarning(UserWarning):
    """The input is valid, but is probably not what was meant.

    Parameters
    ----------
    code
        A stable identifier of the warning, the same in every version: ``"labels-joined"``.
    what
        What was found, and how it is interpreted.
    hint
        What to do about it.

    Examples
    --------
    >>> warning = OpltWarning("labels-of-two-types", "both 1 and '1' are labels", "Convert all labels to one type.")
    >>> print(warning)
    both 1 and '1' are labels. Convert all labels to one type.
    """

    def __init__(self, code: str, what: str, hint: str) -> None:
        super().__init__(code, what, hint)
        self.code = code
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}. {self.hint}"


class InvalidParameterError(OpltError, ValueError):
    """A parameter has a value that is not allowed."""


class InvalidInputError(OpltError, ValueError):
    """An example, a label, a feature or a tree cannot be used."""


class MissingPackageError(OpltError, ImportError):
    """An optional package that is needed is not installed."""


class BrokenModelError(OpltError, RuntimeError):
    """An earlier failure during training, such as running out of memory, left the model partly updated."""


class ForkedCallError(OpltError, RuntimeError):
    """The process was forked during a multi-threaded call, which the child process cannot continue."""


class ModelFormatError(OpltError, ValueError):
    """A file is not a model, is damaged, or was written by a newer version of oplt."""
