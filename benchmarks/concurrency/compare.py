# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Compare two versions of oplt, each installed for its own interpreter: speed, memory, and bitwise equality.

Run: OPLT_DATA=<folder> python benchmarks/concurrency/compare.py --python <A> --python <B> [data sets]
     [--presets defaults paper] [--threads 1 2] [--repeats 6]

Each run is a fresh process: learn_many of the whole training set, predict_many of up to 20,000 test rows, then 2,000
calls each of predict_one and learn_one. A and B alternate, and the one that goes first changes every turn. Everything
is measured with one thread, pinned to the first core, and then with two threads, unpinned. CPU is the time of all
threads of the process. B / A is the ratio of the medians; "turns" has the smallest and the largest ratio of CPU times
of a turn. Pass the same interpreter twice to measure the noise. Peak memory includes the data.

Digests are of all nodes (parents, labels, and the cells of all classifiers) and of the answers of predict_many, which
also depend on the label memory. `--repeats 1` is enough to compare these. For a large model each takes up to a minute;
`--no-digest` skips them. The presets are listed in presets.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from presets import PRESETS

DATA_SETS = ["bibtex", "delicious", "nvd-cpe"]
MODES = {1: True, 2: False}  # threads -> whether they are pinned
COLUMNS = (
    "data set",
    "preset",
    "threads",
    "what",
    "A CPU s",
    "B CPU s",
    "B / A",
    "turns",
    "A wall s",
    "B wall s",
    "B / A",
)


def work(python: str, name: str, preset: str, threads: int, *, digest: bool) -> dict[str, Any]:
    """Run a worker to its end and return its figures."""
    worker = str(Path(__file__).with_name("compare_worker.py"))
    arguments = [name, preset, str(threads), str(int(MODES[threads])), str(int(digest))]
    done = subprocess.run([python, worker, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        message = (done.stderr.strip() or "no message").splitlines()[-1]
        msg = f"{python} {Path(worker).name} {' '.join(arguments)} failed: {message}"
        raise SystemExit(msg)
    return json.loads(done.stdout.splitlines()[-1])


def compare(
    pythons: list[str], name: str, preset: str, threads: int, *, repeats: int, digest: bool
) -> list[list[dict[str, Any]]]:
    """Run the two alternately and return the runs of each. Digests are computed in the first round only."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for turn in range(repeats):
        print(f"{name}, {preset}, {threads} thread(s): turn {turn + 1} of {repeats}", file=sys.stderr)
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            runs[which].append(work(pythons[which], name, preset, threads, digest=digest and turn == 0))
    return runs


def rows(runs: list[list[dict[str, Any]]], label: tuple[str, ...]) -> list[str]:
    """Return the table rows of one comparison."""
    lines = []
    for what in runs[0][0]["times"]:
        cpu, cpu_medians = both(runs, what, "cpu")
        _, wall_medians = both(runs, what, "wall")
        ratios = [b / a for a, b in zip(*cpu, strict=True)]
        turns = f"{min(ratios):.2f}–{max(ratios):.2f}"
        lines.append(row(*label, what, *figures(cpu_medians, 3), turns, *figures(wall_medians, 3)))
    for what in ("memory", "peak"):
        medians = [statistics.median(run[what] for run in side) / 1e6 for side in runs]
        a, b, ratio = figures(medians, 1)
        lines.append(
            row(*label, "model" if what == "memory" else "peak memory", f"{a} MB", f"{b} MB", ratio, "", "", "", "")
        )
    return lines


def both(runs: list[list[dict[str, Any]]], what: str, clock: str) -> tuple[list[list[float]], list[float]]:
    """Return the times of A and of B, and their medians."""
    times = [[run["times"][what][clock] for run in side] for side in runs]
    return times, [statistics.median(side) for side in times]


def figures(medians: list[float], digits: int) -> tuple[str, str, str]:
    """Write A, B and their ratio."""
    a, b = medians
    return f"{a:,.{digits}f}", f"{b:,.{digits}f}", f"{b / a:.3f}"


def row(*cells: str) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def digests(runs: list[list[dict[str, Any]]], label: tuple[str, ...]) -> list[str]:
    """Return the rows of the table of digests."""
    a, b = (side[0]["digests"] for side in runs)
    return [row(*label, what, a[what], b[what], "yes" if a[what] == b[what] else "NO") for what in a]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=DATA_SETS, help=f"data sets (default: {' '.join(DATA_SETS)})")
    parser.add_argument("--python", action="append", default=[], help="interpreter; given twice, for A and for B")
    parser.add_argument("--presets", nargs="+", default=["defaults", "paper"], choices=PRESETS, metavar="PRESET")
    parser.add_argument("--threads", nargs="+", type=int, default=list(MODES), choices=MODES, help="default: 1 2")
    parser.add_argument("--repeats", type=int, default=6, help="turns, best an even number (default: 6)")
    parser.add_argument("--no-digest", dest="digest", action="store_false", help="compare speed and memory only")
    arguments = parser.parse_args()
    if len(arguments.python) != 2:
        parser.error(f"--python must be given twice, got {len(arguments.python)}")
    print("\n".join(f"{letter}: {python}" for letter, python in zip("AB", arguments.python, strict=True)))
    print(f"\n{row(*COLUMNS)}\n{'|---' * len(COLUMNS)}|", flush=True)
    found = []
    for name in arguments.names:
        for preset in arguments.presets:
            for threads in arguments.threads:
                runs = compare(
                    arguments.python, name, preset, threads, repeats=arguments.repeats, digest=arguments.digest
                )
                label = (name, preset, str(threads))
                print("\n".join(rows(runs, label)), flush=True)
                found += digests(runs, label) if arguments.digest else []
    if not arguments.digest:
        return
    columns = ("data set", "preset", "threads", "digest of", "A", "B", "equal")
    print(f"\n{row(*columns)}\n{'|---' * len(columns)}|")
    print("\n".join(found))


if __name__ == "__main__":
    main()
