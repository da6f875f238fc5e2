# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Time and memory of opening, saving and taking snapshots of a model.

Run: OPLT_DATA=<folder> python benchmarks/concurrency/opening.py [model file] [--data nvd-cpe]

Without a file, a model learns the training set. With one, it is opened instead; it must have been trained on the same
columns, because the rows to predict and learn come from the data set. In both cases the model is saved to a temporary
folder, and the file written there is the one that is opened below.

Files are in the page cache. Each memory figure comes from a separate process; "beyond" is the peak (VmHWM) during the
call, minus what is resident after opening or was before saving; "anonymous" (RssAnon) is the process's own memory and
"file" (RssFile) are pages of mapped files, which other processes share. "-": this version of oplt does not have the
call, or the system does not report it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from common import MISSING, data, head, row

# Class and whether the file is verified, which is the default.
LOADS = [("OnlinePLT", True), ("OnlinePLT", False), ("PLT", True), ("PLT", False)]
N_ROWS = 1000  # predicted by each process that shares the file


def command(*arguments: str) -> list[str]:
    """Return the command that starts a worker."""
    return [sys.executable, str(Path(__file__).with_name("opening_worker.py")), *arguments]


def work(*arguments: str) -> Any:
    """Run a worker to its end and return its answer."""
    done = subprocess.run(command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def share(path: Path, rows: Path, class_name: str, verify: str) -> Any:
    """Let a process open the file, predict, and keep it open while a second process does the same."""
    arguments = ("share", str(path), str(rows), class_name, verify)
    with subprocess.Popen(command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        first.stdout.readline()  # it has predicted
        try:
            return work(*arguments)
        finally:
            first.stdin.close()  # upon which it ends


def megabytes(number: float | None) -> str:
    """Format a number of bytes."""
    return MISSING if number is None else f"{number / 1e6:,.1f}"


def difference(found: dict[str, int], name: str, other: str) -> str:
    """Format the difference of two figures."""
    return megabytes(found[name] - found[other] if name in found else None)


def milliseconds(number: float) -> str:
    """Format a time."""
    return f"{1e3 * number:,.3f}" if number < 0.1 else f"{1e3 * number:,.0f}"


def call(class_name: str, *, verify: bool) -> str:
    """Format a call of load."""
    return f"{class_name}.load({'' if verify else 'verify=False'})"


def print_calls(made: dict[str, Any]) -> None:
    """Print the table of operations on the trained model."""
    print(head("call", "median ms", "max ms", "beyond, MB", "beyond, anonymous MB"))
    for name, found in made["calls"].items():
        if found is None:
            print(row(name, *[MISSING] * 4))
            continue
        used = found.get("memory", {})
        memory = ("", "")
        if "memory" in found:
            memory = (
                difference(used, "VmHWM", "VmRSS before"),
                difference(used, "RssAnon peak", "RssAnon before"),
            )
        print(row(name, milliseconds(found["median"]), milliseconds(found["max"]), *memory))


def print_loads(path: Path) -> None:
    """Print the table of the cost of opening a file."""
    size = path.stat().st_size
    print(head("call", "median ms", "GB/s", "anonymous MB", "file MB", "beyond, MB"))
    for class_name, verify in LOADS:
        found = work("load", str(path), class_name, str(verify))
        if found is None:
            print(row(call(class_name, verify=verify), *[MISSING] * 5))
            continue
        used = found["memory"]
        print(
            row(
                call(class_name, verify=verify),
                milliseconds(found["median"]),
                f"{size / 1e9 / found['median']:,.2f}",
                difference(used, "RssAnon", "RssAnon before"),
                difference(used, "RssFile", "RssFile before"),
                difference(used, "VmHWM", "VmRSS"),
            ),
            flush=True,
        )


def print_shares(path: Path, rows: Path) -> None:
    """Print the table of the memory of a second process."""
    print(head("opened by", "Pss MB", "private MB", f"first {N_ROWS:,} predictions ms", "again ms"))
    for class_name, verify in LOADS:
        found = share(path, rows, class_name, str(verify))
        if found is None:
            print(row(call(class_name, verify=verify), *[MISSING] * 4))
            continue
        print(
            row(
                call(class_name, verify=verify),
                megabytes(found.get("Pss")),
                megabytes(found.get("Private")),
                milliseconds(found["first"]),
                milliseconds(found["again"]),
            ),
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, help="model file (default: learn one)")
    parser.add_argument("--data", default="nvd-cpe", help="data set (default: nvd-cpe)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / "model.oplt", Path(folder) / "rows.npz"
        X, _ = data.load(data.part(arguments.data, "test"))
        sp.save_npz(rows, X[:N_ROWS], compressed=False)
        made = work("make", str(path), arguments.data, *([str(arguments.path)] if arguments.path else []))
        source = arguments.path or f"learnt from {arguments.data}"
        print(f"{made['model']}, {source}")
        size = megabytes(path.stat().st_size)
        print(f"File: {size} MB; in memory, as the model counts it: {megabytes(made['size'])} MB\n")
        print("### The learnt model\n")
        print_calls(made)
        print("\n### Opening the file\n")
        print_loads(path)
        print("\n### What a second process that opens the same file takes more\n")
        print_shares(path, rows)


if __name__ == "__main__":
    main()
