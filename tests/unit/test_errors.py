# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Errors are data: they can be read, pickled and stored, and the message is made from their fields."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oplt
from oplt import PLT, InvalidInputError, InvalidParameterError, LabelTree, OnlinePLT, OpltError, errors
from oplt.checks import Choice
from oplt.declarations import declared
from oplt.params import BatchSettings, Settings
from tests.unit.codes import CODE, ROOT, all_codes

CLASSES = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("fields", [{}, {"where": "m.csv, line 7"}, {"where": "x", "got": "nan", "hint": "Drop it."}])
def test_an_error_is_the_same_after_pickling_and_copying(cls: type[OpltError], fields: dict[str, str]) -> None:
    error = cls("some-code", "it is wrong", **fields)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is cls
        assert again.to_dict() == error.to_dict()
        assert str(again) == str(error)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "it is wrong"),
        ({"where": "row 3"}, "row 3: it is wrong"),
        ({"got": "nan"}, "it is wrong, got nan"),
        ({"hint": "Drop it."}, "it is wrong. Drop it."),
        ({"where": "row 3", "got": "nan", "hint": "Drop it."}, "row 3: it is wrong, got nan. Drop it."),
    ],
)
def test_a_message_says_what_where_got_and_what_to_do(fields: dict[str, str], message: str) -> None:
    error = InvalidInputError("some-code", "it is wrong", **fields)
    assert str(error) == message
    everything = {"code": "some-code", "what": "it is wrong", "where": None, "got": None, "hint": None, **fields}
    assert json.loads(json.dumps(error.to_dict())) == {**everything, "message": message}


def test_a_place_or_an_advice_can_be_added_and_the_error_stays_as_it_was() -> None:
    error = InvalidInputError("some-code", "it is wrong", where="row 3", got="nan", hint="Drop it.")
    assert str(error.at("m.csv, line 7")) == "m.csv, line 7: it is wrong, got nan. Drop it."
    assert str(error.with_hint("Use --drop.")) == "row 3: it is wrong, got nan. Use --drop."
    assert str(error.with_hint(None)) == "row 3: it is wrong, got nan"
    assert str(error) == "row 3: it is wrong, got nan. Drop it."


@pytest.mark.parametrize(
    ("call", "cls", "fields"),
    [
        (
            lambda: OnlinePLT(policy="greedy"),
            InvalidParameterError,
            {"code": "unknown-policy", "got": "'greedy'"},
        ),
        (
            lambda: OnlinePLT(alpha=2),
            InvalidParameterError,
            {"code": "parameter-out-of-range", "what": "alpha must be between 0 and 1", "got": "2"},
        ),
        (
            lambda: OnlinePLT().learn_many([{}, {"a": float("nan")}], ["x", "y"]),
            InvalidInputError,
            {"code": "value-out-of-range", "where": "row 1 of X", "got": "nan"},
        ),
        (
            lambda: OnlinePLT().learn_many([{}], []),
            InvalidInputError,
            {"code": "rows-and-labels-differ", "what": "X has 1 rows but Y has 0"},
        ),
        (
            lambda: OnlinePLT().learn_one({"a": 1}, None),  # type: ignore[arg-type]
            InvalidInputError,
            {"code": "name-not-valid", "where": None, "got": "None", "hint": "Pass [] for an example without labels."},
        ),
        (
            lambda: PLT.fit([{"a": 1}], ["x"], trees=LabelTree.from_nested(["y", "z"])),
            InvalidInputError,
            {"code": "input-refused", "where": None},  # raised by the core
        ),
    ],
)
def test_the_fields_of_an_error(call: Callable[[], Any], cls: type[OpltError], fields: dict[str, str]) -> None:
    with pytest.raises(cls) as raised:
        call()
    assert raised.value.to_dict().items() >= fields.items()


def test_the_core_tells_where_apart_from_what(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1 1:1\n1 2:\n")
    with pytest.raises(InvalidInputError) as raised:
        oplt.datasets.load_xmlc(path)
    assert (raised.value.where, raised.value.what) == (f"{path}, line 2", "feature '2:' has no value")


def test_a_warning_is_the_same_after_pickling_and_copying() -> None:
    warning = errors.OpltWarning("some-code", "it is seen", "Do this.")
    for again in (pickle.loads(pickle.dumps(warning)), copy.copy(warning)):
        assert (again.code, again.what, again.hint) == (warning.code, warning.what, warning.hint)
        assert str(again) == "it is seen. Do this."


def test_the_documentation_lists_the_codes_that_there_are() -> None:
    choices = {
        f"unknown-{setting.name}"
        for settings in (Settings, BatchSettings)
        for setting in declared(settings)
        if isinstance(setting.check, Choice)
    }
    listed = re.findall(
        r"^\| `([a-z0-9-]+)` \|", (ROOT / "docs" / "errors.md").read_text().partition("# Warnings")[2], re.MULTILINE
    )
    assert sorted(listed) == sorted({*all_codes(), *choices})
    assert all(CODE.fullmatch(code) for code in listed)
