# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The names of the package, which are imported when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import oplt


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
