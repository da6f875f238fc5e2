# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What goes wrong, as data: a program reads the fields of an error, a person its message.

After one of these errors the model is as it was. After a MemoryError in learning it is half changed, and refuses to be
used: load it again. docs/errors.md lists the codes.
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
    """Anything that the library raises on purpose.

    Parameters
    ----------
    code
        A short name of what is wrong, the same in every version: ``"unknown-format"``.
    what
        What is wrong, in words, without the rest: ``"there is no format of this name"``.
    where
        Where it was found: ``"train.csv, line 7"``.
    got
        What was received, as text.
    hint
        What to do about it, a sentence or two.

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
        super().__init__(code, what)  # what pickle makes an error of; the rest is in its attributes
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

    def at(self, where: str) -> Self:
        """Make the same error at a place that only the caller knows: the line of a file instead of the row of X."""
        error = copy.copy(self)
        error.where = where
        return error

    def with_hint(self, hint: str | None) -> Self:
        """Make the same error with another advice, for those who do not write Python."""
        error = copy.copy(self)
        error.hint = hint
        return error

    def to_dict(self) -> dict[str, str | None]:
        """Make plain values of it, that can be written as JSON.

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
    """Something is taken as it is written, but may be meant differently.

    Parameters
    ----------
    code
        A short name of what was seen, the same in every version: ``"labels-joined"``.
    what
        What was seen, and what it is taken as.
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
    """A setting is outside its range."""


class InvalidInputError(OpltError, ValueError):
    """An example, a label, a feature or a tree cannot be used."""


class MissingPackageError(OpltError, ImportError):
    """Something needs a package that is not installed."""


class BrokenModelError(OpltError, RuntimeError):
    """An earlier failure in learning, such as a lack of memory, has left the model half changed."""


class ForkedCallError(OpltError, RuntimeError):
    """The process was forked during a call on several threads, and the child cannot go on with it."""


class ModelFormatError(OpltError, ValueError):
    """A file is not a model, is damaged, or was written by a newer version."""
