# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt regrow` and `oplt forget`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oplt import OnlinePLT
from oplt.datasets import make_stream
from tests.cli.running import refused, run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.oplt"
    learned(list(range(300))).save(path)
    return path


def learned(numbers: list[int], **settings: int) -> OnlinePLT:
    stream = list(make_stream(300, n_labels=80, seed=5))
    model = OnlinePLT(**settings)
    model.learn_many([stream[i][0] for i in numbers], [stream[i][1] for i in numbers])
    return model


def test_regrow_replaces_the_model(model: Path) -> None:
    result = run("regrow", model)
    assert "Regrew the tree from 300 examples in " in result.stderr
    expected = learned(list(range(300)))
    expected.regrow()
    assert OnlinePLT.load(model).fingerprint() == expected.fingerprint()


def test_regrow_can_write_elsewhere_and_as_json(model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    out = tmp_path / "new.oplt"
    shown = json.loads(run("regrow", model, "--out", out, "--json", "--quiet").stdout)
    assert shown["model"] == str(out)
    assert shown["examples"] == 300
    assert shown["fingerprint"] == OnlinePLT.load(out).fingerprint()
    assert model.read_bytes() == before
    assert "exists" in refused("regrow", model, "--out", out, code=2)


@pytest.mark.parametrize("given", [["7", "250", "7"], ["-"]])
def test_forget_leaves_no_trace(model: Path, given: list[str]) -> None:
    result = run("forget", model, *given, given="7\n250 7\n")
    assert "Forgot 2 examples in " in result.stderr
    assert "the model has 298 examples" in result.stderr
    kept = [i for i in range(300) if i not in (7, 250)]
    assert OnlinePLT.load(model).fingerprint() == learned(kept).fingerprint()


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (["300"], 1, "the numbers of the examples are from 0 to 299, got 300"),
        (["x"], 2, "must be an integer of at least 0, got 'x'"),
        (["1.5"], 2, "got '1.5'"),
        (["-1"], 2, "must be an integer of at least 0, got '-1'"),
        (["7", "-250", "3"], 2, "got '-250'"),
        (["-1.5"], 2, "got '-1.5'"),
        (["--", "-1"], 2, "got '-1'"),
        (["-"], 2, "no numbers on standard input"),
    ],
)
def test_forget_refuses_what_is_no_number_of_an_example(model: Path, given: list[str], code: int, message: str) -> None:
    before = model.read_bytes()
    assert "NUMBER" in run("forget", model, code=2).stderr
    assert message in refused("forget", model, *given, code=code)
    assert model.read_bytes() == before


def test_a_negative_number_of_an_option_and_an_unknown_option_are_reported_as_such(model: Path) -> None:
    assert "'--threads': it must be at least 1, not -1" in run("forget", model, "7", "--threads", "-1", code=2).stderr
    assert "No such option '-x'" in run("forget", model, "7", "-x", code=2).stderr


@pytest.mark.parametrize("words", [["regrow"], ["forget", "0"]])
def test_a_model_without_history_is_refused(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "model.oplt"
    learned(list(range(20)), history=0).save(path)
    assert "it keeps none (history=0)" in refused(words[0], path, *words[1:])


def test_a_model_that_has_dropped_terms_is_refused_with_advice(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(f'{{"text": "a{i} b{i}", "labels": ["x"]}}\n' for i in range(20)), encoding="utf-8")
    target = tmp_path / "m.oplt"
    run("train", data, "--model", target, "--max-features", "5")
    message = refused("forget", target, "0")
    assert "max_features=5" in message
    assert "If it is to forget further ones, train it without --max-features." in message


def test_train_takes_history_and_presets(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"text": "a b", "labels": ["x"]}\n{"text": "c", "labels": ["y"]}\n', encoding="utf-8")
    target = tmp_path / "m.oplt"
    run("train", data, "--model", target, "--accurate", "--history", "5")
    settings = OnlinePLT.load(target).settings
    assert (settings["trees"], settings["history"]) == (3, 5)
    assert "--accurate and --paper cannot" in refused("train", data, "--model", target, "--accurate", "--paper", code=2)
