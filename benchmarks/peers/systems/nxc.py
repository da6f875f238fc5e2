# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The program of the paper's authors, from napkinXC; found through $NXC.

Its training time includes writing the model. The test time that it reports includes reading the test set and writing
the predictions, so the steps that it logs are timed instead.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import programs
from common import TOP, DataSet, NotInstalled, Result, precision, size_mb

HOW = "give the path of `nxc` by --nxc or $NXC; it is built from the sources of napkinXC with CMake (pip has it not)"
ALL = "--epochs 1 --maxLeaves 100 --seed 1993 -t 1"
ONLINE = "--optimizer adagrad --loss log --adagradEps 0.01"
VARIANTS = {
    "oplt-best-greedy": f"-m oplt {ONLINE} --treeType onlineBestScore --onlineTreeAlpha 0.75",
    "oplt-random": f"-m oplt {ONLINE} --treeType onlineRandom",
    "iplt": f"-m plt {ONLINE} --treeType hierarchicalKmeans",
    "plt-batch": "-m plt --treeType hierarchicalKmeans",
}
BEGIN, END = "Predicting ...", "Saving prediction ..."


def run(data: DataSet, workdir: Path, *, variant: str) -> Result:
    """Train and test in processes of its own."""
    nxc = os.environ.get("NXC")
    if not nxc:
        raise NotInstalled(HOW)
    model, answers = workdir / "model", workdir / "answers"
    settings = f"{VARIANTS[variant]} {ALL}".split()
    trained = programs.run([nxc, "train", "-i", data.text("train"), "-o", model, *settings])
    asked = ["--topK", TOP, "-t", 1, "--prediction", answers]
    tested = programs.run([nxc, "test", "-i", data.text("test"), "-o", model, *asked], (BEGIN, END))
    rows = [[int(pair.split(":")[0]) for pair in line.split()] for line in answers.read_text().splitlines()]
    seconds = re.search(r"Train real time \(s\): ([0-9.e+-]+)", trained.output)
    cpu_seconds = re.search(r"Train CPU time \(s\): ([0-9.e+-]+)", trained.output)
    if seconds is None:
        msg = f"no training time in the output of nxc: {trained.output[-500:]}"
        raise RuntimeError(msg)
    return Result(
        train_s=float(seconds[1]),
        train_cpu_s=float(cpu_seconds[1]) if cpu_seconds else None,
        save_s=None,
        predict_ms=1000 * (tested.seen[END] - tested.seen[BEGIN]) / len(rows),
        loaded_mb=None,
        peak_mb=trained.peak_mb,
        model_mb=size_mb(model),
        precision=[*precision(rows, data.matrices("test")[1])],
    )
