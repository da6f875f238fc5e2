# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The output of `oplt predict`: formats, and fields copied from the input."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oplt import OnlinePLT
from tests.cli.running import json_lines, refused, run, write_features

ROWS = [
    {"id": 7, "text": "Topic1-2 Topic1-3", "note": {"a": [1, None]}},
    {"id": "b", "text": 'Topic2-1, "quoted"\nand broken'},
    {"id": None, "text": "Topic3-1", "note": float("nan")},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_fields_are_kept_in_jsonl(model: Path, data: Path) -> None:
    plain = json_lines(run("predict", model, data).stdout)
    kept = json_lines(run("predict", model, data, "--keep", "id,text", "--keep", "note").stdout)
    assert [list(line) for line in kept] == [["id", "text", "note", "labels", "probabilities"]] * 3
    assert [line["id"] for line in kept] == [7, "b", None]
    assert [line["text"] for line in kept] == [row["text"] for row in ROWS]
    assert [line["note"] for line in kept] == [{"a": [1, None]}, None, None]
    assert [{name: line[name] for name in ("labels", "probabilities")} for line in kept] == plain


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_are_written_by_suffix_and_by_name(
    tmp_path: Path, model: Path, data: Path, suffix: str, delimiter: str
) -> None:
    out = tmp_path / f"out.{suffix}"
    words = ["predict", model, data, "--keep", "id,text,note"]
    run(*words, "--out", out)
    assert out.read_text() == run(*words, "--to", suffix).stdout
    rows = list(csv.DictReader(io.StringIO(out.read_text(), newline=""), delimiter=delimiter))
    answers = json_lines(run(*words).stdout)
    assert [row["id"] for row in rows] == ["7", "b", ""]
    assert [row["text"] for row in rows] == [row["text"] for row in ROWS]
    assert [row["note"] for row in rows] == ['{"a": [1, null]}', "", "null"]
    assert [row["labels"].split(";") for row in rows] == [answer["labels"] for answer in answers]
    assert [[float(p) for p in row["probabilities"].split(";")] for row in rows] == [
        answer["probabilities"] for answer in answers
    ]


def test_fasttext_lines_are_written_and_read_again(tmp_path: Path, data: Path) -> None:
    model = tmp_path / "m.oplt"
    learner = OnlinePLT(features="text")
    learner.learn_many(["Topic1-2", "Topic2-1", "Topic3-1"], ["one", "two", "three"])
    learner.save(model)
    answers = json_lines(run("predict", model, data, "-k", 2).stdout)
    lines = run("predict", model, data, "-k", 2, "--to", "fasttext").stdout.splitlines()
    assert lines == [" ".join(f"__label__{label}" for label in answer["labels"]) for answer in answers]
    out = tmp_path / "out.ft"
    run("predict", model, data, "--keep", "text", "--out", out)
    assert out.read_text().splitlines()[0].endswith(" Topic1-2 Topic1-3")
    run("train", out, "--model", tmp_path / "again.oplt")


def test_each_example_has_a_fasttext_line_even_without_labels(model: Path) -> None:
    given = "Topic1-2\n\n"
    assert run("predict", model, "--format", "text", "--to", "fasttext", "--threshold", 1, given=given).stdout == "\n\n"


def test_compressed_answers(tmp_path: Path, model: Path, data: Path) -> None:
    out = tmp_path / "out.csv.gz"
    run("predict", model, data, "--out", out)
    assert gzip.decompress(out.read_bytes()).decode() == run("predict", model, data, "--to", "csv").stdout


@pytest.mark.parametrize("name", ["out.png", "out.parquet", "out.txt", "out.xlsx", "out.json", "out.vw.gz"])
def test_a_suffix_that_cannot_be_written_is_refused(tmp_path: Path, model: Path, data: Path, name: str) -> None:
    out = tmp_path / name
    message = refused("predict", model, data, "--out", out, code=2)
    assert message.startswith(f"{out}: cannot write ")
    assert "Use one of .jsonl, .ndjson, .csv, .tsv, .tab, .fasttext, .ft, or pass --to" in message
    assert not out.exists()
    run("predict", model, data, "--out", out, "--to", "jsonl")
    assert out.exists()


def test_a_name_without_a_suffix_is_json_lines(tmp_path: Path, model: Path, data: Path) -> None:
    run("predict", model, data, "--out", tmp_path / "answers")
    assert (tmp_path / "answers").read_text() == run("predict", model, data).stdout


def test_columns_of_tables_are_kept_as_they_are(tmp_path: Path, model: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text("id,text,labels,weight\n007,Topic1-2,x,2\n,Topic2-1,,\n")
    kept = json_lines(run("predict", model, table, "--keep", "weight,id").stdout)
    assert [(line["weight"], line["id"]) for line in kept] == [("2", "007"), ("", "")]
    message = refused("predict", model, table, "--keep", "ID")
    assert "line 1: there is no column 'ID' to keep, got the columns 'id', 'text', 'labels', 'weight'" in message


def test_columns_of_parquet_are_kept(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "new.parquet"
    pq.write_table(pa.table({"text": ["Topic1-2"], "day": [dt.date(2024, 2, 29)], "id": [3]}), path)
    (line,) = json_lines(run("predict", model, path, "--keep", "id,day").stdout)
    assert (line["id"], line["day"]) == (3, "2024-02-29")
    assert "there is no column 'idd' to keep" in refused("predict", model, path, "--keep", "idd")


def test_a_field_that_no_line_has_is_told(model: Path, data: Path) -> None:
    result = run("predict", model, data, "--keep", "idd,id")
    assert json_lines(result.stdout)[0]["idd"] is None
    assert result.stderr == "--keep idd: no example has a value in this field.\n"


def test_the_text_of_plain_lines_is_kept(model: Path) -> None:
    found = run("predict", model, "--format", "text", "--keep", "text", given="Topic1-2\n\n").stdout
    assert [line["text"] for line in json_lines(found)] == ["Topic1-2", ""]
    message = refused("predict", model, "--format", "text", "--keep", "id", given="Topic1-2\n")
    assert message.endswith("'id' cannot be kept: the format is text, and its lines have no fields other than the text")


def test_formats_without_names_have_nothing_to_keep(tmp_path: Path, model: Path) -> None:
    path = write_features(tmp_path / "new.xmlc")
    message = refused("predict", model, path, "--keep", "text")
    assert message.endswith("'text' cannot be kept: the format is xmlc, and its lines have no named fields")


@pytest.mark.parametrize("name", ["labels", "probabilities", "line"])
def test_names_of_the_answer_are_not_kept(model: Path, data: Path, name: str) -> None:
    message = refused("predict", model, data, "--keep", name, code=2)
    assert message.startswith(f"--keep {name}: the output already has a field of this name")


def test_only_the_text_is_kept_in_fasttext_lines(model: Path, data: Path) -> None:
    assert "fastText lines hold only labels and a text" in refused(
        "predict", model, data, "--keep", "id", "--to", "fasttext", code=2
    )


def test_labels_that_a_format_cannot_hold_are_told(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "m.oplt"
    model = OnlinePLT(features="text")
    model.learn_many(["Topic1-2 Topic2-1 Topic3-1"] * 3, ["a;b c"] * 3)
    model.save(path)
    message = refused("predict", path, data, "--out", tmp_path / "out.csv")
    assert message.startswith(f"{data}, line 1: labels in a cell are separated by ';', so they must not contain it")
    assert message.endswith("got the label 'a;b c'. Pass a different --to-separator, or --to jsonl.")
    assert not (tmp_path / "out.csv").exists()
    run("predict", path, data, "--out", tmp_path / "out.csv", "--to-separator", "|")
    assert "a fastText label cannot contain whitespace, got 'a;b c'" in refused(
        "predict", path, data, "--to", "fasttext"
    )


def test_answers_tell_their_line_in_tables_too(model: Path) -> None:
    given = '{"text": "Topic1-2"}\n{"text\n\n{"text": "Topic2"}\n'
    result = run("predict", model, "--on-error", "skip", "--to", "csv", "-k", 1, given=given)
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["line", "1", "4"]
