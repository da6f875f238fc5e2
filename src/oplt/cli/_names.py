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
from oplt.validation import twin

__all__ = ["labels_of", "new_labels"]


def new_labels(labels: Iterable[Label], known: Labels) -> list[Label]:
    """Convert names that may be new to integers, where possible, if all labels of the model are integers."""
    are_numbers = len(known) > 0 and all(isinstance(label, int) for label in known)
    twins = [(label, twin(label) if are_numbers and isinstance(label, str) else None) for label in labels]
    return [label if number is None else number for label, number in twins]


def labels_of(names: Iterable[str], known: Labels) -> list[Label]:
    """Return the labels of the command line; a single dash means those on standard input, one per line."""
    given = list(names)
    if given == [STANDARD_INPUT]:
        given = [line.strip() for line in sys.stdin if line.strip()]
        if not given:
            msg = "there are no labels on standard input"
            raise WrongUsageError(msg)
    return [known.called(name) for name in given]
