# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Errors in plain words: they use the names that the user typed, and no messages of inner layers."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tests.cli.running import json_lines, refused, run

JSON = {
    '{"text": "It ba': "not JSON: the line ends in the middle of the example, after column 15",
    '{"text": "It ba", "labels": "x': "not JSON: the line ends in the middle of the example, after column 30",
    '{"text": "a" "labels": []}': "not JSON: a comma or a closing bracket is missing in column 14",
    '{"text" "a"}': "not JSON: a colon is missing in column 9",
    "{'text': 1}": "not JSON: a name in double quotes is missing in column 2",
    '{"text": , "labels": []}': "not JSON: a value is missing in column 10",
    '{"text": "a\tb", "labels": []}': "not JSON: the string has a control character in column 12, which must be"
    r" an escape such as \n or \t",
    r'{"text": "a\q", "labels": []}': "not JSON: the backslash in column 12 does not begin a JSON escape;"
    r" a backslash itself is written \\",
    r'{"text": "a\u12", "labels": []}': r"not JSON: the escape in column 13 must be \u and four hexadecimal digits",
    '{"text": "a", "labels": []} {': "not JSON: the example is followed by something else in column 29; each line must"
    " hold one object",
    '{"text": "a", "labels": [], "n": ' + "9" * 5000 + "}": "a whole number has more than 4,300 digits",
    '{"text": "a", "labels": null}': "label number 1 of the example must be a non-empty string or an integer, got null."
    " Pass [] for an example without labels.",
    '{"text": "a", "labels": ["x", true]}': "label number 2 of the example must be a non-empty string or an integer,"
    " got true",
    '{"text": null, "labels": []}': "'text' must be a text, got null",
    '{"labels": []}': "there is neither 'text' nor 'features', got the fields 'labels'. Pass --text-column or"
    " --features-column.",
}


@pytest.mark.parametrize("line", JSON)
def test_json(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line + "\n")
    assert refused("train", path, "--model", tmp_path / "m.oplt") == f"{path}, line 1: {JSON[line]}"


def test_a_last_line_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "It ba')
    message = refused("train", path, "--model", tmp_path / "m.oplt")
    assert message.endswith("not JSON: the string that begins in column 10 is never closed")


def test_what_is_received_is_not_shown_without_end(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "a", "labels": ' + "[" * 900 + "]" * 900 + "}\n")
    assert len(refused("train", path, "--model", tmp_path / "m.oplt")) < len(str(path)) + 600


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x 1:1", "label 'x' is not a non-negative integer"),
        ("1 x:1", "feature 'x:1': its index is not a non-negative integer"),
        ("1 1:1e300", "feature '1:1e300': its value is not a finite decimal number within the range of float32"),
    ],
)
def test_xmlc(tmp_path: Path, line: str, message: str) -> None:
    told = refused("train", "-", "--format", "xmlc", "--model", tmp_path / "m.oplt", given=line)
    assert told == f"standard input, line 1: {message}"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("text,labels\n", "standard input: there is no example"),
        ("text,labels\na\n", "standard input, line 2: the row has 1 cell, but the table has 2 columns"),
    ],
)
def test_tables(tmp_path: Path, table: str, message: str) -> None:
    assert refused("train", "-", "--format", "csv", "--model", tmp_path / "m.oplt", given=table).startswith(message)


def test_a_column_of_numbers_that_is_missing_is_named(tmp_path: Path) -> None:
    words = ["train", "-", "--format", "csv", "--number-columns", "a,c", "--model", tmp_path / "m.oplt"]
    assert "there is no column 'c'" in refused(*words, given="a,b,labels\n1,2,x\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learning-rate", "-1"], "--learning-rate must be above 0 and at most 1e6, got -1.0"),
        (["--arity", "1"], "--arity must be at least 2, got 1"),
        (["--separator", ""], "--separator must not be empty"),
        (["--text-column", "a\nb"], "not a comma-separated list of names: 'a\\nb'"),
    ],
)
def test_settings_are_called_as_options(tmp_path: Path, texts: Path, options: list[str], message: str) -> None:
    assert refused("train", texts, "--model", tmp_path / "m.oplt", *options, code=2) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--passes", "0"], "it must be at least 1, not 0."),
        (["--passes", "x"], "'x' is not a whole number."),
        (["--checkpoint", "x"], "'x' is not a number."),
        (["--checkpoint", "nan"], "'nan' is not a number."),
    ],
)
def test_numbers_that_are_none(texts: Path, options: list[str], message: str) -> None:
    told = run("train", texts, "--model", "m.oplt", *options, code=2).stderr
    assert told.endswith(f"Error: Invalid value for '{options[0]}': {message}\n")


def test_shares_are_from_0_to_1(texts: Path, model: Path) -> None:
    told = run("predict", model, texts, "--threshold", 2, code=2).stderr
    assert "is neither a number from 0 to 1 nor the word tuned" in told


def test_other_commands(tmp_path: Path, texts: Path, model: Path) -> None:
    assert refused("tree", model, "--label", "x", "--depth", 1, code=2).startswith(
        "--label and --depth cannot be combined"
    )
    assert refused("convert", texts, "-", code=2).startswith(
        "the name of standard output does not determine the format to"
    )
    assert refused("convert", texts, tmp_path / "x.parquet", code=2).startswith("parquet files cannot be written. Pass")
    assert (
        refused("convert", texts, tmp_path / "x.csv", "--to-separator", "", code=2)
        == "--to-separator must not be empty"
    )
    assert refused("predict", model, texts, "--out", tmp_path / "no" / "x.csv").endswith("no: there is no such folder")


@pytest.mark.parametrize(
    "content", ["7", "[[[", "[" * 200_000, '{"command": ["x"]}', '{"command": "fly"}', b"\xff\xfe"]
)
def test_a_damaged_description_of_a_checkpoint(tmp_path: Path, texts: Path, model: Path, content: str | bytes) -> None:
    target = tmp_path / "m.oplt"
    (tmp_path / "m.oplt.partial").write_bytes(model.read_bytes())
    about = tmp_path / "m.oplt.partial.json"
    about.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refused("train", texts, "--model", target)
    assert message == f"{about}: the file is damaged. To start from scratch, remove {target}.partial."


@pytest.mark.parametrize("seconds", ["inf", "1e300"])
def test_a_checkpoint_that_never_comes(model: Path, seconds: str) -> None:
    result = run("learn", model, "-", "--checkpoint", seconds, given='{"text": "Topic1-2", "labels": ["x"]}\n')
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["predict", "tree", "convert"])
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path, texts: Path, model: Path, command: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    words = {
        "predict": ["predict", model, texts, "--out", pipe],
        "tree": ["tree", model, "--out", pipe],
        "convert": ["convert", texts, pipe, "--to", "jsonl"],
    }[command]
    run(*words)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(30)
    assert read[0]
    if command == "predict":
        assert len(json_lines(read[0].decode())) == 200


def test_a_model_is_not_saved_to_a_device(texts: Path) -> None:
    assert refused("train", texts, "--model", os.devnull, code=2).endswith(
        "is not a regular file: a model cannot be saved there"
    )
