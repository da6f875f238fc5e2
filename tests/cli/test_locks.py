# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Two commands that update one model: neither loses the updates of the other."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oplt import OnlinePLT
from oplt.cli._lock import locked
from tests.cli.running import refused, run, start, write_texts

N = 200  # examples of the model


@contextmanager
def learning(model: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command that updates a model, and waits for more."""
    with start("learn", model, "-") as program:
        assert program.stdin is not None
        program.stdin.write(b'{"text": "Topic1-2", "labels": ["first"]}\n')
        program.stdin.flush()
        lock = model.with_name(f"{model.name}.lock")
        for _ in range(3000):
            if lock.exists() and lock.read_bytes():
                break
            time.sleep(0.01)
        yield program
        program.stdin.close()
        program.wait()


def second(tmp_path: Path) -> Path:
    path = tmp_path / "second.jsonl"
    path.write_text('{"text": "Topic2-1", "labels": ["second"]}\n')
    return path


def test_the_second_waits_for_the_first(tmp_path: Path, model: Path) -> None:
    with learning(model) as first, start("learn", model, second(tmp_path)) as other:
        assert other.stderr is not None
        told = other.stderr.readline().decode()
        assert told.startswith(f"{model} is being updated by another oplt command (process {first.pid});")
        assert other.poll() is None
        assert first.stdin is not None
        first.stdin.close()
        assert first.wait() == 0
        assert other.wait() == 0
    saved = OnlinePLT.load(model)
    assert saved.n_examples == N + 2
    assert {"first", "second"} <= {label for label in saved.tree.labels if label is not None}
    assert list(tmp_path.glob("*.lock")) == []


def test_tuning_waits_too(texts: Path, model: Path) -> None:
    with learning(model) as first, start("tune", model, texts) as other:
        assert other.stderr is not None
        assert "is being updated by another oplt command" in other.stderr.readline().decode()
        assert first.stdin is not None
        first.stdin.close()
        assert first.wait() == 0
        assert other.wait() == 0
    saved = OnlinePLT.load(model)
    assert saved.n_examples == N + 1
    assert saved.thresholds is not None


def test_many_at_once_lose_nothing(tmp_path: Path, model: Path) -> None:
    data = second(tmp_path)
    programs = [start("learn", model, data, "--quiet") for _ in range(4)]
    for program in programs:
        assert program.communicate() == (b"", b"")
        assert program.returncode == 0
    assert OnlinePLT.load(model).n_examples == N + 4


def test_it_may_fail_instead(tmp_path: Path, model: Path) -> None:
    before = model.read_bytes()
    with learning(model) as first:
        message = refused("learn", model, second(tmp_path), "--wait", 0)
        assert message.startswith(f"{model} is being updated by another oplt command (process {first.pid}).")
        assert "Nothing was learned" in message
        assert model.read_bytes() == before


def test_train_and_progressive_do_not_wait_for_a_model_that_they_would_replace(texts: Path, model: Path) -> None:
    with learning(model):
        for words in (["train", texts], ["progressive", texts]):
            assert "is being updated" in refused(*words, "--model", model, "--force")


def test_another_name_of_the_file_is_the_same_model(tmp_path: Path, model: Path) -> None:
    link = tmp_path / "link.oplt"
    link.symlink_to(model)
    with learning(model):
        assert "is being updated" in refused("learn", link, second(tmp_path), "--wait", 0)


def test_a_killed_command_blocks_nobody(tmp_path: Path, model: Path) -> None:
    with learning(model) as program:
        program.send_signal(signal.SIGKILL)
        program.wait()
        assert Path(f"{model}.lock").exists()
        run("learn", model, second(tmp_path), "--wait", 0)
    assert list(tmp_path.glob("*.lock")) == []


def test_who_waits_can_be_interrupted(tmp_path: Path, model: Path) -> None:
    with learning(model), start("learn", model, second(tmp_path)) as other:
        assert other.stderr is not None
        other.stderr.readline()
        other.send_signal(signal.SIGINT)
        assert other.wait() == 130
        assert other.stderr.read() == b"Interrupted.\n"


def test_a_target_that_comes_while_one_waits_is_not_replaced(tmp_path: Path, model: Path) -> None:
    out = tmp_path / "out.oplt"
    with locked(out):
        other = start("learn", model, second(tmp_path), "--out", out)
        assert other.stderr is not None
        other.stderr.readline()
        out.write_bytes(model.read_bytes())
    with other:
        assert other.wait() == 2
        assert b"already exists" in other.stderr.read()
    assert out.read_bytes() == model.read_bytes()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EBADF])
def test_a_file_system_without_locks_is_told(
    tmp_path: Path, model: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_lock(_: Any, __: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", no_lock)
    result = run("learn", model, second(tmp_path))
    assert f"{model} cannot be locked ({os.strerror(number)}): make sure that no other" in result.stderr
    assert OnlinePLT.load(model).n_examples == N + 1


def test_long_names_are_locked_too(tmp_path: Path, texts: Path) -> None:
    name = tmp_path / ("m" * 250 + ".oplt")
    run("train", texts, "--model", name)
    with locked(name):
        assert "is being updated" in refused("learn", name, second(tmp_path), "--wait", 0)
    run("learn", name, second(tmp_path))
    assert list(tmp_path.glob("*.lock")) + list(tmp_path.glob(".*.lock")) == []


def test_the_end_of_a_lock_leaves_that_of_others(tmp_path: Path) -> None:
    target = tmp_path / "m.oplt"
    write_texts(tmp_path / "a.jsonl", 1)
    with locked(target):
        assert (tmp_path / "m.oplt.lock").read_text().split()[0] == str(os.getpid())
    assert not (tmp_path / "m.oplt.lock").exists()
