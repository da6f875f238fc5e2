# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Check the built manual: all links and anchors lead somewhere, and no page loads anything from the network.

MkDocs checks the links of Markdown; this checks what browsers see, the generated reference included.

    python tools/manual/check_site.py build/manual
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset")}


@dataclass
class Found(HTMLParser):
    """What a page links to and loads, and its anchors."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED and value:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def problems(site: Path) -> Iterator[str]:
    """Find what is wrong."""
    pages = {path.resolve(): Found() for path in site.rglob("*.html")}
    for path, found in pages.items():
        found.feed(path.read_text(encoding="utf-8"))
    for path, found in pages.items():
        if path.name != "404.html":  # its links are absolute
            name = path.relative_to(site.resolve())
            yield from (f"{name} loads {url}" for url in found.loaded if urlsplit(url).scheme not in ("", "data"))
            links = [link for link in [*found.links, *found.loaded] if not urlsplit(link).scheme]
            yield from (f"{name}: {link} leads nowhere" for link in links if not leads(link, path, pages))
    for path in site.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import )['\"]?(https?:[^)'\"]+)", path.read_text("utf-8")):
            yield f"{path.relative_to(site)} loads {url}"


def leads(link: str, path: Path, pages: dict[Path, Found]) -> bool:
    """Whether a link of the page at `path` leads somewhere."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if target not in pages or not parts.fragment or parts.fragment.startswith("__"):  # __: made by scripts
        return target.exists()
    return unquote(parts.fragment) in pages[target].anchors


def main() -> None:
    """Print the problems; exit with 1 if there are any."""
    site = Path(sys.argv[1])
    found = list(problems(site))
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{sum(1 for _ in site.rglob('*.html'))} pages, {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
