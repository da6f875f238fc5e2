# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What to do about an error, in options: the library says it in Python."""

from __future__ import annotations

import re

from oplt.errors import OpltError, OpltWarning

__all__ = ["FORMATS", "HINTS", "message_of", "message_of_warning"]

# As `oplt.files` has them; a test says so. The names are here because the help needs no NumPy.
FORMATS = ("xmlc", "jsonl", "csv", "tsv", "parquet", "fasttext", "vw")

_GIVE_FORMAT = f"Give --format, one of {', '.join(FORMATS)}."

# By the code of the error. Where there is none, the library's own advice holds here, too.
HINTS: dict[str, str] = {
    "column-missing": "Give --text-column, or --number-columns for numbers; the first line must name the columns.",
    "columns-differ": "The data must have the columns that the model was trained on.",
    "features-of-another-kind": "The data must have the form that the model was trained on.",
    "format-doubtful": _GIVE_FORMAT,
    "format-not-told": _GIVE_FORMAT,
    "format-not-writable": f"Give --to, one of {', '.join(name for name in FORMATS if name != 'parquet')}.",
    "indicator-as-list": "Write the names or numbers of the labels that apply.",
    "label-is-a-list": "Write lists of JSON, or labels with ; between them in CSV.",
    "labels-joined": "If several labels are meant, pass --separator for CSV and TSV, or write lists in JSONL.",
    "labels-missing": "If they have another name, give --labels-column.",
    "text-and-features": "Give --use text or --use features.",
    "text-missing": "Give --text-column or --features-column.",
    "unknown-format": _GIVE_FORMAT,
    "weight-column-taken": "Give another --weight-column.",
}


def message_of(error: OpltError) -> str:
    """Say what an error of the library means to somebody who types commands."""
    if error.code not in HINTS:
        return str(error)
    near = re.match(r"Did you mean .*?[?] ", error.hint or "")
    return str(error.with_hint((near[0] if near else "") + HINTS[error.code]))


def message_of_warning(warning: OpltWarning) -> str:
    """Say the same of a warning."""
    return str(OpltWarning(warning.code, warning.what, HINTS.get(warning.code, warning.hint)))
