# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`--max-memory`, and how commands show that a model is closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oplt import OnlinePLT
from tests.cli.running import refused, run
from tests.unit.test_max_memory import of_texts, taken


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "examples.jsonl"
    texts, labels = taken(of_texts(), 1500)
    lines = [json.dumps({"text": text, "labels": own}) for text, own in zip(texts, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_closed_model_says_so(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.oplt"
    trained = run("train", data, "--model", path, "--max-memory", "10MB")
    closed_at = OnlinePLT.load(path).closed_at
    assert closed_at is not None
    assert f"The model was closed after {closed_at:,} examples, when it reached --max-memory" in trained.stderr
    assert f"1,500, closed after {closed_at:,} (max_memory)" in run("inspect", path).stdout
    assert json.loads(run("inspect", path, "--json").stdout)["closed_at"] == closed_at
    learned = json.loads(run("learn", path, data, "--json", "--quiet").stdout)
    assert (learned["examples"], learned["closed_at"]) == (3000, closed_at)


def test_an_open_model_says_nothing(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.oplt"
    assert "closed" not in run("train", data, "--model", path, "--max-memory", "4GB").stderr
    assert "closed" not in run("inspect", path).stdout


def test_a_size_that_is_none(data: Path, tmp_path: Path) -> None:
    message = refused("train", data, "--model", tmp_path / "model.oplt", "--max-memory", "lots", code=2)
    assert "--max-memory must be a number of bytes, or a size such as 4GB or 512MB" in message
