# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What to do about an error, in options: the library says it in Python."""

from __future__ import annotations

import copy
import re

from oplt.errors import OpltError, OpltWarning

__all__ = ["FORMATS", "HINTS", "message_of", "message_of_warning"]

# As `oplt.files` has them; a test says so. The names are here because the help needs no NumPy.
FORMATS = ("xmlc", "jsonl", "csv", "tsv", "parquet", "fasttext", "vw")

_GIVE_FORMAT = f"Give --format, one of {', '.join(FORMATS)}."

# By the code of the error. Where there is none, the library's own advice holds here, too.
HINTS: dict[str, str] = {
    "column-missing": "Give --text-column, or --feature-columns for numbers; the first line must name the columns.",
    "columns-differ": "The data must have the columns that the model was trained on.",
    "features-of-another-kind": "The data must have the form that the model was trained on.",
    "format-doubtful": _GIVE_FORMAT,
    "format-not-told": _GIVE_FORMAT,
    "format-not-writable": f"Give --to, one of {', '.join(name for name in FORMATS if name != 'parquet')}.",
    "indicator-as-list": "Write the names or numbers of the labels that apply.",
    "label-is-a-list": "Write lists of JSON, or labels with ; between them in CSV.",
    "labels-joined": "If several labels are meant, pass --separator for CSV and TSV, or write lists in JSONL.",
    "labels-missing": "If they have another name, give --labels-column.",
    "model-of-another-kind": "Update the full model that it was made from, or train a new one with oplt train.",
    "text-and-features": "Give --use text or --use features.",
    "text-missing": "Give --text-column or --features-column.",
    "thresholds-not-tuned": "Choose them by oplt tune MODEL DATA, on examples that the model has not learnt.",
    "unknown-format": _GIVE_FORMAT,
    "weight-column-taken": "Give another --weight-column.",
}


_AS_JSON = {"None": "null", "True": "true", "False": "false"}
_LONGEST = 400  # characters of what was received
_NUMBERED = re.compile(r"(label|feature) (\d+) must be a non-empty")
_SETTING = re.compile(r"([a-z_]+)(?= must (not )?be )")


def message_of(error: OpltError) -> str:
    """Say what an error of the library means to somebody who types commands."""
    told = copy.copy(error)
    if error.code in HINTS:
        near = re.match(r"Did you mean .*?[?] ", error.hint or "")
        told.hint = (near[0] if near else "") + HINTS[error.code]
    elif error.hint and "numpy." in error.hint:  # of no use to those who type commands
        told.hint = None
    told.what = _NUMBERED.sub(_counted, error.what)
    if error.code == "parameter-out-of-range":
        told.what = _SETTING.sub(lambda found: _option(found[1]), told.what, count=1)
    if error.got is not None:
        got = _AS_JSON.get(error.got, error.got)
        told.got = got if len(got) <= _LONGEST else f"{got[: _LONGEST - 3]}..."
    return str(told)


def message_of_warning(warning: OpltWarning) -> str:
    """Say the same of a warning."""
    return str(OpltWarning(warning.code, warning.what, HINTS.get(warning.code, warning.hint)))


def _counted(found: re.Match[str]) -> str:
    """Count from 1, and do not look like the name of the label."""
    return f"{found[1]} number {int(found[2]) + 1} of the example must be a non-empty"


def _option(setting: str) -> str:
    return f"-{setting}" if len(setting) == 1 else f"--{setting.replace('_', '-')}"
