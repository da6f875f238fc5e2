# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A setting is declared once: signatures, docstrings, checks and files are derived from the declaration."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from oplt import PLT, InvalidParameterError, OnlinePLT, _core, persistence
from oplt.checks import Bounds, Check, Choice, Flag, Integer, Number
from oplt.declarations import Setting, declared
from oplt.params import BatchSettings, Settings, TextSettings, preset
from oplt.text import TextFeatures

TAKERS: list[tuple[type, Callable[..., Any], list[str], list[str]]] = [
    (Settings, OnlinePLT, [], ["threads"]),
    (TextSettings, TextFeatures, [], []),
    (BatchSettings, PLT.fit, ["X", "Y", "weights"], ["threads"]),
]
CASES = pytest.mark.parametrize(
    ("cls", "taker", "before", "after"), TAKERS, ids=lambda case: getattr(case, "__name__", None)
)
ALL = [setting for cls, *_ in TAKERS for setting in declared(cls)]


@CASES
def test_a_signature_is_what_is_declared(
    cls: type, taker: Callable[..., Any], before: list[str], after: list[str]
) -> None:
    parameters = inspect.signature(taker).parameters
    assert list(parameters) == [*before, *(setting.name for setting in declared(cls)), *after]
    for setting in declared(cls):
        assert parameters[setting.name].default == setting.default
        assert parameters[setting.name].kind is inspect.Parameter.KEYWORD_ONLY


@CASES
def test_a_docstring_describes_what_is_declared(
    cls: type, taker: Callable[..., Any], before: list[str], after: list[str]
) -> None:
    text = inspect.getdoc(taker)
    assert text is not None
    assert "{settings}" not in text
    assert "\nParameters\n----------\n" in text
    plain = " ".join(text.split())
    places = [plain.index(f" {setting.name} : {setting.check.kind}, default") for setting in declared(cls)]
    assert places == sorted(places)
    for setting in declared(cls):
        assert f"default {setting.default!r} {setting.summary} {setting.details}".strip() in plain
    for name in (*before, *after):
        assert name in text


@CASES
def test_a_misspelt_keyword_is_told_which_one_is_meant(
    cls: type, taker: Callable[..., Any], before: list[str], after: list[str]
) -> None:
    name = declared(cls)[0].name
    given = dict.fromkeys([*before, *after])
    with pytest.raises(TypeError, match=f"has no setting '{name}z': did you mean '{name}'?"):
        taker(**given, **{f"{name}z": 1})
    with pytest.raises(TypeError, match="has no setting 'xyzzy': the settings are .*" + name):
        taker(xyzzy=1)


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_a_summary_is_a_sentence_that_stands_alone(setting: Setting) -> None:
    assert setting.summary.endswith(".")
    assert setting.summary[0].isupper()
    assert ". " not in setting.summary
    assert "`" not in setting.summary  # also used as the help of an option


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_a_default_is_within_its_range(setting: Setting) -> None:
    assert setting.check(setting.name, setting.default) == setting.default


def test_all_choices_are_known_to_the_core() -> None:
    for settings in (Settings, BatchSettings):
        for setting in declared(settings):
            if isinstance(setting.check, Choice):
                for name in setting.check.names:
                    settings(**{setting.name: name}).to_core()


def test_the_settings_of_a_file_are_those_that_are_declared() -> None:
    for model in (OnlinePLT(features="text"), PLT.fit([{0: 1.0}], ["a"])):
        saved = json.loads(_core.ModelFile.copy(persistence.to_bytes(model._saved())).array("settings"))
        assert saved["kind"] == ("batch" if isinstance(model, PLT) else "online")
        assert sorted(saved["settings"]) == sorted(one.name for one in declared(type(model._settings)))


def test_the_paper_has_a_model_of_its_own() -> None:
    assert OnlinePLT.paper().settings == {**OnlinePLT().settings, **preset("paper", {})}
    assert preset("paper", {}) == {
        "policy": "best-greedy",
        "alpha": 0.75,
        "arity": 2,
        "max_leaves": 100,
        "spread_new_labels": False,
        "learner": "adagrad",
        "learning_rate": 1.0,
        "adagrad_eps": 0.01,
        "gate": 0.0,
        "label_memory": 0,
        "trees": 1,
        "history": 0,
    }


def test_accuracy_has_a_model_of_its_own() -> None:
    assert OnlinePLT.accurate().settings == {**OnlinePLT().settings, "trees": 3}
    assert OnlinePLT.accurate(trees=2, seed=5).settings == {**OnlinePLT().settings, "trees": 2, "seed": 5}
    with pytest.raises(TypeError, match="OnlinePLT.accurate has no setting 'tree': did you mean 'trees'"):
        OnlinePLT.accurate(tree=5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -0.1}, "alpha must be between 0 and 1, got -0.1"),
        ({"alpha": float("nan")}, "alpha must be between 0 and 1, got nan"),
        ({"arity": 1}, "arity must be at least 2, got 1"),
        ({"max_leaves": 1}, "max_leaves must be at least 2, got 1"),
        ({"arity": 5, "max_leaves": 4}, r"arity must be at most max_leaves \(4\), or the tree becomes a chain, got 5"),
        ({"learning_rate": 0}, "learning_rate must be above 0 and at most 1e6, got 0"),
        ({"learning_rate": 1e-50}, "learning_rate must be above 0 and at most 1e6, got 1e-50"),  # 0 in float32
        ({"learning_rate": float("inf")}, "learning_rate must be above 0"),
        ({"adagrad_eps": 0}, "adagrad_eps must be above 0"),
        ({"adagrad_eps": float("nan")}, "adagrad_eps must be above 0"),
        ({"gate": 0.5}, "gate must be at least 0 and below 0.5, got 0.5"),
        ({"gate": 0.499999999}, "gate must be at least 0 and below 0.5"),  # 0.5 in float32
        ({"gate": -0.1}, "gate must be at least 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": 2**64}, "seed must be at most 18446744073709551615"),
        ({"label_memory": 2**20 + 1}, "label_memory must be at most 1048576"),
        ({"policy": "greedy"}, "policy must be one of 'best-greedy', 'random', .*, got 'greedy'"),
        ({"bias": 1}, "bias must be True or False, got 1"),
    ],
)
def test_a_setting_out_of_range_is_named_with_what_was_got(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        OnlinePLT(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0},
        {"alpha": 1},
        {"arity": 4, "max_leaves": 4},
        {"learner": "adagrad", "learning_rate": 1e6},
        {"learner": "adagrad", "adagrad_eps": 1e-30},
        {"learner": "adagrad", "gate": 0},
        {"arow_r": 1e6},
        {"sparsity": 0},
        {"seed": 2**64 - 1},
    ],
)
def test_the_ends_of_a_range_belong_to_it(settings: dict[str, Any]) -> None:
    assert OnlinePLT(**settings).settings.items() >= settings.items()


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        ("arow", {"gate": 0.1}),
        ("arow", {"learning_rate": 2.0}),
        ("arow", {"adagrad_eps": 1.0}),
        ("adagrad", {"arow_r": 1.0}),
        ("adagrad", {"sparsity": 0.0}),
    ],
)
def test_a_setting_of_the_other_learner_is_refused(learner: str, settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(InvalidParameterError, match=f"{name} has no effect with the learner {learner}"):
        OnlinePLT(learner=learner, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *[({"cost": cost}, "cost must be above 0 and at most 1e6") for cost in (0, -1.0, 1e7, float("nan"))],
        *[({"tolerance": value}, "tolerance must be between 1e-9 and 1") for value in (0, 1e-10, 1.1, float("nan"))],
        *[({"prune": value}, "prune must be between 0 and 1") for value in (-0.1, 1.1, float("nan"))],
        ({"max_iterations": 0}, "max_iterations must be at least 1, got 0"),
    ],
)
def test_a_batch_setting_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        BatchSettings(**settings)


def test_the_cost_follows_the_loss() -> None:
    assert (BatchSettings().cost, BatchSettings(loss="logistic").cost) == (1.0, 10.0)
    assert BatchSettings(loss="logistic", cost=2).cost == 2.0


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        (Integer(), "int"),
        (Integer(optional=True), "int or None"),
        (Number(), "float"),
        (Number(optional=True), "float or None"),
        (Choice(("a",)), "str"),
        (Flag(), "bool"),
        (Bounds(9), "(int, int) or None"),
    ],
)
def test_a_check_tells_its_type_and_refuses_others(check: Check, kind: str) -> None:
    assert check.kind == kind
    with pytest.raises(InvalidParameterError, match="x must be .*, got <object object"):
        check("x", object())
    if "None" in kind:
        assert check("x", None) is None
