# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A tree as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import accumulate

from oplt import wording
from oplt._typing import Label
from oplt.drawing._outline import Item, Outline, outline
from oplt.tree import LabelTree

__all__ = ["as_svg"]

# In pixels. Text widths are those of a fixed-width font of this size, which the style requests.
_FONT = 12
_LETTER = 7.3
_ROW = 22
_BOX = 18  # height of a node's box
_PADDING = 6  # within it
_GAP = 36  # between the levels
_MARGIN = 12
_WIDEST = 60  # letters of a caption

_STYLE = f"""\
svg {{ color-scheme: light dark; background: #fff; }}
text {{ font: {_FONT}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1b1b1b; }}
rect {{ fill: #eef3fb; stroke: #7a8ba6; }}
path {{ fill: none; stroke: #7a8ba6; }}
.leaf rect {{ fill: #fff; }}
.more rect {{ fill: none; stroke: none; }}
.more text, .note {{ fill: #5c6470; }}
.sought rect {{ stroke: #b3410e; stroke-width: 2.5; }}
@media (prefers-color-scheme: dark) {{
  svg {{ background: #16181d; }}
  text {{ fill: #e8eaee; }}
  rect {{ fill: #25304a; }}
  .leaf rect {{ fill: #16181d; }}
  .more text, .note {{ fill: #a3abb8; }}
  .sought rect {{ stroke: #ff9a5c; }}
}}"""


@dataclass(frozen=True)
class _Place:
    """The place of an item's box: its left edge, its vertical middle and its width."""

    x: float
    y: float
    width: float


def as_svg(
    tree: LabelTree, *, depth: int | None = None, children: int | None = None, label: Label | None = None
) -> str:
    """Draw a tree as an SVG picture, with the root on the left; it follows the viewer's light or dark mode.

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

    Returns
    -------
    A complete SVG file. If only a part is drawn, a note says how much. Long labels are shortened; the tooltip of a box
    shows its full text.

    Examples
    --------
    >>> svg = as_svg(LabelTree.from_nested([["cat", "dog"], "stone"]))
    >>> svg.count("<rect"), svg.count("<path")
    (5, 4)
    """
    chosen = outline(tree, depth, children, label, whole=False)
    places = _layout(chosen.items)
    note = chosen.left_out
    width = max(_width(note), *(place.x + place.width for place in places)) + _MARGIN
    height = max(place.y for place in places) + _ROW / 2 + _MARGIN + (_ROW if note else 0)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title what" width="{width:.0f}"'
            f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f'<title id="title">{escape(chosen.title)}</title>',
            f'<desc id="what">{escape(note or "All nodes are drawn.")}</desc>',
            f"<style>\n{_STYLE}\n</style>",
            *_edges(chosen, places),
            *map(_box, chosen.items, places),
            *([f'<text class="note" x="{_MARGIN}" y="{height - _MARGIN:.1f}">{escape(note)}</text>'] if note else []),
            "</svg>",
        ]
    )


def _layout(items: list[Item]) -> list[_Place]:
    """Lay out items: a column per level, a row for each childless item, and parents centred on their children."""
    widths = [_width(_cut(item.caption())) + 2 * _PADDING for item in items]
    columns = [0.0] * (1 + max(item.depth for item in items))
    for item, width in zip(items, widths, strict=True):
        columns[item.depth] = max(columns[item.depth], width)
    lefts = [_MARGIN + before + depth * _GAP for depth, before in enumerate(accumulate([0.0, *columns[:-1]]))]
    first: dict[int, float] = {}  # by place of the parent: the middle of its first child
    last: dict[int, float] = {}
    row = len(set(range(len(items))).difference(item.parent for item in items))  # as many as have no children
    ys = [0.0] * len(items)
    for place in reversed(range(len(items))):  # children before their parents, the lowest first
        if place in last:
            ys[place] = (first[place] + last[place]) / 2
        else:
            row -= 1
            ys[place] = _MARGIN + (row + 0.5) * _ROW
        first[items[place].parent] = ys[place]
        last.setdefault(items[place].parent, ys[place])
    return [_Place(lefts[item.depth], y, width) for item, y, width in zip(items, ys, widths, strict=True)]


def _edges(chosen: Outline, places: list[_Place]) -> list[str]:
    edges = []
    for item, place in zip(chosen.items[1:], places[1:], strict=True):
        parent = places[item.parent]
        start = parent.x + parent.width
        middle = place.x - _GAP / 2
        curve = f"M{start:.1f} {parent.y:.1f}H{middle - _GAP / 3:.1f}"
        curve += f"C{middle:.1f} {parent.y:.1f} {middle:.1f} {place.y:.1f} {place.x:.1f} {place.y:.1f}"
        edges.append(f'<path d="{curve}"/>')
    return edges


def _box(item: Item, place: _Place) -> str:
    kind = "sought" if item.is_sought else "more" if item.node is None else "leaf" if item.label is not None else "node"
    caption = item.caption()
    top = place.y - _BOX / 2
    return (
        f'<g class="{kind}"><title>{escape(caption)}</title>'
        f'<rect x="{place.x:.1f}" y="{top:.1f}" width="{place.width:.1f}" height="{_BOX}" rx="4"/>'
        f'<text x="{place.x + _PADDING:.1f}" y="{place.y + _FONT / 3:.1f}">{escape(_cut(caption))}</text></g>'
    )


def _cut(caption: str) -> str:
    return caption if len(caption) <= _WIDEST else caption[: _WIDEST - 1] + "…"


def _width(text: str) -> float:
    """Estimate the width of a text in pixels."""
    return _LETTER * wording.width(text)
