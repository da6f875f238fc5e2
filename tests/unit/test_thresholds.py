# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Thresholds are optimal on the data, are saved with the model, and are applied to predictions."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import (
    PLT,
    InvalidInputError,
    InvalidParameterError,
    ModelFormatError,
    OnlinePLT,
    OpltError,
    Predictions,
    metrics,
    persistence,
)
from oplt.datasets import make_stream
from oplt.evaluate import progressive
from oplt.thresholds import FLOOR, Thresholds, Tuner, tune

LABELS = ["a", "b", "c", 4]
SCORES = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0])  # few, so that some are equal


@st.composite
def examples(draw: st.DrawFn) -> tuple[Predictions, list[list[Any]]]:
    n = draw(st.integers(1, 12))
    rows, truth = [], []
    for _ in range(n):
        scores = draw(st.dictionaries(st.sampled_from(LABELS), SCORES))
        rows.append(sorted(scores.items(), key=lambda pair: -pair[1]))
        truth.append(draw(st.lists(st.sampled_from(LABELS), unique=True)))
    return Predictions.from_rows(rows), truth


def tuner_of(found: Predictions, truth: list[list[Any]]) -> Tuner:
    tuner = Tuner()
    tuner.add(found, truth)
    return tuner


def cut(found: Predictions, thresholds: Thresholds, k: int | None = None) -> list[list[tuple[Any, float]]]:
    """Select the labels that reach their thresholds, in the simplest way."""
    return [[pair for pair in row if np.float32(pair[1]) >= np.float32(thresholds[pair[0]])][:k] for row in found]


def counts(found: Predictions, truth: list[list[Any]], threshold: float, label: Any = None) -> tuple[int, int, int]:
    """Count what is true, predicted and both, of all labels or of one."""
    pairs = {(i, name) for i, row in enumerate(found) for name, p in row if np.float32(p) >= np.float32(threshold)}
    true = {(i, name) for i, row in enumerate(truth) for name in row}
    if label is not None:
        pairs, true = ({pair for pair in some if pair[1] == label} for some in (pairs, true))
    return len(true), len(pairs), len(pairs & true)


def f1(n_true: int, n_predicted: int, n_hits: int) -> float:
    return 2 * n_hits / (n_true + n_predicted) if n_true + n_predicted else 0.0


@given(examples())
def test_no_threshold_has_a_larger_micro_f1(given: tuple[Predictions, list[list[Any]]]) -> None:
    found, truth = given
    best = max((f1(*counts(found, truth, t)) for t in found.scores), default=0.0)
    if best == 0:
        with pytest.raises(InvalidInputError):
            tuner_of(found, truth).choose()
        return
    chosen = tuner_of(found, truth).choose()
    assert chosen.labels == {}
    assert f1(*counts(found, truth, chosen.value)) == best
    measured = tuner_of(found, truth).measure(chosen)
    kept = Predictions.from_rows(cut(found, chosen))
    assert measured["micro-F1"] == metrics.micro_f1(kept, truth) == best
    assert measured["macro-F1"] == metrics.macro_f1(kept, truth)


@given(examples(), st.sampled_from([0.3, 0.5, 2 / 3, 0.9, 1.0]))
def test_the_lowest_threshold_that_has_the_precision(
    given: tuple[Predictions, list[list[Any]]], precision: float
) -> None:
    found, truth = given
    good = [t for t in found.scores if (n := counts(found, truth, t))[2] / n[1] >= precision]
    if not any(truth) or not any(counts(found, truth, 0.0)[2:]) or not good:
        with pytest.raises(InvalidInputError):
            tuner_of(found, truth).choose(precision=precision)
        return
    assert np.float32(tuner_of(found, truth).choose(precision=precision).value) == min(good)


@given(examples())
def test_without_shrinkage_no_threshold_of_a_label_has_a_larger_f1(given: tuple[Predictions, list[list[Any]]]) -> None:
    found, truth = given
    if not counts(found, truth, 0.0)[2]:
        return
    tuner = tuner_of(found, truth)
    chosen = tuner.choose(per_label=True, shrinkage=0)
    assert chosen.value == tuner.choose().value
    for label in LABELS:
        best = max((f1(*counts(found, truth, t, label)) for t in found.scores), default=0.0)
        assert (label in chosen.labels) == (best > 0)
        if best > 0:
            assert f1(*counts(found, truth, chosen[label], label)) == best


@given(examples(), st.integers(0, 12), st.booleans())
def test_chunks_may_be_cut_anywhere(given: tuple[Predictions, list[list[Any]]], place: int, per_label: bool) -> None:  # noqa: FBT001
    found, truth = given
    if not counts(found, truth, 0.0)[2]:
        return
    parts = Tuner()
    for part in (slice(place), slice(place, None)):
        parts.add(found[part], truth[part])
    assert parts.n_examples == len(truth)
    assert parts.choose(per_label=per_label) == tuner_of(found, truth).choose(per_label=per_label)


def rows_of(label: str, scores_and_truth: list[tuple[float, bool]]) -> tuple[list[Any], list[Any]]:
    return [[(label, score)] for score, _ in scores_and_truth], [
        [label] if true else [] for _, true in scores_and_truth
    ]


def test_thresholds_of_rare_labels_stay_near_that_for_all() -> None:
    rows, truth = [], []
    for label, n in (("frequent", 200), ("rare", 1)):
        own = rows_of(label, [(0.9, True), (0.1, False)] * n)
        rows, truth = rows + own[0], truth + own[1]
    own = rows_of("other", [(0.5, True), (0.2, False)] * 500)
    tuner = tuner_of(Predictions.from_rows(rows + own[0]), truth + own[1])
    exact, shrunk = (tuner.choose(per_label=True, shrinkage=n) for n in (0, 10))
    assert exact.value == shrunk.value == 0.5
    assert exact["frequent"] == exact["rare"] == 0.9
    assert 0.85 < shrunk["frequent"] < 0.9
    assert 0.5 < shrunk["rare"] < 0.6
    # the mean of the log-odds, 0 for 0.5: one example of ten and one
    assert shrunk["rare"] == pytest.approx(1 / (1 + math.exp(-math.log(9) / 11)), abs=1e-6)


def test_a_label_that_does_not_reach_the_precision_is_never_predicted() -> None:
    parts = [
        rows_of("good", [(0.9, True)] * 50),
        rows_of("bad", [(0.8, False), (0.7, True)] * 15),
        rows_of("few", [(0.8, False), (0.7, True)] * 3),
    ]
    rows, truth = ([row for part in parts for row in part[i]] for i in (0, 1))
    found = Predictions.from_rows(rows)
    chosen = tuner_of(found, truth).choose(per_label=True, precision=0.9)
    assert chosen["bad"] == math.inf
    assert chosen["few"] == chosen.value  # six examples are not enough
    assert [row for row in cut(found, chosen) if row and row[0][0] == "bad"] == []


def test_what_cannot_be_chosen_is_refused() -> None:
    empty = Tuner()
    with pytest.raises(InvalidInputError, match="none of the 0 examples has a label"):
        empty.choose()
    assert math.isnan(empty.measure(0.5)["micro-F1"])
    found = Predictions.from_rows([[("a", 0.5)], [("b", 0.75)]])
    with pytest.raises(InvalidInputError, match="none of the 2 predicted labels is true"):
        tuner_of(found, [["c"], ["c"]]).choose()
    with pytest.raises(InvalidInputError) as raised:
        tuner_of(found, [["a"], []]).choose(precision=0.9)
    assert raised.value.code == "threshold-not-found"
    assert raised.value.what == "no threshold reaches a precision of 0.9 on these 2 examples"
    assert raised.value.got == "at best 0.5000, at threshold 0.5"
    with pytest.raises(InvalidInputError, match=r"row 1 of predictions: thresholds need probabilities.* score 7.0"):
        tuner_of(Predictions.from_rows([[], [("a", 7)]]), [[], []])


@pytest.mark.parametrize(
    ("call", "cls", "message"),
    [
        (lambda: Thresholds(1.5), InvalidParameterError, "value must be between 0 and 1, got 1.5"),
        (lambda: Thresholds(math.inf), InvalidParameterError, "value must be between 0 and 1"),
        (
            lambda: Thresholds(0.5, {"a": 2}),
            InvalidParameterError,
            "the threshold of label 'a' must be between 0 and 1",
        ),
        (lambda: Thresholds(0.5, [("a", 0.5)]), InvalidInputError, "labels must be a mapping"),  # type: ignore[arg-type]
        (lambda: Thresholds(0.5, {"": 0.5}), InvalidInputError, "label 0 must be a non-empty string"),
        (lambda: Thresholds.from_dict({"value": 0.5}), InvalidInputError, "'labels': "),
        (lambda: Thresholds.from_dict([0.5]), InvalidInputError, r"got \[0.5\]"),  # type: ignore[arg-type]
        (lambda: Tuner().choose(precision=0), InvalidParameterError, "precision must be above 0"),
        (lambda: Tuner().choose(shrinkage=-1), InvalidParameterError, "shrinkage must be between 0 and"),
        (lambda: Tuner().choose(per_label=1), InvalidParameterError, "per_label must be True or False"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_thresholds_is_refused(call: Callable[[], Any], cls: type[OpltError], message: str) -> None:
    with pytest.raises(cls, match=message):
        call()


def test_thresholds_are_values() -> None:
    own = {"a": 0.1, np.int64(7): math.inf}
    thresholds = Thresholds(0.3, own)
    own["b"] = 0.2
    assert dict(thresholds.labels) == {"a": 0.1, 7: math.inf}
    assert (thresholds.least, Thresholds(0.3).least) == (0.1, 0.3)
    with pytest.raises(TypeError):
        thresholds.labels["a"] = 0.5  # type: ignore[index]
    assert thresholds == pickle.loads(pickle.dumps(thresholds)) != Thresholds(0.3)
    assert Thresholds.from_dict(json.loads(json.dumps(thresholds.to_dict()))) == thresholds
    assert repr(thresholds) == "<Thresholds: 0.3; own thresholds for 2 labels>"
    with pytest.raises(TypeError, match="not iterable"):
        list(thresholds)  # type: ignore[call-overload]


# --- Models -----------------------------------------------------------------------------------------------------------

X, Y = (list(part) for part in zip(*make_stream(1500, n_labels=60, seed=3), strict=True))
N = 1000


def learnt(**settings: Any) -> OnlinePLT:
    model = OnlinePLT(**settings)
    model.learn_many(X[:N], Y[:N])
    return model


@pytest.fixture(scope="module", params=[512, 0], ids=["memory", "tree"])
def model(request: pytest.FixtureRequest) -> OnlinePLT:
    return learnt(label_memory=request.param)


@pytest.mark.parametrize("per_label", [False, True])
@pytest.mark.parametrize("k", [None, 1, 3])
def test_a_model_predicts_the_labels_that_reach_their_thresholds(
    model: OnlinePLT,
    per_label: bool,  # noqa: FBT001
    k: int | None,
) -> None:
    thresholds = tune(model, X[N:], Y[N:], per_label=per_label)
    assert bool(thresholds.labels) == per_label
    expected = cut(model.predict_many(X[N:], threshold=thresholds.least), thresholds, k)
    model.thresholds = thresholds
    try:
        assert list(model.predict_many(X[N:], k, threshold="tuned")) == expected
        assert list(model.predict_many(X[N:], k, threshold=thresholds)) == expected
        assert [model.predict_one(x, k, threshold="tuned") for x in X[N : N + 50]] == expected[:50]
        row = {name: np.float64(value) for name, value in X[N].items()}  # takes the slow path
        assert model.predict_one(row, k, threshold="tuned") == expected[0]
    finally:
        model.thresholds = None


def test_tuned_thresholds_are_better_than_a_half_on_other_examples(model: OnlinePLT) -> None:
    thresholds = tune(model, X[N:1250], Y[N:1250])
    tuned, half = (
        metrics.micro_f1(model.predict_many(X[1250:], threshold=threshold), Y[1250:]) for threshold in (thresholds, 0.5)
    )
    assert tuned >= half


def test_a_label_that_is_never_to_be_predicted_is_not() -> None:
    model = learnt()
    best = model.predict_one(X[N], k=1)[0][0]
    thresholds = Thresholds(0.0, {best: math.inf})
    assert best not in dict(model.predict_one(X[N], threshold=thresholds))
    assert best not in {label for row in model.predict_many(X[N:], threshold=thresholds) for label, _ in row}


def test_thresholds_are_kept_with_the_model(tmp_path: Path) -> None:
    model = learnt()
    plain = model.fingerprint()
    thresholds = tune(model, X[N:], Y[N:], per_label=True)
    model.thresholds = thresholds
    assert model.fingerprint() != plain
    model.save(tmp_path / "m.oplt")
    kept = [
        pickle.loads(pickle.dumps(model)),
        OnlinePLT.load(tmp_path / "m.oplt"),
        PLT.load(tmp_path / "m.oplt"),
        PLT.load(tmp_path / "m.oplt", verify=False),
        model.snapshot(),
        pickle.loads(pickle.dumps(model.snapshot())),
        model.snapshot().for_prediction(half=True),
        PLT.load(tmp_path / "m.oplt").with_thresholds(None).with_thresholds(thresholds),
    ]
    for other in kept:
        assert other.thresholds == thresholds
    assert {other.fingerprint() for other in kept[:6]} == {model.fingerprint()}
    model.learn_many(X[N:], Y[N:])
    assert model.thresholds == thresholds
    model.thresholds = None
    assert kept[4].thresholds == thresholds  # a snapshot does not change
    assert PLT.load(tmp_path / "m.oplt").with_thresholds(None).fingerprint() == plain


def test_a_batch_trained_model_has_thresholds() -> None:
    model = PLT.fit(X[:N], Y[:N])
    assert model.thresholds is None
    tuned = model.with_thresholds(tune(model, X[N:], Y[N:], precision=0.9))
    assert model.thresholds is None
    kept = tuned.predict_many(X[N:], threshold="tuned")
    hits = sum(label in true for row, true in zip(kept, Y[N:], strict=True) for label, _ in row)
    assert hits / len(kept.labels) >= 0.9


def test_a_label_that_comes_later_has_the_threshold_for_all() -> None:
    model = OnlinePLT()
    model.learn_many([{"purrs": 1}, {"barks": 1}] * 5, ["cat", "dog"] * 5)
    model.thresholds = Thresholds(0.2, {"cat": 1.0, "dog": 1.0, "unheard of": 0.0})
    model.learn_many([{"moos": 1}] * 5, ["cow"] * 5)
    assert [label for label, _ in model.predict_one({"moos": 1}, threshold="tuned")] == ["cow"]


def test_a_model_without_thresholds_says_so() -> None:
    model = learnt()
    for call in (model.predict_one, model.snapshot().predict_one):
        with pytest.raises(InvalidParameterError) as raised:
            call(X[0], threshold="tuned")
        assert raised.value.code == "thresholds-not-tuned"
    with pytest.raises(InvalidParameterError, match="threshold must be a number, 'tuned' or Thresholds, got 'tuend'"):
        model.predict_many(X[:1], threshold="tuend")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="k must be at least 1"):
        model.predict_many(X[:1], 0, threshold=Thresholds(0.5, {"a": 0.1}))
    with pytest.raises(InvalidInputError, match="thresholds must be a Thresholds object or None, got 0.5"):
        model.thresholds = 0.5  # type: ignore[assignment]
    with pytest.raises(InvalidInputError, match="thresholds must be a Thresholds object"):
        model.snapshot().with_thresholds({"a": 0.5})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "thresholds",
    [5, None, {}, {"value": 2, "labels": []}, {"value": 0.5, "labels": [["", 1]]}, {"value": 0.5, "labels": [1]}],
)
def test_thresholds_of_a_crafted_file_are_refused(thresholds: Any) -> None:
    header = json.loads(persistence._encoded(learnt()._saved()))
    with pytest.raises(ModelFormatError, match="the settings in the file are not valid"):
        persistence._decoded(json.dumps({**header, "thresholds": thresholds}).encode())


def test_progressive_validation_tunes_on_predictions_made_before_learning() -> None:
    model, tuner = OnlinePLT(), Tuner()
    (report,) = progressive(model, zip(X[:300], Y[:300], strict=True), k=3, tuner=tuner)
    (plain,) = progressive(OnlinePLT(), zip(X[:300], Y[:300], strict=True), k=3)
    assert report.total == plain.total
    by_hand, again = Tuner(), OnlinePLT()
    for x, labels in zip(X[:300], Y[:300], strict=True):
        by_hand.add(Predictions.from_rows([again.predict_one(x, threshold=FLOOR)]), [labels])
        again.learn_one(x, labels)
    assert tuner.n_examples == 300
    assert tuner.choose(per_label=True) == by_hand.choose(per_label=True)


def test_the_form_of_thresholds_in_files_does_not_change() -> None:
    """Files stay readable: a change of this form would need a new format version."""
    model = OnlinePLT()
    model.thresholds = Thresholds(0.25, {"b": 0.5, "a": math.inf, 7: 0.125})
    encoded = persistence._encoded(model._saved())
    assert encoded.endswith(b', "thresholds": {"labels": [[7, 0.125], ["a", null], ["b", 0.5]], "value": 0.25}}')
    assert persistence._decoded(encoded)[2] == model.thresholds
    model.thresholds = None
    assert b"thresholds" not in persistence._encoded(model._saved())  # files without thresholds do not change
