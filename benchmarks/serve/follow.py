# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Measure how far a follower is behind its leader while that learns, and whether both are equal at the end.

    OPLT_DATA=... python benchmarks/serve/follow.py nvd-cpe

The lag of a record is the time from its acknowledgement by the leader until a prediction of the follower includes it.
Bounded: about half a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
from load import as_examples, at_rate, learning, opened, wait_until_learned
from processes import Server

from oplt import OnlinePLT

sys.path.append(str(Path(__file__).parents[1]))
from data import load, part


class Watch:
    """Notes when a server had reached which position."""

    def __init__(self, url: str, field: str) -> None:
        self.seen: list[tuple[float, int]] = []
        self._url, self._field = url, field
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with httpx.Client(base_url=self._url) as http:
            while not self._stop.is_set():
                found = http.get("/v1/model").json()
                self.seen.append((time.perf_counter(), found[self._field]))
                time.sleep(0.02)

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()


def main() -> None:
    """Run a leader and a follower, load the leader and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data")
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=10)
    arguments = parser.parse_args()
    X, Y = load(part(arguments.data, "train"))
    n_sent = int(arguments.rate * arguments.seconds)
    n = X.shape[0] - n_sent
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        model = OnlinePLT(threads=2)
        model.learn_many(X[:n], Y[:n])
        model.save(path / "m.oplt")
        leader = Server(path / "m.oplt", log=path / "log")
        follower = Server(path / "copy.served", "--follow", leader.url, log=path / "log2")
        print(f"follower of a model of {(path / 'm.oplt').stat().st_size / 1e6:.0f} MB: ready after"
              f" {follower.seconds_to_ready():.1f} s", flush=True)  # fmt: skip
        bodies = learning(as_examples(X[n:], Y[n:]), 10)
        first, second = Watch(leader.url, "journal"), Watch(follower.url, "position")

        async def send() -> None:
            await at_rate(await opened(leader.url, 8), "/v1/learn", bodies, arguments.rate / 10)

        asyncio.run(send())
        while second.seen[-1][1] < n_sent:
            time.sleep(0.05)
        first.stop()
        second.stop()
        times, positions = np.array([t for t, _ in second.seen]), np.array([p for _, p in second.seen])
        lags = [times[np.searchsorted(positions, p)] - t for t, p in first.seen if 0 < p <= n_sent]
        print(f"lag at {arguments.rate:g} examples/s: median {np.median(lags):.2f} s, worst {max(lags):.2f} s")
        wait_until_learned(leader)
        digests = [
            httpx.get(f"{one.url}/v1/model", params={"fingerprint": True}, timeout=60).json()
            for one in (leader, follower)
        ]
        same = [(found["position"], found["fingerprint"]) for found in digests]
        print(f"position and fingerprint: leader {same[0]}, follower {same[1]}; equal: {same[0] == same[1]}")
        follower.stop()
        leader.stop()


if __name__ == "__main__":
    main()
