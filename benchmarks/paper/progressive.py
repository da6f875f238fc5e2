# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Figure 2: entropy reduction on few-shot streams, each example predicted before it is learnt."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cmt
import data as data_sets
from experiments import BEST, RANDOM
from training import shuffled, untrained

from oplt import Predictions, metrics
from oplt.datasets import load_xmlc
from oplt.evaluate import progressive

Curve = list[tuple[int, float]]  # examples so far, entropy reduction in bits
N_POINTS = 40


def curves(names: list[str], path: Path) -> dict[str, dict[str, Curve]]:
    """Return the curves of each data set and system; those in the file are not recomputed."""
    found: dict[str, dict[str, Curve]] = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        if name not in found:
            print(f"{name}: progressive validation", file=sys.stderr)
            found[name] = of_stream(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
    return {name: found[name] for name in names}


def of_stream(name: str) -> dict[str, Curve]:
    """One pass over the examples in random order."""
    X, Y = shuffled(*load_xmlc(data_sets.part(name, "train")), seed=0)
    every = -(-X.shape[0] // N_POINTS)
    result: dict[str, Curve] = {}
    for label, system in {"OPLT random": RANDOM, "OPLT best-greedy": BEST}.items():
        model = untrained(system, X, Y, seed=0, max_leaves=10)
        reports = progressive(model, (X, Y), k=1, every=every)
        result[label] = [(report.n_examples, report.total["entropy-reduction"]) for report in reports]
    result["CMT"] = of_answers(cmt.progressive(name, X, Y), Y.indices.tolist(), every)
    return result


def of_answers(answers: list[int], labels: list[int], every: int) -> Curve:
    """Score the answers of another program."""
    scores = metrics.Scores(k=1)
    curve: Curve = []
    for begin in range(0, len(labels), every):
        end = begin + every
        scores.add(Predictions.from_rows([[(answer, 1.0)] for answer in answers[begin:end]]), labels[begin:end])
        curve.append((scores.n_examples, scores.entropy_reduction))
    return curve
