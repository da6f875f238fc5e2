# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Drawings of label trees: as text, for Graphviz, as an SVG picture, or as an interactive page."""

from oplt.drawing._dot import as_dot
from oplt.drawing._html import as_html
from oplt.drawing._svg import as_svg
from oplt.drawing._text import as_text

__all__ = ["as_dot", "as_html", "as_svg", "as_text"]
