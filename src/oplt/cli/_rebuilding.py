# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What `oplt regrow` and `oplt forget` have in common: they rebuild a model from its history."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import click

from oplt.cli._console import note, print_json
from oplt.cli._learning import Interrupted, interruptible
from oplt.cli._lock import locked
from oplt.cli._options import check_target
from oplt.cli._served import check_served
from oplt.model import OnlinePLT
from oplt.wording import number_of

__all__ = ["out_option", "rebuild"]

out_option = click.option(
    "--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to save the model.  [default: MODEL]"
)


def rebuild(
    change: Callable[[OnlinePLT], str], model_path: Path, out: Path | None, *, force: bool, threads: int, as_json: bool
) -> None:
    """Load a model, change it, and save it. `change` says what it has done."""
    target = out or model_path
    in_place = target.resolve() == model_path.resolve()
    check_target(target, force=force or in_place, is_model=not in_place)
    check_served(target, model_path)
    with interruptible(), locked(target, wait=math.inf):
        model = OnlinePLT.load(model_path, threads=threads)
        start = time.perf_counter()
        try:
            done = change(model)
        except Interrupted as interruption:
            note(f"Interrupted; {model_path} is unchanged.")
            raise click.exceptions.Exit(interruption.exit_code) from None
        seconds = time.perf_counter() - start
        model.save(target)
    left = f"{number_of(model.n_examples, 'example')}, {number_of(model.n_labels, 'label')}"
    note(f"{done} in {seconds:.1f} s; the model has {left}. Saved in {target}.")
    if as_json:
        counts = {"examples": model.n_examples, "labels": model.n_labels, "depth": model.depth}
        print_json({"model": str(target), **counts, "seconds": round(seconds, 3), "fingerprint": model.fingerprint()})
