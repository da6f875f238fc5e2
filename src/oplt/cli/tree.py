# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt tree`: draw the tree of a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from oplt import drawing
from oplt.cli._console import WrongUsageError, note, quiet_option
from oplt.cli._options import Command, check_target, force_option
from oplt.cli._served import note_if_served
from oplt.persistence import TREE, replacing
from oplt.plt import PLT
from oplt.tree import LabelTree, load

__all__ = ["command"]

_SUFFIXES = {"text": (".txt", ""), "dot": (".dot", ".gv"), "svg": (".svg",), "html": (".html", ".htm")}
_OF_GRAPHVIZ = (".png", ".jpg", ".jpeg", ".pdf", ".gif", ".webp", ".eps", ".ps")


@click.command("tree", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(_SUFFIXES)),
    help="Output format: plain text, DOT for Graphviz, an SVG image, or an interactive HTML page with search."
    "  [default: by the suffix of --out: .txt, .dot, .gv, .svg or .html; text if there is no suffix]",
)
@click.option(
    "--depth",
    metavar="N",
    type=click.IntRange(min=0),
    help="Draw N levels below the root; in HTML, expand N levels initially.",
)
@click.option(
    "--children",
    metavar="N",
    type=click.IntRange(min=1),
    help="Draw at most N children per node; in HTML, N at a time.",
)
@click.option(
    "--label",
    metavar="NAME",
    help="Draw only the path from the root to this label and the siblings of the label; in HTML, open the page at it.",
)
@click.option(
    "--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Output file.  [default: standard output]"
)
@force_option
@quiet_option
def command(
    model_path: Path,
    kind: str | None,
    depth: int | None,
    children: int | None,
    label: str | None,
    out: Path | None,
    force: bool,
) -> None:
    """Draw the tree of MODEL, which is a model file or a tree file written by oplt.tree.save.

    \b
      oplt tree tags.oplt
      oplt tree tags.oplt --label kernel
      oplt tree tags.oplt --out tags.html

    A large tree is cut to depth 2 and 6 children per node, and the output says so; --depth and --children draw more of
    it. HTML always contains the whole tree, and so does DOT without these options. If the model has several trees, the
    first is drawn.
    """
    kind = kind or _kind_of(out)
    if label is not None and depth is not None and kind != "html":
        msg = "--label and --depth cannot be combined: --label draws the path to a label, however deep it is"
        raise WrongUsageError(msg)
    if out is not None:
        check_target(out, force=force, inputs=[model_path])
    tree = _load(model_path)
    asked = {"depth": depth, "children": children, "label": None if label is None else _named(tree, label)}
    given = {name: value for name, value in asked.items() if value is not None}
    drawn = _draw(tree, kind, model_path.name, given, ascii_only=out is None and not _can_draw_lines())
    if out is not None:
        with replacing(out) as file:
            file.write(f"{drawn}\n".encode())
        note(f"Wrote {out}.")
    else:
        click.echo(drawn if kind == "text" else drawn.encode())  # the others are always UTF-8


def _load(path: Path) -> LabelTree:
    with path.open("rb") as file:
        is_tree = file.read(len(TREE.magic)) == TREE.magic
    if is_tree:
        return load(path)
    note_if_served(path)
    model = PLT.load(path)
    n_trees = model.settings.get("trees", 1)
    if n_trees > 1:
        note(f"{path} has {n_trees} trees; only the first is drawn.")
    return model.tree


def _kind_of(out: Path | None) -> str:
    suffix = "" if out is None else out.suffix.lower()
    for kind, suffixes in _SUFFIXES.items():
        if suffix in suffixes:
            return kind
    known = ", ".join(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes if suffix)
    msg = f"{out}: cannot write {suffix} files. Use one of {known}, or pass --format."
    if suffix in _OF_GRAPHVIZ:
        msg += f" Graphviz can convert .dot files to {suffix}."
    raise WrongUsageError(msg)


def _named(tree: LabelTree, name: str) -> str | int:
    """Resolve a label: a name that looks like a number may be an integer label."""
    if name not in tree.labels and name.removeprefix("-").isdecimal() and int(name) in tree.labels:
        return int(name)
    return name


def _draw(tree: LabelTree, kind: str, name: str, given: dict[str, Any], *, ascii_only: bool) -> str:
    if kind == "html":
        return drawing.as_html(tree, title=f"Label tree of {name}", **given)
    if kind == "svg":
        return drawing.as_svg(tree, **given)
    if kind == "dot":
        return drawing.as_dot(tree, **given)
    return drawing.as_text(tree, ascii=ascii_only, **given)


def _can_draw_lines() -> bool:
    try:
        "├─└│…◀".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
