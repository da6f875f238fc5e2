# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Files that former versions wrote can be read, and every machine learns the same bits.

A file `<format version>-<settings>.oplt` is never changed. To add one: `python -m tests.compat.test_old_models`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oplt import OnlinePLT
from oplt.datasets import make_stream
from oplt.persistence import VERSION

FOLDER = Path(__file__).parent
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"arity": 2, "max_leaves": 100, "gate": 0.0},
    "random": {"policy": "random"},
}


def learnt(settings: dict[str, Any]) -> OnlinePLT:
    model = OnlinePLT(**settings)
    for x, labels in make_stream(60, n_labels=30, words_per_label=3, seed=9):
        model.learn_one(x, labels)
    return model


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.oplt")), ids=lambda path: path.stem)
def test_an_old_file_is_read_and_goes_on(path: Path) -> None:
    model = OnlinePLT.load(path)
    expected = learnt(model.settings)
    assert model.fingerprint() == expected.fingerprint()
    for other in (model, expected):
        other.learn_one({"term-1-1": 1.0, "new": 2.0}, ["topic-0/label-0", "new"])
    assert model.fingerprint() == expected.fingerprint()


def test_there_is_a_file_of_this_version() -> None:
    assert {path.stem for path in FOLDER.glob(f"{VERSION}-*.oplt")} == {f"{VERSION}-{name}" for name in SETTINGS}


if __name__ == "__main__":
    for name, chosen in SETTINGS.items():
        learnt(chosen).save(FOLDER / f"{VERSION}-{name}.oplt")
