# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A tree as lines of text."""

from __future__ import annotations

from typing import NamedTuple

from oplt._typing import Label
from oplt.drawing._outline import outline
from oplt.tree import LabelTree

__all__ = ["as_text"]


class _Strokes(NamedTuple):
    """The characters that lines are drawn with."""

    child: str
    last_child: str
    passing: str
    nothing: str
    dots: str
    here: str


_LINES = _Strokes("├─ ", "└─ ", "│  ", "   ", "…", "◀")
_ASCII = _Strokes("|- ", "`- ", "|  ", "   ", "...", "<--")
_INDENTED = 50  # levels; deeper nodes show their depth instead, since the text would grow with the square of the depth


def as_text(
    tree: LabelTree,
    *,
    depth: int | None = None,
    children: int | None = None,
    label: Label | None = None,
    ascii: bool = False,  # noqa: A002 (the built-in function is not used here)
) -> str:
    """Draw a tree with a line for each node.

    Parameters
    ----------
    tree
        The `tree` of a model, or any other.
    depth
        Draw at most `depth` levels below the root. If none of `depth`, `children` and `label` is given, a tree of more
        than 100 nodes is drawn to depth 2, with at most 6 children of each node.
    children
        Draw at most `children` children of each node.
    label
        Draw only the path to this label, and the other children of its parent.
    ascii
        Use ASCII characters only; other characters in labels are escaped.

    Returns
    -------
    Lines of text; if only a part is drawn, the last line says how much. Nodes below level 50 are not indented further;
    their lines begin with their level.

    Examples
    --------
    >>> tree = LabelTree.from_nested([["cat", "dog"], ["granite", "marble", "slate"], "water"])
    >>> print(as_text(tree, children=2))
    node 0: 6 labels
    ├─ node 1: 2 labels
    │  ├─ cat
    │  └─ dog
    ├─ node 2: 3 labels
    │  ├─ granite
    │  ├─ marble
    │  └─ … 1 more (1 label)
    └─ … 1 more (1 label)
    7 of 9 nodes and 4 of 6 labels are drawn.
    >>> print(as_text(tree, depth=1))
    node 0: 6 labels
    ├─ node 1: 2 labels (cat, dog)
    ├─ node 2: 3 labels (granite, marble, slate)
    └─ water
    4 of 9 nodes and 1 of 6 labels are drawn.
    >>> print(as_text(tree, label="dog"))
    node 0: 6 labels
    ├─ node 1: 2 labels
    │  ├─ cat
    │  └─ dog ◀
    └─ … 2 more (4 labels)
    4 of 9 nodes and 2 of 6 labels are drawn.
    """
    chosen = outline(tree, depth, children, label, whole=False)
    strokes = _ASCII if ascii else _LINES
    lines: list[str] = []
    indents: list[str] = []  # of the children of each item
    for item in chosen.items:
        before = indents[item.parent] if item.depth else ""
        level = f"{strokes.dots} level {item.depth:,} {strokes.dots} " if item.depth > _INDENTED else ""
        branch = (strokes.last_child if item.is_last else strokes.child) if item.depth else ""
        mark = f" {strokes.here}" if item.is_sought else ""
        lines.append(f"{level}{before}{branch}{item.caption(strokes.dots)}{mark}")
        indent = before + (strokes.nothing if item.is_last else strokes.passing) if item.depth else ""
        indents.append(indent[-_INDENTED * len(strokes.nothing) :])
    text = "\n".join([*lines, chosen.left_out]).rstrip("\n")
    return text.encode("ascii", "backslashreplace").decode() if ascii else text
