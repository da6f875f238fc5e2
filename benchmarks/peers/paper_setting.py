# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The paper's setting beside its authors' program on the same order of rows.

Run: OPLT_DATA=<folder> python benchmarks/peers/paper_setting.py --nxc <path of nxc> bibtex delicious

`nxc` is built from the sources of napkinXC with CMake. Without it, only our figures are printed.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

import oplt

TRAIN = (
    "-m oplt --optimizer adagrad --loss log --treeType onlineBestScore --onlineTreeAlpha 0.75 --epochs 1"
    " --maxLeaves 100 -t 1 --seed 1993 --adagradEps 0.01"
).split()


PRECISELY = ["--metricsPrecision", "5"]


def run_ours(name: str) -> str:
    """One pass of `OnlinePLT.paper()`, then exact top 5."""
    X, Y = data.load(data.folder() / name / "train.txt.xz")
    X_test, Y_test = data.load(data.folder() / name / "test.txt.xz")
    model = oplt.OnlinePLT.paper()
    start = time.perf_counter()
    model.learn_many(X, Y)
    trained = time.perf_counter()
    found = model.predict_many(X_test, k=5)
    predicted = time.perf_counter()
    precision = [100 * data.precision_at(k, found, Y_test) for k in (1, 3, 5)]
    return row(name, "oplt", precision, trained - start, (predicted - trained) / len(Y_test))


def run_theirs(name: str, nxc: str) -> str:
    """`nxc -m oplt`; its own times, which leave out loading."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("train", "test"):
            text = lzma.decompress((data.folder() / name / f"{part}.txt.xz").read_bytes())
            (Path(folder) / part).write_bytes(text)
        model = f"{folder}/model"
        trained = run([nxc, "train", "-i", f"{folder}/train", "-o", model, *TRAIN])
        tested = run([nxc, "test", "-i", f"{folder}/test", "-o", model, "--topK", "5", "-t", "1", *PRECISELY])
    precision = [100 * figure(rf"P@{k}", tested) for k in (1, 3, 5)]
    seconds = figure(r"Train real time \(s\)", trained)
    return row(name, "nxc", precision, seconds, figure(r"Test real time / data point \(ms\)", tested) / 1000)


def run(command: list[str]) -> str:
    """Run a program; return all that it prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout


def figure(name: str, output: str) -> float:
    """Return the number behind a name in what `nxc` prints."""
    match = re.search(rf"{name}: ([0-9.]+)", output)
    if match is None:
        msg = f"no {name!r} in the output of nxc:\n{output}"
        raise SystemExit(msg)
    return float(match[1])


def row(name: str, system: str, precision: list[float], train: float, predict: float) -> str:
    """One row of the table."""
    figures = " / ".join(f"{p:.2f}" for p in precision)
    return f"| {name} | {system} | {figures} | {train:.2f} | {1000 * predict:.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--nxc", default=os.environ.get("NXC"), help="path of the authors' program")
    arguments = parser.parse_args()
    if not arguments.nxc:
        print("nxc is left out: build napkinXC with CMake and give its path by --nxc or $NXC")
    print("| data set | system | P@1 / P@3 / P@5 | train s | predict ms/example |\n|---|---|---|---|---|")
    for name in arguments.names:
        print(run_ours(name))
        if arguments.nxc:
            print(run_theirs(name, arguments.nxc))


if __name__ == "__main__":
    main()
