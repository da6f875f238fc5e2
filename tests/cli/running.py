# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Helpers that run commands, and their input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from oplt import OnlinePLT, files
from oplt.cli import main
from tests.unit.texts import texts_and_labels

PROGRAM = [sys.executable, "-m", "oplt"]


def run(*words: object, given: bytes | str | None = None, code: int = 0) -> Result:
    """Run a command in this process and check its exit code. It must never end with a traceback."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=given, prog_name="oplt")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, f"exit code {result.exit_code}: {result.stderr}"
    return result


def refused(*words: object, given: bytes | str | None = None, code: int = 1) -> str:
    """Run a command that must fail, and return its error, which must be a single line."""
    result = run(*words, given=given, code=code)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


def start(*words: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start a command in a separate process."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*PROGRAM, *map(str, words)], **{**pipes, **options})  # noqa: S603 (it is ours)


def at_a_terminal(*words: object, typed: bytes = b"", **variables: str) -> tuple[int, str]:
    """Run a command in a terminal; return its exit code and all output."""
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "140", **variables}
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [*PROGRAM, *map(str, words)], environment)  # noqa: S606
    os.write(terminal, typed)
    seen = b""
    while True:
        try:
            seen += (chunk := os.read(terminal, 1 << 16))
        except OSError:  # raised by Linux when the other side is closed
            break
        if not chunk:
            break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen.decode()


def write_texts(path: Path, n: int = 200, seed: int = 0) -> Path:
    texts, labels = texts_and_labels(n, seed)
    files.write(list(zip(texts, labels, strict=True)), path)
    return path


def write_features(path: Path, n: int = 60) -> Path:
    files.write([({i % 7: 1.0, 7 + i % 5: 0.5}, [i % 4]) for i in range(n)], path)
    return path


def learnt(paths: Sequence[Path], passes: int = 1, **settings: Any) -> OnlinePLT:
    """Train in Python the model that `oplt train` should produce."""
    model = OnlinePLT(**settings)
    for path in [*paths] * passes:
        for batch in files.read(path):
            model.learn_many(batch.X, batch.Y, weights=batch.weights)
    return model


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]
