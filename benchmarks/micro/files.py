# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Lines per second that `oplt.files` reads in each format, compared with decompression, JSON parsing and learning.

Run: OPLT_DATA=<folder> python benchmarks/micro/files.py nvd-cpe

The set must have train.txt.xz and train.jsonl.xz. CPU time of one thread, medians of alternating runs. orjson
is timed if it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from oplt import OnlinePLT, files

REPEATS = 3
FORMATS = {"train.txt.xz": ("xmlc", "vw", "jsonl"), "train.jsonl.xz": ("jsonl", "csv", "fasttext")}


def count(path: Path, format_: str) -> int:
    """Read all examples."""
    return sum(len(batch) for batch in files.read(path, format=format_))


def learn(path: Path) -> int:
    """Read and learn all examples."""
    model = OnlinePLT()
    for batch in files.read(path, format="xmlc"):
        model.learn_many(batch.X, batch.Y)
    return model.n_examples


def parse(path: Path, package: str) -> int:
    """Parse the lines of a file, and do nothing with them."""
    loads = importlib.import_module(package).loads
    with path.open("rb") as file:
        return sum(1 for _ in map(loads, file))


def tasks(data: Path, folder: Path) -> dict[str, Callable[[], int]]:
    """Convert the data set to all formats and return the calls to time."""
    found: dict[str, Callable[[], int]] = {}
    for source, formats in FORMATS.items():
        kind = "features" if source == "train.txt.xz" else "texts"
        for format_ in formats:
            path = folder / f"{kind}.{format_}"
            files.convert(data / source, path, to_format=format_)
            found[f"{format_}, {kind}"] = lambda path=path, format_=format_: count(path, format_)
    texts = folder / "texts.jsonl"
    found["jsonl, texts, xz"] = lambda: count(data / "train.jsonl.xz", "jsonl")
    for package in ("json", "orjson"):
        if importlib.util.find_spec(package):
            found[f"{package}.loads alone"] = lambda package=package: parse(texts, package)
    found["xmlc, read and learnt"] = lambda: learn(folder / "features.xmlc")
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the data set")
    data = Path(os.environ["OPLT_DATA"]) / parser.parse_args().name
    with tempfile.TemporaryDirectory() as folder:
        found = tasks(data, Path(folder))
        seconds: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(REPEATS):
            for name, task in found.items():
                start = time.process_time()
                n_lines = task()
                seconds[name].append(time.process_time() - start)
    print("| what | lines/s |\n|---|---|")
    for name, times in seconds.items():
        print(f"| {name} | {n_lines / statistics.median(times):,.0f} |")


if __name__ == "__main__":
    main()
