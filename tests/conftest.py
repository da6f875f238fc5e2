# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Settings of all tests."""

import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

# Derandomised: the same examples on every machine and in every run, so that failures are reproducible.
# No deadline, because the machine may be busy; no checks of speed and size, because streams are large.
settings.register_profile(
    "oplt",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("oplt")


@pytest.fixture
def soon_ctrl_c() -> Iterator[Callable[[], None]]:
    """Send Ctrl-C a moment after the call. Background processes of a shell ignore it unless told not to."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    yield timer.start
    timer.join()
    signal.signal(signal.SIGINT, before)
