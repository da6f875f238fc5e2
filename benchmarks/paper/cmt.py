# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""CMT, run with Vowpal Wabbit as in the paper."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

VW = [sys.executable, "-m", "vowpalwabbit", "--quiet"]

# Settings of its authors (demo/memory_tree of Vowpal Wabbit). The learning rate matters: with that of WikiPara (texts),
# the accuracy after three passes on ALOI, which has few, dense features, is 11 instead of 61 per cent.
WIKIPARA = "--dream_at_update 1 --dream_repeats 5 -l 0.1"
ALOI = "--dream_at_update 0 --dream_repeats 3 -l 0.001"


def run(name: str, train: tuple[Any, Any], test: tuple[Any, Any], passes: int) -> dict[str, float]:
    """Measure accuracy and times on multi-class data. Times include parsing, which the program does while it learns."""
    with tempfile.TemporaryDirectory() as folder:
        files = {part: Path(folder) / part for part in ("train", "test", "model", "answers")}
        write(*train, files["train"])
        write(*test, files["test"])
        learning = settings(name, *train[1].shape, passes)
        again = ["--passes", passes, "--cache_file", f"{folder}/cache", "--holdout_off"] if passes > 1 else []
        train_s = timed([*learning, *again, "-d", files["train"], "-f", files["model"]])
        test_s = timed(["-d", files["test"], "-i", files["model"], "-p", files["answers"]])  # with -t it fails
        found = answers(files["answers"])
    hits = sum(answer == label for answer, label in zip(found, test[1].indices.tolist(), strict=True))
    return {"train s": train_s, "test ms": 1000 * test_s / len(found), "accuracy": 100 * hits / len(found)}


def progressive(name: str, X: Any, Y: Any) -> list[int]:
    """Return the label predicted for each example before it was learnt."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "train", Path(folder) / "answers"
        write(X, Y, source)
        timed([*settings(name, *Y.shape, passes=1), "-d", source, "-p", target])
        return answers(target)


def answers(path: Path) -> list[int]:
    """Read predicted labels."""
    return [int(float(line.split()[0])) - 1 for line in path.read_text().splitlines()]


def settings(name: str, n_examples: int, n_labels: int, passes: int) -> list[str]:
    """Return its authors' settings for multi-class data: those for ALOI, or those for texts."""
    n_nodes = int(2 * passes * n_examples / (4 * math.log2(n_examples)))
    suggested = ALOI if name.lower().startswith("aloi") else WIKIPARA
    return (
        f"--memory_tree {n_nodes} --learn_at_leaf --max_number_of_labels {n_labels + 1} {suggested}"
        " --leaf_example_multiplier 4 --alpha 0.1 --loss_function squared -b 26"
    ).split()


def timed(arguments: list[Any]) -> float:
    """Return the CPU seconds of a run of the program."""
    if importlib.util.find_spec("vowpalwabbit") is None:
        msg = "CMT needs Vowpal Wabbit: `pip install vowpalwabbit`, or `make paper`, gets it"
        raise SystemExit(msg)
    before = os.times()
    subprocess.run([*VW, *map(str, arguments)], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def write(X: Any, Y: Any, path: Path) -> None:
    """Write `label | feature:value …`, labels from 1."""
    with path.open("w") as file:
        for (begin, end), label in zip(pairwise(X.indptr), Y.indices, strict=True):
            features = zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True)
            file.write(f"{label + 1} | {' '.join(f'{name}:{value:.7g}' for name, value in features)}\n")
