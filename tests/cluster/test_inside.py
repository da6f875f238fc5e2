# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Run the tests of the folder `inside` in one process, with one cluster, cut off from the network.

The process has a network and process ids of its own (Linux namespaces), so that the cluster reaches nothing outside,
and nothing of it outlives the tests. Where namespaces are not permitted, as in many containers, it runs without.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = Path(__file__).parent / "inside"
ROOT = INSIDE.parents[2]
PATIENCE = 600  # seconds
ALONE = [
    *"unshare --map-root-user --net --pid --fork --kill-child --mount-proc".split(),
    *("sh", "-c", 'ip link set lo up && "$@"', "sh"),
]


def prefix() -> list[str]:
    """Return what to write in front of a command to run it in namespaces of its own; nothing if that cannot be done."""
    try:
        done = subprocess.run([*ALONE, "true"], capture_output=True, check=False)  # noqa: S603
    except FileNotFoundError:
        return []
    return ALONE if done.returncode == 0 else []


def test_the_tests_inside_pass(request: pytest.FixtureRequest) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'oplt[ray]'")
    alone = prefix()
    command = [
        *alone,
        sys.executable,
        "-m",
        "pytest",
        str(INSIDE),
        "--color=no",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        *("-m", request.config.getoption("markexpr")),  # with or without the slow ones
    ]
    done = subprocess.run(  # noqa: S603 (our own tests)
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode != 0:
        where = "in namespaces of its own" if alone else "without namespaces, which are not permitted here"
        pytest.fail(f"pytest {INSIDE.relative_to(ROOT)} failed, {where}:\n{done.stdout}", pytrace=False)
