# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Kill a server at random moments under load, and compare it with an undisturbed twin after each start.

    python benchmarks/serve/kills.py --kills 500

Three clients learn, each in its own order, predict, and have snapshots written, while the process is killed (SIGKILL).
After each start, every acknowledged example must be in the journal, at its position and once, and the fingerprint of
the recovered model must be that of a twin in this process, which learns the same journal and is never killed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from processes import Server

from oplt import OnlinePLT
from oplt.datasets import make_stream

N_CLIENTS = 3


class Load:
    """A client that learns batches of 1 to 20 examples without pause, and notes what was acknowledged."""

    def __init__(self, name: int, n_examples: int) -> None:
        self._rng = random.Random(name)
        self._name = name
        self._examples = list(make_stream(n_examples, n_labels=200, seed=name))
        self.acknowledged: dict[int, str] = {}
        self.n_done = 0
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def start(self, url: str) -> None:
        """Begin to send."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=[url])
        self._thread.start()

    def stop(self) -> None:
        """Wait for the end."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, url: str) -> None:
        with httpx.Client(base_url=url, timeout=60) as http:
            try:
                while not self._stop.is_set():
                    self._step(http)
            except httpx.TransportError:
                return  # it was killed

    def _step(self, http: httpx.Client) -> None:
        n = self._rng.randint(1, 20)
        part = [self._sent(i) for i in range(self.n_done, self.n_done + n)]
        answer = http.post("/v1/learn", json={"examples": part})
        if answer.status_code == 200:
            keys = [str(one["key"]) for one in part]
            self.acknowledged.update(zip(answer.json()["positions"], keys, strict=True))
            self.n_done += n
        http.post("/v1/predict", json={"features": part[0]["features"], "k": 3})
        if self._rng.random() < 0.02:
            http.post("/v1/snapshots")

    def _sent(self, number: int) -> dict[str, Any]:
        x, labels = self._examples[number % len(self._examples)]
        features = {str(name): float(value) for name, value in x.items()}
        return {"features": features, "labels": list(labels), "key": f"{self._name}/{number}"}


class Twin:
    """Learns the journal that the server reports, and was never killed."""

    def __init__(self) -> None:
        self._model = OnlinePLT()
        self.keys: dict[int, str] = {}
        self.position = 0

    def follow(self, http: httpx.Client) -> None:
        """Learn what is new."""
        while True:
            found = http.get("/v1/journal", params={"after": self.position, "limit": 5000}).json()
            if not found["records"]:
                return
            contents = [one["content"] for one in found["records"]]
            self._model.learn_many([one["features"] for one in contents], [one["labels"] for one in contents])
            self.keys.update({one["position"]: one["key"] for one in found["records"]})
            self.position = found["records"][-1]["position"]

    def fingerprint(self) -> str:
        """Return the digest of the model."""
        return self._model.fingerprint()


def main() -> None:
    """Run the kills, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.5, help="seconds of load before a kill, at most")
    arguments = parser.parse_args()
    rng, twin = random.Random(arguments.seed), Twin()
    loads = [Load(name, 5000) for name in range(N_CLIENTS)]
    n_lost = n_doubled = n_unequal = 0
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        for n_kills in range(arguments.kills + 1):
            server = Server(path / "m.oplt", "--new", "features", "--snapshot-records", 300, log=path / "log")
            with httpx.Client(base_url=server.url, timeout=60) as http:
                if rng.random() < 0.8:  # otherwise, it is killed while it recovers
                    server.seconds_to_ready()
                    twin.follow(http)
                    found = http.get("/v1/model", params={"fingerprint": True}).json()
                    n_unequal += (found["position"], found["fingerprint"]) != (twin.position, twin.fingerprint())
                    for load in loads:
                        wrong = [p for p, key in load.acknowledged.items() if twin.keys.get(p) != key]
                        n_lost += len(wrong)
                        load.acknowledged.clear()
                    n_doubled = len(twin.keys) - len(set(twin.keys.values()))
            if n_kills == arguments.kills:
                server.stop()
                break
            for load in loads:
                load.start(server.url)
            time.sleep(rng.random() * arguments.longest)
            server.kill()
            for load in loads:
                load.stop()
            if n_kills % 50 == 49:
                seconds = time.perf_counter() - begin
                print(
                    f"{n_kills + 1} kills, {twin.position} records, {seconds:.0f} s:"
                    f" {n_lost} lost, {n_doubled} doubled, {n_unequal} unequal",
                    flush=True,
                )
    print(
        f"{arguments.kills} kills, {twin.position} records: {n_lost} acknowledged examples lost, {n_doubled} doubled,"
        f" {n_unequal} fingerprints unequal"
    )


if __name__ == "__main__":
    main()
