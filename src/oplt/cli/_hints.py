# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Hints for errors that name command-line options where the library names Python arguments."""

from __future__ import annotations

import copy
import re

from oplt.errors import OpltError, OpltWarning

__all__ = ["FORMATS", "HINTS", "OR_SKIP", "message_of", "message_of_warning"]

# The same as in `oplt.files`, which a test checks. Repeated here so that the help does not import NumPy.
FORMATS = ("xmlc", "jsonl", "csv", "tsv", "parquet", "fasttext", "vw")

_GIVE_FORMAT = f"Pass --format with one of {', '.join(FORMATS)}."

# The part of a hint that is left out of reports of skipped lines.
OR_SKIP = ", or pass --on-error skip"

# Hints by error code. For codes not listed here, the library's own hint is shown.
HINTS: dict[str, str] = {
    "cells-and-columns-differ": f"Quote cells that contain the delimiter{OR_SKIP}. A quote may have been left open"
    " before.",
    "column-missing": "Pass --text-column, or --feature-columns for numbers; the first line must name the columns.",
    "description-not-valid": 'Pass a file with a line {"kind": "add", "label": ..., "features": {...}} to apply.',
    "columns-differ": "The data must have the same columns as the training data.",
    "features-of-another-kind": "The data must have the same form as the training data.",
    "format-doubtful": _GIVE_FORMAT,
    "format-not-told": _GIVE_FORMAT,
    "format-not-writable": f"Pass --to with one of {', '.join(name for name in FORMATS if name != 'parquet')}.",
    "indicator-as-list": "Write the names or numbers of the labels that apply.",
    "label-is-a-list": "Use lists in JSON, or separate the labels by ; in CSV.",
    "label-is-missing-value": "If it means that there is no label, use an empty list in JSON, or an empty cell in CSV.",
    "labels-joined": "If these are several labels, pass --separator for CSV and TSV, or use lists in JSONL.",
    "labels-missing": "If the labels have another name, pass --labels-column.",
    "model-of-another-kind": "Update the full model from which it was made, or train a new one with oplt train.",
    "quote-not-closed": f"Close it{OR_SKIP}. A quote inside a quoted cell is written twice.",
    "text-and-features": "Pass --use text or --use features.",
    "text-missing": "Pass --text-column or --features-column.",
    "texts-not-forgettable": "Train a new model without these examples. If it is to forget further ones, train it"
    " without --max-features.",
    "thresholds-not-tuned": "Choose them with oplt tune MODEL DATA, on examples that the model was not trained on.",
    "unknown-format": _GIVE_FORMAT,
    "weight-column-taken": "Pass a different --weight-column.",
}


_AS_JSON = {"None": "null", "True": "true", "False": "false"}
_LONGEST = 400  # characters of the received value that are shown
_NUMBERED = re.compile(r"(label|feature) (\d+) must be a non-empty")
_SETTING = re.compile(r"([a-z_]+)(?= must (not )?be )")


def message_of(error: OpltError) -> str:
    """Reword an error of the library for users of the command line."""
    shown = copy.copy(error)
    if error.code in HINTS:
        near = re.match(r"Did you mean .*?[?] ", error.hint or "")
        shown.hint = (near[0] if near else "") + HINTS[error.code]
    elif error.hint and "numpy." in error.hint:  # no help on the command line
        shown.hint = None
    shown.what = _NUMBERED.sub(_counted, error.what)
    if error.code == "parameter-out-of-range":
        shown.what = _SETTING.sub(lambda found: _option(found[1]), shown.what, count=1)
    if error.got is not None:
        got = _AS_JSON.get(error.got, error.got)
        shown.got = got if len(got) <= _LONGEST else f"{got[: _LONGEST - 3]}..."
    return str(shown)


def message_of_warning(warning: OpltWarning) -> str:
    """Reword a warning in the same way."""
    return str(OpltWarning(warning.code, warning.what, HINTS.get(warning.code, warning.hint)))


def _counted(found: re.Match[str]) -> str:
    """Count from 1, and avoid looking like the name of the label."""
    return f"{found[1]} number {int(found[2]) + 1} of the example must be a non-empty"


def _option(setting: str) -> str:
    return f"-{setting}" if len(setting) == 1 else f"--{setting.replace('_', '-')}"
