# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What to do about an error, in options: the library says it in Python."""

from __future__ import annotations

from oplt.errors import OpltError

__all__ = ["FORMATS", "HINTS", "message_of"]

# As `oplt.files` has them; a test says so. The names are here because the help needs no NumPy.
FORMATS = ("xmlc", "jsonl", "csv", "tsv", "parquet", "fasttext", "vw")

_GIVE_FORMAT = f"Give --format, one of {', '.join(FORMATS)}."

# By the code of the error. Where there is none, the library's own advice holds here, too.
HINTS: dict[str, str] = {
    "column-missing": "Give --text-column, or --number-columns for numbers.",
    "format-doubtful": _GIVE_FORMAT,
    "format-not-told": _GIVE_FORMAT,
    "format-not-writable": f"Give --to, one of {', '.join(name for name in FORMATS if name != 'parquet')}.",
    "labels-missing": "If they have another name, give --labels-column.",
    "text-and-features": "Give --use text or --use features.",
    "text-missing": "Give --text-column or --features-column.",
    "thresholds-not-tuned": "Choose them by oplt tune MODEL DATA, on examples that the model has not learnt.",
    "unknown-format": _GIVE_FORMAT,
    "weight-column-taken": "Give another --weight-column.",
}


def message_of(error: OpltError) -> str:
    """Say what an error of the library means to somebody who types commands."""
    return str(error.with_hint(HINTS[error.code]) if error.code in HINTS else error)
