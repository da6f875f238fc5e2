# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Messages of the commands about data that is probably wrong, and about useless models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oplt import OnlinePLT
from tests.cli.running import json_lines, refused, run


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_joined_labels_are_told_in_one_line(tmp_path: Path) -> None:
    rows = "".join(f"It is {i},{label}\n" for i, label in enumerate(["cat|dog", "cat", "dog", "dog|cat"] * 5))
    data = write(tmp_path / "x.csv", f"text,labels\n{rows}")
    result = run("train", data, "--model", tmp_path / "m.oplt", "--passes", 2)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Warning: ")]
    assert "'cat|dog'" in line
    assert "--separator" in line
    assert "Columns" not in line
    result = run("train", data, "--model", tmp_path / "n.oplt", "--separator", "|")
    assert "Warning" not in result.stderr


def test_integers_and_strings_are_told(tmp_path: Path) -> None:
    lines = [{"text": "a", "label": 1}, {"text": "b", "label": "1"}]
    data = write(tmp_path / "x.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert "Warning: both 1 and '1' are labels" in run("train", data, "--model", tmp_path / "m.oplt").stderr


def test_integers_are_not_evaluated_against_strings(tmp_path: Path) -> None:
    train = write(tmp_path / "x.xmlc", "1 1:1\n2 2:1\n" * 9)
    run("train", train, "--model", tmp_path / "m.oplt")
    test = write(tmp_path / "x.csv", "f,label\n1,1\n2,2\n")
    assert "are integers, but those of Y are strings" in refused(
        "evaluate", tmp_path / "m.oplt", test, "--feature-columns", "f"
    )


@pytest.mark.parametrize(
    ("text", "says", "n_labels"),
    [
        ('{"text": "a", "labels": []}\n', "no labels", 0),
        ('{"text": "!", "labels": ["x"]}\n{"text": "", "labels": ["y"]}\n', "no features", 2),
        ('{"text": "a", "label": "x"}\n{"text": "b", "label": null}\n', "a single label", 1),
    ],
)
def test_a_model_of_no_use_has_an_exit_code_of_its_own(tmp_path: Path, text: str, says: str, n_labels: int) -> None:
    data = write(tmp_path / "x.jsonl", text)
    target = tmp_path / "m.oplt"
    result = run("train", data, "--model", target, "--on-error", "skip", "--json", "-q", code=3)
    assert result.stderr.startswith("Warning: The model ")
    assert says in result.stderr
    assert json_lines(result.stdout)[0]["labels"] == OnlinePLT.load(target).n_labels == n_labels
    assert says in run("learn", target, data, "--on-error", "skip", code=3).stderr
    words = ["progressive", data, "--on-error", "skip"]
    assert says in run(*words, "--model", tmp_path / "p.oplt", code=3).stderr
    run(*words)  # no model is saved, so none can be useless


def test_one_label_alone_may_be_meant(tmp_path: Path) -> None:
    data = write(tmp_path / "x.jsonl", '{"text": "a", "label": "x"}\n')
    run("train", data, "--model", tmp_path / "m.oplt")


def test_what_is_missing_is_told_with_what_there_is(tmp_path: Path) -> None:
    data = write(tmp_path / "x.csv", "Body,Tags\nIt purrs,cat\n")
    error = refused("train", data, "--format", "csv", "--model", tmp_path / "m.oplt")
    assert "there is no column 'text'" in error
    assert "'Body', 'Tags'" in error
    assert "the first line must name the columns" in error
    data = write(tmp_path / "y.jsonl", '{"txt": "It purrs", "labels": ["cat"]}\n')
    error = refused("train", data, "--model", tmp_path / "m.oplt")
    assert "the fields 'txt', 'labels'. Did you mean 'txt'? Pass --text-column" in error


def test_a_text_and_columns_make_one_model(tmp_path: Path) -> None:
    rows = "".join(f"a report,{source},0.{i % 10},{source}-mail\n" for i in range(60) for source in ("in", "out"))
    data = write(tmp_path / "x.csv", f"title,source,size,labels\n{rows}")
    options = ["--text-column", "title", "--feature-columns", "source,size"]
    target = tmp_path / "m.oplt"
    result = run("train", data, "--model", target, *options)
    assert "--feature-columns source,size" in result.stderr  # the option of the command that predicts
    assert {":source=in", ":size", "report"} <= set(OnlinePLT.load(target).features.names)
    (measures,) = json_lines(run("evaluate", target, data, *options, "--json", "-q").stdout)
    assert measures["measures"]["P@1"] == 1.0
    found = run("predict", target, data, *options, "-k", 1, "-q").stdout.splitlines()
    assert ["in-mail" in line for line in found[:4]] == [True, False, True, False]


def test_an_empty_line_is_a_text(model: Path) -> None:
    result = run("predict", model, "-", "--format", "text", "-q", given="\n")
    assert len(result.stdout.splitlines()) == 1


def test_a_pattern_of_words_is_an_option(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    run("train", texts, "--model", target, "--token-pattern", r"\S+", "--no-symbols")
    settings = OnlinePLT.load(target).settings["features"]
    assert (settings["token_pattern"], settings["symbols"]) == (r"\S+", False)
    assert "regular expression" in refused(
        "train", texts, "--model", tmp_path / "n.oplt", "--token-pattern", "(", code=2
    )


def test_signs_of_libsvm_are_labels(tmp_path: Path) -> None:
    data = write(tmp_path / "x.svm", "+1 1:1 3:2\n-1 2:1\n" * 20)
    target = tmp_path / "m.oplt"
    run("train", data, "--model", target)
    assert sorted(OnlinePLT.load(target).tree.leaves()[1]) == [-1, 1]
    (measures,) = json_lines(run("evaluate", target, data, "--json", "-q").stdout)
    assert measures["measures"]["P@1"] == 1.0


def test_more_is_skipped_than_there_is(tmp_path: Path) -> None:
    data = write(tmp_path / "x.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n')
    target = tmp_path / "m.oplt"
    run("train", data, "--model", target)
    before = target.read_bytes()
    error = refused("learn", target, data, "--skip", 5)
    assert "the first 5 examples should be skipped as already learned, but there are only 2" in error
    assert target.read_bytes() == before
    assert "but there are only 2" in refused("progressive", data, "--skip", 3)
    assert "nothing to predict" in refused("progressive", data, "--skip", 2, code=2)
    assert "Learned 0 examples" in run("learn", target, data, "--skip", 2).stderr  # as after an interruption


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train", "", "--model", "m.oplt"], "DATA...: "),
        (["train", "x.jsonl", "--model", ""], "--model: "),
        (["predict", "", "x.jsonl"], "MODEL: "),
        (["predict", "m.oplt", "x.jsonl", "--out", ""], "--out: "),
        (["evaluate", "m.oplt", "x.jsonl", ""], "DATA...: "),
        (["convert", "x.jsonl", ""], "OUT: "),
        (["inspect", ""], "MODEL: "),
    ],
)
def test_an_empty_name_is_not_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path / "x.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n')
    run("train", data, "--model", "m.oplt")
    error = refused(*words, code=2)
    assert f"{says}the file name is empty. Is a shell variable unset?" in error
    assert "this is a folder" in refused("train", ".", "--model", "n.oplt")
    folder = tmp_path / "models"
    folder.mkdir()
    hint = f"this is a folder, but a file is needed. Pass a file name, such as {folder}/tags.oplt"
    assert hint in refused("train", data, "--model", folder)


def test_what_is_read_is_not_replaced(tmp_path: Path) -> None:
    data = write(tmp_path / "x.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n')
    target, other = tmp_path / "m.oplt", tmp_path / "link.svg"
    run("train", data, "--model", target)
    other.symlink_to(target)
    model = target.read_bytes()
    for words in (
        ["tree", target, "--out", other],
        ["tree", target, "--format", "text", "--out", target],
        ["predict", target, data, "--out", data],
        ["predict", target, data, "--to", "jsonl", "--out", target],
        ["convert", data, data, "--to", "jsonl"],
        ["train", data, target, "--model", target],
        ["learn", target, data, "--out", data],
    ):
        error = refused(*words, "-f", code=2)
        assert "is an input of this command" in error
    copy = write(tmp_path / "x.csv", "text,label\na,x\n")
    assert "is an input of this" in refused("evaluate", target, copy, "--per-label", "--out", copy, "-f", code=2)
    assert target.read_bytes() == model
    assert "is the file is not an oplt model" not in run("learn", target, data).stderr  # in place is allowed


def test_numbers_that_are_too_large_are_told_as_such(tmp_path: Path) -> None:
    for number in ("1e400", "-1e999", "1" + 400 * "0"):
        example = {"features": {"a": 0}, "label": "x"}
        data = write(tmp_path / "x.jsonl", json.dumps(example).replace("0", number) + "\n")
        error = refused("train", data, "--model", tmp_path / "m.oplt")
        assert "too large" in error
        assert "must be finite" in error
    data = write(tmp_path / "x.jsonl", '{"features": {"a": 1}, "label": "x", "weight": 1e400}\n')
    assert "too large" in refused("train", data, "--model", tmp_path / "m.oplt")


def test_a_row_with_too_many_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,labels\na,x\nb,c,y\n" + "d,z\n" * 8)
    hint = "Quote cells that contain the delimiter, or pass --on-error skip. A quote may have been left open before."
    assert refused("train", path, "--model", tmp_path / "m.oplt").endswith(hint)
    skipped = run("train", path, "--model", tmp_path / "m.oplt", "--on-error", "skip").stderr
    assert "Quote cells that contain the delimiter. A quote may have been left open before." in skipped
    path.write_text('text,labels\na,x\n"b,y\n')
    assert "Close it, or pass --on-error skip." in refused("train", path, "--model", tmp_path / "n.oplt")


@pytest.mark.parametrize(("n_bad", "is_told"), [(3, False), (4, True)])
def test_many_skipped_lines_are_told(tmp_path: Path, n_bad: int, *, is_told: bool) -> None:
    data = write(tmp_path / "t.csv", "text,labels\n" + "a,x\nb,y\n" * 4 + "c,d,e\n" * n_bad)
    target = tmp_path / "m.oplt"
    trained = run("train", data, "--model", target, "--on-error", "skip", "--passes", 2).stderr
    predicted = run("predict", target, data, "--on-error", "skip").stderr
    for said in (trained, predicted):
        assert ("Warning: 4 of 12 lines (33%) were skipped. Check the errors above." in said) == is_told
