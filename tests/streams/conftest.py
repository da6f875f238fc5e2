# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Brokers, each started once, and examples for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.streams.brokers import BROKERS, Broker, JournalFiles

KINDS: dict[str, type[Broker]] = {**BROKERS, "journal": JournalFiles}


@pytest.fixture(scope="session")
def running() -> Iterator[dict[str, Broker]]:
    """Brokers that run already, by kind."""
    found: dict[str, Broker] = {}
    yield found
    for broker in found.values():
        broker.kill()


@pytest.fixture(params=KINDS)
def broker(
    request: pytest.FixtureRequest, running: dict[str, Broker], tmp_path_factory: pytest.TempPathFactory
) -> Broker:
    """Start a broker of each kind, unless it runs."""
    kind = str(request.param)
    why = KINDS[kind].why_missing()
    if why:
        pytest.skip(why)
    if kind not in running:
        running[kind] = KINDS[kind](tmp_path_factory.mktemp(kind))
        running[kind].start()
    return running[kind]
