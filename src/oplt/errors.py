# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What goes wrong, and how it is told.

Every message says what was wrong, where, what was received and what to do. After one of these errors the model is as
it was. After a MemoryError in learning it is half changed, and refuses to be used: load it again.
"""

__all__ = [
    "BrokenModelError",
    "FrozenModelError",
    "InvalidInputError",
    "InvalidParameterError",
    "MissingPackageError",
    "ModelFormatError",
    "OpltError",
]


class OpltError(Exception):
    """Anything that the library raises on purpose."""


class InvalidParameterError(OpltError, ValueError):
    """A setting is outside its range."""


class InvalidInputError(OpltError, ValueError):
    """An example, a label, a feature or a tree cannot be used."""


class MissingPackageError(OpltError, ImportError):
    """Something needs a package that is not installed."""


class BrokenModelError(OpltError, RuntimeError):
    """An earlier failure in learning, such as a lack of memory, has left the model half changed."""


class FrozenModelError(OpltError, RuntimeError):
    """The model was trained at once and learns no more."""


class ModelFormatError(OpltError, ValueError):
    """A file is not a model, is damaged, or was written by a newer version."""
