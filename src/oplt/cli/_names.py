# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Labels on the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from oplt._typing import Label
from oplt.cli._console import WrongUsageError
from oplt.cli._stream import STANDARD_INPUT
from oplt.labels import Labels

__all__ = ["labels_of"]


def labels_of(names: Iterable[str], known: Labels) -> list[Label]:
    """Return the labels of the command line; a single dash means those on standard input, one per line."""
    given = list(names)
    if given == [STANDARD_INPUT]:
        given = [line.strip() for line in sys.stdin if line.strip()]
        if not given:
            msg = "there are no labels on standard input"
            raise WrongUsageError(msg)
    return [known.called(name) for name in given]
