# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""One cluster for all tests of this folder, which `tests/cluster/test_inside.py` runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.two_nodes import two_nodes


def pytest_configure(config: pytest.Config) -> None:
    """Ignore the warnings of Ray about its own calls; all others are errors, as in other tests."""
    for kind in ("DeprecationWarning", "FutureWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{kind}:ray")


# The other tests of this folder take minutes together.
FAST = {
    "test_tasks_run_on_both_nodes",
    "test_the_cluster_listens_on_the_loopback_address_only",
    "test_a_pool_of_actors_predicts_as_predict_many",
    "test_a_sharded_model_equals_one_process",
    "test_a_killed_shard_comes_back",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests but a few as slow."""
    for item in items:
        if item.name not in FAST:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Yield a Ray cluster of two nodes, to which this process is connected. Tests import Ray after it has started."""
    with two_nodes() as nodes:
        yield nodes
