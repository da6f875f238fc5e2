# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Load a server on the loopback address, and print latencies and rates. Bounded: a few minutes, then it stops.

    OPLT_DATA=... python benchmarks/serve/load.py nvd-cpe

A model learns a part of the data set and is served; the rest is sent to it. Latencies are counted from the time at
which a request was due, so a request that waits behind another one counts in full. Pauses of this process itself, in
which the machine did something else, count as well and are printed for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from processes import Server

from oplt import OnlinePLT

sys.path.append(str(Path(__file__).parents[1]))
from data import load, part

CONNECTIONS = 32
_TICK = 0.002  # seconds


class Connection:
    """One HTTP connection, with as little work for the client as possible."""

    def __init__(self, url: str) -> None:
        self._host, port = url.removeprefix("http://").split(":")
        self._port = int(port)

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a request and wait for its answer."""
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        self._writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        content = await self._reader.readexactly(size)
        if b" 200 " not in answer[:15]:
            raise SystemExit(content.decode())
        return content


async def opened(url: str, n: int) -> list[Connection]:
    """Open connections."""
    found = [Connection(url) for _ in range(n)]
    for one in found:
        await one.open()
    return found


async def at_rate(connections: list[Connection], path: str, bodies: Sequence[bytes], rate: float) -> list[float]:
    """Send requests at a constant rate; returns latencies in seconds."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for one in connections:
        free.put_nowait(one)
    latencies: list[float] = []
    begin = time.perf_counter()

    async def send(due: float, body: bytes) -> None:
        one = await free.get()
        await one.post(path, body)
        latencies.append(time.perf_counter() - due)
        free.put_nowait(one)

    tasks = []
    for i, body in enumerate(bodies):
        due = begin + i / rate
        pause = due - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        tasks.append(asyncio.create_task(send(due, body)))
    await asyncio.gather(*tasks)
    return latencies


class Pauses:
    """Notes for how long this process did not run although it wanted to."""

    async def __aenter__(self) -> Pauses:  # noqa: PYI034 (Self is newer than the oldest Python)
        self._seconds: list[float] = []
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(_TICK)
            self._seconds.append(time.perf_counter() - begin - _TICK)

    def __str__(self) -> str:
        return percentiles(self._seconds)


async def as_fast_as_possible(connections: list[Connection], path: str, bodies: Sequence[bytes]) -> float:
    """Send requests, each connection one after the other; returns requests per second."""
    rest = iter(bodies)

    async def run(one: Connection) -> None:
        for body in rest:
            await one.post(path, body)

    begin = time.perf_counter()
    await asyncio.gather(*(run(one) for one in connections))
    return len(bodies) / (time.perf_counter() - begin)


def as_examples(X: Any, Y: list[list[int]]) -> list[dict[str, Any]]:
    """Make examples as requests hold them."""
    rows = zip(X.indptr[:-1], X.indptr[1:], Y, strict=True)
    values = X.data.astype(float).tolist()
    names = X.indices.tolist()
    return [{"features": list(zip(names[a:b], values[a:b], strict=True)), "labels": labels} for a, b, labels in rows]


def percentiles(latencies: list[float]) -> str:
    """Format latencies."""
    p50, p99 = (1000 * np.percentile(latencies, p) for p in (50, 99))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {1000 * max(latencies):.1f} ms"


def learning(examples: list[dict[str, Any]], batch: int) -> list[bytes]:
    """Make requests to learn."""
    cut = [examples[i : i + batch] for i in range(0, len(examples), batch)]
    return [json.dumps({"examples": some}).encode() for some in cut]


async def latencies_of(server: Server, questions: list[bytes], arguments: argparse.Namespace, to_learn: Any) -> None:
    """Measure predictions, idle and while the server learns."""
    connections = await opened(server.url, CONNECTIONS)
    n = int(arguments.rate * arguments.seconds)
    asked = [questions[i % len(questions)] for i in range(n)]
    await at_rate(connections, "/v1/predict", asked[:500], arguments.rate)  # warms up
    async with Pauses() as pauses:
        idle = await at_rate(connections, "/v1/predict", asked, arguments.rate)
    print(f"predict at {arguments.rate:g}/s, idle: {percentiles(idle)} (pauses of this process: {pauses})", flush=True)
    others = await opened(server.url, 8)
    bodies = learning(to_learn, 10)[: int(arguments.learn_rate * arguments.seconds / 10)]
    learner = asyncio.create_task(at_rate(others, "/v1/learn", bodies, arguments.learn_rate / 10))
    async with Pauses() as pauses:
        busy = await at_rate(connections, "/v1/predict", asked, arguments.rate)
    acknowledged = await learner
    print(
        f"predict at {arguments.rate:g}/s, learning {arguments.learn_rate:g}/s: {percentiles(busy)}"
        f" (pauses of this process: {pauses})",
        flush=True,
    )
    print(f"  acknowledgement of batches of 10 meanwhile: {percentiles(acknowledged)}", flush=True)


async def rates_of(server: Server, to_learn: Any) -> None:
    """Measure how fast examples are acknowledged."""
    single = [json.dumps(one).encode() for one in to_learn]
    one = await as_fast_as_possible(await opened(server.url, 1), "/v1/learn", single[:500])
    print(f"learn, acknowledged, 1 client: {one:.0f} examples/s", flush=True)
    many = await as_fast_as_possible(await opened(server.url, 32), "/v1/learn", single[500:8500])
    print(f"learn, acknowledged, 32 clients: {many:.0f} examples/s ({many / one:.1f} times)", flush=True)
    bodies = learning(to_learn[8500:16500], 100)
    batches = await as_fast_as_possible(await opened(server.url, 4), "/v1/learn", bodies)
    print(f"learn, acknowledged, 4 clients, batches of 100: {100 * batches:.0f} examples/s", flush=True)


def wait_until_learned(server: Server) -> None:
    """Wait until everything has been learned."""
    while True:
        found = httpx.get(f"{server.url}/v1/model").json()
        if found["position"] == found["journal"]:
            return
        time.sleep(0.05)


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data")
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--learn-rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rest", type=int, default=20_000, help="number of examples that are sent to the server")
    arguments = parser.parse_args()
    X, Y = load(part(arguments.data, "train"))
    n = X.shape[0] - arguments.rest
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        model = OnlinePLT(threads=2)
        model.learn_many(X[:n], Y[:n])
        model.save(path / "m.oplt")
        print(f"a model of {n} examples, {model.n_labels} labels, {(path / 'm.oplt').stat().st_size / 1e6:.0f} MB")
        rest = as_examples(X[n:], Y[n:])
        gc.freeze()  # a collection in this process, of a hundred milliseconds, would count as latency of the server
        gc.disable()
        questions = [json.dumps({"features": one["features"], "k": 5}).encode() for one in rest[:2000]]
        server = Server(path / "m.oplt", log=path / "log")
        print(f"first start to ready: {server.seconds_to_ready():.2f} s", flush=True)
        asyncio.run(latencies_of(server, questions, arguments, rest))
        wait_until_learned(server)
        asyncio.run(rates_of(server, rest))
        wait_until_learned(server)
        server.stop()
        server = Server(path / "m.oplt", log=path / "log")
        print(f"next start to ready: {server.seconds_to_ready():.2f} s", flush=True)
        server.stop()


if __name__ == "__main__":
    main()
