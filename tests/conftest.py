# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Settings that all tests share."""

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
