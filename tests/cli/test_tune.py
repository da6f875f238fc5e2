# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt tune`, thresholds in `oplt predict` and `oplt evaluate`, and measures of each label."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from oplt import PLT, OnlinePLT, files, metrics
from oplt.thresholds import tune
from tests.cli.running import json_lines, refused, run, write_texts


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "dev.jsonl", 300, seed=1)


def examples(path: Path) -> tuple[list[Any], list[Any]]:
    X, Y, _ = zip(*files.read(path).examples(), strict=True)
    return list(X), list(Y)


@pytest.mark.parametrize("options", [{}, {"per_label": True}, {"precision": 0.9}, {"per_label": True, "shrinkage": 0}])
def test_the_thresholds_are_those_of_the_library(dev: Path, model: Path, options: dict[str, Any]) -> None:
    words = [
        word
        for name, value in options.items()
        for word in ([f"--{name.replace('_', '-')}"] if value is True else [f"--{name}", value])
    ]
    before = OnlinePLT.load(model)
    expected = tune(before, *examples(dev), **options)
    result = run("tune", model, dev, *words, "--json")
    told = json.loads(result.stdout)
    assert told["thresholds"] == expected.to_dict()
    assert (told["model"], told["examples"], told["left_out"]) == (str(model), 300, 0)
    after = OnlinePLT.load(model)  # it can still learn
    assert after.thresholds == expected
    assert after.snapshot().with_thresholds(None).fingerprint() == before.fingerprint()
    assert f"Saved in {model}. Now: oplt predict {model} new.jsonl --threshold tuned" in result.stderr


def test_the_proposed_command_reads_the_same_columns(tmp_path: Path, model: Path) -> None:
    table = tmp_path / "dev.csv"
    table.write_text("Title,Tags\nTopic1-2,label 1\nTopic2-1,label 2\n")
    said = run("tune", model, table, "--text-column", "Title", "--labels-column", "Tags", "--precision", 0.001).stderr
    assert f"Now: oplt predict {model} new.csv --text-column Title --threshold tuned" in said


def test_a_table_tells_what_was_chosen(tmp_path: Path, dev: Path, model: Path) -> None:
    target = tmp_path / "tuned.oplt"
    seen = run("tune", model, dev, "--per-label", "--out", target, "-q").stdout
    chosen = PLT.load(target).thresholds
    assert chosen is not None
    assert f"Threshold {chosen.value:.4g}; own thresholds for {len(chosen.labels)} labels." in seen
    assert [line.split()[0] for line in seen.splitlines()[3:]] == ["precision", "recall", "micro-F1", "macro-F1"]
    assert PLT.load(model).thresholds is None
    assert "already exists" in refused("tune", model, dev, "--out", target, code=2)


def test_predictions_and_measures_use_them(dev: Path, model: Path) -> None:
    message = refused("predict", model, dev, "--threshold", "tuned", code=2)
    assert message == (
        "threshold='tuned' needs thresholds, but the model has none."
        " Choose them with oplt tune MODEL DATA, on examples that the model was not trained on."
    )
    run("tune", model, dev, "--per-label")
    X, Y = examples(dev)
    found = PLT.load(model).predict_many(X, threshold="tuned")
    lines = json_lines(run("predict", model, dev, "--threshold", "tuned").stdout)
    assert [line["labels"] for line in lines] == [[label for label, _ in row] for row in found]
    told = json.loads(run("evaluate", model, dev, "--threshold", "tuned", "--json").stdout)
    assert told["measures"]["micro-F1"] == metrics.micro_f1(found, Y)
    assert "labels" not in told
    assert "on labels that reach the tuned thresholds" in run("evaluate", model, dev, "--threshold", "tuned").stdout


def test_f1_is_of_all_labels_that_reach_the_threshold(dev: Path, model: Path) -> None:
    X, Y = examples(dev)
    found = PLT.load(model).predict_many(X, threshold=0.05)
    told = json.loads(run("evaluate", model, dev, "--threshold", 0.05, "-k", 1, "--json").stdout)
    assert told["measures"]["micro-F1"] == metrics.micro_f1(found, Y) != metrics.micro_f1(found, Y, k=1)


@pytest.mark.parametrize("value", ["tuend", "1.5", "-1"])
def test_another_threshold_is_wrong_usage(model: Path, dev: Path, value: str) -> None:
    message = run("predict", model, dev, "--threshold", value, code=2).stderr
    assert f"'{value}' is neither a number from 0 to 1 nor the word tuned" in message


def test_a_precision_that_is_never_reached_leaves_the_model_as_it_is(tmp_path: Path, model: Path) -> None:
    before = model.read_bytes()
    wrong = tmp_path / "wrong.jsonl"
    X = [x for x, _, _ in files.read(write_texts(tmp_path / "some.jsonl", 50, seed=2)).examples()]
    best = [row[0] for row in PLT.load(model).predict_many(X, k=1)]
    least = min(probability for _, probability in best)  # the only ones that are true
    truth = [[label] if probability == least else ["another"] for label, probability in best]
    files.write(list(zip(X, truth, strict=True)), wrong)
    message = refused("tune", model, wrong, "--precision", 0.99)
    assert message.startswith("no threshold reaches a precision of 0.99 on these 50 examples, got at best 0.")
    assert model.read_bytes() == before


def test_measures_of_each_label(tmp_path: Path, dev: Path, model: Path) -> None:
    X, Y = examples(dev)
    scores = metrics.Scores()
    scores.add(PLT.load(model).predict_many(X, threshold=0.2), Y)
    expected = scores.by_label()
    words = ("evaluate", model, dev, "--threshold", 0.2, "--per-label")
    assert run(*words, "-q").stdout.endswith(f"\n\n{expected.to_text()}\n")
    told = json.loads(run(*words, "--json").stdout)
    plain = [{name: None if value != value else value for name, value in row.items()} for row in expected.to_dicts()]  # noqa: PLR0124
    assert told["labels"] == plain
    for suffix in (".csv", ".tsv", ".jsonl"):
        out = tmp_path / f"labels{suffix}"
        assert "support" not in run(*words, "--out", out).stdout
        if suffix == ".jsonl":
            assert json_lines(out.read_text()) == plain
        else:
            with out.open(newline="") as file:
                rows = list(csv.DictReader(file, delimiter="," if suffix == ".csv" else "\t"))
            assert rows == [{name: "" if v is None else str(v) for name, v in row.items()} for row in plain]
        assert "already exists" in refused(*words, "--out", out, code=2)
        run(*words, "--out", out, "--force")


def test_where_measures_of_labels_cannot_be_written(tmp_path: Path, dev: Path, model: Path) -> None:
    message = refused("evaluate", model, dev, "--per-label", "--out", tmp_path / "labels.png", code=2)
    assert message.endswith("labels.png: the name must end in one of .csv, .tsv, .jsonl, which determines the format")
    assert "pass --per-label as well" in refused("evaluate", model, dev, "--out", tmp_path / "a.csv", code=2)
