# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt inspect`: show the contents of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from oplt._core import FORMAT_VERSION, kernels_in_use
from oplt.cli._console import print_json, quiet_option, say
from oplt.cli._options import Command, json_option
from oplt.cli._progress import bytes_as_text
from oplt.cli._served import note_if_served
from oplt.inspection import Inspection, LabelCount
from oplt.persistence import part_sizes
from oplt.plt import PLT
from oplt.versions import kernels
from oplt.wording import number_of, on_one_line, width

__all__ = ["command"]

Rows = Sequence[tuple[str, ...]]

_PARTS = {
    "trees": "trees and classifiers",
    "ranking": "label memory",
    "history": "history of examples",
    "labels": "names of labels",
    "features": "features",
    "settings": "settings",
}


@click.command("inspect", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "--all", "show_all", is_flag=True, help="Show all settings, not only those that differ from the defaults."
)
@click.option(
    "--top",
    "n",
    metavar="N",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Number of nodes and labels to list.",
)
@click.option(
    "--fingerprint", is_flag=True, help="Also show the fingerprint, a digest that differs unless models are equal."
)
@json_option
@quiet_option
def command(model_path: Path, show_all: bool, n: int, fingerprint: bool, as_json: bool) -> None:
    """Show the contents of a model: its kind and settings, the size of each part, its largest nodes and its labels.

    \b
      oplt inspect tags.oplt
      oplt inspect tags.oplt --all --fingerprint
      oplt inspect tags.oplt --json | jq .n_labels
    """
    if not as_json:
        note_if_served(model_path)
    model = PLT.load(model_path)
    found = model.inspect(n)
    n_bytes = model_path.stat().st_size
    digest = {"fingerprint": model.fingerprint()} if fingerprint else {}
    if as_json:
        file = {
            "path": str(model_path),
            "file_bytes": n_bytes,
            "file_parts": part_sizes(model_path),
            "format_version": FORMAT_VERSION,
            "kernels": kernels_in_use(),
        }
        print_json({**file, **digest, **found.to_dict()})
        return
    say(f"{model_path}: {_what(found)} ({bytes_as_text(n_bytes)}, format {FORMAT_VERSION})")
    _show("Settings" if show_all else "Settings that differ from the defaults", _settings(found, show_all=show_all))
    _show("Learned", [*_learnt(found), *digest.items()])
    _show(f"File: {bytes_as_text(n_bytes)}", _parts(part_sizes(model_path)))
    _show("Nodes whose children have the most weights", _blocks(found))
    _show("Most frequent labels", _counts(found.labels.most))
    _show("Least frequent labels", _counts(count for count in found.labels.least if count not in found.labels.most))
    say(f"\nKernels: {kernels()}")


def _what(found: Inspection) -> str:
    if found.kind == "batch":
        return f"a batch-trained model of {found.takes}"
    return f"a model of {found.takes} " + ("for prediction only" if found.only_predicts else "that learns online")


def _show(title: str, rows: Rows) -> None:
    """Print a table: the first column is left-aligned, numbers are right-aligned, and words follow them."""
    if not rows:
        return
    say(f"\n{title}")
    widest = max(width(row[0]) for row in rows)
    number_width = max((len(row[1]) for row in rows if len(row) > 2), default=0)
    for name, value, *words in rows:
        gap = " " * (2 + widest - width(name))
        say(f"  {name}{gap}{' '.join([value.rjust(number_width), *words])}".rstrip())


def _settings(found: Inspection, *, show_all: bool) -> Rows:
    settings = found.settings if show_all else found.changed
    rows = [(name, _value(value)) for name, value in settings.items()]
    return rows or [("none", "")]


def _value(value: Any) -> str:
    """Format a setting; text features have settings of their own."""
    if isinstance(value, dict):
        return ", ".join(["text", *(f"{name} {_value(own)}" for name, own in value.items())])
    if isinstance(value, (tuple, list)):
        return " to ".join(map(str, value))
    return {None: "none", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else str(value)


def _learnt(found: Inspection) -> list[tuple[str, str]]:
    n_once = found.labels.n_once
    once = f", {n_once:,} of them with a single example" if n_once else ""
    depths = " and ".join(str(tree.depth) for tree in found.trees)
    trees = f"{number_of(len(found.trees), 'tree')}, depth {depths}"
    n_own = found.n_own_thresholds
    own = f"; own thresholds for {number_of(n_own, 'label')}" if n_own else ""
    tuned = [] if found.threshold is None else [("tuned threshold", f"{found.threshold:.4g}{own}")]
    closed = "" if found.closed_at is None else f", closed after {found.closed_at:,} (max_memory)"
    return [
        ("examples", f"{found.n_examples:,}{closed}"),
        ("labels", f"{found.n_labels:,}{once}"),
        ("features", f"{found.n_features:,}"),
        ("nodes", f"{found.n_nodes:,} ({trees})"),
        ("weights", f"{found.n_weights:,}"),
        *tuned,
        *([] if found.stream is None else _stream(found.stream, found.n_examples)),
    ]


def _stream(stream: dict[str, Any], n_examples: int) -> list[tuple[str, str]]:
    counts = [f"{stream['n_learned']:,} learned"]
    counts += [f"{stream[f'n_{what}']:,} {what}" for what in ("refused", "expired", "waiting") if stream[f"n_{what}"]]
    others = n_examples - stream["n_learned"]
    if others > 0:
        counts.append(f"{number_of(others, 'example')} learned otherwise")
    precision = ", ".join(f"P@{k} {stream[f'P@{k}']:.3f}" for k in (1, 3, 5))
    scored = f"{precision} ({number_of(stream['n_scored'], 'prediction')})"
    return [
        ("stream", f"{stream['source']}, up to message {stream['position'] or 'none'}"),
        ("messages", f"{stream['n_messages']:,}: {', '.join(counts)}"),
        *([("progressive", scored)] if stream["n_scored"] else []),
    ]


def _parts(sizes: dict[str, int]) -> Rows:
    parts = sorted(sizes.items(), key=lambda part: -part[1])
    return [(_PARTS.get(name, name), *bytes_as_text(n_bytes).split(" ")) for name, n_bytes in parts]


def _blocks(found: Inspection) -> Rows:
    several = len(found.trees) > 1
    return [
        (
            f"node {block.node}" + (f" of tree {block.tree}" if several else ""),
            f"{block.n_weights:,}",
            f"weights, {number_of(block.n_labels, 'label')} below",
        )
        for block in found.largest_blocks
    ]


def _counts(counts: Iterable[LabelCount]) -> Rows:
    return [
        (on_one_line(count.label), f"{count.n_examples:,}", "example" if count.n_examples == 1 else "examples")
        for count in counts
    ]
