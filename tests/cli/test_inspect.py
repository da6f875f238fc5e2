# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt inspect` reports what a model's `inspect` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oplt import PLT, OnlinePLT, _core
from oplt.cli import main
from oplt.datasets import make_stream
from oplt.text import TextFeatures
from oplt.thresholds import Thresholds
from oplt.versions import kernels

X, Y = map(list, zip(*make_stream(500, n_labels=40, seed=1), strict=True))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def saved(tmp_path: Path, **settings: Any) -> tuple[OnlinePLT, Path]:
    model = OnlinePLT(**settings)
    model.learn_many(X, Y)
    path = tmp_path / "m.oplt"
    model.save(path)
    return model, path


def test_json_has_the_facts_of_the_model_and_of_its_file(tmp_path: Path) -> None:
    model, path = saved(tmp_path, trees=2)
    result = run(path, "--json", "--top", 3, "--fingerprint")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found.pop("path") == str(path)
    assert found.pop("file_bytes") == path.stat().st_size
    assert found.pop("format_version") == 2
    assert found.pop("kernels") == _core.kernels_in_use()
    parts = found.pop("file_parts")
    assert set(parts) == {"features", "labels", "history", "ranking", "settings", "trees"}
    assert 0 < sum(parts.values()) < path.stat().st_size
    assert found.pop("fingerprint") == model.fingerprint()
    again = OnlinePLT.load(path)  # memory differs a little: a loaded model has no spare capacity
    assert found == json.loads(json.dumps(again.inspect(3).to_dict()))


def test_keys_are_stable(tmp_path: Path) -> None:
    assert set(json.loads(run(saved(tmp_path)[1], "--json").stdout)) == {
        *(
            "path",
            "file_bytes",
            "file_parts",
            "format_version",
            "kernels",
            "kind",
            "only_predicts",
            "takes",
            "settings",
            "changed",
            "n_examples",
            "n_labels",
        ),
        *("threshold", "n_own_thresholds", "stream"),
        *(
            "n_features",
            "closed_at",
            "trees",
            "largest_blocks",
            "memory",
            "labels",
            "n_nodes",
            "n_weights",
            "depth",
            "memory_bytes",
        ),
    }


def test_the_words_for_people(tmp_path: Path) -> None:
    model, path = saved(tmp_path, arity=4, max_leaves=8)
    lines = run(path, "--top", 2).stdout.splitlines()
    assert lines[0].startswith(f"{path}: a model of features that learns online (")
    assert lines[1:5] == ["", "Settings that differ from the defaults", "  arity       4", "  max_leaves  8"]
    assert f"  features  {model.n_features:,}" in lines
    assert f"  nodes     {model.tree.n_nodes} (1 tree, depth {model.depth})" in lines
    counts = model.inspect(2).labels
    assert counts is not None
    begin = lines.index("Most frequent labels")
    assert [line.split() for line in lines[begin + 1 : begin + 3]] == [
        [str(count.label), str(count.n_examples), "examples"] for count in counts.most
    ]
    assert lines[-2:] == ["", f"Kernels: {kernels()}"]


def test_all_settings(tmp_path: Path) -> None:
    text = run(saved(tmp_path)[1], "--all").stdout
    for line in ("  policy             best-greedy", "  bias               yes", "  features           none"):
        assert line in text.splitlines()
    assert "  none" in run(saved(tmp_path)[1]).stdout.splitlines()


def test_text_features_are_told(tmp_path: Path) -> None:
    model = OnlinePLT(features=TextFeatures(ngrams=(1, 2), idf=False))
    model.learn_one("a text", "a\nlabel")
    model.save(tmp_path / "t.oplt")
    text = run(tmp_path / "t.oplt").stdout
    assert "  features  text, ngrams 1 to 2, idf no" in text.splitlines()
    assert "  features" in text
    assert "  a\\nlabel  1 example" in text.splitlines()


def test_columns_stand_under_each_other_whatever_the_script(tmp_path: Path) -> None:
    model = OnlinePLT()
    model.learn_many([{0: 1.0}] * 3, ["cheese", "チーズ", "می\u200cخواهم"])  # six columns wide, except the last
    model.save(tmp_path / "m.oplt")
    lines = run(tmp_path / "m.oplt").stdout.splitlines()
    begin = lines.index("Most frequent labels")
    lines = lines[begin + 1 : begin + 4]
    assert lines == ["  cheese   1 example", "  チーズ   1 example", "  می\u200cخواهم  1 example"]


def test_several_trees_a_batch_trained_model_and_one_for_prediction(tmp_path: Path) -> None:
    text = run(saved(tmp_path, trees=2)[1]).stdout
    assert "(2 trees, depth 2 and 2)" in text
    assert "node 0 of tree 1" in text
    PLT.fit(X, Y).save(tmp_path / "batch.oplt")
    text = run(tmp_path / "batch.oplt").stdout
    assert "a batch-trained model of features (" in text
    PLT.load(saved(tmp_path)[1]).for_prediction().save(tmp_path / "small.oplt")
    assert "a model of features for prediction only (" in run(tmp_path / "small.oplt").stdout
    assert "Most frequent labels" in text


def test_an_empty_model(tmp_path: Path) -> None:
    OnlinePLT().save(tmp_path / "empty.oplt")
    result = run(tmp_path / "empty.oplt")
    assert result.exit_code == 0
    assert "  labels    0, 0 of them with a single example" not in result.stdout
    assert "  labels    0" in result.stdout.splitlines()


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "it is empty"), (b"OPLTMODL", "truncated"), (b"PK", "begins with")]
)
def test_what_is_no_model_is_told_in_a_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "none.oplt"
    path.write_bytes(content)
    result = run(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_tuned_thresholds_are_told(tmp_path: Path) -> None:
    model, path = saved(tmp_path)
    assert "tuned threshold" not in run(path).stdout
    model.thresholds = Thresholds(0.25, {Y[0][0]: 0.5})
    model.save(path)
    assert "\n  tuned threshold  0.25; own thresholds for 1 label\n" in run(path).stdout
    found = json.loads(run(path, "--json").stdout)
    assert (found["threshold"], found["n_own_thresholds"]) == (0.25, 1)
