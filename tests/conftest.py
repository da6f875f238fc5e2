# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Settings of all tests."""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Derandomised: the same examples on every machine and in every run, so that failures are reproducible.
# No deadline, because the machine may be busy; no checks of speed and size, because streams are large.
# `make test-slow` chooses the slow profile, by --hypothesis-profile.
for profile, n_examples in {"oplt": 12, "slow": 40}.items():
    settings.register_profile(
        profile,
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=n_examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile("oplt")

# Background jobs of a shell ignore Ctrl-C, and so would the processes that tests start in order to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Folders of tests that only run if they are asked for: in a browser (`make test-browser`), and with a cluster, in a
# process that tests/cluster/test_inside.py starts.
ASKED_FOR = {"browser", "inside"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders that were not asked for."""
    name = collection_path.name
    is_asked_for = any(name in Path(argument.partition("::")[0]).parts for argument in config.args)
    return True if name in ASKED_FOR and not is_asked_for else None


@pytest.fixture
def soon_ctrl_c() -> Iterator[Callable[[], None]]:
    """Send Ctrl-C a moment after the call."""
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    yield timer.start
    timer.join()
