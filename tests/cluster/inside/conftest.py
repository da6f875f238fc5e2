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


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Yield a Ray cluster of two nodes, to which this process is connected. Tests import Ray after it has started."""
    with two_nodes() as nodes:
        yield nodes
