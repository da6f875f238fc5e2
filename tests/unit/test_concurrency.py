# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model that is read, saved and forked while it learns, and used by signal handlers."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oplt import PLT, OnlinePLT
from oplt.datasets import make_stream

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and forks are of POSIX systems")
DEADLINE = 60.0  # seconds; everything here takes a few at most

Stream = tuple[list[dict[Any, float]], list[Any]]


def stream(n: int, seed: int = 0) -> Stream:
    rows, labels = zip(*make_stream(n, n_labels=300, seed=seed), strict=True)
    return list(rows), list(labels)


@contextmanager
def beside(work: Callable[[], Any]) -> Iterator[threading.Thread]:
    """Run something in another thread; what it raises is raised here."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (raised again below)
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(DEADLINE)
    assert not thread.is_alive(), "it hangs"
    if failures:
        raise failures[0]


def test_a_snapshot_is_the_model_at_its_moment_to_the_bit(tmp_path: Path) -> None:
    rows, labels = stream(900)
    model, twin = OnlinePLT(threads=2), OnlinePLT()
    snapshots = []
    for begin in range(0, 900, 100):
        snapshots.append((begin, model.snapshot(), model.fingerprint(), model.predict_many(rows[:20], k=3)))
        model.learn_many(rows[begin : begin + 100], labels[begin : begin + 100])
    for begin, snapshot, fingerprint, answers in snapshots:
        assert isinstance(snapshot, PLT)
        assert snapshot.n_examples == twin.n_examples == begin
        assert snapshot.fingerprint() == fingerprint == twin.fingerprint()
        again = snapshot.predict_many(rows[:20], k=3)
        assert [*again] == [*answers]
        assert again.n_examples == begin
        assert pickle.loads(pickle.dumps(snapshot)).fingerprint() == fingerprint
        snapshot.save(tmp_path / "m.oplt")
        assert OnlinePLT.load(tmp_path / "m.oplt").fingerprint() == fingerprint
        twin.learn_many(rows[begin : begin + 100], labels[begin : begin + 100])


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("settings", [{}, {"trees": 2, "label_memory": 0}, {"warm_up": 450}], ids=repr)
def test_what_lies_in_a_file_is_copied_when_it_is_written(
    settings: dict[str, Any], *, verify: bool, tmp_path: Path
) -> None:
    rows, labels = stream(600)
    model = OnlinePLT(**settings)
    model.learn_many(rows[:400], labels[:400])
    model.save(tmp_path / "m.oplt")
    before = (tmp_path / "m.oplt").read_bytes()
    opened = [OnlinePLT.load(tmp_path / "m.oplt", verify=verify) for _ in range(2)]
    still = PLT.load(tmp_path / "m.oplt", verify=verify)
    for one in (*opened, model):
        one.learn_many(rows[400:], labels[400:])
    assert opened[0].fingerprint() == opened[1].fingerprint() == model.fingerprint()
    assert still.n_examples == 400
    assert (tmp_path / "m.oplt").read_bytes() == before
    opened[0].save(tmp_path / "m.oplt")  # replaces the file that the others lie in
    assert still.fingerprint() == PLT._of(pickle.loads(pickle.dumps(still))._saved(), 1).fingerprint()
    assert OnlinePLT.load(tmp_path / "m.oplt").fingerprint() == model.fingerprint()


def test_readers_see_whole_numbers_of_examples_in_order_and_what_they_have_learnt_themselves() -> None:
    rows, labels = stream(1500)
    expected = [OnlinePLT().predict_one(rows[0], k=3)]
    twin = OnlinePLT()
    for x, y in zip(rows, labels, strict=True):
        twin.learn_one(x, y)
        expected.append(twin.predict_one(rows[0], k=3))
    model = OnlinePLT(threads=2)
    done = threading.Event()

    def read() -> None:
        last = 0
        while not done.is_set():
            found = model.predict_many(rows[:1], k=3)
            assert found[0] == expected[found.n_examples]
            assert model.predict_one(rows[0], k=3) in expected[found.n_examples :]
            assert last <= found.n_examples <= model.snapshot().n_examples
            last = found.n_examples

    def learn() -> None:
        begin = 0
        for size in (1, 500, 1, 1, 700, 297):
            model.learn_many(rows[begin : begin + size], labels[begin : begin + size])
            begin += size
            assert model.n_examples == begin
            assert model.predict_one(rows[0], k=3) == expected[begin]
        done.set()

    with beside(read), beside(read):
        learn()
    assert model.fingerprint() == twin.fingerprint()


def test_a_save_in_the_background_is_of_the_moment_it_was_asked_for(tmp_path: Path) -> None:
    rows, labels = stream(800)
    model = OnlinePLT()
    model.learn_many(rows[:500], labels[:500])
    fingerprint = model.fingerprint()
    future = model.save(tmp_path / "m.oplt", wait=False)
    model.learn_many(rows[500:], labels[500:])
    assert future.result(DEADLINE) is None
    assert OnlinePLT.load(tmp_path / "m.oplt").fingerprint() == fingerprint
    assert isinstance(model.save(tmp_path / "none" / "m", wait=False).exception(DEADLINE), FileNotFoundError)


@POSIX
@pytest.mark.parametrize("call", ["learn_many", "predict_many", "save", "snapshot"])
def test_a_signal_handler_may_use_the_model_whatever_it_is_doing(call: str, tmp_path: Path) -> None:
    rows, labels = stream(6000)
    model = OnlinePLT()
    model.learn_many(rows[:3000], labels[:3000])
    handled: list[int] = []

    def handle(*_: Any) -> None:
        model.learn_one({"of the handler": 1.0}, "handled")
        assert "handled" in dict(model.predict_one({"of the handler": 1.0}, k=300))
        model.snapshot().predict_many(rows[:3])
        model.save(tmp_path / "handler.oplt")
        handled.append(model.n_examples)

    calls: dict[str, Callable[[], Any]] = {
        "learn_many": lambda: model.learn_many(rows[3000:] * 3, labels[3000:] * 3),
        "predict_many": lambda: model.predict_many(rows),
        "save": lambda: [model.save(tmp_path / "m.oplt") for _ in range(20)],
        "snapshot": lambda: [model.snapshot().n_cells for _ in range(50)],
    }
    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.05)
        deadline = time.monotonic() + DEADLINE
        while not handled and time.monotonic() < deadline:
            calls[call]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled


def in_child(work: Callable[[], bool]) -> bool:
    """Fork, and tell whether the child did its work well and in time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


@POSIX
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_fork_while_others_learn_and_read_leaves_the_child_a_whole_model(threads: int) -> None:
    rows, labels = stream(2000)
    model = OnlinePLT(threads=threads)
    model.learn_many(rows[:500], labels[:500])
    done = threading.Event()

    def learn() -> None:
        while not done.is_set():
            model.learn_many(rows, labels)

    def read() -> None:
        while not done.is_set():
            model.predict_one(rows[0])

    def use() -> bool:
        n_examples = model.n_examples
        answers = model.predict_many(rows[:10])
        model.learn_many(rows[:100], labels[:100])
        return model.n_examples == n_examples + 100 and answers.n_examples == n_examples

    try:
        with beside(learn), beside(read):
            try:
                assert all(in_child(use) for _ in range(5))
            finally:
                done.set()
    finally:
        done.set()
    assert model.n_examples % 2000 == 500
