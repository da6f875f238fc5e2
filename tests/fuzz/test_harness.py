# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A bounded run of the harness: the same calls every time."""

from __future__ import annotations

import pytest

from tests.fuzz.harness import CASES, run

_SEEDS = {"api": 600, "model": 150, "file": 500, "shell": 100}


@pytest.mark.parametrize("name", CASES)
def test_changed_input_is_taken_or_refused(name: str) -> None:
    for seed in range(_SEEDS[name]):
        run(name, seed)
