# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The commands in the README and the docs do what is shown there."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import socket
import subprocess
import sys
from contextlib import closing
from itertools import groupby
from pathlib import Path

import click
import pytest

from oplt.cli import COMMANDS, main
from tests.service.running import PATIENCE

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
INDEX = ROOT / "docs" / "index.md"
START = ROOT / "docs" / "howto" / "getting-started.md"
PAGES = [README, *sorted(ROOT.glob("docs/**/*.md"))]


def steps(page: Path) -> list[tuple[str, str]]:
    """Find the commands in `console` blocks, which anyone can repeat, and the output shown after each."""
    found: list[tuple[str, str]] = []
    for session in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, _, seen = step.partition("\n")
            here = re.search(r"<<'(\w+)'", command)
            if here:  # a here-document belongs to its command
                text, _, seen = seen.partition(f"\n{here[1]}\n")
                command = f"{command}\n{text}\n{here[1]}"
            found.append((command, seen))
    return found


class Shell:
    """Runs the commands of a page as a reader would, one after the other, in one folder.

    A command that ends with `&` is a server, on port 8000 in the page and on a free one here. As in a shell, the next
    command does not wait for it: the page has to. `kill %1; wait %1` stops it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path}
        self._server: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])

    def run(self, command: str) -> str:
        """Run a command; return what a terminal shows."""
        command = command.replace("8000", self._port)
        if command.endswith(" &"):
            self._start(command.removesuffix(" &"))
            return ""
        if command == "kill %1; wait %1":
            self.close()
            return ""
        done = subprocess.run(  # noqa: S603 (our own docs)
            ["/bin/bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # as a terminal shows it
            text=True,
            check=False,
        )
        shown = done.stdout.replace(self._port, "8000")
        return shown if shown.endswith("\n") or not shown else f"{shown}\n"  # JSON of a server has no end of line

    def _start(self, command: str) -> None:
        assert self._server is None, "the page has not stopped the server before"
        self._server = subprocess.Popen(["/bin/bash", "-c", f"exec {command}"], cwd=self._folder, env=self._environment)  # noqa: S603

    def close(self) -> None:
        """Stop the server, if one runs."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(PATIENCE)
            self._server = None


@pytest.mark.parametrize("page", [page for page in PAGES if steps(page)], ids=lambda page: page.name)
def test_a_page_is_not_stale(page: Path, tmp_path: Path) -> None:
    with closing(Shell(tmp_path)) as shell:
        for command, expected in steps(page):
            file = tmp_path / command.removeprefix("cat ")
            if command.startswith("cat ") and "<<" not in command and not file.exists():
                file.write_text(expected, encoding="utf-8")  # the page shows a file that the reader is to write
                continue
            shown = shell.run(command)
            assert doctest.OutputChecker().check_output(expected, shown, doctest.ELLIPSIS), f"$ {command}\n{shown}"


def shown_commands(page: Path) -> list[str]:
    """Find all commands `oplt ...`: in lines that begin with it or pipe into it, and in code within a line."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"^\$? *((?:[^`\n]*\| *)?oplt [a-z][^`\n]*)$", text, re.MULTILINE)
    return [command for line in [*lines, *re.findall(r"`(oplt [a-z]+ [^`]+)`", text)] for command in _of_oplt(line)]


def _of_oplt(line: str) -> list[str]:
    words = shlex.shlex(line, punctuation_chars="|>")  # not posix: keeps quotes, so that quoted signs are no operators
    words.whitespace_split = True
    commands = [list(part) for is_sign, part in groupby(words, lambda word: word in "|>") if not is_sign]
    return [" ".join(command) for command in commands if command[0] == "oplt"]


def test_the_readme_shows_few_lines_of_shell() -> None:
    assert [command.split()[0] for command, _ in steps(README)] == ["echo", "oplt", "echo", "echo"]
    assert [command.split()[1] for command in shown_commands(README)] == ["train", "learn", "predict", "serve", "train"]


def test_the_first_page_shows_the_most_usual_commands() -> None:
    shown = {command.split()[1] for command in shown_commands(START)}
    assert shown >= {"train", "predict", "inspect", "progressive", "tree"}
    assert [command.split()[0] for command, _ in steps(START)] == ["cat", "oplt", "echo", "oplt"]


def links(page: Path) -> list[str]:
    """Find the links of a page to other places in the project."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = [*re.findall(r"\]\(([^)\s]+)\)", text), *re.findall(r'(?:src|srcset)="([^"]+)"', text)]
    return [link for link in found if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Find the anchors of a page: its headings, in lower case, with dashes, without punctuation; and Python objects."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    objects = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings} | objects


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_index_of_the_docs_has_links_to_all_pages() -> None:
    listed = [(INDEX.parent / link).resolve() for link in links(INDEX)]
    assert [page for page in PAGES if page not in listed and page not in {README, INDEX}] == []


@pytest.mark.parametrize("command", sorted({command for page in PAGES for command in shown_commands(page)}))
def test_a_command_that_is_shown_has_these_options(command: str) -> None:
    name, *arguments = shlex.split(command)[1:]
    assert name in COMMANDS
    own = main.get_command(click.Context(main), name)
    assert own is not None
    own.make_parser(click.Context(own)).parse_args(arguments)
