# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import Ensemble, InvalidInputError, InvalidParameterError, ModelFormatError, OnlinePLT, ensemble, trees
from oplt.datasets import make_stream


def online(seed: int, n: int = 120) -> OnlinePLT:
    model = OnlinePLT(policy="random", arity=2, max_leaves=3, seed=seed)
    for x, labels in make_stream(n, n_labels=30, seed=2):
        model.learn_one(x, labels)
    return model


@pytest.fixture
def models() -> list[OnlinePLT]:
    return [online(seed) for seed in range(3)]


@pytest.fixture
def questions() -> list[dict[Any, float]]:
    return [x for x, _ in make_stream(40, n_labels=30, seed=3)]


def mean_of_all(models: list[OnlinePLT], x: dict[Any, float], candidates: int) -> list[tuple[Any, float]]:
    """Average what each model names, the slow way."""
    total: dict[Any, float] = defaultdict(float)
    for model in models:
        for label, probability in model.predict_one(x, k=candidates):
            total[label] += probability
    return sorted(((label, p / len(models)) for label, p in total.items()), key=lambda item: (-item[1], item[0]))


@pytest.mark.parametrize(("k", "candidates"), [(1, None), (5, None), (3, 3), (3, 1000)])
def test_the_mean_over_the_candidates_of_all(
    models: list[OnlinePLT], questions: list[dict[Any, float]], k: int, candidates: int | None
) -> None:
    ensemble = Ensemble(models)
    found = ensemble.predict_many(questions, k=k, candidates=candidates)
    assert found.n_examples == 120
    for x, row in zip(questions, found, strict=True):
        expected = mean_of_all(models, x, candidates or max(10, 2 * k))[:k]
        assert [label for label, _ in row] == [label for label, _ in expected]
        np.testing.assert_allclose([p for _, p in row], [p for _, p in expected], rtol=1e-6)
        assert ensemble.predict_one(x, k=k, candidates=candidates) == row


def test_an_ensemble_of_one_is_that_model(questions: list[dict[Any, float]]) -> None:
    model = online(1)
    found, expected = Ensemble([model]).predict_many(questions, k=4), model.predict_many(questions, k=4)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.indptr, expected.indptr)


def test_models_that_know_different_labels() -> None:
    models = [OnlinePLT(), OnlinePLT(), OnlinePLT()]
    models[0].learn_many([{"a": 1.0}, {"b": 1.0}], ["x", 7])
    models[1].learn_many([{"b": 1.0}], [7])
    found = dict(Ensemble(models).predict_one({"b": 1.0}))
    assert set(found) == {"x", 7}
    both = dict(models[0].predict_one({"b": 1.0}))[7] + dict(models[1].predict_one({"b": 1.0}))[7]
    assert found[7] == pytest.approx(both / 3)


def test_equally_probable_labels_come_by_name_integers_first() -> None:
    model = OnlinePLT(policy="flat")
    model.learn_one({"a": 1.0}, ["b", 10, "a", 9])
    tied = model.predict_one({}, k=4)
    assert len({probability for _, probability in tied}) == 1
    assert [label for label, _ in Ensemble([model, model]).predict_one({}, k=4)] == [9, 10, "a", "b"]


def test_labels_whose_probabilities_are_shown_as_equal_come_by_name() -> None:
    """Sums of many models differ in bits that a float32 lacks, by the order of the models."""
    means = ensemble._Entries(np.array([0, 0]), np.array([0, 1]), np.array([0.5 + 1e-12, 0.5]), n_examples=1)
    assert ensemble._best(means, ["b", "a"], n_rows=1, k=2, threshold=0.0)[0] == [("a", 0.5), ("b", 0.5)]
    assert ensemble._best(means, ["b", "a"], n_rows=1, k=1, threshold=0.0)[0] == [("a", 0.5)]


def test_models_without_labels_and_without_rows() -> None:
    ensemble = Ensemble([OnlinePLT(), OnlinePLT()])
    assert ensemble.predict_one({"a": 1.0}) == []
    assert list(ensemble.predict_many([{}, {"a": 1.0}])) == [[], []]
    assert len(Ensemble([online(0)]).predict_many([])) == 0


def test_saved_and_loaded(models: list[OnlinePLT], questions: list[dict[Any, float]], tmp_path: Path) -> None:
    path = tmp_path / "e.oplt"
    ensemble = Ensemble(models)
    ensemble.save(path)
    ensemble.save(path)  # again, over the old one
    loaded = Ensemble.load(path, threads=2)
    assert [m.fingerprint() for m in loaded.models] == [m.fingerprint() for m in models]
    assert list(loaded.predict_many(questions)) == list(ensemble.predict_many(questions))
    assert [file.name for file in tmp_path.iterdir()] == ["e.oplt"]


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    small = OnlinePLT(label_memory=0)  # a small file, too
    small.learn_many([{"a": 1.0}, {"b": 2.0}], ["x", "y"])
    path = tmp_path / "e.oplt"
    Ensemble([small, small]).save(path)
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x20]) + whole[i + 1 :])
        with pytest.raises(ModelFormatError, match=r"e\.oplt: "):
            Ensemble.load(path)
    for size in (0, 5, 16, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFormatError):
            Ensemble.load(path)


def test_models_and_ensembles_are_not_mixed_up(tmp_path: Path) -> None:
    model = online(0, n=5)
    model.save(tmp_path / "model")
    Ensemble([model]).save(tmp_path / "ensemble")
    trees.save(model.tree, tmp_path / "tree")
    load: dict[str, Any] = {"model": OnlinePLT.load, "ensemble": Ensemble.load, "tree": trees.load}
    reader = {"model": "OnlinePLT.load", "ensemble": "Ensemble.load", "tree": "oplt.trees.load"}
    for file, wanted in itertools.permutations(load, 2):
        with pytest.raises((ModelFormatError, InvalidInputError), match=f"it is an oplt {file}, which {reader[file]}"):
            load[wanted](tmp_path / file)
    with pytest.raises(InvalidInputError, match="is not an oplt ensemble"):
        Ensemble([model]).save(tmp_path / "model")


@pytest.mark.parametrize(("version", "remedy"), [(0, "the file is damaged"), (2, "install a newer oplt")])
def test_another_version_is_refused_saying_why(version: int, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "e"
    Ensemble([OnlinePLT()]).save(path)
    data = bytearray(path.read_bytes())
    data[8] = version
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match=f"version {version} of ensemble files, .* reads version 1: {remedy}"):
        Ensemble.load(path)


@pytest.mark.parametrize(
    ("wrong", "got"), [([], "none"), (["a"], "str"), ([OnlinePLT(), None], "NoneType"), (5, "int"), (OnlinePLT(), "On")]
)
def test_something_else_than_models_is_refused(wrong: Any, got: str) -> None:
    with pytest.raises(InvalidInputError, match=f"a list of at least one OnlinePLT, got {got}"):
        Ensemble(wrong)


def true_means(models: list[OnlinePLT], x: dict[Any, float]) -> dict[Any, float]:
    return dict(mean_of_all(models, x, candidates=1000))


@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.1, 0.3, 1.0])
def test_a_threshold_is_for_the_mean(
    models: list[OnlinePLT], questions: list[dict[Any, float]], threshold: float
) -> None:
    n, ensemble = len(models), Ensemble(models)
    for x in questions:
        means = true_means(models, x)
        exact = {label for label, mean in means.items() if mean >= threshold}
        asked_for_all = ensemble.predict_one(x, threshold=threshold, candidates=1000)
        assert {label for label, _ in asked_for_all} == exact
        assert [p for _, p in asked_for_all] == pytest.approx(sorted((means[label] for label in exact), reverse=True))

        found = ensemble.predict_one(x, threshold=threshold)
        sure = {label for label, mean in means.items() if mean >= threshold * (1 + (n - 1) / n**2)}
        assert sure <= {label for label, _ in found} <= exact
        for label, probability in found:
            assert means[label] - threshold * (n - 1) / n**2 <= probability + 1e-6
            assert probability <= means[label] + 1e-6
        assert ensemble.predict_one(x, k=2, threshold=threshold, candidates=1000) == asked_for_all[:2]
        assert ensemble.predict_many([x], threshold=threshold)[0] == found


def test_a_threshold_of_an_ensemble_of_one_is_that_of_the_model(questions: list[dict[Any, float]]) -> None:
    model = online(1)
    for x in questions:
        threshold = model.predict_one(x, k=3)[-1][1]  # the third just reaches it
        assert Ensemble([model]).predict_one(x, threshold=threshold) == model.predict_one(x, threshold=threshold)


def test_each_model_is_searched_by_the_beam(models: list[OnlinePLT], questions: list[dict[Any, float]]) -> None:
    ensemble = Ensemble(models)
    for x in questions:
        total: dict[Any, float] = defaultdict(float)
        for model in models:
            for label, probability in model.predict_one(x, k=10, beam=1):
                total[label] += probability / len(models)
        assert dict(ensemble.predict_one(x, k=10, beam=1, candidates=10)) == pytest.approx(
            dict(sorted(total.items(), key=lambda item: (-item[1], item[0]))[:10])
        )
    assert list(ensemble.predict_many(questions, k=3, beam=1)) != list(ensemble.predict_many(questions, k=3))


def test_a_huge_k_gives_all_labels(models: list[OnlinePLT], questions: list[dict[Any, float]]) -> None:
    found = Ensemble(models).predict_one(questions[0], k=2**31)
    assert dict(found) == pytest.approx(true_means(models, questions[0]))


@pytest.mark.parametrize("question", [{"threshold": 2}, {"threshold": "x"}, {"beam": 0}, {"k": 0}, {"candidates": 0}])
def test_bad_questions_are_refused(question: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(question))):
        Ensemble([OnlinePLT()]).predict_one({}, **question)


def test_fewer_candidates_than_answers_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="candidates must be at least 5, got 4"):
        Ensemble([OnlinePLT()]).predict_one({}, k=5, candidates=4)
