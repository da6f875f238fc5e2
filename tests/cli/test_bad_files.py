# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Every command reports invalid input in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import refused, run

READERS = ["train", "learn", "predict", "evaluate", "progressive", "convert"]


def words(name: str, data: object, model: Path, folder: Path) -> list[object]:
    """Return the arguments of a command that reads some data."""
    return {
        "train": ["train", data, "--model", folder / "new.oplt"],
        "learn": ["learn", model, data],
        "predict": ["predict", model, data],
        "evaluate": ["evaluate", model, data],
        "progressive": ["progressive", data],
        "convert": ["convert", data, folder / "new.csv"],
    }[name]


BAD = {
    "empty.jsonl": (b"", "the file is empty"),
    "blank.jsonl": (b"\n \n", "the file is empty"),
    "latin1.jsonl": (
        '{"text": "Käse", "labels": ["a"]}\n'.encode("latin-1"),
        "line 1: byte 0xe4 in position 12 is not",
    ),
    "utf16.jsonl": ('{"text": "a", "labels": ["a"]}\n'.encode("utf-16"), "the text is UTF-16, but it must be UTF-8"),
    "utf16le.csv": ("text,label\na,b\n".encode("utf-16-le"), "the text is UTF-16LE, but it must be UTF-8"),
    "utf16be.csv": ("text,label\na,b\n".encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8"),
    "cut.jsonl.gz": (b"\x1f\x8b\x08\x00\x00", "the compressed data is damaged or truncated"),
    "prose.dat": (b"Once upon a time\n", "the format cannot be detected from the name or the first lines"),
    "list.json": (
        b'[\n  {"text": "a", "labels": ["a"]}\n]\n',
        "list.json: the file begins like a JSON array, but JSONL has one object per line. Convert it, for example with"
        " jq -c '.[]'.",
    ),
    "binary.jsonl": (bytes(range(200, 256)) * 9, "is not UTF-8"),
    "liar.csv": (
        b'{"text": "a", "labels": ["a"]}\n',
        "the name suggests the format csv, but the first lines look like",
    ),
}


@pytest.mark.parametrize("file", BAD)
@pytest.mark.parametrize("name", READERS)
def test_a_bad_file(tmp_path: Path, model: Path, name: str, file: str) -> None:
    content, message = BAD[file]
    path = tmp_path / file
    path.write_bytes(content)
    told = refused(*words(name, path, model, tmp_path))
    assert told.startswith(f"{path}")
    assert message in told
    assert sorted(other.name for other in tmp_path.iterdir()) == sorted([file, "texts.jsonl", "texts.oplt"])


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_not_there(tmp_path: Path, model: Path, name: str) -> None:
    told = refused(*words(name, tmp_path / "text.jsonl", model, tmp_path))
    assert told == f"{tmp_path}/text.jsonl: there is no such file; did you mean {tmp_path}/texts.jsonl?"
    assert "did you mean" not in refused(*words(name, tmp_path / "q.csv", model, tmp_path))


@pytest.mark.parametrize("name", READERS)
def test_a_folder(tmp_path: Path, model: Path, name: str) -> None:
    told = refused(*words(name, tmp_path, model, tmp_path))
    assert told == f"{tmp_path}: this is a folder, but a file is needed"


@pytest.mark.parametrize("name", [name for name in READERS if name != "predict"])
def test_empty_standard_input(tmp_path: Path, model: Path, name: str) -> None:
    told = refused(*words(name, "-", model, tmp_path), given=b"")
    assert told == "standard input: the file is empty"


@pytest.mark.parametrize("name", [name for name in READERS if name != "predict"])
def test_columns_that_are_not_there(tmp_path: Path, model: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text("title,topic\nOn trees,biology\n")
    told = refused(*words(name, path, model, tmp_path))
    assert "table.csv, line 1: there is no column 'text', got the columns 'title', 'topic' (delimited by ',')" in told
    assert "Pass --text-column" in told
    path.write_text('{"text": "a", "topic": "x"}')
    told = refused(*words(name, path, model, tmp_path), "--from" if name == "convert" else "--format", "jsonl")
    hint = "If the labels have another name, pass --labels-column."
    assert told == f"{path}, line 1: there is neither 'labels' nor 'label', got the fields 'text', 'topic'. {hint}"


@pytest.mark.parametrize("name", ["learn", "predict", "evaluate"])
def test_a_model_that_is_none(tmp_path: Path, texts: Path, name: str) -> None:
    told = refused(name, texts, texts)
    assert told.startswith(f"{texts}: the file is not an oplt model: it begins with ")
    told = refused(name, tmp_path / "texts.opl", texts)
    assert told.startswith(f"{tmp_path}/texts.opl: there is no such file")
    empty = tmp_path / "empty.oplt"
    empty.touch()
    assert "it is empty" in refused(name, empty, texts)
    assert "this is a folder" in refused(name, tmp_path, texts)


@pytest.mark.parametrize("name", ["learn", "predict", "evaluate"])
def test_a_damaged_model(texts: Path, model: Path, name: str) -> None:
    model.write_bytes(model.read_bytes()[:-100])
    assert "the file is truncated" in refused(name, model, texts)


def writing(name: str, target: object, model: Path, texts: Path) -> list[object]:
    """Return the arguments of a command that writes to a target."""
    return {
        "train": ["train", texts, "--model", target],
        "learn": ["learn", model, texts, "--out", target],
        "predict": ["predict", model, texts, "--out", target],
        "progressive": ["progressive", texts, "--model", target],
        "convert": ["convert", texts, target, "--to", "csv"],
    }[name]


@pytest.mark.parametrize("name", ["train", "learn", "predict", "progressive", "convert"])
def test_a_target_that_cannot_be(tmp_path: Path, texts: Path, model: Path, name: str) -> None:
    told = refused(*writing(name, tmp_path, model, texts))
    assert told.startswith(f"{tmp_path}: this is a folder, but a file is needed")
    told = refused(*writing(name, tmp_path / "no" / "x", model, texts))
    assert told == f"{tmp_path}/no: there is no such folder"
    told = refused(*writing(name, "/proc/x", model, texts))
    assert told.startswith("/proc: cannot write to this folder: ")


def test_nothing_is_read_before_the_target_is_known_to_be_good(tmp_path: Path) -> None:
    told = refused("train", tmp_path / "not-there.jsonl", "--model", tmp_path / "no" / "m.oplt")
    assert told.startswith(f"{tmp_path}/no: ")


@pytest.mark.parametrize("name", READERS)
def test_an_unknown_format_is_wrong_usage(tmp_path: Path, model: Path, texts: Path, name: str) -> None:
    said = run(*words(name, texts, model, tmp_path), "--format", "yaml", code=2).stderr
    assert "'--format': 'yaml' is not one of" in said


@pytest.mark.parametrize("name", READERS)
def test_a_wrong_format(tmp_path: Path, model: Path, texts: Path, name: str) -> None:
    option = "--from" if name == "convert" else "--format"
    assert f"{texts}" in refused(*words(name, texts, model, tmp_path), option, "xmlc")


def test_two_ways_to_features_are_one_too_many(tmp_path: Path, texts: Path) -> None:
    told = refused("train", texts, "-m", tmp_path / "m", "--features-column", "a", "--number-columns", "b", code=2)
    assert told.startswith("--features-column and --feature-columns cannot be combined")
