# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A sharded model on a Ray cluster of two nodes on this machine, beside one process: speed, memory, latency.

Run: python benchmarks/cluster/learning.py [nvd-cpe | <number of labels>] [--shards 1 2] [--settings label_memory=0]
                                           [--features 40] [--repeats 1] [--out learning.json]

On Linux, `unshare --map-root-user --net sh -c 'ip link set lo up && "$@"' sh` in front of it keeps Ray, which probes
outside addresses, on this machine. A data set is found through OPLT_DATA; a number of labels generates a stream with as
many examples. All learn the same stream in the same calls; the time of a sharded model ends when all shards have
learned all messages. One process learns with one thread and does not write its examples to disk, as a sharded model
does. Latency is that of predict_one, which includes Ray's calls.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path += [str(Path(__file__).parents[2])]

from parts import batches, parsed

from oplt import OnlinePLT
from tests.cluster.two_nodes import two_nodes

N_ASKED = 300  # rows
N_CALLS = 1000


@dataclass
class Run:
    """Figures of one run."""

    stream: str
    shards: int  # 0: one process
    seconds: float
    examples: int
    labels: int
    rows_per_second: float  # of predict_many
    p50_ms: float
    p99_ms: float
    fingerprint: str
    memory_mb: float  # of one process, or of the router
    examples_before_cut: int = 0
    seconds_before_cut: float = 0
    largest_shard_mb: float = 0
    asked: float = 0  # share of the shards that a round of a prediction asks


@dataclass
class Learned:
    """The seconds of learning a stream, without those that making the examples takes."""

    seconds: float = 0
    examples_before_cut: int = 0
    seconds_before_cut: float = 0
    last: Any = None  # rows


def learn(model: Any, stream: str, n_features: int) -> Learned:
    """Learn a stream."""
    learned = Learned()
    for X, Y in batches(stream, n_features):
        was_cut = getattr(model, "is_cut", False)
        begin = time.perf_counter()
        model.learn_many(X, Y)
        learned.seconds += time.perf_counter() - begin
        learned.last = X
        if not was_cut:  # the call that cuts the model includes the start of the shards
            learned.examples_before_cut, learned.seconds_before_cut = model.n_examples, learned.seconds
    return learned


def call_cost() -> dict[str, float]:
    """Measure a call of an actor that does nothing: seconds, and those of the processors of this process."""
    import ray

    class Nothing:
        def answer(self, query: bytes) -> bytes:
            return query

    actor = ray.remote(Nothing).remote()
    query = bytes(1000)
    ray.get(actor.answer.remote(query))
    times, cpu = [], time.process_time()
    for _ in range(N_CALLS):
        begin = time.perf_counter()
        ray.get(actor.answer.remote(query))
        times.append(time.perf_counter() - begin)
    # An actor needs about as much as its caller.
    return {"seconds": float(np.median(times)), "cpu_seconds": 2 * (time.process_time() - cpu) / N_CALLS}


def ask(model: Any, rows: Any) -> dict[str, float]:
    """Measure predictions of many rows, and of one."""
    begin = time.perf_counter()
    model.predict_many(rows, k=5)
    together = time.perf_counter() - begin
    times = []
    for i in range(min(N_ASKED, rows.shape[0])):
        begin = time.perf_counter()
        model.predict_many(rows[i : i + 1], k=5)
        times.append(time.perf_counter() - begin)
    return {
        "rows_per_second": rows.shape[0] / together,
        "p50_ms": 1e3 * float(np.percentile(times, 50)),
        "p99_ms": 1e3 * float(np.percentile(times, 99)),
    }


def one_process(stream: str, settings: dict[str, Any], n_features: int) -> Run:
    """Measure an OnlinePLT."""
    model = OnlinePLT(history=0, **settings)
    learned = learn(model, stream, n_features)
    return Run(
        stream=stream,
        shards=0,
        seconds=learned.seconds,
        examples=model.n_examples,
        labels=model.n_labels,
        **ask(model, learned.last),
        fingerprint=model.fingerprint(),
        memory_mb=model.memory_bytes / 2**20,
    )


def sharded(stream: str, n_shards: int, settings: dict[str, Any], n_features: int) -> Run:
    """Measure a ShardedPLT."""
    from oplt.cluster import ShardedPLT

    with (
        tempfile.TemporaryDirectory() as parent,
        ShardedPLT(n_shards, folder=Path(parent) / "model", **settings) as model,
    ):
        learned = learn(model, stream, n_features)
        begin = time.perf_counter()
        facts = model.shard_facts()  # waits for all messages
        learned.seconds += time.perf_counter() - begin
        shards = model._router.shards
        n_rounds, n_asked = (shards.n_rounds, shards.n_asked) if shards else (0, 0)
        asked = ask(model, learned.last)
        return Run(
            stream=stream,
            shards=n_shards,
            seconds=learned.seconds,
            examples_before_cut=learned.examples_before_cut,
            seconds_before_cut=learned.seconds_before_cut,
            examples=model.n_examples,
            labels=model.n_labels,
            **asked,
            fingerprint=model.fingerprint(),
            memory_mb=model._model.memory_bytes / 2**20,
            largest_shard_mb=max((sum(one["memory_bytes"].values()) for one in facts), default=0) / 2**20,
            asked=(shards.n_asked - n_asked) / max(1, shards.n_rounds - n_rounds) / n_shards if shards else 0,
        )


def main() -> None:
    """Run all, in turn, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stream", nargs="?", default="100000")
    parser.add_argument("--shards", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--settings", nargs="*", default=[])
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = []
    settings = parsed(options.settings)
    with two_nodes():
        calls = call_cost()
        print(calls, flush=True)
        if options.out:
            options.out.with_name("call.json").write_text(json.dumps(calls, indent=1) + "\n")
        for _ in range(options.repeats):
            for n_shards in options.shards:
                if n_shards:
                    run = sharded(options.stream, n_shards, settings, options.features)
                else:
                    run = one_process(options.stream, settings, options.features)
                found.append(asdict(run))
                print({k: round(v, 3) if isinstance(v, float) else v for k, v in found[-1].items()}, flush=True)
                if options.out:
                    options.out.write_text(json.dumps(found, indent=1) + "\n")
    if len({one["fingerprint"] for one in found}) > 1:
        raise SystemExit("FINGERPRINTS DIFFER")
    print("one fingerprint")


if __name__ == "__main__":
    main()
