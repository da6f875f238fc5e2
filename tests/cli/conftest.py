# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Fixtures of the tests of commands."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import learnt, write_features, write_texts


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    """Make programs started here react to Ctrl-C, which background processes of a shell ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.jsonl")


@pytest.fixture
def features(tmp_path: Path) -> Path:
    return write_features(tmp_path / "features.xmlc")


@pytest.fixture
def model(tmp_path: Path, texts: Path) -> Path:
    """Save a model of the texts."""
    path = tmp_path / "texts.oplt"
    learnt([texts], features="text").save(path)
    return path
