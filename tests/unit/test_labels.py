# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, OnlinePLT
from oplt.labels import _CHUNK


def learnt(n: int = 4, **settings: int) -> OnlinePLT:
    """Learn labels 0, 1, 2, …, label i as often as i + 1."""
    model = OnlinePLT(**settings)
    model.learn_many([{"a": 1.0}] * n, list(range(n)))
    model.learn_many([{"a": 1.0}] * n, [list(range(i, n)) for i in range(1, n + 1)])
    return model


def test_labels_are_like_a_list() -> None:
    labels = learnt().labels
    assert len(labels) == 4
    assert list(labels) == [0, 1, 2, 3]
    assert [labels[i] for i in range(-4, 4)] == [0, 1, 2, 3] * 2
    for part in (slice(None), slice(1, 3), slice(None, None, -1), slice(-1, 9), slice(3, 1)):
        assert labels[part] == [0, 1, 2, 3][part]
    for outside in (4, -5):
        with pytest.raises(IndexError, match=f"label {outside} of 4"):
            labels[outside]
    assert [labels.index(label) for label in labels] == [0, 1, 2, 3]
    assert repr(labels) == "<Labels: 0, 1, 2, 3>"


def test_integers_and_strings_are_different_labels() -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, [3, "4"])
    assert [label in model.labels for label in (3, "3", 4, "4", np.int64(3))] == [True, False, False, True, True]
    for other in ("", None, 3.0, [3], "\ud800", 2**70, True):
        assert other not in model.labels
    with pytest.raises(ValueError, match="the model knows no label '3'"):
        model.labels.index("3")


def test_counts_are_of_the_examples_learnt() -> None:
    assert learnt().labels.counts() == {0: 1, 1: 2, 2: 3, 3: 4}
    assert learnt(label_memory=0).labels.counts() == {0: 1, 1: 2, 2: 3, 3: 4}
    assert PLT.fit([{"a": 1}, {"b": 1}, {"b": 2}], ["x", "y", "y"]).labels.counts() == {"x": 1, "y": 2}


def test_the_labels_of_an_online_model_are_the_present_ones_and_those_of_a_snapshot_do_not_change() -> None:
    model = learnt()
    labels, before = model.labels, model.snapshot().labels
    model.learn_one({"a": 1.0}, "new")
    assert len(before) == 4
    assert "new" not in before
    assert "new" in labels
    assert list(labels) == [0, 1, 2, 3, "new"]


def test_sets_of_labels_are_read_from_files(tmp_path: Path) -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, [3, "4", "x y"])
    path = tmp_path / "labels.txt"
    path.write_text("3\n4\n\n  x y \nunknown\n")
    assert model.labels.read(path) == [3, "4", "x y", "unknown"]
    assert dict(model.predict_one({"a": 1.0}, allow=model.labels.read(path))).keys() == {3, "4", "x y"}
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="labels.txt: the file is not a text in UTF-8"):
        model.labels.read(path)


def test_many_labels_and_none() -> None:
    n = 2 * _CHUNK + 1
    model = OnlinePLT(policy="random", label_memory=0)
    model.learn_one({"a": 1.0}, range(n))
    assert list(model.labels) == list(range(n))
    assert repr(model.labels) == f"<Labels: 0, 1, 2, 3, 4 and {n - 5} more>"
    assert list(OnlinePLT().labels) == []
    assert repr(OnlinePLT().labels) == "<Labels: >"
    assert list(PLT.fit([{"a": 1}, {"b": 1}], ["x", "y"]).labels) == ["x", "y"]
