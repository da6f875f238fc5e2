# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from oplt import OnlinePLT
from oplt.datasets import make_stream

POLICIES = ["random", "best-greedy", "complete", "cpet", "flat"]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_learns_a_stream_whose_labels_emerge(policy: str) -> None:
    stream = make_stream(3000, n_labels=60, seed=1)
    model = OnlinePLT(policy=policy, arity=2, max_leaves=8)
    for x, labels in islice(stream, 2500):
        model.learn_one(x, labels)
    hits = [model.predict_one(x, k=1)[0][0] in labels for x, labels in stream]
    # About half of what each policy reaches on this stream (0.86 to 0.93); chance is 0.1.
    assert np.mean(hits) > 0.45


def test_the_counts() -> None:
    model = OnlinePLT(arity=2, max_leaves=2)
    model.learn_many([{"a": 1.0, "b": 2.0}, {"b": 1.0}, {"c": 1}], [["x", "y"], [], ["z"]])
    assert (model.n_labels, model.n_features, model.n_examples, model.depth) == (3, 3, 3, 2)
    assert (model.tree.n_labels, model.tree.depth) == (3, 2)
    # At most one for each feature (and the bias) of each classifier, including auxiliary ones.
    assert 0 < model.n_cells <= 4 * 2 * model.tree.n_nodes
    assert model.memory_bytes > 8 * model.n_cells
    assert repr(model) == "<OnlinePLT(arity=2, max_leaves=2): 3 labels, 3 features, 3 examples, depth 2>"


@pytest.mark.filterwarnings("ignore::oplt.OpltWarning")  # about 0 and "0"
def test_names_come_back_as_they_were_given() -> None:
    names = ["ärger", "日本", 0, -5, 2**62, "0", "a b\n"]
    model = OnlinePLT()
    model.learn_many([{name: 1.0} for name in names], [[name] for name in names])
    for name in names:
        ((best, _),) = model.predict_one({name: 1.0}, k=1)
        assert best == name
        assert type(best) is type(name)


def test_numpy_integers_and_strings_are_names() -> None:
    model = OnlinePLT()
    model.learn_many([{np.int64(3): np.float32(1)}, {np.str_("a"): 1}], np.array([7, 8]))
    other = OnlinePLT()
    other.learn_many([{3: 1.0}, {"a": 1.0}], [7, 8])
    assert model.fingerprint() == other.fingerprint()


def test_an_indicator_matrix_names_labels_by_column() -> None:
    X = np.eye(3)
    model = OnlinePLT()
    model.learn_many(X, sp.csr_array([[0, 1, 1], [0, 0, 0], [1, 0, 0]]))
    other = OnlinePLT()
    other.learn_many(X, [[1, 2], [], [0]])
    dense = OnlinePLT()
    dense.learn_many(X, np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    assert model.fingerprint() == other.fingerprint() == dense.fingerprint()


def test_the_root_learns_that_no_label_applies() -> None:
    model = OnlinePLT(label_memory=0)
    for _ in range(50):
        model.learn_one({"a": 1.0}, ["x"])
        model.learn_one({"b": 1.0}, [])
    assert model.predict_one({"a": 1.0})[0][1] > 0.8
    assert model.predict_one({"b": 1.0})[0][1] < 0.2


def test_the_first_example_may_have_no_label() -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, [])
    assert (model.n_examples, model.n_labels) == (1, 0)
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_one({"a": 1.0})[0][0] == "x"


def test_examples_without_features_count() -> None:
    model = OnlinePLT()
    model.learn_many([{}, {}, {}], ["x", "x", "y"])
    assert [label for label, _ in model.predict_one({})] == ["x", "y"]


@pytest.mark.parametrize("learner", ["arow", "adagrad"])
def test_a_heavier_example_counts_more(learner: str) -> None:
    light, heavy = (OnlinePLT(learner=learner, label_memory=0) for _ in range(2))
    for model, weight in ((light, 0.01), (heavy, 5.0)):
        model.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
        model.learn_one({"c": 1.0}, "y", weight=weight)
    assert heavy.predict_one({"c": 1.0}, k=1)[0][1] > light.predict_one({"c": 1.0}, k=1)[0][1]


@pytest.mark.parametrize("weight", [1e-3, 2.0, 50.0])
def test_the_weight_of_an_example_counts_it_that_often(weight: float) -> None:
    """Learning an example of weight c and one of weight c again is about as good as one of weight 2c."""
    once, twice = (OnlinePLT(label_memory=0) for _ in range(2))
    for model, weights in ((once, [2 * weight]), (twice, [weight, weight])):
        for one in weights:
            model.learn_one({"a": 1.0, "b": 2.0}, "x", weight=one)
    cells = [model._state().classifier(0, auxiliary=False) for model in (once, twice)]
    assert cells[0][1] == pytest.approx(cells[1][1], rel=0.25)  # weights
    assert cells[0][2] == pytest.approx(cells[1][2], rel=1e-3)  # confidences
    assert (cells[0][1] > 0).all()


def test_a_second_pass_makes_the_model_surer() -> None:
    X, Y = np.eye(4), ["a", "b", "a", "b"]
    model = OnlinePLT(learner="adagrad", gate=0, label_memory=0)
    model.learn_many(X, Y)
    once = model.predict_many(X, k=1).scores.copy()
    model.learn_many(X, Y)
    assert (model.predict_many(X, k=1).scores > once).all()
    assert model.n_labels == 2


def test_unknown_features_are_ignored_but_count_in_the_norm() -> None:
    model = OnlinePLT(normalize=False)
    model.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    assert model.predict_one({"a": 1.0, "unknown": 9.0}) == model.predict_one({"a": 1.0})
    normalized = OnlinePLT()
    normalized.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    assert normalized.predict_one({"a": 3.0, "unknown": 4.0}) != normalized.predict_one({"a": 3.0})


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_every_sparse_format_and_number_type_is_taken(kind: str, dtype: type) -> None:
    dense = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]])
    model, expected = OnlinePLT(), OnlinePLT()
    model.learn_many(sp.csr_array(dense.astype(dtype)).asformat(kind), ["a", "b", "c"])
    expected.learn_many(dense, ["a", "b", "c"])
    assert model.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, np.longdouble])
def test_a_dense_matrix_may_be_of_any_numbers(dtype: type) -> None:
    dense = np.array([[1, 0, 2], [0, 3, 0]])
    model, expected = OnlinePLT(), OnlinePLT()
    model.learn_many(dense.astype(dtype), ["a", "b"])
    expected.learn_many(dense, ["a", "b"])
    assert model.fingerprint() == expected.fingerprint()


def test_an_interrupted_prediction_ends_soon(soon_ctrl_c: Callable[[], None]) -> None:
    model = OnlinePLT(arity=2, max_leaves=2)
    model.learn_many(sp.random_array((400, 50), density=0.5, rng=0), list(range(400)))
    rows = sp.random_array((200_000, 50), density=0.5, rng=1, format="csr")
    soon_ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        model.predict_many(rows, k=400)
    assert model.predict_many(rows[:1], k=1).n_examples == 400


def test_predictions_can_be_indexed_and_iterated() -> None:
    model = OnlinePLT()
    model.learn_many(np.eye(3), ["a", "b", "c"])
    found = model.predict_many(np.eye(3), k=2)
    assert len(found) == 3
    assert found.n_examples == 3
    assert found[0] == next(iter(found))
    assert found[-1] == found[2]
    assert found.indptr.tolist() == [0, 2, 4, 6]
    with pytest.raises(IndexError, match="row 3 of 3"):
        found[3]


def test_threads_may_predict_while_one_learns() -> None:
    examples = list(make_stream(600, n_labels=100, seed=2))
    X, Y = [x for x, _ in examples], [labels for _, labels in examples]
    model = OnlinePLT(arity=2, max_leaves=4)
    barrier = threading.Barrier(4)
    problems: list[str] = []

    def predict() -> None:
        barrier.wait()
        seen = 0
        while seen < len(X):
            found = model.predict_many(X[:20], k=3)
            if found.n_examples < seen:
                problems.append("went back in time")
            if len(found.labels) not in (60, *range(60)) or np.isnan(found.scores).any():
                problems.append("not an answer")
            seen = found.n_examples

    readers = [threading.Thread(target=predict) for _ in range(3)]
    for reader in readers:
        reader.start()
    barrier.wait()
    for begin in range(0, len(X), 50):
        model.learn_many(X[begin : begin + 50], Y[begin : begin + 50])
    for reader in readers:
        reader.join(timeout=60)
    assert problems == []
    alone = OnlinePLT(arity=2, max_leaves=4)
    alone.learn_many(X, Y)
    assert alone.fingerprint() == model.fingerprint()


def test_the_paper_preset() -> None:
    settings = OnlinePLT.paper(seed=3).settings
    assert (settings["arity"], settings["max_leaves"], settings["gate"], settings["seed"]) == (2, 100, 0.0, 3)
    assert (settings["learning_rate"], settings["adagrad_eps"], settings["alpha"]) == (1.0, 0.01, 0.75)


class Repeating(Mapping[str, float]):
    """A mapping that yields keys twice, as some multi-dictionaries do."""

    def __getitem__(self, key: str) -> float:
        return {"a": 1.0, "b": 2.0}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b", "a"])

    def __len__(self) -> int:
        return 3


def test_the_values_of_a_feature_that_occurs_twice_are_added() -> None:
    twice, once = OnlinePLT(), OnlinePLT()
    for _ in range(3):
        twice.learn_one(Repeating(), ["x", "y"])
        once.learn_one({"a": 2.0, "b": 2.0}, ["x", "y"])
    assert twice.fingerprint() == once.fingerprint()
