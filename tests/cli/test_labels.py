# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt labels`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oplt import OnlinePLT
from tests.cli.running import refused, run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.oplt"
    model = OnlinePLT(features="text")
    model.learn_many(
        ["cat", "dog", "cat cow", "dog", "dog", "bird"], [["cat"], ["dog"], ["cat"], ["dog"], ["dog"], [7]]
    )
    model.save(path)
    return path


def listed(model: Path, *words: str | int) -> list[str]:
    return [json.loads(line)["label"] for line in run("labels", model, *words, "--json").stdout.splitlines()]


def test_labels_are_listed(model: Path) -> None:
    run("labels", model, "rename", "cat", "feline")
    run("labels", model, "hide", "7")
    assert run("labels", model).stdout.splitlines() == [
        "label   examples  first  last",
        "dog            3      1     4",
        "feline         2      0     2  also cat",
        "7              1      5     5  hidden",
    ]
    assert json.loads(run("labels", model, "--json").stdout.splitlines()[2]) == {
        "label": 7,
        "n_examples": 1,
        "first": 5,
        "last": 5,
        "hidden": True,
        "aliases": [],
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sort", "first"], ["cat", "dog", 7]),
        (["--sort", "last"], ["cat", "dog", 7]),
        (["--sort", "name", "--top", 2], [7, "cat"]),
        (["--unseen", 2], ["cat"]),
        (["--hidden"], []),
        (["list", "7", "cat"], ["cat", 7]),
    ],
)
def test_what_is_listed_can_be_chosen(model: Path, words: list[str], expected: list[str | int]) -> None:
    assert listed(model, *words) == expected


def test_a_described_label_is_predicted(model: Path) -> None:
    result = run("labels", model, "add", "horse", "--text", "a horse neighs")
    assert "Added 1 label in " in result.stderr
    assert "4 labels" in result.stderr
    found = json.loads(run("predict", model, "-k", 1, given='{"text": "it neighs"}\n').stdout)
    assert found["labels"] == ["horse"]


def test_labels_are_renamed_merged_hidden_and_removed(model: Path) -> None:
    run("labels", model, "rename", "cat", "feline")
    assert "Merged 2 labels" in run("labels", model, "merge", "feline", "hound", "--into", "dog").stderr
    run("labels", model, "hide", "dog")
    run("labels", model, "unhide", "dog")
    assert "Removed 1 label" in run("labels", model, "remove", "-", given="7\n").stderr
    assert listed(model) == ["dog"]
    assert run("labels", model, "log").stdout.splitlines() == [
        "rename cat to feline (before example 6)",
        "merge feline into dog (before example 6)",
        "merge hound into dog (before example 6)",
        "hide dog (before example 6)",
        "unhide dog (before example 6)",
        "remove 7 (before example 6)",
    ]
    first = json.loads(run("labels", model, "log", "--json").stdout.splitlines()[0])
    assert first == {"kind": "rename", "label": "cat", "other": "feline", "n_examples": 6}


def test_changes_are_performed_on_another_model(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.oplt"
    other.write_bytes(model.read_bytes())
    run("labels", model, "rename", "cat", "feline")
    run("labels", model, "add", "horse", "--text", "it neighs")
    changes = tmp_path / "changes.jsonl"
    changes.write_text(run("labels", model, "log", "--json").stdout + '{"kind": "hide", "label": 7}\n')
    assert "Performed 3 changes" in run("labels", other, "apply", changes).stderr
    run("labels", model, "hide", "7")
    assert OnlinePLT.load(other).fingerprint() == OnlinePLT.load(model).fingerprint()
    before = other.read_bytes()
    changes.write_text('{"kind": "unhide", "label": 7}\n{"kind": "hide", "label": "cow"}\n')
    assert f"{changes}, line 2: the model knows no label 'cow'" in refused("labels", other, "apply", changes)
    changes.write_text("hide 7\n")
    assert "line 1: the line is not a JSON object" in refused("labels", other, "apply", changes)
    assert other.read_bytes() == before


def test_labels_unseen_for_long_are_hidden_in_one_command(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.oplt"
    assert "Hid 1 label" in run("labels", model, "hide", "--unseen", 2, "--out", out).stderr
    assert listed(out, "--hidden") == ["cat"]
    assert listed(model, "--hidden") == []
    assert "Hid 0 labels" in run("labels", out, "hide", "--unseen", 2).stderr
    assert "Removed 1 label" in run("labels", out, "remove", "--unseen", 2).stderr  # although it is hidden


def test_new_names_are_integers_if_all_labels_are(tmp_path: Path) -> None:
    path = tmp_path / "integers.oplt"
    model = OnlinePLT()
    model.learn_many([{"a": 1}, {"b": 1}], [1, 2])
    model.save(path)
    run("labels", path, "add", "3", "x4")
    run("labels", path, "remove", "x4")
    run("labels", path, "rename", "2", "5")
    run("labels", path, "merge", "6", "--into", "1")
    assert [(info.label, info.aliases) for info in OnlinePLT.load(path).labels.table()] == [
        (1, (6,)),
        (5, (2,)),
        (3, ()),
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["hide"], 2, "hide needs a label"),
        (["hide", "cow"], 1, "the model knows no label 'cow'"),
        (["rename", "cat"], 2, "rename needs the label and its new name, got 1 label"),
        (["rename", "cat", "dog"], 1, "there is another label 'dog'"),
        (["merge", "cat"], 2, "merge needs --into LABEL"),
        (["add", "a", "b", "--text", "x"], 2, "--text describes one label, got 2 labels"),
        (["hide", "cat", "--text", "x"], 2, "--text has no effect with hide"),
        (["hide", "cat", "--unseen", "2"], 2, "pass labels or --unseen, not both"),
        (["add", "--unseen", "2"], 2, "--unseen has no effect with add"),
        (["hide", "-"], 2, "no labels on standard input"),
        (["log", "cat"], 2, "log shows the changes of all labels"),
        (["hide", "cat", "--top", "3"], 2, "--top has no effect with hide"),
        (["list", "--out", "x.oplt"], 2, "--out has no effect with list"),
        (["apply"], 2, "apply needs one file, got 0"),
    ],
)
def test_what_is_refused(model: Path, words: list[str], code: int, message: str) -> None:
    before = model.read_bytes()
    assert message in refused("labels", model, *words, code=code)
    assert model.read_bytes() == before
