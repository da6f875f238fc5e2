# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Equivalent calls give the same model, bit for bit: equal fingerprints."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oplt import OnlinePLT
from tests.property.strategies import (
    COLUMN_LABELS,
    SMALL_NUMBERS,
    Example,
    Settings,
    Stream,
    all_settings,
    crowded_stream,
    learn,
    long_stream,
    numbered_streams,
    rows,
    streams,
    trained,
)


def learn_at_once(model: OnlinePLT, stream: Stream) -> OnlinePLT:
    x, labels, weights = zip(*stream, strict=True)
    model.learn_many(x, labels, weights=weights)
    return model


def fingerprint_of(settings: Settings, stream: Stream) -> str:
    return trained(settings, stream).fingerprint()


def dense_features(stream: Stream) -> npt.NDArray[np.float64]:
    return np.array([[example.x.get(name, 0.0) for name in SMALL_NUMBERS] for example in stream])


def dense_labels(stream: Stream) -> npt.NDArray[np.int8]:
    return np.array([[name in example.labels for name in COLUMN_LABELS] for example in stream], dtype=np.int8)


def through_a_file(model: OnlinePLT, threads: int = 1) -> OnlinePLT:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.oplt"
        model.save(path)
        return OnlinePLT.load(path, threads=threads)


# --- Batches ----------------------------------------------------------------------------------------------------------


@given(all_settings(), streams(), st.data())
def test_any_batches_equal_one_by_one(settings: Settings, stream: Stream, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream)), max_size=4)) | {len(stream)})
    model = OnlinePLT(**settings)
    for begin, end in zip([0, *cuts], cuts, strict=False):
        learn_at_once(model, stream[begin:end])
    assert model.fingerprint() == fingerprint_of(settings, stream)
    assert model.n_examples == len(stream)


@pytest.mark.parametrize(
    "settings",
    [{}, {"policy": "random"}, {"policy": "cpet"}, {"arity": 2, "sparsity": 0.0}, {"learner": "adagrad"}],
    ids=str,
)
def test_a_batch_of_thousands_equals_one_by_one(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large calls are split into batches, and several threads update their blocks."""
    monkeypatch.setattr("oplt.learning._CHUNK", 700)
    stream = long_stream(seed=3, n_examples=1500)
    expected = fingerprint_of(settings, stream)
    for threads in (1, 2, 3, 8):
        assert learn_at_once(OnlinePLT(**settings, threads=threads), stream).fingerprint() == expected


@given(all_settings(), streams(), st.data())
def test_learning_predicting_and_saving_may_alternate(settings: Settings, stream: Stream, data: st.DataObject) -> None:
    """No deferred update is lost, whatever is called between batches."""
    model = OnlinePLT(**settings, threads=2)
    begin = 0
    while begin < len(stream):
        end = data.draw(st.integers(begin + 1, len(stream)))
        learn_at_once(model, stream[begin:end])
        begin = end
        action = data.draw(st.sampled_from(["nothing", "predict", "save"]))
        if action == "predict":
            assert model.predict_many([example.x for example in stream], k=2).n_examples == end
        elif action == "save":
            model = through_a_file(model, threads=2)
    assert model.fingerprint() == fingerprint_of(settings, stream)


@given(all_settings(), streams())
def test_a_batch_without_weights_has_weights_of_one(settings: Settings, stream: Stream) -> None:
    model = OnlinePLT(**settings)
    model.learn_many([example.x for example in stream], [example.labels for example in stream])
    ones = [example._replace(weight=1.0) for example in stream]
    assert model.fingerprint() == fingerprint_of(settings, ones)


# --- Kinds of input ---------------------------------------------------------------------------------------------------

MATRICES = {
    "dense": np.asarray,
    "dense, float32, by columns": lambda dense: np.asfortranarray(dense, dtype=np.float32),
    "CSR": sp.csr_array,
    "CSR, 64-bit indices": lambda dense: _with_wide_indices(sp.csr_array(dense)),
    "CSC": sp.csc_array,
    "COO": sp.coo_array,
    "old CSR": sp.csr_matrix,
}


def _with_wide_indices(csr: Any) -> Any:
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


@given(all_settings(), numbered_streams)
def test_matrices_equal_mappings(settings: Settings, stream: Stream) -> None:
    expected = fingerprint_of(settings, stream)
    weights = np.array([example.weight for example in stream])
    for kind, make in MATRICES.items():
        model = OnlinePLT(**settings)
        model.learn_many(make(dense_features(stream)), make(dense_labels(stream)), weights=weights)
        assert model.fingerprint() == expected, kind


@given(all_settings(), numbered_streams, st.randoms(use_true_random=False))
def test_duplicates_in_a_matrix_are_summed(settings: Settings, stream: Stream, order: Any) -> None:
    entries = []
    for row, example in enumerate(stream):
        for column, value in example.x.items():
            entries += [(row, column, value - 5.0), (row, column, 4.0), (row, column, 1.0)]
        entries += [(row, 1, 3.0), (row, 1, -3.0)]  # they sum to 0, whether or not the feature is present
    order.shuffle(entries)
    entries.sort(key=lambda entry: entry[0])
    i, j, v = (np.array(part) for part in zip(*entries, strict=True))
    indptr = np.searchsorted(i, np.arange(len(stream) + 1))
    X = sp.csr_array((v, j, indptr), shape=(len(stream), len(SMALL_NUMBERS)))
    model = OnlinePLT(**settings)
    model.learn_many(X, [example.labels for example in stream], weights=[example.weight for example in stream])
    assert model.fingerprint() == fingerprint_of(settings, stream)


@given(all_settings(), streams(), st.randoms(use_true_random=False))
def test_order_within_an_example_does_not_matter(settings: Settings, stream: Stream, order: Any) -> None:
    shuffled = []
    for x, labels, weight in stream:
        features = list(x.items())
        labels_twice = labels + labels
        order.shuffle(features)
        order.shuffle(labels_twice)
        shuffled.append(Example(dict(features), labels_twice, weight))
    assert fingerprint_of(settings, shuffled) == fingerprint_of(settings, stream)


@given(all_settings(), streams())
def test_explicit_zeros_change_nothing(settings: Settings, stream: Stream) -> None:
    with_zeros = [
        Example({"only ever zero": 0.0, "a": 0.0, **x, "another": -0.0}, labels, weight) for x, labels, weight in stream
    ]
    assert fingerprint_of(settings, with_zeros) == fingerprint_of(settings, stream)


@given(all_settings(), numbered_streams)
def test_explicit_zeros_in_a_matrix_change_nothing(settings: Settings, stream: Stream) -> None:
    X = sp.csr_array(np.ones((len(stream), len(SMALL_NUMBERS))))
    X.data = dense_features(stream).ravel()
    Y = sp.csr_array(np.ones((len(stream), len(COLUMN_LABELS))))
    Y.data = dense_labels(stream).ravel()
    model = OnlinePLT(**settings)
    model.learn_many(X, Y, weights=[example.weight for example in stream])
    assert model.fingerprint() == fingerprint_of(settings, stream)


@given(all_settings(), streams())
def test_mappings_and_labels_are_not_mutated(settings: Settings, stream: Stream) -> None:
    model = OnlinePLT(**settings)
    before = copy.deepcopy(stream)
    learn_at_once(model, stream)
    learn(model, stream)
    model.predict_many([example.x for example in stream])
    assert stream == before
    assert [list(example.x) for example in stream] == [list(example.x) for example in before]


def test_matrices_and_weights_are_not_mutated() -> None:
    """Not even a matrix with unsorted columns, duplicates and zeros, which has to be canonicalised first."""
    X = sp.csr_array(
        (np.array([1.0, 2.0, 0.0, 4.0, 1.0]), np.array([3, 1, 0, 3, 3]), np.array([0, 2, 5])), shape=(2, 5)
    )
    Y = sp.csr_array((np.array([1, 0, 1]), np.array([2, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    weights = np.array([0.5, 2.0])
    before = [array.copy() for array in (X.data, X.indices, X.indptr, Y.data, Y.indices, Y.indptr, weights)]
    model = OnlinePLT()
    model.learn_many(X, Y, weights=weights)
    model.predict_many(X)
    after = [X.data, X.indices, X.indptr, Y.data, Y.indices, Y.indptr, weights]
    for now, was in zip(after, before, strict=True):
        np.testing.assert_array_equal(now, was)


# --- Seeds, saving, copying -------------------------------------------------------------------------------------------


@given(all_settings(), streams())
def test_the_same_seed_gives_the_same_model(settings: Settings, stream: Stream) -> None:
    assert fingerprint_of(settings, stream) == fingerprint_of(settings, stream)


def test_another_seed_gives_another_random_tree() -> None:
    stream = long_stream(seed=4)
    trees = [trained({"policy": "random", "arity": 3, "max_leaves": 3, "seed": seed}, stream).tree for seed in (0, 1)]
    assert trees[0] != trees[1]


@given(all_settings(), streams(), st.data())
def test_saving_and_loading_on_the_way_changes_nothing(settings: Settings, stream: Stream, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(stream)))
    saved = trained(settings, stream[:cut])
    loaded = through_a_file(saved)
    assert loaded.fingerprint() == saved.fingerprint()
    assert learn(loaded, stream[cut:]).fingerprint() == fingerprint_of(settings, stream)


@given(all_settings(), streams(), st.data())
def test_pickling_on_the_way_changes_nothing(settings: Settings, stream: Stream, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(stream)))
    pickled = pickle.loads(pickle.dumps(trained(settings, stream[:cut])))
    assert learn(pickled, stream[cut:]).fingerprint() == fingerprint_of(settings, stream)


@pytest.mark.parametrize("policy", ["best-greedy", "random", "complete", "flat"])
def test_saving_and_loading_wide_nodes_changes_nothing(policy: str) -> None:
    settings = {"policy": policy, "arity": 70, "max_leaves": 130}
    stream = long_stream(seed=5)
    loaded = through_a_file(trained(settings, stream[:150]))
    assert learn(loaded, stream[150:]).fingerprint() == fingerprint_of(settings, stream)


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("policy", ["best-greedy", "random", "cpet"])
def test_hundreds_of_new_labels_in_one_example(policy: str, *, spread: bool) -> None:
    settings = {"policy": policy, "arity": 3, "max_leaves": 5, "spread_new_labels": spread}
    stream = crowded_stream(seed=5)
    expected = fingerprint_of(settings, stream)
    loaded = through_a_file(trained(settings, stream[:15]))
    assert loaded.settings["spread_new_labels"] == spread
    assert learn(loaded, stream[15:]).fingerprint() == expected
    assert learn_at_once(OnlinePLT(**settings, threads=3), stream).fingerprint() == expected


# --- Prediction -------------------------------------------------------------------------------------------------------


@given(all_settings(), streams(), st.lists(rows(), min_size=1, max_size=4))
def test_predicting_changes_nothing(settings: Settings, stream: Stream, queries: list[Any]) -> None:
    model = trained(settings, stream)
    before = model.fingerprint()
    model.predict_many([*queries, {"never seen": 1.0}], k=3)
    model.predict_many(queries, threshold=0.1, beam=2)
    assert model.fingerprint() == before
    assert (model.n_labels, model.n_features) == (
        trained(settings, stream).n_labels,
        trained(settings, stream).n_features,
    )


@given(all_settings(), streams(), st.lists(rows(), max_size=4))
def test_predict_many_equals_predict_one(settings: Settings, stream: Stream, queries: list[Any]) -> None:
    model = trained(settings, stream)
    for asked in ({}, {"k": 2}, {"threshold": 0.2}, {"k": 2, "beam": 1}):
        assert list(model.predict_many(queries, **asked)) == [model.predict_one(x, **asked) for x in queries]


@given(all_settings(), numbered_streams)
def test_predictions_for_matrices_equal_those_for_mappings(settings: Settings, stream: Stream) -> None:
    model = trained(settings, stream)
    expected = list(model.predict_many([example.x for example in stream]))
    for make in MATRICES.values():
        assert list(model.predict_many(make(dense_features(stream)))) == expected


@pytest.mark.parametrize("settings", [{}, {"label_memory": 0}, {"trees": 3}, {"trees": 3, "label_memory": 0}])
def test_a_prediction_depends_neither_on_other_rows_nor_on_threads(settings: Settings) -> None:
    stream = long_stream(seed=6)
    model = trained(settings, stream)
    queries = [*(example.x for example in stream), {"never seen": 1.0}]
    repeats = 2100 // len(queries) + 1  # more rows than are predicted together
    asked: dict[str, Any]
    for asked in ({"k": 7}, {"k": 30}, {"threshold": 0.05}, {"k": 3, "beam": 2}, {"k": 3, "deny": [0, 1]}):
        alone = [model.predict_one(x, **asked) for x in queries]
        for threads in (1, 3):
            found = through_a_file(model, threads=threads).predict_many(repeats * queries, **asked)
            assert list(found) == repeats * alone
