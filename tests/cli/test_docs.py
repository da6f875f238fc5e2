# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What the README and the docs show of the command line is what it does."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from oplt.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def sessions(page: Path) -> list[str]:
    """Find what is shown as a session of a shell that anyone can repeat, with all its output: blocks of `console`."""
    return re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def steps(session: str) -> list[tuple[str, str]]:
    """Take a session apart into commands and what they print. A here-document belongs to its command."""
    found: list[tuple[str, str]] = []
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        here = re.search(r"<<'(\w+)'", command)
        if here:
            text, _, output = output.partition(f"\n{here[1]}\n")
            command = f"{command}\n{text}\n{here[1]}"
        found.append((command, output))
    return found


@pytest.mark.parametrize("session", [session for page in PAGES for session in sessions(page)])
def test_a_session_goes_as_it_is_shown(session: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in steps(session):
        done = subprocess.run(  # noqa: S603 (our own docs)
            ["/bin/bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # as a terminal shows it
            text=True,
            check=False,
        )
        assert doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS), done.stdout


def shown_commands(page: Path) -> list[str]:
    """Find all commands `oplt ...` in blocks of code, and in code within a line that has options."""
    text = page.read_text(encoding="utf-8")
    in_blocks = re.findall(r"^(?:.*\| *|\$ +| *)(oplt [a-z][^|>\n#]*)", text, re.MULTILINE)
    return [*in_blocks, *re.findall(r"`(oplt [a-z]+ [^`|>]+)`", text)]


def test_readme_shows_the_most_usual_commands() -> None:
    shown = {command.split()[1] for command in shown_commands(PAGES[0])}
    assert shown >= {"train", "predict", "inspect", "progressive", "tree"}
    assert len(sessions(PAGES[0])) == 1


@pytest.mark.parametrize("command", sorted({command for page in PAGES for command in shown_commands(page)}))
def test_a_command_that_is_shown_has_these_options(command: str) -> None:
    name, *arguments = shlex.split(command)[1:]
    assert name in COMMANDS
    own = main.get_command(click.Context(main), name)
    assert own is not None
    own.make_parser(click.Context(own)).parse_args(arguments)
