# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Files of earlier versions can be read, and every machine learns the same bits.

A file `<format version>-<settings>.oplt` is never changed. To add one: `python -m tests.compat.test_old_models`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oplt import PLT, LabelTree, OnlinePLT
from oplt._core import FORMAT_VERSION as VERSION
from oplt.datasets import make_stream

FOLDER = Path(__file__).parent
FILES = {*FOLDER.glob("*.oplt")}
OF_BATCH = {*FOLDER.glob("*-batch-*.oplt")}
TO_PREDICT = {*FOLDER.glob("*-to-predict*.oplt")}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "arity": 2,
        "max_leaves": 100,
        "spread_new_labels": False,
        "learner": "adagrad",
        "gate": 0.0,
        "label_memory": 0,
    },
    "random": {"policy": "random", "label_memory": 0},
    "forest": {"trees": 2, "history": 0, "label_memory": 0},
    "text": {"features": {"ngrams": (1, 2), "chars": (3, 3), "max_features": 60}},
    "text-hashed": {"features": {"hash_bits": 6}, "label_memory": 0},
    "operations": {"seed": 3},
}


BATCH_SETTINGS: dict[str, dict[str, Any]] = {
    "batch-squared-hinge": {},
    "batch-logistic": {"loss": "logistic", "prune": 0.2},
}


# Options for saving the model with default settings for prediction only.
TO_PREDICT_SETTINGS: dict[str, dict[str, Any]] = {
    "to-predict": {},
    "to-predict-half": {"prune": 0.05, "half": True},
}


def stream() -> list[tuple[dict[Any, float], list[Any]]]:
    return list(make_stream(60, n_labels=30, words_per_label=3, seed=9))


def update(model: OnlinePLT, x: dict[Any, float], labels: list[Any]) -> None:
    """Learn features, or a text that consists of their names."""
    model.learn_one(x if model.features is None else " ".join(map(str, x)), labels)


def learnt(settings: dict[str, Any]) -> OnlinePLT:
    model = OnlinePLT(**settings)
    for x, labels in stream():
        update(model, x, labels)
    if settings.get("seed") == SETTINGS["operations"]["seed"]:
        change_labels(model)
    return model


def change_labels(model: OnlinePLT) -> None:
    """Perform an operation of each kind."""
    first, second, third, fourth, fifth = model.labels[:5]
    model.labels.add("described", features={"term-1-1": 1.0, 7: 0.5})
    model.labels.rename(first, "renamed")
    model.labels.hide([second, third])
    model.labels.unhide(third)
    model.labels.remove(fourth)
    model.labels.merge([fifth, "alias"], into=third)


def batch_trained(tree: LabelTree, settings: dict[str, Any]) -> PLT:
    rows, labels = zip(*stream(), strict=True)
    return PLT.fit(rows, labels, **{**settings, "trees": tree})


@pytest.mark.parametrize("path", sorted(OF_BATCH), ids=lambda path: path.stem)
def test_an_old_file_of_a_batch_trained_model_is_read_and_can_be_made_again(path: Path) -> None:
    model = PLT.load(path)
    assert model.fingerprint() == batch_trained(model.tree, model.settings).fingerprint()


@pytest.mark.parametrize("path", sorted(TO_PREDICT), ids=lambda path: path.stem)
def test_an_old_file_for_prediction_only_is_read_and_can_be_made_again(path: Path) -> None:
    model = PLT.load(path)
    how = TO_PREDICT_SETTINGS[path.stem.partition("-")[2]]
    assert model.fingerprint() == learnt(model.settings).snapshot().for_prediction(**how).fingerprint()


@pytest.mark.parametrize("path", sorted(FILES - OF_BATCH - TO_PREDICT), ids=lambda path: path.stem)
def test_an_old_file_is_read_and_goes_on(path: Path) -> None:
    model = OnlinePLT.load(path)
    expected = learnt(model.settings)
    assert model.fingerprint() == expected.fingerprint()
    for other in (model, expected):
        update(other, {"term-1-1": 1.0, "new": 2.0}, ["topic-0/label-0", "new"])
    assert model.fingerprint() == expected.fingerprint()


def test_there_is_a_file_of_this_version() -> None:
    names = {path.stem for path in FOLDER.glob(f"{VERSION}-*.oplt")}
    assert names == {f"{VERSION}-{name}" for name in SETTINGS | BATCH_SETTINGS | TO_PREDICT_SETTINGS}


if __name__ == "__main__":
    made: dict[str, OnlinePLT | PLT] = {name: learnt(chosen) for name, chosen in SETTINGS.items()}
    made |= {name: batch_trained(made["default"].tree, chosen) for name, chosen in BATCH_SETTINGS.items()}
    made |= {name: learnt({}).snapshot().for_prediction(**how) for name, how in TO_PREDICT_SETTINGS.items()}
    for name, model in made.items():
        if not (FOLDER / f"{VERSION}-{name}.oplt").exists():
            model.save(FOLDER / f"{VERSION}-{name}.oplt")
