# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""If `oplt learn` is killed, the progress up to the last checkpoint is not lost."""

from __future__ import annotations

import errno
import signal
import time
from pathlib import Path

import pytest

from oplt import OnlinePLT
from oplt.cli._learning import Updater
from tests.cli.running import learnt, refused, run, start, write_texts
from tests.cli.test_interruptions import Stopping, wait_for

N = 200  # examples of the model
TIMES = 150  # passes over a small file, each followed by a checkpoint


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "small.jsonl", 20, seed=3)


def test_what_came_through_a_pipe_is_saved_before_it_is_killed(model: Path, small: Path) -> None:
    with start("learn", model, "-", "--checkpoint", 0.2) as program:
        assert program.stdin is not None
        assert program.stderr is not None
        lines = small.read_bytes().splitlines(keepends=True)
        for begin, end in ((0, 5), (5, 12)):  # then the input pauses, and the model is saved nevertheless
            program.stdin.write(b"".join(lines[begin:end]))
            program.stdin.flush()
            while f"{end} examples learned and saved in {model}.\n" != program.stderr.readline().decode():
                pass
        program.send_signal(signal.SIGKILL)
        program.wait()
    assert OnlinePLT.load(model).n_examples == N + 12
    rest = b"".join(lines[12:])
    run("learn", model, "-", given=rest)
    assert OnlinePLT.load(model).n_examples == N + 20


def test_nothing_is_written_while_nothing_comes(model: Path) -> None:
    before = model.stat().st_mtime_ns
    with start("learn", model, "-", "--checkpoint", 0.05) as program:
        time.sleep(1)
        assert model.stat().st_mtime_ns == before
        assert program.stdin is not None
        program.stdin.close()
        program.wait()


def test_a_bad_line_tells_what_was_saved(model: Path) -> None:
    with start("learn", model, "-", "--checkpoint", 0.1) as program:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write(b'{"text": "Topic1-2", "labels": ["x"]}\n')
        program.stdin.flush()
        assert b"1 example learned and saved in" in program.stderr.readline()
        program.stdin.write(b"{\n")
        program.stdin.close()
        said = program.stderr.read().decode()
        assert program.wait() == 1
    assert said.startswith(f"{model} was last saved after 1 example.\nError: ")


def test_a_quiet_command_says_nothing_of_checkpoints(model: Path) -> None:
    with start("learn", model, "-", "--checkpoint", 0.05, "--quiet") as program:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write(b'{"text": "Topic1-2", "labels": ["x"]}\n')
        program.stdin.flush()
        for _ in range(500):
            if OnlinePLT.load(model).n_examples > N:
                break
            time.sleep(0.02)
        program.stdin.close()
        assert program.stderr.read() == b""
        assert program.wait() == 0


def test_a_killed_learn_from_files_goes_on_to_the_same_model(
    tmp_path: Path, texts: Path, model: Path, small: Path
) -> None:
    words = ["learn", model, *[small] * TIMES]
    before = model.read_bytes()
    partial = Path(f"{model}.partial")
    with start(*words, "--checkpoint", 0.001) as program:
        wait_for(partial, program)
        program.send_signal(signal.SIGKILL)
        program.wait()
    assert model.read_bytes() == before
    n_learnt = OnlinePLT.load(partial).n_examples - N
    assert 0 < n_learnt < 20 * TIMES
    result = run(*words, "--checkpoint", 0)
    assert f"Resuming from {partial}, after {n_learnt:,} examples of this data" in result.stderr
    whole = learnt([texts, *[small] * TIMES], features="text").fingerprint()
    assert OnlinePLT.load(model).fingerprint() == whole
    assert sorted(path.name for path in tmp_path.glob("texts.oplt*")) == ["texts.oplt"]


def test_ctrl_c_after_a_resumed_learn_skips_all_that_is_learnt(
    texts: Path, model: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["learn", model, *[small] * TIMES]
    with start(*words, "--checkpoint", 0.001) as program:
        wait_for(Path(f"{model}.partial"), program)
        program.send_signal(signal.SIGKILL)
        program.wait()
    Stopping(monkeypatch, 1)
    result = run(*words, code=130)
    n_learnt = OnlinePLT.load(model).n_examples - N
    assert result.stderr.rstrip().endswith(f"--skip {n_learnt}")
    assert not Path(f"{model}.partial").exists()
    monkeypatch.undo()
    run(*words, "--skip", n_learnt)
    whole = learnt([texts, *[small] * TIMES], features="text").fingerprint()
    assert OnlinePLT.load(model).fingerprint() == whole


def test_the_checkpoint_of_another_command_is_refused(
    tmp_path: Path, model: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = Updater.learn

    def killed(updater: Updater, batch: object) -> None:
        if updater.n_learnt:
            raise OSError(errno.EIO, "killed", "disk")
        learn(updater, batch)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Updater, "learn", killed)
        run("learn", model, small, small, "--checkpoint", 1e-9, code=1)
    partial = f"{model}.partial"
    assert Path(partial).exists()
    message = refused("learn", model, small)
    assert message.startswith(f"{partial}: the checkpoint was created by a different command: data was ")
    assert message.endswith(f"Rerun that command to resume. To start from scratch, remove {partial}.")
    assert "skip was 0 and is now 3" in refused("learn", model, small, small, "--skip", 3)
    assert "a different command: oplt learn." in refused("train", small, "--model", model, "--force")
    other = OnlinePLT.load(model)
    other.learn_one("Topic1-1", "new")
    other.save(model)
    assert "the model has changed since" in refused("learn", model, small, small)
    assert sorted(path.name for path in tmp_path.glob("*.lock")) == []
