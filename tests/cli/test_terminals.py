# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Output at a terminal, and without one."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, at_a_terminal, start, write_texts

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]")


def test_a_bar_shows_how_far_it_is_and_how_good(tmp_path: Path) -> None:
    path = write_texts(tmp_path / "many.jsonl.gz", 5000)
    code, seen = at_a_terminal("train", path, "--model", tmp_path / "m.oplt", NO_COLOR="")
    assert code == 0
    assert re.search(r"Learning .*\d+%.* 2,048 examples, [0-9,]+/s, [0-9,]+ labels, [0-9.]+ [kM]B", seen)
    assert COLOUR.search(seen)
    assert "Learned 5,000 examples" in seen
    assert "P@1 0." in seen


@pytest.mark.parametrize("columns", [40, 80])
def test_nothing_is_cut_off_at_a_narrow_terminal(tmp_path: Path, columns: int) -> None:
    path = write_texts(tmp_path / "many.jsonl.gz", 5000)
    _, seen = at_a_terminal("train", path, "-m", tmp_path / "m.oplt", COLUMNS=str(columns), NO_COLOR="1")
    assert "…" not in seen
    plain = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen).split())
    assert re.search(r"Learning \d+% [0-9:-]{5} 2,048 examples, [0-9,]+/s, [0-9,]+ labels, [0-9.]+ [kM]B", plain)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(tmp_path: Path, texts: Path, variables: dict[str, str]) -> None:
    code, seen = at_a_terminal("train", texts, "--model", tmp_path / "m.oplt", **variables)
    assert code == 0
    assert not COLOUR.search(seen)
    assert ("Learning" in seen) == ("NO_COLOR" in variables)  # a dumb terminal has no bars
    assert "Learned 200 examples" in seen


def test_quiet_is_quiet_at_a_terminal_too(tmp_path: Path, texts: Path) -> None:
    assert at_a_terminal("train", texts, "--model", tmp_path / "m.oplt", "--quiet") == (0, "")


def test_progressive_draws_a_picture(texts: Path) -> None:
    code, seen = at_a_terminal("progressive", texts, "--every", 40, "--window", 40)
    assert code == 0
    counts = r"200 examples, \d+ labels, [\d,]+ examples/s, [\d.]+ kB of memory, 100% of the data, 0:00 left"
    last = re.split(counts, " ".join(seen.split()))[-1]
    assert last != " ".join(seen.split())
    for part in ("P@5", "torso (10 to 99 times)", "age of label", "New labels per example", "0.0 |"):
        assert part in last


def test_answers_at_a_terminal_are_not_disturbed_by_a_bar(model: Path, texts: Path, tmp_path: Path) -> None:
    _, seen = at_a_terminal("predict", model, texts)
    assert seen.count('{"labels": ') == 200
    assert "\x1b" not in seen
    _, seen = at_a_terminal("predict", model, texts, "--out", tmp_path / "out.jsonl")
    assert "Predicting" in seen


def test_who_types_texts_is_not_asked_for_a_format(model: Path) -> None:
    code, seen = at_a_terminal("predict", model, "-k", 1, typed=b"Topic1-2\n\x04")
    assert code == 0
    assert "Type one text per line; press Ctrl-D to end." in seen
    assert '{"labels": ["label ' in seen


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}])
def test_there_are_no_bars_without_a_terminal(tmp_path: Path, texts: Path, variables: dict[str, str]) -> None:
    environment = {**os.environ, **variables}
    with start("train", texts, "--model", tmp_path / "m.oplt", env=environment) as program:
        result, said = program.communicate()
    assert (program.returncode, result) == (0, b"")
    assert b"\x1b" not in said
    assert b"Learning" not in said


def test_colours_can_be_forced(texts: Path, model: Path) -> None:
    with start("evaluate", model, texts, env={**os.environ, "FORCE_COLOR": "1"}) as program:
        result, _ = program.communicate()
    assert b"\x1b[1m" in result


@pytest.mark.parametrize("words", [["inspect"], ["inspect", "--json"], ["tree"], ["tree", "--format", "svg"]])
def test_a_closed_output_is_no_accident(model: Path, words: list[str]) -> None:
    program = shlex.join([*PROGRAM, words[0], str(model), *words[1:]])
    done = subprocess.run(["/bin/sh", "-c", f"{program} >&-"], capture_output=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["learn", "evaluate", "progressive", "convert"])
def test_a_closed_input_is_an_empty_one(tmp_path: Path, model: Path, name: str) -> None:
    words = {"progressive": ["-"], "convert": ["-", str(tmp_path / "out.csv")]}.get(name, [str(model), "-"])
    program = shlex.join([*PROGRAM, name, *words])
    done = subprocess.run(["/bin/sh", "-c", f"{program} <&-"], capture_output=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"Error: standard input: the file is empty\n"


def test_lines_go_to_a_file_even_while_a_bar_is_at_the_terminal(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    words = shlex.join([*PROGRAM, "demo", "--examples", "3000", "--labels", "100"])
    child, terminal = pty.fork()
    if child == 0:
        os.execve("/bin/sh", ["sh", "-c", f"{words} > {out}"], {**os.environ, "TERM": "xterm", "TMPDIR": str(tmp_path)})  # noqa: S606
    seen = b""
    with contextlib.suppress(OSError):  # raised by Linux when the other side is closed
        while chunk := os.read(terminal, 1 << 16):
            seen += chunk
    os.close(terminal)
    assert os.waitpid(child, 0)[1] == 0
    assert b"Learning" in seen
    assert b"P@1" not in seen
    assert out.read_text(encoding="utf-8").startswith("A stream of examples")
    assert "    3,000 " in out.read_text(encoding="utf-8")
