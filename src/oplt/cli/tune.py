# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt tune`: choose the thresholds of a model."""

from __future__ import annotations

import math
from pathlib import Path

import click

from oplt.cli._console import console, note, print_json, quiet_option
from oplt.cli._lock import locked
from oplt.cli._options import (
    Command,
    DataOptions,
    check_target,
    data_options,
    force_option,
    json_option,
    threads_option,
)
from oplt.cli._progress import Bar
from oplt.cli._served import check_served
from oplt.cli._stream import Stream, expect_kind, prediction
from oplt.plt import PLT
from oplt.thresholds import FLOOR, Thresholds, Tuner
from oplt.wording import number_of

__all__ = ["command"]


@click.command("tune", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_paths", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--precision",
    metavar="P",
    type=click.FloatRange(0, 1, min_open=True),
    help="Choose the lowest threshold that reaches this precision, instead of the one that maximizes F1.",
)
@click.option(
    "--per-label",
    is_flag=True,
    help="Also choose a separate threshold for each label that occurs in DATA. Thresholds of rare labels are shrunk"
    " toward the common threshold (see --shrinkage).",
)
@click.option(
    "--shrinkage",
    metavar="N",
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    help="With --per-label: the common threshold weighs as much as N examples of a label; 0 means no shrinkage.",
)
@click.option(
    "--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to save the model.  [default: MODEL]"
)
@force_option
@threads_option
@json_option
@quiet_option
@data_options()
def command(
    model_path: Path,
    data_paths: tuple[str, ...],
    precision: float | None,
    per_label: bool,
    shrinkage: float,
    out: Path | None,
    force: bool,
    threads: int,
    as_json: bool,
    data: DataOptions,
) -> None:
    """Choose prediction thresholds on examples that the model was not trained on, and save them with the model.

    \b
      oplt tune tags.oplt dev.jsonl
      oplt tune tags.oplt dev.jsonl --precision 0.9
      oplt predict tags.oplt new.jsonl --threshold tuned

    The threshold is the one that maximizes micro-F1 on DATA or, with --precision, the lowest one that reaches the given
    precision. The measures printed are computed on DATA itself, so expect somewhat lower values on new examples,
    especially with --per-label.
    """
    target = out or model_path
    in_place = target.resolve() == model_path.resolve()
    check_target(target, force=force or in_place, is_model=not in_place, inputs=() if in_place else data_paths)
    check_served(target, model_path)
    stream = Stream(data_paths, data)
    tuner = Tuner()
    with locked(target, wait=math.inf):  # before loading: updates by another command would be lost
        model = PLT.load(model_path, threads=threads)
        with Bar("Predicting") as bar:
            for batch in stream:
                expect_kind(model, model_path, batch)
                tuner.add(model.predict_many(batch.X, threshold=FLOOR), batch.Y)
                bar.show(stream.share, f"{tuner.n_examples:,} examples")
        stream.report_bad_lines()
        chosen = tuner.choose(per_label=per_label, precision=precision, shrinkage=shrinkage)
        model.with_thresholds(chosen).save(target)
    measures = tuner.measure(chosen)
    if as_json:
        counts = {"examples": tuner.n_examples, "left_out": stream.n_bad}
        print_json({"model": str(target), **counts, "thresholds": chosen.to_dict(), "measures": measures})
    else:
        _print(tuner, chosen)
    note(f"Saved in {target}. Now: {prediction(target, data_paths, data, '--threshold', 'tuned')}")


def _print(tuner: Tuner, chosen: Thresholds) -> None:
    """Print the chosen thresholds, and compare them with the usual threshold of 0.5."""
    from rich.table import Table

    before, after = tuner.measure(0.5), tuner.measure(chosen)
    table = Table("", "threshold 0.5", "tuned", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, value in after.items():
        table.add_row(name, *("-" if math.isnan(one) else f"{one:.4f}" for one in (before[name], value)))
    own = f"; own thresholds for {number_of(len(chosen.labels), 'label')}" if chosen.labels else ""
    click.echo(f"Threshold {chosen.value:.4g}{own}. On {number_of(tuner.n_examples, 'tuning example')}:\n")
    console().print(table)
