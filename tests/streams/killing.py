# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A consumer, its broker and a producer, of which the first two are killed (SIGKILL) at random moments.

After each kill, the model file must hold exactly the model of a twin, which was never killed and has learned the
messages up to the position in the file. At the end, every acknowledged message must have been learned once.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oplt import PLT, OnlinePLT
from oplt.datasets import make_stream
from tests.streams.brokers import Broker, KafkaBroker

STREAM, DEAD, OUT = "tickets", "dead", "predictions"
_PATIENCE = 120.0  # seconds in which a consumer must save or end


class Producer:
    """Adds messages in small batches, while the broker lives, and never one twice.

    What a message says depends on its place in the stream only. If `mixed`, some are invalid, and the labels of some
    come five messages later.
    """

    def __init__(self, broker: Broker, seed: int, *, mixed: bool) -> None:
        self._broker = broker
        self._rng = random.Random(seed)  # noqa: S311 (no secrets)
        self._examples = list(make_stream(5000, n_labels=60, seed=seed))
        self._mixed = mixed
        self.sent: list[bytes] = []  # acknowledged, or found in the stream after a kill
        self._unsure: list[bytes] = []  # sent, but not acknowledged
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def start(self) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
            assert not self._thread.is_alive(), "the producer hangs"

    def _run(self) -> None:
        while not self._stop.is_set():
            self._unsure = [self._message(len(self.sent) + n) for n in range(self._rng.randint(1, 20))]
            try:
                self._broker.add_once(STREAM, self._unsure)
            except Exception:  # noqa: BLE001 (whatever the client says when its server is killed)
                return
            self.sent += self._unsure
            self._unsure = []
            time.sleep(self._broker.pause)

    def _message(self, number: int) -> bytes:
        x, labels = self._examples[number % len(self._examples)]
        features = {**{str(name): float(value) for name, value in x.items()}, f"n{number % 97}": 1.0}
        message: dict[str, object] = {"features": features, "labels": list(labels)}
        if self._mixed and number % 10 == 2:
            message = {"id": number, "features": features}
        elif self._mixed and number % 10 == 7:
            message = {"id": number - 5, "labels": list(labels)}
        elif self._mixed and number % 50 == 5:
            message = {"features": {"n": "not a number"}, "labels": ["bad"]}
        return json.dumps(message).encode()

    def settle(self) -> None:
        """After a kill of the broker: find out which of the messages that were not acknowledged are there."""
        there = self._broker.read(STREAM)
        if there[: len(self.sent)] != self.sent:
            raise AssertionError("the broker has lost acknowledged messages")
        self.sent, self._unsure = there, []


class Twin:
    """Learns the same messages, and is never killed."""

    def __init__(self) -> None:
        self.model = OnlinePLT()
        self.n_messages = 0
        self.n_inputs = 0  # valid ones
        self._waiting: dict[int, dict[str, float]] = {}

    def learn(self, messages: Sequence[bytes]) -> str:
        """Learn the messages up to a position, and return the fingerprint."""
        for body in messages[self.n_messages :]:
            fields = json.loads(body)
            labels = fields.get("labels")
            if labels == ["bad"]:
                continue
            self.n_inputs += "features" in fields
            if labels is None:
                self._waiting[fields["id"]] = fields["features"]
            else:
                self.model.learn_one(fields.get("features") or self._waiting.pop(fields["id"]), labels)
        self.n_messages = len(messages)
        return self.model.fingerprint()


@dataclass
class Figures:
    """What a run has found."""

    kills_of_consumer: int = 0
    kills_of_broker: int = 0
    acknowledged: int = 0
    n_examples: int = 0
    n_refused: int = 0
    n_inputs: int = 0
    unequal: int = 0  # model files that differ from the twin
    is_equal: bool = False  # at the end
    distinct_dead_letters: int = 0
    distinct_predictions: int = 0
    repeated_outputs: int = 0


class Trial:
    """One run."""

    def __init__(self, broker: Broker, folder: Path, *, seed: int, mixed: bool = False) -> None:
        self._broker = broker
        is_mock = isinstance(broker, KafkaBroker)
        self._both_or_broker = "both" if is_mock else "broker"  # the mock gets another port when it starts again
        self._sinks = KafkaBroker(folder) if is_mock else broker  # and it would lose what the consumer has published
        self._path = folder / "m.oplt"
        self._log = folder / "consumer.log"
        self._mixed = mixed
        self._rng = random.Random(seed)  # noqa: S311 (no secrets)
        self._producer = Producer(broker, seed, mixed=mixed)
        self._twin = Twin()
        self._consumer: subprocess.Popen[bytes] | None = None
        self.figures = Figures()

    def run(self, n_kills: int, longest: float = 1.0) -> Figures:
        """Kill consumer or broker, as often as that; wait up to `longest` seconds before each kill."""
        try:
            return self._run(n_kills, longest)
        finally:
            if self._consumer is not None:
                self._consumer.kill()
                self._consumer.wait()
            for broker in (self._broker, self._sinks):
                broker.kill()
            self._producer.stop()

    def _run(self, n_kills: int, longest: float) -> Figures:
        self._broker.start()
        self._broker.create(STREAM)
        OnlinePLT().save(self._path)
        if self._sinks is not self._broker:
            self._sinks.start()
        for stream in (DEAD, OUT):
            self._sinks.create(stream)
        for n in range(n_kills):
            self._cycle(("consumer", self._both_or_broker, "consumer")[n % 3], longest)
        self._end()
        return self.figures

    def _cycle(self, choice: str, longest: float) -> None:
        if self._consumer is None or self._consumer.poll() is not None:
            self._start_consumer()
        self._producer.start()
        self._wait_for_save()
        time.sleep(self._rng.random() * longest)
        if choice != "broker":
            self._kill_consumer()
        if choice != "consumer":
            self._broker.kill()
            self.figures.kills_of_broker += 1
        self._producer.stop()
        if choice != "consumer":
            self._broker.start()
            self._producer.settle()
        self._compare()

    def _words(self, *more: str) -> list[str]:
        words = ["learn", str(self._path), "--from", self._broker.url(STREAM), "--checkpoint", "0.05"]
        words += ["--dead-letters", self._sinks.url(DEAD)]
        published = ["--publish", self._sinks.url(OUT)] if self._mixed else []
        return [sys.executable, "-m", "oplt", *words, "--threads", "1", *published, *more]

    def _start_consumer(self) -> None:
        with self._log.open("ab") as log:
            self._consumer = subprocess.Popen(self._words(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603

    def _wait_for_save(self) -> None:
        """Let the consumer do something first: wait until it saves, or ends because the broker was not there."""
        before = self._path.stat().st_mtime_ns
        deadline = time.monotonic() + _PATIENCE
        assert self._consumer is not None
        while self._path.stat().st_mtime_ns == before:
            if self._consumer.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the consumer has ended, or does not save:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.01)

    def _kill_consumer(self) -> None:
        assert self._consumer is not None
        self._consumer.kill()
        self._consumer.wait()
        self.figures.kills_of_consumer += 1

    def _compare(self) -> None:
        """Compare the model file with the twin at the same position."""
        model = PLT.load(self._path)
        assert model.stream is not None
        self.figures.unequal += self._twin.learn(self._producer.sent[: model.stream.n_messages]) != model.fingerprint()

    def _end(self) -> None:
        """Let a last consumer learn the rest."""
        if self._consumer is not None and self._consumer.poll() is None:
            self._consumer.terminate()
            self._consumer.wait(_PATIENCE)
        subprocess.run(self._words("--until-end", "--quiet"), check=True, timeout=_PATIENCE)  # noqa: S603
        model = PLT.load(self._path)
        assert model.stream is not None
        figures = self.figures
        figures.acknowledged, figures.n_examples = len(self._producer.sent), model.n_examples
        figures.n_refused = model.stream.n_refused
        figures.is_equal = self._twin.learn(self._producer.sent) == model.fingerprint()
        figures.n_inputs = self._twin.n_inputs
        for stream in (DEAD, OUT):
            found = [json.loads(one)["position"] for one in self._sinks.read(stream)]
            figures.repeated_outputs += len(found) - len(set(found))
            if stream == DEAD:
                figures.distinct_dead_letters = len(set(found))
            else:
                figures.distinct_predictions = len(set(found))
