# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The scripts in examples/ run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_shows_progress_predictions_and_the_tree() -> None:
    command = [sys.executable, str(DEMO), "--examples", "1000", "--labels", "100"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our own script)
    assert "1,000" in output
    assert "P@1" in output
    assert "true: topic-" in output
    assert "├─" in output
