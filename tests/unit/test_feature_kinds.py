# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model knows whether its features are names or numbers, and how many columns its arrays have."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from oplt import PLT, InvalidInputError, OnlinePLT

X = np.random.default_rng(1).normal(size=(40, 20))
Y = ["cat", "dog"] * 20
NAMES = [f"column-{i}" for i in range(20)]
FRAME = pd.DataFrame(X, columns=NAMES)


def learnt(given: Any) -> OnlinePLT:
    model = OnlinePLT()
    model.learn_many(given, Y)
    return model


def code_of(call: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


@pytest.mark.parametrize("other", [X, sp.csr_array(X), pd.DataFrame(X)])
def test_names_are_not_predicted_by_numbers(other: Any) -> None:
    model = learnt(FRAME)
    for predictor in (model, model.snapshot(), PLT.fit(FRAME, Y), pickle.loads(pickle.dumps(model))):
        assert code_of(lambda: predictor.predict_many(other)) == "features-of-another-kind"  # noqa: B023
    before = model.fingerprint()
    assert code_of(lambda: model.learn_many(other, Y)) == "features-of-another-kind"
    assert model.fingerprint() == before


@pytest.mark.parametrize("given", [X, sp.csr_array(X), pd.DataFrame(X)])
def test_numbers_are_not_predicted_by_names(given: Any) -> None:
    model = learnt(given)
    assert code_of(lambda: model.predict_many(FRAME)) == "features-of-another-kind"
    assert code_of(lambda: model.learn_many(FRAME, Y)) == "features-of-another-kind"


def test_the_model_still_takes_all_forms_of_its_own_features() -> None:
    model = learnt(X)
    for same in (sp.csr_array(X), pd.DataFrame(X), [dict(enumerate(row)) for row in X], X.tolist(), list(X)):
        assert [row[0][0] for row in model.predict_many(same, k=1)] == [row[0][0] for row in model.predict_many(X, k=1)]


def test_a_saved_model_knows_it(tmp_path: Path) -> None:
    learnt(FRAME).save(tmp_path / "m.oplt")
    for loaded in (OnlinePLT.load(tmp_path / "m.oplt"), PLT.load(tmp_path / "m.oplt")):
        assert code_of(lambda: loaded.predict_many(X)) == "features-of-another-kind"  # noqa: B023


def test_mappings_of_both_kinds_are_one_model() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1.0}, {1: 1.0}], ["x", "y"])
    model.learn_many([{2: 1.0}], ["x"])
    model.learn_many(X, Y)
    assert len(model.predict_many([{"a": 1.0}, {"new": 1.0}, {7: 1.0}])) == 3


def test_texts_of_the_numbers_that_were_learnt_are_refused() -> None:
    model = learnt(X)
    as_texts = [{str(column): value for column, value in enumerate(row)} for row in X]
    assert code_of(lambda: model.predict_many(as_texts)) == "features-of-another-kind"
    model = learnt(as_texts)
    assert code_of(lambda: model.predict_many(X)) == "features-of-another-kind"
    assert code_of(lambda: model.predict_many([{1: 1.0, 2: 1.0}])) == "features-of-another-kind"


@pytest.mark.parametrize("n_columns", [10, 19, 21, 40])
def test_arrays_of_other_columns_are_refused(n_columns: int) -> None:
    model = learnt(X)
    other = np.ones((40, n_columns))
    assert code_of(lambda: model.predict_many(other)) == "columns-differ"
    assert code_of(lambda: model.learn_many(other, Y)) == "columns-differ"
    assert code_of(lambda: model.predict_one(other[0])) == "columns-differ"
    assert model.n_examples == 40


@pytest.mark.parametrize("n_columns", [10, 19, 40])
def test_a_saved_model_knows_how_many_columns_it_has(n_columns: int, tmp_path: Path) -> None:
    learnt(X).save(tmp_path / "m.oplt")
    other = np.ones((40, n_columns))
    for loaded in (OnlinePLT.load(tmp_path / "m.oplt"), PLT.load(tmp_path / "m.oplt")):
        assert code_of(lambda: loaded.predict_many(other)) == "columns-differ"  # noqa: B023


def test_columns_that_were_always_0_are_not_missed(tmp_path: Path) -> None:
    padded = np.hstack([X, np.zeros((40, 4))])
    model = learnt(padded)
    model.save(tmp_path / "m.oplt")
    for predictor in (model, OnlinePLT.load(tmp_path / "m.oplt")):
        assert len(predictor.predict_many(padded)) == 40


def test_sparse_matrices_may_grow_and_shrink() -> None:
    model = learnt(sp.csr_array(X))
    wider = sp.csr_array(np.hstack([X, X]))
    model.learn_many(wider, Y)
    assert model.n_features == 40
    assert len(model.predict_many(sp.csr_array(X[:, :5]))) == 40


def test_one_example_may_be_an_array() -> None:
    one, many = OnlinePLT(), OnlinePLT()
    many.learn_many(X, Y)
    for x, label in zip(X, Y, strict=True):
        one.learn_one(x, label)
    assert one.fingerprint() == many.fingerprint()
    for same in (X[0], X[0].tolist(), tuple(X[0].tolist())):
        assert one.predict_one(same) == many.predict_one(dict(enumerate(X[0])))
    assert len(one.predict_one(X[0].astype(np.float16))) == 2


def test_lists_of_numbers_are_rows_of_a_matrix() -> None:
    assert learnt(X.tolist()).fingerprint() == learnt(X).fingerprint()
    assert learnt(pd.Series(list(X))).fingerprint() == learnt(X).fingerprint()
    with pytest.raises(InvalidInputError, match="row 1 of X: the row has 1 values, but row 0 has 2"):
        OnlinePLT().learn_many([[1.0, 2.0], [1.0]], ["a", "b"])
    with pytest.raises(InvalidInputError, match="row 1 of X"):
        OnlinePLT().learn_many([[1.0, 2.0], {"a": 1}], ["a", "b"])
    with pytest.raises(InvalidInputError, match="finite"):
        OnlinePLT().learn_one([1.0, float("nan")], "a")


def test_a_snapshot_knows_the_columns_too() -> None:
    model = OnlinePLT()
    model.learn_many(np.ones((4, 3)), list("abab"))
    with pytest.raises(InvalidInputError, match="X has 4 columns"):
        model.snapshot().predict_many(np.ones((1, 4)))
