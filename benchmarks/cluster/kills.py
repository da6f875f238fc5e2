# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Kill shards and routers at random moments under load, and compare the model with an undisturbed one.

Run: python benchmarks/cluster/kills.py [--kills 60] [--shards 3] [--seed 0]

On Linux, `unshare --map-root-user --net sh -c 'ip link set lo up && "$@"' sh` in front of it keeps Ray, which probes
outside addresses, on this machine. It starts a cluster of two nodes. A process learns a stream without pause; half of
the kills (SIGKILL) hit one of its shards, the others the process itself, which is then started again. After each start,
the model must have all examples that were acknowledged. In the end, its fingerprint must be that of an OnlinePLT that
has learned the same examples, undisturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path += [str(Path(__file__).parents[1] / "scaling"), str(Path(__file__).parents[2])]

from streams import matrix, scatter, zipf

from oplt import OnlinePLT
from tests.cluster.two_nodes import two_nodes

CHUNK = 200  # examples; each call learns as many
SETTINGS: dict[str, Any] = {"arity": 8, "max_leaves": 16}
CUT_AFTER = 2000


def chunk(number: int) -> tuple[Any, Any]:
    """Return the examples of a chunk: new labels emerge in each."""
    rng = np.random.default_rng(number)
    n_known = np.full(CHUNK, 50 * (number + 1))
    labels = np.stack([zipf(n_known, rng), rng.integers(0, n_known)], axis=1)
    words = scatter(labels[:, [0, 0, 0, 1, 1, 1]] * 3 + np.array([0, 1, 2, 0, 1, 2]), 5000)
    noise = rng.integers(0, 5000, (CHUNK, 6))
    return matrix(np.concatenate([words, noise], axis=1), 5000), matrix(labels, 10**6)


def drive(folder: str, address: str, n_shards: int) -> None:
    """Learn until standard input ends. Prints what is acknowledged, and whom to kill, after each chunk."""
    import ray

    from oplt.cluster import ShardedPLT, _router

    _router._CUT_AFTER = CUT_AFTER
    ray.init(address=address, log_to_driver=False, logging_level="error")
    is_new = not (Path(folder) / "manifest.json").exists()
    model = ShardedPLT(n_shards, folder=folder, **SETTINGS) if is_new else ShardedPLT.open(folder)
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    while not stop.is_set():
        pids = [one["pid"] for one in model.shard_facts()]
        print(json.dumps([model.n_examples, pids]), flush=True)
        model.learn_many(*chunk(model.n_examples // CHUNK))
        if model.n_examples % (20 * CHUNK) == 0:
            model.checkpoint()
    print(json.dumps([model.n_examples, model.fingerprint()]), flush=True)
    model.close()


class Driver:
    """The process that learns, and what it has printed last."""

    def __init__(self, *arguments: Any) -> None:
        command = [sys.executable, __file__, "--drive", json.dumps(arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first: int | None = None
        self.last: list[Any] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            if line.startswith("["):  # other lines are Ray's
                self.last = json.loads(line)
                self.first = self.last[0] if self.first is None else self.first

    def wait_until_ready(self, acknowledged: int) -> None:
        """Wait for the first line, and check that the model has the examples that were acknowledged."""
        while self.first is None:
            self.expect_alive()
            time.sleep(0.05)
        if self.first < acknowledged:
            raise SystemExit(f"{acknowledged} examples were acknowledged, but only {self.first} are left")

    def expect_alive(self) -> None:
        """Check that the process has not ended by itself."""
        if self.process.poll() is not None:
            raise SystemExit("the process that learns has failed")

    def kill(self) -> None:
        """Kill the process, and read what it has printed."""
        self.process.kill()
        self.process.wait()
        self._thread.join()

    def finish(self) -> list[Any]:
        """Let it end, and return its last line."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.wait(300) != 0:
            raise SystemExit("the process that learns has failed")
        self._thread.join()
        return self.last


def main() -> None:
    """Run the kills."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(*json.loads(options.drive))
        return
    source = random.Random(options.seed)
    n_killed = {"router": 0, "shard": 0}
    with two_nodes() as cluster, tempfile.TemporaryDirectory() as parent:
        folder = str(Path(parent) / "model")
        driver = Driver(folder, cluster.address, options.shards)
        acknowledged = 0
        while sum(n_killed.values()) < options.kills:
            driver.wait_until_ready(acknowledged)
            time.sleep(source.uniform(0.2, 2))
            driver.expect_alive()
            pids = driver.last[1]
            if pids and source.random() < 0.5 * (1 + n_killed["router"] / (1 + sum(n_killed.values()))):
                try:
                    os.kill(source.choice(pids), signal.SIGKILL)
                except ProcessLookupError:  # it has been killed already
                    continue
                n_killed["shard"] += 1
            else:
                driver.kill()
                acknowledged = driver.last[0]
                n_killed["router"] += 1
                driver = Driver(folder, cluster.address, options.shards)
        driver.wait_until_ready(acknowledged)
        n_examples, fingerprint = driver.finish()
    expected = OnlinePLT(history=0, **SETTINGS)
    for number in range(n_examples // CHUNK):
        expected.learn_many(*chunk(number))
    verdict = "equal" if expected.fingerprint() == fingerprint else "DIFFERENT"
    print(f"killed {n_killed}; {n_examples} examples, {expected.n_labels} labels; fingerprints: {verdict}")
    if verdict != "equal":
        raise SystemExit(1)


if __name__ == "__main__":
    main()
