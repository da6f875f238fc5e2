# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The position in a stream belongs to a model: it is saved, copied and kept, but it is not part of the fingerprint."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from oplt import PLT, ModelFormatError, OnlinePLT, persistence
from oplt.stream_state import StreamState, Waiting
from oplt.thresholds import Thresholds
from tests.streams.examples import ListSource, bodies, body, empty, learned
from tests.streams.test_learner import run


@pytest.fixture
def model(tmp_path: Path) -> OnlinePLT:
    return run(empty(tmp_path), ListSource([*bodies(0, 20), body(id="a", features={"ä": 1.0})]))


def test_it_is_in_the_file(model: OnlinePLT) -> None:
    assert model.stream is not None
    assert model.stream.position == "21"
    assert model.stream.waiting[0].message == body(id="a", features={"ä": 1.0}).decode()
    assert model.stream.waiting[0].predicted == ["topic-0/label-0"]


def test_it_stays_with_every_copy(model: OnlinePLT, tmp_path: Path) -> None:
    model.save(tmp_path / "copy.oplt")
    copies: list[Any] = [
        PLT.load(tmp_path / "copy.oplt"),
        OnlinePLT.load(tmp_path / "copy.oplt"),
        model.snapshot(),
        model.snapshot().with_thresholds(Thresholds(0.5)),
        pickle.loads(pickle.dumps(model)),
        pickle.loads(pickle.dumps(model.snapshot())),
    ]
    assert all(copy.stream == model.stream for copy in copies)


def test_it_is_not_part_of_the_fingerprint(model: OnlinePLT) -> None:
    assert model.fingerprint() == learned(20).fingerprint()
    assert model.snapshot().fingerprint() == learned(20).fingerprint()


def test_it_stays_when_the_model_learns_otherwise(model: OnlinePLT, tmp_path: Path) -> None:
    before = model.stream
    model.learn_one({"a": 1}, ["x"])
    model.forget(3)
    model.save(tmp_path / "m.oplt")
    assert OnlinePLT.load(tmp_path / "m.oplt").stream == before
    again = run(tmp_path / "m.oplt", ListSource(bodies(0, 22)))  # only the last one is new
    assert again.n_examples == 21


def test_a_model_for_prediction_has_none(model: OnlinePLT, tmp_path: Path) -> None:
    small = model.snapshot().for_prediction()
    assert small.stream is None
    small.save(tmp_path / "small.oplt")
    assert b'"stream"' not in (tmp_path / "small.oplt").read_bytes()


def test_a_model_without_a_stream_has_none() -> None:
    assert learned(5).stream is None
    assert b'"stream"' not in persistence.to_bytes(learned(5)._saved())


def test_it_can_be_restored_from_plain_values() -> None:
    state = StreamState("s", "7", "p", 9, 8, 1, 2, 3, (1, 2, 3), (Waiting('{"id": 1}', ["a", 4]),))
    plain = json.loads(json.dumps(state.to_dict()))
    assert StreamState.from_dict(plain) == state
    assert StreamState.from_dict({**plain, "of_a_later_version": 1}) == state


@pytest.mark.parametrize(
    "change",
    [{"position": 7}, {"source": None}, {"n_messages": "9"}, {"n_learned": True}, {"hits": [1]}, {"waiting": [3]}],
)
def test_damaged_values_are_refused(change: dict[str, Any], model: OnlinePLT) -> None:
    saved = model._saved()
    assert saved.stream is not None
    header = json.loads(persistence._encoded(saved))
    header["stream"].update(change)
    with pytest.raises(ModelFormatError):
        persistence._decoded(json.dumps(header).encode())
