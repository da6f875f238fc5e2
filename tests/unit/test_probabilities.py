# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Probabilities are calibrated: for rows with few known features, after several passes, and for exclusive labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from oplt import OnlinePLT
from oplt.datasets import make_stream
from oplt.metrics import Scores, precision_at_k
from oplt.params import preset

Example = tuple[dict[str, float], list[str]]


@pytest.fixture(scope="module")
def stream() -> list[Example]:
    return list(make_stream(3000, n_labels=200, seed=3))


def taught(stream: list[Example], **settings: Any) -> OnlinePLT:
    model = OnlinePLT(**settings)
    model.learn_many([x for x, _ in stream], [y for _, y in stream])
    return model


@pytest.fixture(scope="module")
def exclusive() -> OnlinePLT:
    model = OnlinePLT(features="text")
    model.learn_many([f"t{i % 10} n{i % 97}" for i in range(10_000)], [i % 10 for i in range(10_000)])
    return model


@pytest.mark.parametrize("text", ["zzz", ""])
def test_what_is_not_known_gets_the_base_rates(exclusive: OnlinePLT, text: str) -> None:
    found = exclusive.predict_one(text, k=10)
    assert [label for label, _ in found] == list(range(10))
    assert all(abs(probability - 0.1) < 0.001 for _, probability in found)
    assert exclusive.predict_one(text, threshold=0.11) == []


def test_what_says_nothing_of_the_label_gets_about_the_base_rates(exclusive: OnlinePLT) -> None:
    assert all(0.03 < probability < 0.3 for _, probability in exclusive.predict_one("n5", k=10))
    assert exclusive.predict_one("t5 n5", k=1)[0][1] > 0.9


def test_unknown_input_gets_the_most_frequent_labels(stream: list[Example]) -> None:
    counts: dict[str, int] = {}
    for _, labels in stream:
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    found = taught(stream).predict_one({"never seen": 1.0}, k=200)
    assert {label for label, _ in found} == {*counts}
    for label, probability in found:
        assert probability == pytest.approx(counts[label] / len(stream), rel=0.01)


def test_the_less_is_known_the_nearer_to_the_base_rates(stream: list[Example]) -> None:
    model = taught(stream[:2500])
    random = np.random.default_rng(0)
    best = []
    for share in (0.0, 0.5, 0.9):
        rows = [{name: value for name, value in x.items() if random.random() >= share} for x, _ in stream[2500:]]
        scores = Scores(k=5)
        found = model.predict_many(rows, k=5)
        scores.add(found, [y for _, y in stream[2500:]])
        best.append(float(np.mean([row[0][1] for row in found])))
        assert scores.ece(5) < 0.1
    assert best[0] > best[1] > best[2]


def test_ranking_learns_from_the_first_pass_alone(stream: list[Example]) -> None:
    """Probabilities stay calibrated, however often the same examples are learnt."""
    rows, labels = [x for x, _ in stream[2500:]], [y for _, y in stream[2500:]]
    model = OnlinePLT()
    errors = []
    for _ in range(4):
        model.learn_many([x for x, _ in stream[:2500]], [y for _, y in stream[:2500]])
        scores = Scores(k=1)
        scores.add(model.predict_many(rows, k=1), labels)
        errors.append(scores.ece(1))
    assert errors[3] < errors[0] + 0.06
    assert model.is_repeating
    model.learn_many(rows, labels)
    assert not model.is_repeating


def test_a_further_pass_in_another_order_is_known_and_survives_a_save(stream: list[Example], tmp_path: Path) -> None:
    model = taught(stream)
    assert not model.is_repeating
    for x, labels in stream[::-1][:20]:
        model.learn_one(x, labels)
    assert model.is_repeating
    model.save(tmp_path / "model.oplt")
    again = OnlinePLT.load(tmp_path / "model.oplt")
    assert again.is_repeating
    for other in (model, again):
        other.learn_many([x for x, _ in stream], [y for _, y in stream])
    assert again.fingerprint() == model.fingerprint()


def test_a_stream_of_few_different_examples_is_no_further_pass() -> None:
    random = np.random.default_rng(0)
    model = OnlinePLT()
    for number in random.integers(8, size=2000).tolist():
        model.learn_one({f"a{number % 4}": 1.0, f"b{number // 4}": 1.0}, f"label-{number % 4}")
        assert not model.is_repeating
    assert model.predict_one({"a1": 1.0, "b1": 1.0}, k=1)[0][1] > 0.9


@pytest.mark.parametrize("n_labels", [3, 30, 300])
def test_probabilities_of_exclusive_labels_sum_up_to_at_most_one(n_labels: int) -> None:
    random = np.random.default_rng(n_labels)
    model = OnlinePLT()
    X = random.normal(size=(1500, 12))
    y = random.integers(n_labels, size=1500)  # partly learnable
    X[:, 0] += y % 3
    model.learn_many(X[:1000], y[:1000].tolist())
    for asked in ({"k": 5}, {"k": 10}, {"k": 50}, {"k": n_labels}, {"threshold": 0.0}):
        for row in model.predict_many(X[1000:], **asked):
            assert sum(probability for _, probability in row) <= 1


def test_probabilities_of_several_labels_may_sum_up_to_more() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1.0, f"n{i}": 1.0} for i in range(500)], [["x", "y"]] * 500)
    assert sum(probability for _, probability in model.predict_one({"a": 1.0, "n3": 1.0})) > 1.5


def test_a_threshold_finds_all_labels_above_it() -> None:
    """Whatever their number: there is no bound on the candidates."""
    labels = [f"label-{i}" for i in range(600)]
    model = OnlinePLT()
    rows = [{"all": 1.0, f"n{i}": 1.0} for i in range(300)]
    model.learn_many(rows, [labels] * 300)
    assert len(model.predict_one({"all": 1.0, "n7": 1.0}, threshold=0.5)) == 600
    assert len(model.predict_one({"all": 1.0, "n7": 1.0}, threshold=0.0)) == 600


def test_thresholds_agree_with_each_other(stream: list[Example]) -> None:
    model = taught(stream)
    for x, _ in stream[:50]:
        everything = model.predict_one(x, threshold=0.0)
        assert len(everything) == model.n_labels
        for threshold in (0.001, 0.01, 0.1, 0.5):
            expected = [found for found in everything if found[1] >= threshold]
            assert model.predict_one(x, threshold=threshold) == expected


def test_on_standardised_dense_data_the_default_is_about_as_good_as_the_tree_alone() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    precision = {0: [], 512: []}
    for seed in range(4):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        scaler = StandardScaler().fit(train)
        for label_memory, found in precision.items():
            model = OnlinePLT(label_memory=label_memory)
            model.learn_many(scaler.transform(train), y_train.tolist())
            found.append(precision_at_k(model.predict_many(scaler.transform(test), k=1), y_test.tolist(), 1))
    assert np.mean(precision[512]) > np.mean(precision[0]) - 0.015


def test_many_labels_of_dense_features_are_found_by_more_than_one_of_them() -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(9000, 32))
    model = OnlinePLT()
    model.learn_many(centres, list(range(9000)))
    asked = random.integers(9000, size=200)
    rows = centres[asked] + 0.3 * random.normal(size=(200, 32))
    assert precision_at_k(model.predict_many(rows, k=1), asked.tolist(), 1) > 0.98


def few_shots(n_labels: int = 400, n_each: int = 20) -> list[Example]:
    """Make a stream with few examples per label, on which the probabilities of the tree alone are far too small."""
    random = np.random.default_rng(5)
    own = random.integers(2000, size=(n_labels, 8))
    stream = []
    for label in random.permutation(np.tile(np.arange(n_labels), n_each)).tolist():
        words = [*random.choice(own[label], 4, replace=False), *random.integers(2000, size=6)]
        stream.append(({f"w{word}": 1.0 for word in words}, [f"label-{label}"]))
    return stream


def ece_of_the_tree(model: OnlinePLT, queries: list[Example]) -> float:
    scores = Scores(k=1)
    scores.add(model.predict_many([x for x, _ in queries], k=1), [y for _, y in queries])
    return scores.ece(1)


def test_probabilities_of_the_tree_alone_are_calibrated() -> None:
    stream = few_shots()
    queries = stream[-800:]
    pure = taught(stream[:-800], label_memory=0, learner="adagrad")
    calibrated = taught(stream[:-800], label_memory=0)
    assert ece_of_the_tree(pure, queries) > 0.3
    assert ece_of_the_tree(calibrated, queries) < 0.1


@pytest.mark.parametrize("trees", [1, 3])
def test_calibration_keeps_the_order_of_the_tree_and_the_meaning_of_a_threshold(
    stream: list[Example], trees: int
) -> None:
    model = taught(stream, label_memory=0, trees=trees)
    for x, _ in stream[:50]:
        everything = model.predict_one(x, threshold=0.0)
        assert len(everything) == model.n_labels
        assert [p for _, p in everything] == sorted((p for _, p in everything), reverse=True)
        assert all(0 <= p <= 1 for _, p in everything)
        if trees == 1:  # of several trees, a search returns the best labels of each
            assert model.predict_one(x, k=3) == everything[:3]
            for threshold in (0.001, 0.01, 0.1, 0.5, everything[2][1]):
                expected = [found for found in everything if found[1] >= threshold]
                assert model.predict_one(x, threshold=threshold) == expected
                assert model.predict_one(x, k=2, threshold=threshold) == expected[:2]


def test_calibration_depends_neither_on_threads_nor_on_cuts_nor_on_a_save(
    stream: list[Example], tmp_path: Path
) -> None:
    whole = taught(stream, label_memory=0)
    cut = OnlinePLT(label_memory=0, threads=3)
    for begin, end in ((0, 1), (1, 700), (700, 701), (701, len(stream))):
        cut.learn_many([x for x, _ in stream[begin:end]], [y for _, y in stream[begin:end]])
        cut.save(tmp_path / "model.oplt")
        cut = OnlinePLT.load(tmp_path / "model.oplt")
    assert cut.fingerprint() == whole.fingerprint()
    x = stream[0][0]
    assert cut.predict_one(x) == whole.predict_one(x) == whole.snapshot().for_prediction().predict_one(x)


def test_calibration_learns_from_the_first_pass_alone(stream: list[Example]) -> None:
    model = taught(stream, label_memory=0)
    assert not model.is_repeating
    model.learn_many([x for x, _ in stream[:200]], [y for _, y in stream[:200]])
    assert model.is_repeating


def test_probabilities_of_the_papers_model_are_those_of_its_tree() -> None:
    """The same classifiers, without labels to find: those of the paper say what they have learnt, and no more."""
    stream = few_shots()
    paper = taught(stream[:2000], **preset("paper", {"arity": 31, "max_leaves": 31}))
    same = taught(stream[:2000], label_memory=0, learner="adagrad", gate=0, history=0)
    ours = taught(stream[:2000], label_memory=0)
    x = stream[2000][0]
    assert paper.predict_one(x) == same.predict_one(x)
    assert paper.snapshot().tree.parents.tolist() == same.snapshot().tree.parents.tolist()
    assert not paper.is_repeating
    assert paper.predict_one(x, k=1)[0][1] < 0.5 * ours.predict_one(x, k=1)[0][1]
