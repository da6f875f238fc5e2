# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Settings that all tests share."""

import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

# Derandomised: the same examples on every machine and in every run, so that a failure is never a matter of luck.
# No deadline: the machine may be busy. Streams are large for Hypothesis, and drawing them slowly is no fault.
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
    """Press Ctrl-C a moment after the call. In the background of a shell, a process ignores it unless told not to."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    yield timer.start
    timer.join()
    signal.signal(signal.SIGINT, before)
