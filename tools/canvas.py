# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A few shapes as SVG, in colors for light and for dark pages. Backgrounds are transparent."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

__all__ = ["THEMES", "Canvas", "Theme"]


@dataclass(frozen=True)
class Theme:
    """Colors: of text and lines, of what is in the background, and three that color-blind readers can distinguish."""

    text: str
    faint: str
    fill: str
    blue: str
    orange: str
    gray: str


THEMES = {
    "light": Theme("#1f2328", "#c8d1da", "#f6f8fa", "#0550ae", "#bc4c00", "#6e7781"),
    "dark": Theme("#e6edf3", "#4a525c", "#2a2f37", "#79c0ff", "#f0883e", "#9198a1"),
}


@dataclass
class Canvas:
    """A picture; lengths are in pixels."""

    width: int
    height: int
    title: str
    theme: Theme
    shapes: list[str] = field(default_factory=list)

    def line(self, *points: tuple[float, float], color: str = "", width: float = 1.5, dash: str = "") -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        stroke = color or self.theme.gray
        self.shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width:g}"{dashes}/>'
        )

    def arrow(self, begin: tuple[float, float], end: tuple[float, float], color: str = "") -> None:
        """Draw a horizontal or vertical arrow."""
        (x, y), color = end, color or self.theme.gray
        self.line(begin, end, color=color)
        if begin[1] == y:
            d = 6 if x > begin[0] else -6
            self.line((x - d, y - 5), end, (x - d, y + 5), color=color)
        else:
            d = 6 if y > begin[1] else -6
            self.line((x - 5, y - d), end, (x + 5, y - d), color=color)

    def box(
        self,
        place: tuple[float, float, float, float],
        *,
        fill: str = "none",
        stroke: str = "",
        round_by: float = 4,
        dash: str = "",
    ) -> None:
        """Draw a box: left, top, width, height."""
        x, y, width, height = place
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}" fill="{fill}"'
            f' stroke="{stroke or self.theme.gray}" stroke-width="1.5"{dashes}/>'
        )

    def dot(self, x: float, y: float, r: float, *, fill: str, stroke: str = "", dash: str = "") -> None:
        """Draw a circle."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" fill="{fill}" stroke="{stroke or fill}" stroke-width="2"'
            f"{dashes}/>"
        )

    def mark(self, kind: str, x: float, y: float, color: str) -> None:
        """Draw the mark of a data point: circle, ring, square or diamond."""
        if kind in ("circle", "ring"):
            self.dot(x, y, 5, fill=color if kind == "circle" else "none", stroke=color)
        elif kind == "square":
            self.box((x - 4.5, y - 4.5, 9, 9), fill=color, stroke=color, round_by=0)
        else:
            self.shapes.append(f'<path d="M{x:g} {y - 6.5:g}l6.5 6.5l-6.5 6.5l-6.5-6.5z" fill="{color}"/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: str = "middle",
        color: str = "",
        size: int = 13,
        bold: bool = False,
    ) -> None:
        """Write a line of text; y is its base line."""
        weight = ' font-weight="600"' if bold else ""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{color or self.theme.text}" font-size="{size}"'
            f"{weight}>{escape(words, quote=False)}</text>"
        )

    def svg(self) -> str:
        """Return the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
            f' height="{self.height}" role="img" font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif">'
        )
        return "\n".join([head, f"<title>{escape(self.title)}</title>", *self.shapes, "</svg>", ""])
