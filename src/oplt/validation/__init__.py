# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Validation of examples: features or texts, labels and weights.

All input is validated here and converted to what the core takes, before the model changes. Callers that know where an
example came from, such as the line of a file, add that to the errors raised here (`OpltError.at`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from oplt._typing import Row, Rows
from oplt.validation._containers import NamedLabels, NamedRows, Origin, Texts, listed
from oplt.validation._features import as_row, as_rows, check_features
from oplt.validation._labels import (
    as_label_set,
    as_labels,
    as_labels_of_one,
    check_labels,
    is_indicator,
    refuse_indicator,
)
from oplt.validation._names import check_names, plain_names, twin
from oplt.validation._numbers import as_numbers
from oplt.validation._texts import TEXT, as_text, as_texts, further_features, holds_text
from oplt.validation._values import bad_value
from oplt.validation._weights import as_weight, as_weights

__all__ = [
    "TEXT",
    "NamedLabels",
    "NamedRows",
    "Origin",
    "Texts",
    "as_input",
    "as_inputs",
    "as_label_set",
    "as_labels",
    "as_labels_of_one",
    "as_numbers",
    "as_row",
    "as_rows",
    "as_text",
    "as_texts",
    "as_weight",
    "as_weights",
    "bad_value",
    "check_features",
    "check_labels",
    "check_names",
    "further_features",
    "holds_text",
    "is_indicator",
    "listed",
    "plain_names",
    "refuse_indicator",
    "twin",
]


def as_input(x: Row | str, *, texts: bool, pattern: re.Pattern[str] | None = None) -> NamedRows | Texts:
    """Validate one example: its text if the model takes texts, otherwise its features."""
    return replace(as_text(x), pattern=pattern) if texts else as_row(cast("Row", x))


def as_inputs(
    X: Rows | Iterable[str],  # noqa: N803 (a matrix)
    *,
    texts: bool,
    pattern: re.Pattern[str] | None = None,
) -> NamedRows | Texts:
    """Validate many examples: texts if the model takes texts, otherwise features."""
    return replace(as_texts(X), pattern=pattern) if texts else as_rows(cast("Rows", X))
