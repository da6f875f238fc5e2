# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Consumers and brokers are killed, a few times; benchmarks/streams/kills.py does it more often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.brokers import BROKERS
from tests.streams.killing import Trial


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "redis" else pytest.mark.slow) for kind in BROKERS]
)
def test_each_acknowledged_message_is_learned_once(kind: str, tmp_path: Path) -> None:
    why = BROKERS[kind].why_missing()
    if why:
        pytest.skip(why)
    found = Trial(BROKERS[kind](tmp_path), tmp_path, seed=5, mixed=True).run(3, longest=0.3)
    assert found.kills_of_consumer >= 2
    assert found.kills_of_broker == 1
    assert found.unequal == 0
    assert found.is_equal
    assert found.n_examples > 0
    assert found.distinct_dead_letters == found.n_refused
    assert found.distinct_predictions == found.n_inputs
    assert kind == "kafka" or found.repeated_outputs == 0
