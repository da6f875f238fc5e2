# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt explain` shows what a model's `explain` returns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oplt import PLT, files
from oplt.cli._console import json_line
from tests.cli.running import at_a_terminal, learnt, refused, run, write_features

TEXT = "Topic1-2 Topic1-3 noise4"


def test_the_text_is_that_of_the_explanation(model: Path) -> None:
    expected = PLT.load(model).explain(TEXT)
    assert run("explain", model, "--text", TEXT).stdout == f"{expected}\n"
    assert run("explain", model, "--text", TEXT, "--top", 2).stdout == f"{expected.to_text(2)}\n"
    other = PLT.load(model).explain(TEXT, "label 2")
    assert run("explain", model, "--text", TEXT, "--label", "label 2").stdout == f"{other}\n"
    assert run("explain", model, "--format", "text", given=TEXT).stdout == f"{expected}\n"


def test_json_is_the_whole_explanation(model: Path) -> None:
    found = json.loads(run("explain", model, "--text", TEXT, "--label", "label 2", "--json").stdout)
    expected = PLT.load(model).explain(TEXT, "label 2")
    assert found == json.loads(json_line(expected.to_dict()))
    assert found["probability"] == expected.probability
    assert set(found) == {
        *("label", "probability", "rank", "n_candidates", "predicted", "is_predicted", "link", "tree_probability"),
        *("trees", "memory", "steps", "comparison", "text", "spans", "hidden"),
    }


def test_an_example_of_a_file_is_chosen_by_its_number(model: Path, texts: Path) -> None:
    examples = [x for batch in files.read(texts) for x, _, _ in batch]
    for number in (1, 7, 200):
        found = json.loads(run("explain", model, texts, "--example", number, "--json").stdout)
        assert found["text"] == examples[number - 1]
    message = f"{texts}: there is no example 201, got 200 examples. Examples are counted from 1."
    assert refused("explain", model, texts, "--example", 201) == message


def test_features_and_numbered_labels(tmp_path: Path) -> None:
    data = write_features(tmp_path / "features.xmlc")
    path = tmp_path / "m.oplt"
    learnt([data]).save(path)
    found = json.loads(run("explain", path, data, "--label", 3, "--json").stdout)
    assert found["label"] == 3
    assert found["text"] is None
    assert "takes features" in refused("explain", path, "--format", "text", given="a text")


def test_a_page_is_written(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    result = run("explain", model, "--text", TEXT, "--html", page)
    assert (result.stdout, result.stderr) == ("", f"Wrote {page}.\n")
    assert page.read_text(encoding="utf-8") == PLT.load(model).explain(TEXT).to_html()
    assert "already exists" in refused("explain", model, "--text", TEXT, "--html", page, code=2)
    run("explain", model, "--text", TEXT, "--html", page, "--force", "--quiet")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--text", TEXT, "--label", "nowhere"], 1, "the model has no such label, got 'nowhere'"),
        (["--text", TEXT, "--label", "LABEL"], 1, "Did you mean 'label 1' or 'label 0'"),
        (["texts.jsonl", "--text", TEXT], 2, "pass either a text or a file"),
        (["--text", TEXT, "--html", "x.html", "--json"], 2, "--html and --json cannot be combined"),
    ],
)
def test_mistakes_are_explained(model: Path, words: list[str], code: int, message: str) -> None:
    assert message in refused("explain", model, *words, code=code)


def test_at_a_terminal_an_example_is_needed(model: Path) -> None:
    code, seen = at_a_terminal("explain", model)
    assert code == 2
    assert "pass --text TEXT" in seen
