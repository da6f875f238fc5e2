# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""All kernels that this machine can run, compared with its memory bandwidth and with each other.

Run: make bench-kernels [OUT=<folder>], or
     python benchmarks/micro/kernels.py --program <path of bench_kernels> [--data nvd-cpe] [--out <folder>]

First, `bench_kernels` (kernels.cpp) scores and updates single sibling blocks. Then models learn and predict a data set
(from OPLT_DATA), a process for each version of the kernels, in turn. All times are CPU times of one thread. Prints
Markdown tables; with --out, also writes kernels.json and kernels.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from kernels_plot import draw

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import load, part

from oplt import OnlinePLT, _core

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "tree alone": {"label_memory": 0, "history": 0},
    "tree alone, AdaGrad without gate": {"label_memory": 0, "history": 0, "learner": "adagrad", "gate": 0.0},
}
N_TEST = 5000


def bytes_moved(operation: str, columns: int) -> int:
    """Count the bytes that a row moves: its slot in the hash map, its mask, and its cells.

    Scores read a weight of each cell; an update also reads its accumulator, and writes both.
    """
    return 8 + 8 * -(-columns // 64) + (4 if operation == "score" else 16) * columns


def measure_blocks(program: Path) -> dict[str, Any]:
    """Run the program; return bandwidths in GB/s, and the best of its rounds, which other programs disturb least."""
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
    bandwidth: dict[str, dict[str, float]] = defaultdict(dict)
    rounds: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for line in done.stdout.splitlines():
        kind, *fields, value = line.split("\t")
        if kind == "bandwidth":
            way, place = fields
            bandwidth[place][way] = float(value)
        else:
            place, kernels, columns, _ = fields
            rounds[kind, place, kernels, columns].append(float(value))
    points = [
        {
            "operation": operation,
            "place": place,
            "kernels": kernels,
            "columns": int(columns),
            "ns": min(values),
            "gb_per_s": bytes_moved(operation, int(columns)) / min(values),
        }
        for (operation, place, kernels, columns), values in rounds.items()
    ]
    return {"bandwidth": bandwidth, "points": points}


def print_blocks(found: dict[str, Any]) -> None:
    """Print a table for each place of the blocks; the rates are those of the fastest kernels."""
    names = _core.available_kernels()
    for place, roof in found["bandwidth"].items():
        print(f"\nBlocks in the {place}: read {roof['read']:.1f}, update (read + written) {roof['update']:.1f} GB/s\n")
        heads = " | ".join(f"{name} ns" for name in names)
        print(f"| operation | columns | bytes | {heads} | GB/s | of the bandwidth |")
        print("|---|---|---|" + "---|" * (len(names) + 2))
        at = {
            (point["operation"], point["columns"], point["kernels"]): point
            for point in found["points"]
            if point["place"] == place
        }
        for operation, columns in dict.fromkeys(key[:2] for key in at):
            ns = " | ".join(f"{at[operation, columns, name]['ns']:.1f}" for name in names)
            rate = at[operation, columns, names[0]]["gb_per_s"]
            share = rate / roof["read" if operation == "score" else "update"]
            n_bytes = bytes_moved(operation, columns)
            print(f"| {operation} | {columns} | {n_bytes} | {ns} | {rate:.1f} | {100 * share:.0f} % |")


class Worker:
    """A process with certain kernels, which has read a data set and learns it whenever it is asked to."""

    def __init__(self, kernels: str, data: str) -> None:
        self._process: Any = subprocess.Popen(
            [sys.executable, __file__, "--worker", "--data", data],
            env={**os.environ, "OPLT_KERNELS": kernels},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Let it learn with these settings; return seconds and the fingerprint."""
        self._process.stdin.write(json.dumps(settings) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        """Let it finish."""
        self._process.communicate()


def work(data: str) -> None:
    """Be a worker."""
    X, Y = load(part(data, "train"))
    X_test, _ = load(part(data, "test"))
    for line in sys.stdin:
        model = OnlinePLT(**json.loads(line), threads=1)
        begin = time.process_time()
        model.learn_many(X, Y)
        learnt = time.process_time()
        model.predict_many(X_test[:N_TEST], k=5)
        seconds = {"learn": learnt - begin, "predict": time.process_time() - learnt}
        print(json.dumps({**seconds, "fingerprint": model.fingerprint()}), flush=True)


def measure_models(data: str, rounds: int) -> list[dict[str, Any]]:
    """Learn and predict with all kernels in turn; print and return the best of the rounds."""
    names = _core.available_kernels()
    workers = {name: Worker(name, data) for name in names}
    print(f"\n{data}, best of {rounds} rounds: CPU seconds, and relative to the fastest\n")
    print(f"| settings | | {' | '.join(names)} |\n|---|---|" + "---|" * len(names))
    found = []
    for title, settings in SETTINGS.items():
        answers = [{name: workers[name].ask(settings) for name in names} for _ in range(rounds)]
        if len({one["fingerprint"] for answer in answers for one in answer.values()}) > 1:
            raise SystemExit(f"{title}: the models differ")
        for what in ("learn", "predict"):
            seconds = {name: min(answer[name][what] for answer in answers) for name in names}
            best = min(seconds.values())
            cells = " | ".join(f"{value:.2f} s ({value / best:.2f}×)" for value in seconds.values())
            print(f"| {title} | {what} | {cells} |", flush=True)
            found.append({"settings": title, "what": what, "seconds": seconds})
    for worker in workers.values():
        worker.end()
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="bench_kernels, as CMake builds it with OPLT_BUILD_BENCHMARKS")
    parser.add_argument("--data", help="a data set, found through OPLT_DATA")
    parser.add_argument("--rounds", type=int, default=3, help="with the data set")
    parser.add_argument("--out", type=Path, help="folder for kernels.json and kernels.svg")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.data)
        return
    results: dict[str, Any] = {}
    if arguments.program:
        results = measure_blocks(arguments.program)
        print_blocks(results)
    if arguments.data:
        results["models"] = measure_models(arguments.data, arguments.rounds)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "kernels.json").write_text(json.dumps(results, indent=1) + "\n")
        draw(results, arguments.out / "kernels.svg")


if __name__ == "__main__":
    main()
