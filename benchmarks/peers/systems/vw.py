# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Vowpal Wabbit: probabilistic label tree and contextual memory tree, one pass.

It parses in a separate thread while it learns. So its CPU time is measured, minus that of the same command on an
empty file (start, reading or writing the model) and minus that of parsing alone.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import programs
from common import TOP, DataSet, NotInstalled, Result, Skipped, precision, size_mb

VW = [sys.executable, "-m", "vowpalwabbit", "--quiet"]


def run(data: DataSet, workdir: Path, *, variant: str) -> Result:
    """Train and test in processes of their own."""
    if importlib.util.find_spec("vowpalwabbit") is None:
        msg = "not installed; `pip install vowpalwabbit`, or `make bench`, gets it"
        raise NotInstalled(msg)
    if variant == "cmt" and not data.is_multi_class():
        msg = "multi-label: the program gives no top-k list for it (its --oas mode reports an F1 of its own only)"
        raise Skipped(msg)
    n_examples, _, n_labels = data.header("train")
    train, test, empty = workdir / "train.vw", workdir / "test.vw", workdir / "empty.vw"
    model, answers = workdir / "model", workdir / "answers"
    empty.touch()
    first = 1 if variant == "cmt" else 0  # number of the first label
    rewrite(data.text("train"), train, first)
    rewrite(data.text("test"), test, first)
    learning = cmt(n_examples, n_labels) if variant == "cmt" else plt(n_labels)
    asking = [] if variant == "cmt" else f"-t --top_k {TOP} --loss_function logistic".split()  # CMT fails with -t
    train_s, trained = net([*learning, "-f", model], train, empty)
    predict_s, _ = net([*asking, "-i", model, "-p", answers], test, empty)  # the last run is the one on the test set
    lines = answers.read_text().splitlines()
    rows = [[int(label) - first for label in line.replace(",", " ").split()] for line in lines]
    rows = [[label for label in row if 0 <= label < n_labels] for row in rows]
    figures: list[float | None] = [*precision(rows, data.matrices("test")[1])]
    return Result(
        train_s=train_s,
        train_cpu_s=train_s,
        save_s=None,
        predict_ms=1000 * predict_s / len(rows),
        loaded_mb=None,
        peak_mb=trained.peak_mb,
        model_mb=size_mb(model),
        precision=[figures[0], None, None] if variant == "cmt" else figures,
    )


def plt(n_labels: int) -> list[str]:
    """Probabilistic label tree."""
    return f"--plt {n_labels} --kary_tree 16 --loss_function logistic -l 0.5 -b 26".split()


def cmt(n_examples: int, n_labels: int) -> list[str]:
    """Contextual memory tree, with the settings of its authors for multi-class data."""
    n_nodes = int(2 * n_examples / (4 * math.log2(n_examples)))
    return (
        f"--memory_tree {n_nodes} --learn_at_leaf --max_number_of_labels {n_labels + 1} --dream_at_update 1"
        " --dream_repeats 5 --leaf_example_multiplier 4 --alpha 0.1 -l 0.1 --loss_function squared -b 26"
    ).split()


def net(arguments: list[object], rows: Path, empty: Path) -> tuple[float, programs.Finished]:
    """Return the net seconds of learning or predicting, and the run."""
    fixed = programs.run([*VW, *arguments, "-d", empty]).cpu_s
    parsing = programs.run([*VW, "--noop", "-d", rows]).cpu_s - programs.run([*VW, "--noop", "-d", empty]).cpu_s
    done = programs.run([*VW, *arguments, "-d", rows])
    return max(done.cpu_s - fixed - parsing, 0.0), done


def rewrite(source: Path, target: Path, first: int) -> None:
    """Turn `l1,l2 f:v f:v` into `l1,l2 | f:v f:v`, counting labels from `first`."""
    with source.open() as lines, target.open("w") as out:
        next(lines)
        for line in lines:
            labels, _, features = line.partition(" ")
            if first:
                labels = ",".join(str(int(label) + first) for label in labels.split(","))
            out.write(f"{labels} | {features}")
