# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a sharded model can do on 1 to 256 machines, computed from constants that were measured on one.

Run: python benchmarks/scaling/plan.py [--constants <folder>] [--cores 8] [--network 10] [--out <folder>]

Prints two Markdown tables: the computed time of the measured runs beside the measurement, and a plan for 10⁶ to 10⁸
labels. With --out, writes plan.svg. The constants are what benchmarks/cluster/parts.py and learning.py have written.

An example costs the router some time, which is serial, and the shards some more, which is divided among them. Calls
cost both sides time. The router does not wait for answers while it learns: it asks a batch ahead. Costs at other
numbers of labels follow those of the measured streams: linear in the logarithm of the number of labels for times, in
proportion for memory. In these streams, each example brings a new label and has one or two labels and 40 features.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

N_CORES_HERE = 2
LABELS = [10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8]
MACHINES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
HEAD = (
    "| labels | machines | examples/s | limited by | memory of shards, per machine | of the router"
    " | without label memory: examples/s | router |"
)
TOGETHER = 1 << 16  # bytes of messages in a call, about
PERIOD = 2048  # examples; each shard is asked once about those among them that are observed
THREADS = 0.7  # of the work of so many cores: two threads learn 1.4 times as fast as one
IMBALANCE = 1.1  # the largest shard, compared with the mean; greedy distribution of 31 subtrees and more is below this


@dataclass(frozen=True)
class Machines:
    """A number of equal machines with a shard each; the router has a core of the first one."""

    number: int
    cores: int  # of each
    network: float  # bytes per second and machine


@dataclass(frozen=True)
class Costs:
    """Of one example, in seconds and bytes, and of one label in bytes, at some number of labels."""

    router: float
    shards: float
    message: float  # with two shards
    further: float  # see Constants
    label_at_router: float
    label_in_shards: float

    def message_of(self, n_shards: int) -> float:
        """Return the bytes of messages, which the network of the router carries all."""
        return self.message + self.further * (n_shards - 2)

    def calls(self, n_shards: int) -> float:
        """Return the number of calls: messages that are sent together, and questions."""
        return self.message / TOGETHER + n_shards / PERIOD


@dataclass(frozen=True)
class Constants:
    """Measured costs at some numbers of labels, and the cost of a call of Ray."""

    measured: list[dict[str, Any]]  # figures of parts.py for two shards, by ascending number of labels
    call: float  # seconds of processors, half of it on each side
    further: float  # bytes of messages per example for each shard beyond two: rows and answers that more shards need

    def at(self, n_labels: int) -> Costs:
        """Interpolate, or extrapolate from the last two."""
        few, many = self.measured[0], self.measured[-1]
        position = 0.0
        if len(self.measured) > 1:
            position = math.log(n_labels / few["labels"]) / math.log(many["labels"] / few["labels"])

        def linear(name: str) -> float:
            return float(few[name] + position * max(many[name] - few[name], 0))  # differences below 0 are noise

        return Costs(
            router=1e-6 * linear("router_us"),
            shards=1e-6 * linear("shards_us"),
            message=linear("message_bytes"),
            further=self.further,
            label_at_router=2**20 * many["router_mb"] / many["labels"],
            label_in_shards=2**20 * many["largest_shard_mb"] * many["shards"] / many["labels"],
        )


@dataclass(frozen=True)
class Plan:
    """What to expect."""

    rate: float  # examples per second
    bottleneck: str
    shard_bytes: float  # memory of each machine for its shards
    router_bytes: float


def plan(constants: Constants, n_labels: int, machines: Machines) -> Plan:
    """Compute the rate, what limits it, and the memory."""
    costs = constants.at(n_labels)
    n_cores = max(machines.number * machines.cores - 1, 1)  # without that of the router
    calls = costs.calls(machines.number) * constants.call / 2  # each side needs half of it
    times = {
        "router": costs.router + calls,
        "shards": IMBALANCE * (costs.shards / (THREADS * n_cores) + calls / machines.number),
        "network": costs.message_of(machines.number) / machines.network if machines.number > 1 else 0.0,
    }
    slowest = max(times, key=lambda name: times[name])
    return Plan(
        rate=1 / times[slowest],
        bottleneck=slowest,
        shard_bytes=IMBALANCE * n_labels * costs.label_in_shards / machines.number,
        router_bytes=n_labels * costs.label_at_router,
    )


def seconds_here(constants: Constants, run: dict[str, Any], n_before: int) -> float:
    """Compute the time of a run of learning.py on two cores, which router, shards and Ray share."""
    costs = constants.at(run["labels"])
    n_shards = run["shards"]
    calls = costs.calls(n_shards) * constants.call
    router = costs.router + calls / 2
    shards = IMBALANCE * (costs.shards + calls / 2) / n_shards
    work = (costs.router + costs.shards + calls) / N_CORES_HERE
    return float(run["examples"] - n_before) * max(router, shards, work)


def size(n_bytes: float) -> str:
    """Format a number of bytes."""
    return f"{n_bytes / 2**30:,.1f} GB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:,.0f} MB"


def read(folder: Path) -> tuple[dict[str, Constants], list[dict[str, Any]]]:
    """Read the constants, with and without a label memory, and the measured runs."""
    calls = json.loads((folder / "call.json").read_text())
    found = {}
    for name in ("memory", "tree-alone"):
        figures = [json.loads(path.read_text()) for path in sorted(folder.glob(f"parts-{name}-*.json"))]
        cut = sorted((one for run in figures for one in run), key=lambda one: (one["labels"], one["shards"]))
        two = [one for one in cut if one["shards"] == 2]
        last, most = two[-1], cut[-1]  # of the same number of labels
        n_more = most["shards"] - last["shards"]
        further = (most["message_bytes"] - last["message_bytes"]) / n_more if n_more else 0.0
        found[name] = Constants(two, calls["cpu_seconds"], further)
    return found, json.loads((folder / "learning.json").read_text())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constants", type=Path, default=Path(__file__).parents[1] / "cluster" / "results")
    parser.add_argument("--cores", type=int, default=8, help="of each machine")
    parser.add_argument("--network", type=float, default=10, help="Gbit/s of each machine")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    constants, runs = read(options.constants)
    print("| labels | shards | computed s | measured s |\n|---|---|---|---|")
    for run in runs:
        if run["shards"]:
            computed = run["seconds_before_cut"] + seconds_here(constants["memory"], run, run["examples_before_cut"])
            print(f"| {run['labels']:,} | {run['shards']} | {computed:.0f} | {run['seconds']:.0f} |")
    print(f"\n{HEAD}\n{'|---' * 8}|")
    plans: dict[str, dict[tuple[int, int], Plan]] = {"memory": {}, "tree-alone": {}}
    for n_labels in LABELS:
        for number in MACHINES:
            machines = Machines(number, options.cores, options.network * 1e9 / 8)
            for name, own in constants.items():
                plans[name][n_labels, number] = plan(own, n_labels, machines)
            one, bare = plans["memory"][n_labels, number], plans["tree-alone"][n_labels, number]
            print(
                f"| {n_labels:,} | {number} | {one.rate:,.0f} | {one.bottleneck} | {size(one.shard_bytes)}"
                f" | {size(one.router_bytes)} | {bare.rate:,.0f} | {size(bare.router_bytes)} |"
            )
    if options.out:
        from plot import draw_plans

        options.out.mkdir(parents=True, exist_ok=True)
        draw_plans(plans, options.out)


if __name__ == "__main__":
    main()
