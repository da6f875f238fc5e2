# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The page about the shell says what the shell says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "command-line.md"


def sessions() -> list[tuple[str, str]]:
    """Commands of the page, and what is to be seen after each."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, seen) for command, _, seen in (step.partition("\n") for step in steps)]


def test_the_page_is_not_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    checker = doctest.OutputChecker()
    for command, expected in sessions():
        if command.startswith("cat "):  # what a file holds, before anybody has written it
            Path(command.removeprefix("cat ")).write_text(expected, encoding="utf-8")
            continue
        told = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)  # noqa: S602
        seen = told.stdout + told.stderr
        assert checker.check_output(expected, seen, doctest.ELLIPSIS), f"$ {command}\n{seen}"
