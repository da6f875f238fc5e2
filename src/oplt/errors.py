# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What goes wrong, and how it is told.

Every message says what was wrong, where, what was received and what to do. After one of these errors the model is as
it was; after a MemoryError it may be half changed, and should be loaded again.
"""

__all__ = ["InvalidInputError", "InvalidParameterError", "ModelFormatError", "OpltError"]


class OpltError(Exception):
    """Anything that the library raises on purpose."""


class InvalidParameterError(OpltError, ValueError):
    """A setting is outside its range."""


class InvalidInputError(OpltError, ValueError):
    """An example, a label, a feature or a tree cannot be used."""


class ModelFormatError(OpltError, ValueError):
    """A file is not a model, is damaged, or was written by a newer version."""
