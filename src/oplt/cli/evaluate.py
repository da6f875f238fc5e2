# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt evaluate`: measure a model on labeled examples."""

from __future__ import annotations

import csv
import io
import math
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from oplt.cli._console import WrongUsageError, console, json_line, note, print_json, quiet_option
from oplt.cli._options import (
    Command,
    DataOptions,
    check_target,
    data_options,
    force_option,
    json_option,
    threads_option,
    threshold_option,
)
from oplt.cli._progress import Bar
from oplt.cli._served import note_if_served
from oplt.cli._stream import Stream, expect_kind
from oplt.metrics import LabelScores, Propensities, Scores, propensities
from oplt.persistence import replacing
from oplt.plt import PLT
from oplt.wording import number_of

if TYPE_CHECKING:
    from oplt._typing import Label
    from oplt.files import Batch

__all__ = ["command"]

_SUFFIXES = (".csv", ".tsv", ".jsonl")
_COLUMNS = ("label", "support", "predicted", "precision", "recall", "f1")


def _as_cutoffs(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse a list of cutoffs, `1,3,5`."""
    try:
        return tuple(sorted({int(part) for part in value.split(",")}))
    except ValueError:
        msg = f"{value!r} is not a comma-separated list of numbers, such as 1,3,5"
        raise click.BadParameter(msg) from None


@click.command("evaluate", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_paths", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option(
    "-k",
    "cutoffs",
    metavar="N,N...",
    callback=_as_cutoffs,
    default="1,3,5",
    show_default=True,
    help="Cutoffs k of the measures @k.",
)
@threshold_option(
    "Predict only labels with at least this probability. Set it for a meaningful F1; otherwise F1 is computed on the"
    " top k labels, for the largest k."
)
@click.option("--beam", metavar="N", type=click.IntRange(min=1), help="Beam width, as for predict.")
@click.option(
    "--train-data",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    help="Training data of the model, needed for PSP@k and PSnDCG@k: label frequencies are counted in it. Read like"
    " DATA; may be repeated.",
)
@click.option(
    "--per-label",
    is_flag=True,
    help="Also report support, precision, recall and F1 of each label. Best combined with --threshold.",
)
@click.option(
    "--out",
    "-o",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the --per-label report to this .csv, .tsv or .jsonl file instead of printing it.",
)
@force_option
@threads_option
@json_option
@quiet_option
@data_options()
def command(
    model_path: Path,
    data_paths: tuple[str, ...],
    cutoffs: tuple[int, ...],
    threshold: Any,
    beam: int | None,
    train_data: tuple[str, ...],
    per_label: bool,
    out: Path | None,
    force: bool,
    threads: int,
    as_json: bool,
    data: DataOptions,
) -> None:
    """Measure the quality of a model's predictions on examples that it was not trained on.

    \b
      oplt evaluate tags.oplt test.jsonl
      oplt evaluate tags.oplt test.jsonl --train-data train.jsonl -k 1,5
      oplt evaluate tags.oplt test.jsonl --threshold tuned --per-label --out labels.csv
      oplt evaluate tags.oplt test.jsonl --json

    P@k, R@k, nDCG@k: precision, recall and nDCG of the top k labels. coverage@k: share of the labels that are predicted
    correctly at least once. log-loss@k, ECE@k: quality and calibration of the probabilities; 0 is best. PSP@k,
    PSnDCG@k: propensity-scored precision and nDCG, in which rare labels count more, according to their frequency in
    --train-data (Jain et al. 2016, A = 0.55, B = 1.5).
    """
    if out is not None:
        _check_out(out, [model_path, *data_paths], per_label=per_label, force=force)
    stream = Stream(data_paths, data)
    if not as_json:
        note_if_served(model_path)
    model = PLT.load(model_path, threads=threads)
    scores = Scores(cutoffs, propensities=_propensities(train_data, data) if train_data else None)
    k = cutoffs[-1] if threshold is None else None  # F1 uses all labels that reach the threshold
    seconds = 0.0
    with Bar("Evaluating") as bar:
        for batch in stream:
            expect_kind(model, model_path, batch)
            started = time.perf_counter()
            found = model.predict_many(batch.X, k, threshold=threshold, beam=beam)
            seconds += time.perf_counter() - started
            scores.add(found, batch.Y)
            bar.show(stream.share, f"{scores.n_examples:,} examples")
    stream.report_bad_lines()
    speed = scores.n_examples / max(seconds, 1e-9)
    if out is not None:
        _write(scores.by_label(), out)
    shown = scores.by_label() if per_label and out is None else None
    if as_json:
        counts = {"examples": scores.n_examples, "left_out": stream.n_bad, "examples_per_second": round(speed, 1)}
        labels = {} if shown is None else {"labels": shown.to_dicts()}
        print_json({"model": str(model_path), **counts, "measures": scores.result(), **labels})
    else:
        _print_table(scores, threshold)
        if shown is not None:
            click.echo(f"\n{shown.to_text()}")
    note(f"Predicted {number_of(scores.n_examples, 'example')} at {speed:,.0f} examples/s.")


def _check_out(out: Path, inputs: list[str | Path], *, per_label: bool, force: bool) -> None:
    """Refuse a target that cannot be written before any work is done."""
    if not per_label:
        msg = "--out writes the --per-label report: pass --per-label as well"
        raise WrongUsageError(msg)
    if out.suffix not in _SUFFIXES:
        msg = f"{out}: the name must end in one of {', '.join(_SUFFIXES)}, which determines the format"
        raise WrongUsageError(msg)
    check_target(out, force=force, inputs=inputs)


def _write(labels: LabelScores, out: Path) -> None:
    """Write one line per label. Undefined values (NaN) become empty cells or null."""
    rows = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in labels.to_dicts()
    ]
    with replacing(out) as file:
        if out.suffix == ".jsonl":
            file.writelines(json_line(row) + b"\n" for row in rows)
            return
        text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogatepass", newline="")
        writer = csv.DictWriter(
            text, list(_COLUMNS), delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)
        text.detach()


def _propensities(paths: tuple[str, ...], data: DataOptions) -> Propensities:
    counts: Counter[Label] = Counter()
    n_examples = 0
    for batch in Stream(paths, data):
        n_examples += len(batch)
        for labels in _label_lists(batch):
            counts.update(set(labels))
    if n_examples < 3:
        msg = f"--train-data: {n_examples} examples are too few to estimate label frequencies"
        raise WrongUsageError(msg)
    return propensities(counts, n_examples)


def _label_lists(batch: Batch) -> Iterable[list[Label]]:
    """Take only the labels of examples: computing their features takes much longer."""
    if isinstance(batch.Y, list):
        return batch.Y
    ends = batch.Y.indptr[1:-1]
    return [part.tolist() for part in np.split(batch.Y.indices, ends)]


def _print_table(scores: Scores, threshold: Any) -> None:
    """Print the measures at k in columns, then those over all predicted labels."""
    from rich.table import Table

    measures = scores.result()
    at_k = list(dict.fromkeys(name.partition("@")[0] for name in measures if "@" in name))
    table = Table("", *(f"@{k}" for k in scores.k), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in at_k:
        table.add_row(name, *(f"{measures[f'{name}@{k}']:.4f}" for k in scores.k))
    rest = Table.grid(padding=(0, 2))
    of_what = f"the top {scores.k[-1]} labels"
    if threshold is not None:
        of_what = (
            "labels that reach the tuned thresholds" if threshold == "tuned" else f"labels with p >= {threshold:g}"
        )
    for name in ("micro-F1", "macro-F1", "sample-F1"):
        rest.add_row(name, f"{measures[name]:.4f}", f"on {of_what}")
    out = console()
    out.print(table)
    out.print()
    out.print(rest)
