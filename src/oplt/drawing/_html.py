# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A tree as an interactive page. `page.html`, beside this file, is the page without its data."""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from typing import Any

from oplt._typing import Label
from oplt.checks import count
from oplt.drawing._outline import as_tree, leaf_of
from oplt.tree import LabelTree
from oplt.wording import number_of, on_one_line

__all__ = ["as_html"]


def as_html(
    tree: LabelTree,
    *,
    depth: int = 1,
    children: int = 200,
    label: Label | None = None,
    title: str = "Label tree",
) -> str:
    """Make an interactive page of a tree: one file that needs no network, for trees of any size.

    Nodes are expanded by mouse or keyboard, and their children are drawn only then. The page can search for labels.

    Parameters
    ----------
    tree
        The `tree` of a model, or any other.
    depth
        Number of levels below the root that are expanded at first.
    children
        Number of children of a node to draw at first; further ones are drawn on request.
    label
        Label to show at first.
    title
        Heading of the page.

    Examples
    --------
    >>> page = as_html(LabelTree.from_nested([["cat", "dog"], "stone"]), title="Cats & stones")
    >>> "<title>Cats &amp; stones</title>" in page
    True
    """
    data = {
        "parents": as_tree(tree).parents.tolist(),
        "names": [None if name is None else on_one_line(name) for name in tree.labels],
        "depth": count("depth", depth, least=0),
        "portion": count("children", children),
        "sought": None if label is None else leaf_of(tree, label),
    }
    sizes = ", ".join([number_of(tree.n_labels, "label"), number_of(tree.n_nodes, "node"), f"depth {tree.depth}"])
    parts = {"title": escape(title), "sizes": sizes, "data": _as_script(data)}
    page = files("oplt.drawing").joinpath("page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: parts[match[1]], page)  # one pass: no substitution in inserted text


def _as_script(data: Any) -> str:
    """Write JSON that cannot end its `script` element: no `</script>`, no `<!--`."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
