# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt demo` shows what it promises, and the commands that it suggests work."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from oplt.cli import main


@pytest.fixture(autouse=True)
def _temporary_files_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_demo_learns_saves_predicts_and_inspects() -> None:
    result = CliRunner().invoke(main, ["demo", "--examples", "1000", "--labels", "100"])
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    numbers = [line.split() for line in lines if line.startswith("    ")]
    assert [row[0] for row in numbers[:10]] == [f"{n:,}" for n in range(100, 1001, 100)]
    assert float(numbers[9][4]) > 0.5  # chance is about 0.01
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    assert [len(answer["labels"]) for answer in answers] == [3, 3, 3]
    assert any(line.endswith("◀") for line in lines)
    assert "Learned" in lines


def test_commands_that_it_says_to_try_next_work(tmp_path: Path) -> None:
    output = CliRunner().invoke(main, ["demo", "--examples", "50", "--labels", "5"]).stdout
    shown = [line for line in output.splitlines() if line.startswith(("$ oplt ", "  oplt "))]
    assert len(shown) == 6
    for line in shown:
        words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
        words = [str(tmp_path / word) if word == "tree.html" else word for word in words]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "tree.html").is_file()


def test_a_single_document_is_enough() -> None:
    assert CliRunner().invoke(main, ["demo", "--examples", "1", "--labels", "1"]).exit_code == 0
