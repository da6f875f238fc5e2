# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Interruptions: by Ctrl-C, by the system, by a power cut, by a reader that closes the pipe."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from oplt import OnlinePLT
from oplt.cli._learning import Interrupted, Updater
from tests.cli.running import learnt, refused, run, start, write_texts

PASSES = 300  # over a small file, each followed by a checkpoint: takes seconds, but is interrupted


def wait_for(path: Path, program: subprocess.Popen[bytes]) -> None:
    for _ in range(3000):
        if path.exists():
            return
        assert program.poll() is None, "it ended too soon"
        time.sleep(0.01)
    pytest.fail(f"{path} did not come")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "small.jsonl", 20)


@pytest.fixture
def whole(small: Path) -> str:
    """Learn without interruption."""
    return learnt([small], passes=PASSES, features="text").fingerprint()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_the_same_command_goes_on_to_the_same_model(
    tmp_path: Path, small: Path, whole: str, number: signal.Signals, code: int
) -> None:
    target, partial = tmp_path / "m.oplt", tmp_path / "m.oplt.partial"
    words = ["train", small, "--model", target, "--passes", PASSES]
    with start(*words, "--checkpoint", "0.001") as program:
        wait_for(partial, program)
        program.send_signal(number)
        _, said = program.communicate()
    assert program.returncode == code
    assert not target.exists()
    n_learnt = OnlinePLT.load(partial).n_examples  # the file is complete
    assert 0 < n_learnt < 20 * PASSES
    if number != signal.SIGKILL:
        assert f"Interrupted after {n_learnt:,} examples" in said.decode()
        again = shlex.split(said.decode().rpartition("rerun the same command: ")[2])
        assert again == ["python", "-m", "oplt", *map(str, words), "--checkpoint", "0.001"]
    result = run(*words, "--checkpoint", 0)
    assert f"Resuming from {partial}, after {n_learnt:,} examples" in result.stderr
    assert OnlinePLT.load(target).fingerprint() == whole
    assert [path.name for path in tmp_path.glob("m.oplt*")] == ["m.oplt"]


class Stopping:
    """A training run that is interrupted in the middle of the n-th batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
        self.n = n
        learn = Updater.learn

        def stop(updater: Updater, batch: Any, *, is_new: bool = True) -> None:
            self.n -= 1
            if self.n == 0:
                learn(updater, batch.part(0, len(batch) // 2), is_new=is_new)
                raise Interrupted(signal.SIGINT)
            learn(updater, batch, is_new=is_new)

        monkeypatch.setattr(Updater, "learn", stop)


def test_lines_that_were_left_out_do_not_count(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"{\n".join(small.read_bytes().splitlines(keepends=True)))
    target = tmp_path / "m.oplt"
    words = ["train", bad, small, "--model", target, "--passes", 2, "--on-error", "skip"]
    Stopping(monkeypatch, 4)
    result = run(*words, code=130)
    assert "Interrupted after 70 examples" in result.stderr
    run(*words)
    assert OnlinePLT.load(target).fingerprint() == learnt([small], passes=4, features="text").fingerprint()


def test_nothing_is_saved_if_it_is_not_wanted(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Stopping(monkeypatch, 1)
    result = run("train", small, "--model", tmp_path / "m.oplt", "--no-save-on-interrupt", code=130)
    assert result.stderr == "Interrupted after 10 examples; nothing was saved.\n"
    assert list(tmp_path.glob("*.oplt*")) == []


def test_a_second_ctrl_c_stops_at_once_and_leaves_the_last_checkpoint_whole(
    tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, partial = tmp_path / "m.oplt", tmp_path / "m.oplt.partial"
    Stopping(monkeypatch, 2)
    run("train", small, "--model", target, "--passes", 3, code=130)
    before = partial.read_bytes()

    def interrupted_in_the_middle(_: int) -> None:
        raise Interrupted(signal.SIGINT)

    monkeypatch.undo()
    Stopping(monkeypatch, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted_in_the_middle)
        result = run("train", small, "--model", target, "--passes", 3, code=130)
    assert result.stderr.endswith("Press Ctrl-C again to stop immediately.\nInterrupted.\n")
    assert partial.read_bytes() == before
    assert list(tmp_path.glob(".*")) == []
    run("train", small, "--model", target, "--passes", 3)
    assert OnlinePLT.load(target).fingerprint() == learnt([small], passes=3, features="text").fingerprint()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--passes", "4"], "passes was 3 and is now 4"),
        (["--arity", "5"], "arity was 31 and is now 5"),
        (["--on-error", "skip"], 'on_error was "stop" and is now "skip"'),
        (["--ngrams", "1,2"], "ngrams was [1, 1] and is now [1, 2]"),
    ],
)
def test_the_checkpoint_of_another_command_is_refused(
    tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch, change: list[str], message: str
) -> None:
    target = tmp_path / "m.oplt"
    Stopping(monkeypatch, 2)
    run("train", small, "--model", target, "--passes", 3, code=130)
    partial = tmp_path / "m.oplt.partial"
    told = refused("train", small, "--model", target, "--passes", 3, *change)
    resume = f"Rerun that command to resume. To start from scratch, remove {partial}."
    assert told == f"{partial}: the checkpoint was created by a different command: {message}. {resume}"


def test_the_checkpoint_of_other_data_is_refused(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "m.oplt"
    Stopping(monkeypatch, 1)
    run("train", small, "--model", target, code=130)
    text = small.read_text()
    small.write_text(text + text)
    assert f"a data file had {len(text)} bytes and now has {2 * len(text)}" in refused(
        "train", small, "--model", target
    )
    small.write_text(text.replace("Topic0", "Topik0", 1))
    assert "the beginning of a data file has changed" in refused("train", small, "--model", target)
    about = tmp_path / "m.oplt.partial.json"
    about.write_text("{")
    assert "m.oplt.partial.json: the file is damaged. To start from scratch, remove" in refused(
        "train", small, "--model", target
    )
    about.unlink()
    assert f"{about}, which records the command that created the checkpoint, is missing" in refused(
        "train", small, "--model", target
    )


def test_standard_input_goes_on_with_what_comes(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "m.oplt"
    more = write_texts(tmp_path / "more.jsonl", 30, seed=5)
    (tmp_path / "first.jsonl").write_text("".join(small.read_text().splitlines(keepends=True)[:10]))
    Stopping(monkeypatch, 1)
    result = run("train", "-", "--model", target, given=small.read_bytes(), code=130)
    assert "rerun the same command with the remaining examples" in result.stderr
    monkeypatch.undo()
    run("train", "-", "--model", target, given=more.read_bytes())
    expected = learnt([tmp_path / "first.jsonl", more], features="text")
    assert OnlinePLT.load(target).fingerprint() == expected.fingerprint()


def test_waiting_for_standard_input_can_be_interrupted(tmp_path: Path, small: Path) -> None:
    target = tmp_path / "m.oplt"
    with start("train", "-", "--model", target, "--checkpoint", "0.001") as program:
        assert program.stdin is not None
        program.stdin.write(small.read_bytes())
        program.stdin.flush()
        wait_for(tmp_path / "m.oplt.partial", program)  # now it waits
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=30) == 130
    assert OnlinePLT.load(tmp_path / "m.oplt.partial").n_examples > 0


def test_learn_saves_what_it_has_learnt_and_tells_how_to_go_on(
    tmp_path: Path, texts: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.oplt"
    Stopping(monkeypatch, 1)
    result = run("learn", f"{tmp_path}/./{model.name}", texts, "--out", out, code=130)
    told = result.stderr.splitlines()[-1].partition("To resume, run: ")[2]
    assert told == f"oplt learn {out} {texts} --out {out} --skip 100"
    run(*shlex.split(told)[1:])
    assert OnlinePLT.load(out).fingerprint() == learnt([texts], passes=2, features="text").fingerprint()


def test_progressive_saves_its_model_when_it_is_interrupted(
    tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = OnlinePLT.learn_one

    def stop(model: OnlinePLT, *args: Any, **kwargs: Any) -> None:
        if model.n_examples == 50:
            raise Interrupted(signal.SIGTERM)
        learn(model, *args, **kwargs)

    target = tmp_path / "m.oplt"
    with monkeypatch.context() as patch:
        patch.setattr(OnlinePLT, "learn_one", stop)
        result = run("progressive", texts, "--model", target, "--arity", 4, "--separator", "|", code=143)
    assert "Interrupted after 50 examples." in result.stderr
    assert OnlinePLT.load(target).n_examples == 50
    told = result.stderr.strip().rpartition("To resume, run: ")[2]
    assert told == f"oplt progressive {texts} --from {target} --model {target} --force --skip 50 --separator '|'"
    run(*shlex.split(told)[1:])
    assert OnlinePLT.load(target).fingerprint() == learnt([texts], features="text", arity=4).fingerprint()


def test_other_commands_end_quietly_at_ctrl_c(model: Path) -> None:
    with start("predict", model) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b'{"text": "Topic1-2"}\n')
        program.stdin.flush()
        program.stdout.readline()  # now it waits for more
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=30)
    assert (program.returncode, said) == (130, b"Interrupted.\n")


def test_a_reader_that_goes_ends_the_work_quietly(tmp_path: Path, model: Path) -> None:
    many = write_texts(tmp_path / "many.jsonl", 6000)  # more output than the buffer of a pipe
    with start("predict", model, many) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait() == 141


def test_a_reader_that_is_gone_before_a_short_answer_is_no_error(texts: Path, model: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with start("evaluate", model, texts, "-q", stdout=writing) as program:
        os.close(writing)
        _, said = program.communicate()
    assert (program.returncode, said) == (141, b"")


def test_a_full_disk_is_told_in_a_line(texts: Path, model: Path) -> None:
    with Path("/dev/full").open("wb") as full, start("predict", model, texts, stdout=full) as program:
        _, said = program.communicate()
    assert (program.returncode, said) == (1, b"Error: No space left on device\n")
