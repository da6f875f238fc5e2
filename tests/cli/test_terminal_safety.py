# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Untrusted names and texts cannot send control sequences to a terminal or reverse its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oplt import OnlinePLT
from oplt.cli._console import json_line
from oplt.wording import for_terminals, on_one_line
from tests.cli.running import at_a_terminal, json_lines, run

EVIL = "a\x9b2Jb\x1b[31mc\u202edcb\u2066e\x7ff\u2028g\x85h"
RAW = [character for character in EVIL if not character.isprintable()]


def is_safe(text: str) -> bool:
    """Tell whether there are no control characters besides line ends and those that terminals add."""
    return not any(character in text for character in RAW)


@pytest.fixture
def evil_model(tmp_path: Path) -> Path:
    path = tmp_path / "evil\x9b\u202e.oplt"
    model = OnlinePLT(features="text")
    model.learn_many(["Topic1-2 Topic2-1", "Topic3-1"], [[EVIL, "x"], ["x"]])
    model.save(path)
    return path


def test_words() -> None:
    for escape in (on_one_line, for_terminals):
        assert is_safe(escape(EVIL))
        assert escape("naïve 日本 👩‍👩‍👧 می‌خواهم\u00a0x") == "naïve 日本 👩‍👩‍👧 می‌خواهم\u00a0x"
    assert for_terminals("a\n\tb\r") == "a\n\tb\\r"


def test_json_is_safe_and_the_same_to_programs() -> None:
    line = json_line({EVIL: [EVIL, "käse"]}).decode()
    assert is_safe(line)
    assert "käse" in line
    assert json.loads(line) == {EVIL: [EVIL, "käse"]}


@pytest.mark.parametrize("options", [[], ["--to", "csv"], ["--to", "fasttext"], ["--keep", "text"]])
def test_answers_at_a_terminal(tmp_path: Path, evil_model: Path, options: list[str]) -> None:
    data = tmp_path / "new.jsonl"
    data.write_text(json.dumps({"text": f"Topic1-2 {EVIL}"}) + "\n")
    code, seen = at_a_terminal("predict", evil_model, data, *options, "--quiet")
    assert code == 0
    assert is_safe(seen)
    assert r"\u202e" in seen


def test_files_hold_what_is_there(tmp_path: Path, evil_model: Path) -> None:
    data = tmp_path / "new.jsonl"
    data.write_text(json.dumps({"text": f"Topic1-2 {EVIL}"}) + "\n")
    out = tmp_path / "out.csv"
    run("predict", evil_model, data, "--keep", "text", "--out", out)
    assert EVIL in out.read_bytes().decode()
    assert json_lines(run("predict", evil_model, data, "--keep", "text").stdout)[0]["text"] == f"Topic1-2 {EVIL}"


def test_what_commands_say(tmp_path: Path, evil_model: Path) -> None:
    data = tmp_path / "new\x9b\u202e.jsonl"
    data.write_text(json.dumps({"text": EVIL, "labels": [EVIL]}) + "\n")
    commands: list[list[object]] = [
        ["inspect", evil_model],
        ["inspect", evil_model, "--json"],
        ["labels", evil_model],
        ["labels", evil_model, "rename", EVIL, f"{EVIL} new"],
        ["labels", evil_model, "log"],
        ["labels", evil_model, "log", "--json"],
        ["explain", evil_model, "--text", EVIL],
        ["tree", evil_model],
        ["tree", evil_model, "--label", "x"],
        ["tree", evil_model, "--format", "dot"],
        ["learn", evil_model, data],
        ["learn", evil_model, data, "--out", tmp_path / "new\x9b.oplt", "--json"],
        ["train", data, "--model", tmp_path / "trained\x9b.oplt"],
        ["evaluate", evil_model, data],
        ["progressive", data, "--model", tmp_path / "progressive\x9b.oplt"],
    ]
    for words in commands:
        result = run(*words)
        assert is_safe(result.stdout), words
        assert is_safe(result.stderr), words


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "no\x9b\u202e.oplt"],
        ["predict", "no\x9b\u202e.oplt", "--to", "\x9b\u202e"],
        ["tree", "no.oplt", "--out", "t.\x9b\u202e"],
        ["inspect", "no.oplt", "-n", "\x9b"],
        ["\x9b\u202e"],
        ["--\x9b\u202e"],
        ["train", "\x9b\u202e.jsonl", "--model", "m.oplt", "--\u202e"],
        ["train", "\x9b\u202e.jsonl", "--model", "m.oplt", "--ngrams", "\u202e"],
    ],
)
def test_errors(words: list[str]) -> None:
    result = run(*words, code=1 if words[-1] == "no\x9b\u202e.oplt" else 2)
    assert result.stderr
    assert is_safe(result.stderr)


def test_bad_lines_that_were_left_out(tmp_path: Path, evil_model: Path) -> None:
    data = tmp_path / "new\x9b.jsonl"
    data.write_text('{"text": "a"}\n{"text": "\u202e\x9b"\n')
    result = run("predict", evil_model, data, "--on-error", "skip")
    assert "Skipped 1 invalid line:" in result.stderr
    assert is_safe(result.stderr)


def test_convert_to_a_terminal(tmp_path: Path) -> None:
    data = tmp_path / "new.jsonl"
    data.write_text(json.dumps({"text": EVIL, "labels": ["x"]}) + "\n")
    code, seen = at_a_terminal("convert", data, "-", "--to", "csv", "--quiet")
    assert code == 0
    assert is_safe(seen)
    assert EVIL in run("convert", data, "-", "--to", "csv").stdout
