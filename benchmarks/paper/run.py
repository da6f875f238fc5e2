# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Reproduce the tables and figures of the paper on any data sets in the text format of the XMLC repository.

Run: OPLT_DATA=<folder> python benchmarks/paper/run.py [--tables 2 4] [--figure] [--data bibtex] [--out <folder>]

Each run is kept in <out>/runs.jsonl, so that an interrupted command resumes where it stopped, and tables share runs.
Also written: <out>/RESULTS.md and the plots. Times are CPU times of one thread, without loading, which depend little on
other work on the machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import cmt
import data as data_sets
import numpy as np
import plots
import report
from experiments import FEW_SHOT, STREAMS, TABLES, System
from progressive import Curve, curves
from runs import Figures, Runs
from training import shuffled, train

from oplt import OnlinePLT, metrics
from oplt.datasets import load_xmlc

FIGURE = -2  # stands for figure 2 among the numbers of tables
AT_K = {"P": "precision", "PSP": "psp"}


def main() -> None:
    """Do the missing runs, then write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", type=int, choices=TABLES, help="default: all")
    parser.add_argument("--figure", action="store_true", help="figure 2 as well; alone, unless --tables is given")
    parser.add_argument("--data", nargs="+", help="data sets (default: those of each table)")
    parser.add_argument("--seeds", type=int, default=5, help="orders of the examples (default: 5)")
    parser.add_argument("--out", type=Path, default=Path("build/results/paper"), help="folder of the results")
    arguments = parser.parse_args()
    runs = Runs(arguments.out / "runs.jsonl")
    numbers = arguments.tables or ([] if arguments.figure else list(TABLES))
    chosen = {number: fitting(number, arguments.data) for number in numbers}
    for name in dict.fromkeys(name for names in chosen.values() for name in names):
        systems = [s for number, names in chosen.items() if name in names for s in TABLES[number].systems]
        do_missing(name, systems, range(arguments.seeds), runs)
    streams = fitting(FIGURE, arguments.data) if arguments.figure or not arguments.tables else []
    write(arguments.out, chosen, runs, curves(streams, arguments.out / "progressive.json"))


def fitting(number: int, names: list[str] | None) -> list[str]:
    """Return the data sets of a table or figure: its own, or the given ones of the same kind."""
    if names is None:
        return STREAMS if number == FIGURE else TABLES[number].data
    few_shot = number == FIGURE or TABLES[number].data == FEW_SHOT
    fit = [name for name in names if is_multi_class(examples(name, "train")[1]) == few_shot]
    if not fit:
        what = "figure 2" if number == FIGURE else f"table {number}"
        kind = "exactly one label" if few_shot else "any number of labels"
        print(f"{what} is of data whose examples have {kind}: none of {', '.join(names)}", file=sys.stderr)
    return fit


@cache
def examples(name: str, part: str) -> tuple[Any, Any]:
    """Load a part of a data set."""
    return load_xmlc(data_sets.part(name, part))


def is_multi_class(Y: Any) -> bool:
    """Tell whether each example has exactly one label."""
    return bool((np.diff(Y.indptr) == 1).all())


def do_missing(name: str, systems: list[System], seeds: range, runs: Runs) -> None:
    """Do the missing runs on a data set."""
    missing = runs.missing(name, systems, seeds)
    if not missing:
        return
    X, Y = examples(name, "train")
    test_X, test_Y = examples(name, "test")
    a_and_b = metrics.PROPENSITY_PARAMETERS.get(name, ())  # the defaults are for any other data set
    propensities = metrics.propensities(np.diff(Y.tocsc().indptr), Y.shape[0], *a_and_b)
    max_leaves = 10 if is_multi_class(Y) else 100
    for i, (system, seed) in enumerate(missing):
        print(f"{name}, {i + 1} of {len(missing)}: {system}, seed {seed}", file=sys.stderr)
        stream = shuffled(X, Y, seed)
        if system.name == "CMT":
            figures = cmt.run(name, stream, (test_X, test_Y), system.passes)
            runs.add(name, system, seed, figures)
            continue
        for passes, model, seconds in train(system, *stream, seed, max_leaves):
            after = replace(system, passes=passes)
            if after in systems:
                runs.add(name, after, seed, {"train s": seconds, **tested(model, test_X, test_Y, propensities)})


def tested(model: OnlinePLT, X: Any, Y: Any, propensities: Any) -> Figures:
    """Return all measures on the test set; fractions are in per cent."""
    begin = time.process_time()
    found = model.predict_many(X, k=5)
    test_ms = 1000 * (time.process_time() - begin) / X.shape[0]
    scores = metrics.Scores(k=(1, 3, 5), propensities=propensities)
    scores.add(found, Y)
    shares = {f"{kind}@{k}": 100 * getattr(scores, of)(k) for kind, of in AT_K.items() for k in (1, 3, 5)}
    return {"test ms": test_ms, "depth": model.depth, "accuracy": 100 * scores.accuracy, **shares}


def write(out: Path, chosen: dict[int, list[str]], runs: Runs, found: dict[str, dict[str, Curve]]) -> None:
    """Write the report."""
    out.mkdir(parents=True, exist_ok=True)
    tables = [report.table(number, names, runs) for number, names in chosen.items()]
    pictures = plots.draw(runs, chosen, found, out)
    (out / "RESULTS.md").write_text("\n\n".join([report.HEAD, *tables, *pictures]) + "\n")


if __name__ == "__main__":
    main()
