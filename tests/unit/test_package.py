# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The names of the package, which are imported when they are first used."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import oplt
from oplt.cli import main

ROOT = Path(__file__).parents[2]


def test_each_name_is_there() -> None:
    for name in oplt.__all__:
        assert getattr(oplt, name) is not None
        assert name in dir(oplt)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'oplt' has no attribute 'OfflinePLT'"):
        oplt.OfflinePLT  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("statement", ["import oplt; oplt.OnlinePLT()", "from oplt import *; OnlinePLT()"])
def test_a_fresh_interpreter_finds_the_model(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603


def test_there_is_one_version() -> None:
    version = metadata.version("oplt")
    assert oplt.__version__ == version
    assert f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
    assert CliRunner().invoke(main, ["--version"]).output == f"oplt {version}\n"


def test_show_versions_has_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    oplt.show_versions()
    assert any(line.split() == ["oplt", oplt.__version__] for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("name", ["licenses/nanobind/LICENSE", "licenses/robin_map/LICENSE"])
def test_licences_of_what_is_linked_in_are_installed(name: str) -> None:
    (text,) = [file.read_text() for file in metadata.files("oplt") or () if file.as_posix().endswith(name)]
    assert "Copyright (c)" in text


def test_a_bill_of_materials_is_installed() -> None:
    (text,) = [
        file.read_text() for file in metadata.files("oplt") or () if file.match("*.dist-info/sboms/oplt.cdx.json")
    ]
    found = json.loads(text)
    assert found["metadata"]["component"]["version"] == metadata.version("oplt")
    assert {part["name"] for part in found["components"]} == {"nanobind", "robin-map"}
