# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The reference lists everything, and generated pages and pictures are up to date."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import oplt

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def tool(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["settings.md", "command-line.md", "http.md"])
def test_a_generated_page_is_not_stale(name: str) -> None:
    page = tool("reference").PAGES[name]()
    assert (REFERENCE / name).read_text(encoding="utf-8") == page, "run: .venv/bin/python tools/reference.py"


def test_the_pictures_are_not_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    for path, picture in tool("figures").files().items():
        assert path.read_text(encoding="utf-8") == picture, "run: .venv/bin/python tools/figures.py"


def test_all_public_names_are_in_the_reference() -> None:
    pages = [REFERENCE / name for name in ("python.md", "modules.md", "adapters.md")]
    listed = {name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)}
    inside = {f"oplt.{name}" for home in listed if home in ("oplt.errors", "oplt.tree") for name in exported(home)}
    public = {f"oplt.{name}" for name in oplt.__all__ if not name.startswith("__")}
    assert public - listed - inside == set()


def exported(module: str) -> list[str]:
    names: list[str] = import_module(module).__all__
    return names
