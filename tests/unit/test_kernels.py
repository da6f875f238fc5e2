# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""All kernels give the same models and predictions, users see which are used, and a wrong name is an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from oplt import InvalidParameterError, _core, show_versions, versions
from tests.unit import kernel_stream

ROOT = Path(__file__).parents[2]
NAMES = _core.available_kernels()
HINT = f"Set it to {' or '.join(NAMES)}, or unset it to get the fastest."


def run(kernels: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with other kernels, which a process chooses once."""
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "OPLT_KERNELS": kernels},
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def learnt_with(kernels: str) -> dict[str, Any]:
    done = run(kernels, "-m", "tests.unit.kernel_stream")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kernels", NAMES)
def test_all_kernels_give_the_same_models_and_predictions(kernels: str) -> None:
    found = learnt_with(kernels)
    assert found["kernels"] == kernels
    assert found["digests"].keys() == kernel_stream.MODELS.keys()
    assert found["digests"] == learnt_with("portable")["digests"]


def test_the_fastest_kernels_are_used_if_none_are_named() -> None:
    done = run("", "-c", "from oplt import _core; print(_core.kernels_in_use())")
    assert done.stdout.strip() == NAMES[0]
    assert NAMES[-1] == "portable"


TRIES = """
import sys, oplt
X, Y = [{"a": 1.0}, {"b": 1.0}], ["x", "y"]
for call in (oplt.OnlinePLT, lambda: oplt.PLT.fit(X, Y), lambda: oplt.PLT.load(sys.argv[1])):
    try:
        call()
    except oplt.InvalidParameterError as error:
        print(error.code, error)
"""


@pytest.mark.parametrize("name", ["nonsense", "neon" if "neon" not in NAMES else "avx2"])
def test_kernels_that_cannot_run_are_refused_before_anything_is_learned(name: str) -> None:
    done = run(name, "-c", TRIES, "tests/compat/2-default.oplt")
    says = f"environment variable OPLT_KERNELS: this machine cannot run kernels of this name, got '{name}'. {HINT}"
    assert (done.stdout.splitlines(), done.stderr) == ([f"unknown-kernels {says}"] * 3, "")


def test_the_command_says_so_in_one_line() -> None:
    done = run("nonsense", "-m", "oplt", "inspect", "tests/compat/2-default.oplt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: environment variable OPLT_KERNELS: ")
    assert done.stderr.count("\n") == 1


def test_versions_and_kernels_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert f"  kernels     {_core.kernels_in_use()} (this machine can run {' and '.join(NAMES)})" in lines
    assert f"  processors  {os.cpu_count()}" in lines
    packages = [line.split()[0] for line in lines[lines.index("Packages") + 1 :]]
    assert packages[0] == "oplt"
    assert {"numpy", "scipy", "click"} < set(packages)
    assert len(packages) == len(set(packages))


def test_versions_are_shown_even_if_the_kernels_are_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> str:
        raise InvalidParameterError("unknown-kernels", "there are none", hint="Unset it.")

    monkeypatch.setattr(versions, "kernels", refused)
    show_versions()
    assert "  kernels     there are none. Unset it.\n" in capsys.readouterr().out
