# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What MkDocs does to the pages of the manual; `mkdocs.yml` names this file.

The pages are written so that they can also be read in the repository. So links lead to files of the repository, also
outside of docs/, and pictures for light and dark schemes are `<picture>` elements. Here both are adapted to the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
ASSETS = Path(__file__).parent / "assets"

# Files outside of docs/ that are part of the manual, at the same place below its root.
OUTSIDE = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/paper/RESULTS.md",
    "benchmarks/*/*.svg",
    "benchmarks/*/*.png",
    "examples/*.py",
]

_LINK = re.compile(r"(\]\()([^)\s]+)(\))|((?:src|srcset)=\")([^\"]+)(\")")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)"[^>]*>\s*<img alt="([^"]*)" src="([^"]+)"[^>]*>\s*</picture>'
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not in docs/."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            uri = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    for path in sorted(ASSETS.iterdir()):
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Adapt links, pictures and sessions of Python; leave all other code as it is."""
    if page.file.src_uri in ("index.md", "tutorial.md"):  # alone in their sections
        page.meta["hide"] = ["navigation"]
    parts = _FENCE.split(markdown)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = re.sub(r"^```python(?=\n>>> )", "```pycon", part)
        else:
            parts[i] = _PICTURE.sub(_both, _LINK.sub(lambda found: _moved(found, page.file.src_uri), part))
    return "".join(parts)


def _moved(found: re.Match[str], uri: str) -> str:
    """Rewrite a link between files of the repository to one between files of the manual."""
    before, link, after = (found[i] or found[i + 3] for i in (1, 2, 3))
    if re.match(r"[a-z]+:|#|/", link):
        return found[0]
    target, sign, anchor = link.partition("#")
    here = posixpath.dirname(_in_repository(uri))
    place = _in_manual(posixpath.normpath(posixpath.join(here, target)))
    mark = "{ .plot }" if before == "](" and re.fullmatch(r"benchmarks/.*\.(svg|png)", place) else ""  # on white
    return f"{before}{posixpath.relpath(place, posixpath.dirname(uri) or '.')}{sign}{anchor}{after}{mark}"


def _in_repository(uri: str) -> str:
    return f"docs/{uri}" if (ROOT / "docs" / uri).exists() else uri


def _in_manual(path: str) -> str:
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def _both(found: re.Match[str]) -> str:
    """Show one of two pictures, as the reader has chosen on the page: `<picture>` knows the system's choice alone."""
    dark, alt, light = found.groups()
    return f"![{alt}]({light}#only-light){{ loading=lazy }}\n![{alt}]({dark}#only-dark){{ loading=lazy }}"
