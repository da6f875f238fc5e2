# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model that is read, saved and forked while it learns, and used by signal handlers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from oplt import PLT, ForkedCallError, OnlinePLT
from oplt.datasets import make_stream
from oplt.text import TextFeatures

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and forks are of POSIX systems")
DEADLINE = 60.0  # seconds; everything here takes a few at most

Stream = tuple[list[dict[Any, float]], list[Any]]


def stream(n: int, seed: int = 0) -> Stream:
    rows, labels = zip(*make_stream(n, n_labels=300, seed=seed), strict=True)
    return list(rows), list(labels)


@contextmanager
def beside(work: Callable[[], Any]) -> Iterator[threading.Thread]:
    """Run something in another thread; its exceptions are raised here."""
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
@pytest.mark.parametrize("settings", [{}, {"trees": 2, "label_memory": 0}, {"history": 450}], ids=repr)
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
    opened[0].save(tmp_path / "m.oplt")  # replaces the file that the others have mapped
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
        deadline = time.monotonic() + DEADLINE
        while not handled and time.monotonic() < deadline:
            signal.setitimer(signal.ITIMER_REAL, 0.02)  # once: on a busy machine, handlers would interrupt each other
            calls[call]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled


def in_child(work: Callable[[], bool]) -> bool:
    """Fork, and return whether the child did its work correctly and in time."""
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


class ForkingHandler:
    """A signal handler that forks once, while a function calls the core. A child that hangs is killed."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.child = -1

    def __call__(self, _: int, frame: FrameType | None) -> None:
        if self.child < 0 and frame is not None and frame.f_code.co_name == self.function:
            self.child = os.fork()
            if self.child == 0:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(int(DEADLINE))

    def fork_during(self, call: Callable[[], Any], check: Callable[[], bool]) -> int:
        """Tell how the child ends: 0 if the call raised ForkedCallError and the check holds, 3 if it did not raise."""
        code = 1
        before = signal.signal(signal.SIGALRM, self)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            while self.child < 0:
                call()
            code = 3
        except ForkedCallError:
            code = 0 if self.child == 0 and check() else 2
        finally:
            if self.child == 0:
                os._exit(code)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


@POSIX
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("function", ["_learn", "_predict"])
def test_a_call_on_several_threads_raises_in_the_child_of_a_signal_handler(function: str) -> None:
    rows, labels = stream(6000)
    model = OnlinePLT(threads=2)
    model.learn_many(rows[:1000], labels[:1000])
    calls: dict[str, Callable[[], Any]] = {
        "_learn": lambda: model.learn_many(10 * rows, 10 * labels),  # longer than between two checks for signals
        "_predict": lambda: model.predict_many(rows),
    }

    def is_usable() -> bool:
        n_examples = model.n_examples
        model.learn_many(rows[:100], labels[:100])
        return n_examples >= 1000 and model.predict_many(rows[:100]).n_examples == n_examples + 100

    deadline = time.monotonic() + DEADLINE
    code = 3
    while code == 3 and time.monotonic() < deadline:  # the fork may happen just before the core is called
        code = ForkingHandler(function).fork_during(calls[function], is_usable)
    assert code == 0


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, whose threads have small stacks."""
    command = ["/bin/sh", "-c", 'ulimit -s 256; exec "$@"', "sh", sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)  # noqa: S603


DURING_A_FORK = """
import os
uses = []
def use():
    if uses and len(uses) < 7:  # a fork during a fork during a fork
        uses.append(model.predict_one({"a": 1.0}))
        model.learn_many([{"a": 1.0}] * 5000, ["y"] * 5000)
        features.learn(["some text"])
        features.transform(["some text"])
        child = os.fork()
        if child == 0:
            model.learn_one({"a": 1.0}, "z")
            os._exit(0 if features.n_features == 2 and model.n_labels == 3 else 1)
        assert os.waitpid(child, 0)[1] == 0
# What is registered before oplt is runs while oplt holds the models. So does a signal handler.
os.register_at_fork(before=use, after_in_parent=use, after_in_child=use)
from oplt import OnlinePLT
from oplt.text import TextFeatures
model, features = OnlinePLT(threads=2), TextFeatures()
model.learn_one({"a": 1.0}, "x")
uses.append(None)
child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(len(uses))
"""


@POSIX
def test_models_may_be_used_and_the_process_forked_again_while_it_forks() -> None:
    done = run_python(DURING_A_FORK)
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)


@POSIX
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_models_may_be_made_while_the_process_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)  # receives errors of fork hooks
    models = [OnlinePLT() for _ in range(10)]
    before = sys.getprofile()
    sys.setprofile(lambda *_: models.append(OnlinePLT()))  # at every step of the hooks, as another thread could
    try:
        child = os.fork()
        if child == 0:
            os._exit(0)
    finally:
        sys.setprofile(before)
    os.waitpid(child, 0)
    assert len(models) > 11
    assert not failures


@POSIX
@pytest.mark.parametrize("call", ["learn", "transform"])
def test_a_signal_handler_may_use_text_features_whatever_they_are_doing(call: str) -> None:
    texts = [f"word{i} other{i % 77}" for i in range(20_000)]
    features = TextFeatures().learn(texts[:5000])

    def use() -> bool:  # in a child, which can be killed
        handled = []

        def handle(*_: Any) -> None:
            features.learn(["of the handler"])
            assert features.transform(["handler"]).nnz == 1
            assert len(features.names) == len(features.counts) == features.n_features
            handled.append(features.n_texts)

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        for _ in range(100):
            getattr(features, call)(texts)
            if len(handled) >= 3:
                signal.setitimer(signal.ITIMER_REAL, 0)
                return True
        return False

    assert in_child(use)


@POSIX
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_texts_are_learnt_leaves_the_child_whole_text_features() -> None:
    texts = [f"word{i} other{i % 77}" for i in range(20_000)]
    features = TextFeatures()
    done = threading.Event()

    def learn() -> None:
        while not done.is_set():
            features.learn(texts)

    def use() -> bool:
        n_texts = features.n_texts
        return features.learn(texts[:10]).n_texts == n_texts + 10 and features.transform(texts[:10]).nnz == 20

    with beside(learn):
        try:
            assert all(in_child(use) for _ in range(5))
        finally:
            done.set()


def test_texts_that_two_threads_learn_are_all_counted() -> None:
    features = TextFeatures()
    with beside(lambda: features.learn(["one text"] * 5000)):
        rows = features.learn_transform(["another text"] * 5000)
    assert rows.shape[0] == 5000
    assert features.n_texts == 10_000
    assert sorted(zip(features.names, features.counts.tolist(), strict=True)) == [
        ("another", 5000),
        ("one", 5000),
        ("text", 10_000),
    ]


@POSIX
def test_a_file_too_large_to_be_mapped_is_a_lack_of_memory(tmp_path: Path) -> None:
    OnlinePLT().save(tmp_path / "m.oplt")
    os.truncate(tmp_path / "m.oplt", 1 << 40)  # sparse

    def use() -> bool:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1 << 39, 1 << 39))
        try:
            OnlinePLT.load(tmp_path / "m.oplt")
        except MemoryError:
            return True
        return False

    assert in_child(use)


OUT_OF_MEMORY = """
import os, resource, sys
from oplt import OnlinePLT
from oplt.datasets import make_stream
from oplt.params import search_params
from oplt.validation import as_labels, as_rows
rows, labels = map(list, zip(*make_stream(600, n_labels=200, seed=0)))
model = OnlinePLT(threads=4)
model.learn_many(rows[:400], labels[:400])
model.predict_one(rows[0])
state, params = model.snapshot()._core, search_params(None, 0, None)
x, y = as_rows(rows).to_core(), as_labels(labels, 600)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (30 << 20),) * 2)
taken = []
for n in (1 << 22, 1 << 20, 1 << 18, 1 << 16, 1 << 14, 1 << 12, 1 << 10, 600):
    try:
        while True:
            taken.append(bytearray(n))
    except MemoryError:
        pass
free = int(sys.argv[2])  # bytes, in blocks that the system takes back
for i in range(len(taken) - 1, -1, -1):
    if free > 0 and len(taken[i]) >= 1 << 18:
        free -= len(taken[i])
        taken[i] = None
told = "done"
try:
    for _ in range(3):
        if sys.argv[1] == "predict":
            state.predict(x, params, 4)
        else:
            model._core.learn(x, y.indptr, y.names, None, 4)
except MemoryError:
    told = "MemoryError"
taken = None
print(told, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/statm is of Linux")
@pytest.mark.parametrize("n_free", [1_000_000, 1_600_000, 3_000_000])
@pytest.mark.parametrize("call", ["learn", "predict"])
def test_threads_that_find_no_memory_do_not_end_the_process(call: str, n_free: int) -> None:
    done = run_python(OUT_OF_MEMORY, call, str(n_free))
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout in ("done\n", "MemoryError\n")
