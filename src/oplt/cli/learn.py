# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt learn`: go on with a saved model."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from oplt.cli._console import command_line, note, print_json, quiet_option
from oplt.cli._learning import Interrupted, Lesson, exit_if_of_no_use, interruptible
from oplt.cli._options import (
    Command,
    DataOptions,
    check_target,
    data_options,
    force_option,
    json_option,
    skip_option,
    threads_option,
)
from oplt.cli._progress import Bar
from oplt.cli._stream import STANDARD_INPUT, Stream, expect_kind
from oplt.model import OnlinePLT

__all__ = ["command"]


@click.command("learn", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_paths", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to save it, if not in MODEL.")
@force_option
@skip_option
@threads_option
@json_option
@quiet_option
@data_options()
def command(
    model_path: Path,
    data_paths: tuple[str, ...],
    out: Path | None,
    force: bool,
    skip: int,
    threads: int,
    as_json: bool,
    data: DataOptions,
) -> None:
    """Go on with a saved model: learn more examples, with labels that it may never have seen.

    \b
      oplt learn tags.oplt today.jsonl
      tail -n +1 -f log.jsonl | oplt learn tags.oplt -
      oplt learn tags.oplt today.jsonl --out tags-new.oplt

    The model is replaced when all has been learnt; until then the old one stays. At Ctrl-C or SIGTERM, what has been
    learnt is saved.
    """
    target = out or model_path
    in_place = target.resolve() == model_path.resolve()
    check_target(target, force=force or in_place, is_model=not in_place)
    stream = Stream(data_paths, data, skip=skip)
    lesson = Lesson(OnlinePLT.load(model_path, threads=threads))
    with interruptible():
        try:
            _learn(lesson, stream, model_path)
            lesson.model.save(target)
        except Interrupted as interruption:
            note(f"Interrupted after {lesson.n_learnt:,} examples; saving. Ctrl-C again stops at once.")
            lesson.model.save(target)
            note(f"Saved in {target}. To go on: {_how_to_go_on(model_path, target, skip + lesson.n_learnt)}")
            raise click.exceptions.Exit(interruption.exit_code) from None
    stream.tell_bad_lines()
    note(f"{lesson.summary()}\nSaved in {target}.")
    if as_json:
        print_json({"model": str(target), **lesson.values(), "left_out": stream.n_bad})
    exit_if_of_no_use(lesson, stream.n_bad)


def _learn(lesson: Lesson, stream: Stream, model_path: Path) -> None:
    with Bar("Learning") as bar:
        for batch in stream:
            expect_kind(lesson.model, model_path, batch)
            lesson.learn(batch)
            lesson.show(bar, stream)


def _how_to_go_on(model_path: Path, target: Path, n_learnt: int) -> str:
    """Make the command that goes on: from what was saved, after what was learnt. Of two --skip, the last one counts."""
    words = [str(target) if Path(word) == model_path else word for word in command_line()]
    return shlex.join(words if STANDARD_INPUT in words else [*words, "--skip", str(n_learnt)])
