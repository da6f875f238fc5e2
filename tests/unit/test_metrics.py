# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import precision_recall_fscore_support

from oplt import InvalidInputError, InvalidParameterError, OnlinePLT, Predictions, metrics
from oplt.metrics import PROPENSITY_PARAMETERS, Propensities, Scores, propensities

FOUND = Predictions.from_rows([[(0, 0.9), (2, 0.5)], [], [(1, 0.8), (0, 0.3), (2, 0.1)]])
DENSE = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    "Y",
    [
        [[0, 2], [1], [0]],
        [(0, 2), {1}, 0],
        [[np.int64(2), 0, 0], [np.array(1)], iter([0])],
        DENSE,
        DENSE.astype(bool),
        sp.csr_array(DENSE.astype(np.float32)),
        sp.csc_matrix(DENSE),
    ],
    ids=["lists", "collections", "numbers of NumPy", "indicator", "booleans", "CSR", "CSC"],
)
def test_true_labels_come_in_every_form_that_learn_many_takes(Y: Any) -> None:
    scores = Scores((1, 2))
    scores.add(FOUND, Y)
    assert (scores.precision(1), scores.precision(2)) == (1 / 3, 3 / 6)
    assert (scores.recall(1), scores.recall(2)) == (0.5 / 3, 2 / 3)
    assert scores.coverage(2) == 2 / 3
    assert scores.micro_f1 == 2 * 3 / (5 + 4)


def test_strings_and_integers_are_different_labels() -> None:
    both = Predictions.from_rows([[("1", 0.5), (1, 0.4)]])
    assert metrics.precision_at_k(both, [[1]], k=1) == 0
    assert metrics.precision_at_k(both, [["1"]], k=1) == 1
    assert metrics.precision_at_k(Predictions.from_rows([[("a", 0.5)]]), [[1]], k=1) == 0


@pytest.mark.parametrize(("predicted", "true"), [("1", 1), (1, "1"), (7, "7")])
def test_labels_that_only_their_type_keeps_apart_are_refused(predicted: Any, true: Any) -> None:
    kinds = ("strings", "integers") if isinstance(predicted, str) else ("integers", "strings")
    message = f"the predicted labels are {kinds[0]}, but those of Y are {kinds[1]}, so none can match"
    found = Predictions.from_rows([[(predicted, 0.5)], []])
    with pytest.raises(InvalidInputError, match=message):
        metrics.precision_at_k(found, [[true], []], k=1)
    with pytest.raises(InvalidInputError, match=message):
        metrics.Scores().add(found, [[], [true]])


def test_precision_divides_by_k_even_if_less_is_predicted() -> None:
    assert metrics.precision_at_k(Predictions.from_rows([[("a", 0.5)]]), ["a"], k=5) == 1 / 5


def test_an_example_without_labels_counts_for_precision_only() -> None:
    found = Predictions.from_rows([[("a", 0.5)], [("a", 0.5)]])
    Y: list[Any] = ["a", []]
    assert metrics.precision_at_k(found, Y, k=1) == 0.5
    assert metrics.recall_at_k(found, Y, k=1) == 1
    assert metrics.ndcg_at_k(found, Y, k=1) == 1
    assert metrics.sample_f1(found, Y) == 0.5


def test_predictions_of_a_model_are_measured() -> None:
    model = OnlinePLT()
    X = [{"purrs": 1.0}, {"barks": 1.0}] * 10
    Y = ["cat", "dog"] * 10
    model.learn_many(X, Y)
    assert metrics.accuracy(model.predict_many(X, k=2), Y) == 1
    assert metrics.entropy_reduction(model.predict_many(X, k=2), Y) == 1


def test_classes_come_as_an_array() -> None:
    found = Predictions.from_rows([[(3, 0.9)], [(1, 0.8)], [(2, 0.7)]])
    assert metrics.accuracy(found, np.array([3, 1, 1])) == 2 / 3


def test_scores_travel_between_processes() -> None:
    scores = Scores(propensities=propensities([5, 3, 1], n_examples=9))
    scores.add(FOUND, DENSE)
    again = pickle.loads(pickle.dumps(scores))
    assert again.result() == scores.result()
    again.merge(scores)
    assert again.n_examples == 2 * scores.n_examples
    assert again.result() == scores.result()  # counting the same examples twice does not change any measure


def test_nothing_measured_is_nan() -> None:
    result = Scores(propensities=propensities([1, 2], n_examples=3)).result()
    assert len(result) == 8 * 3 + 5
    assert all(math.isnan(value) for value in result.values())
    assert math.isnan(metrics.precision_at_k(Predictions.from_rows([]), []))


def test_propensities_follow_the_formula() -> None:
    """The formula of the paper's appendix, with 1 / p = q = 1 + C·(N_j + B)^(-A)."""
    a, b = PROPENSITY_PARAMETERS["Amazon-670K"]
    assert (a, b) == (0.6, 2.6)
    found = propensities({"x": 4, 7: 0}, 100, a, b)
    c = (math.log(100) - 1) * (b + 1) ** a
    assert found["x"] == pytest.approx(1 / (1 + c * (4 + b) ** -a), rel=1e-14)
    assert found[7] == found["new"] == found.unseen == pytest.approx(1 / (1 + c * b**-a), rel=1e-14)
    assert set(found) == {"x", 7}


def test_propensities_of_columns() -> None:
    counts = sp.csr_array(DENSE).sum(axis=0)
    assert propensities(counts, 3) == propensities({0: 2, 1: 1, 2: 1}, 3)


def test_psp_by_hand() -> None:
    """The rare label (1 / p = 10) is missed, the common one (2) is found: 2 of the best 10 at 1, 2 of 12 at 2."""
    found = Predictions.from_rows([[("common", 0.9), ("wrong", 0.5)]])
    p = {"common": 0.5, "rare": 0.1, "wrong": 0.3}
    assert metrics.psp_at_k(found, [["rare", "common"]], p, k=1) == 2 / 10
    assert metrics.psp_at_k(found, [["rare", "common"]], p, k=2) == 2 / 12
    at_2 = metrics.psndcg_at_k(found, [["rare", "common"]], p, k=2)
    assert at_2 == pytest.approx(2 / (10 + 2 / math.log2(3)))


def test_a_new_label_has_the_propensity_of_one_never_observed() -> None:
    found = Predictions.from_rows([[("old", 0.9)]])
    p = propensities({"old": 50}, n_examples=100)
    expected = (1 / p["old"]) / (1 / p.unseen)
    assert metrics.psp_at_k(found, [["old", "new"]], p, k=1) == pytest.approx(expected)


def test_a_label_that_a_plain_mapping_lacks_is_an_error_and_changes_nothing() -> None:
    scores = Scores(1, propensities={"a": 0.5})
    scores.add(Predictions.from_rows([[("a", 0.9)]]), ["a"])
    before = scores.result()
    with pytest.raises(InvalidInputError, match="label 'b' has no propensity"):
        scores.add(Predictions.from_rows([[("a", 0.9)]]), ["b"])
    assert scores.result() == before
    with pytest.raises(InvalidInputError, match="the propensity of label 'b' must be above 0 and at most 1, got 0.0"):
        metrics.psp_at_k(Predictions.from_rows([[("b", 0.9)]]), ["b"], {"b": 0.0})


def test_the_least_propensities() -> None:
    found = Predictions.from_rows([[("a", 0.9), ("b", 0.8)]])
    for least in (1e-300, 1e-12):
        assert metrics.psp_at_k(found, [["a", "b"]], {"a": 1.0, "b": least}, k=2) == 1
    with pytest.raises(InvalidInputError, match="the propensity of label 'b' must be at least 1e-300 and at most 1"):
        metrics.psp_at_k(found, [["a", "b"]], {"a": 1.0, "b": 1e-310}, k=2)


def test_scores_that_are_no_probabilities_can_be_ranked_but_not_calibrated() -> None:
    scores = Scores(1)
    scores.add(Predictions.from_rows([[("a", 7.5)]]), ["a"])
    assert scores.result()["P@1"] == 1
    assert "ECE@1" not in scores.result()
    with pytest.raises(InvalidInputError, match=r"log-loss and ECE need probabilities.*, got the score 7.5"):
        scores.log_loss(1)
    merged = Scores(1)
    merged.merge(scores)
    with pytest.raises(InvalidInputError, match="probabilities from 0 to 1"):
        merged.ece(1)


@pytest.mark.parametrize(
    ("predictions", "Y", "message"),
    [
        ([[("a", 0.5)]], ["a"], "predictions must be what predict_many returns, got list"),
        (Predictions.from_rows([[("a", 0.5)]]), ["a", "b"], "the predictions have 1 rows but Y has 2"),
        (
            Predictions.from_rows([[], [("a", 0.5), ("b", 0.4), ("a", 0.3)]]),
            ["a", "b"],
            "label 'a' is predicted more than once",
        ),
        (Predictions.from_rows([[("", 0.5)]]), ["a"], "label 0 must be a non-empty string.*got an empty string"),
        (Predictions.from_rows([[("a", 0.5)]]), [[1.5]], "label 0 must be a non-empty string or an integer, got 1.5"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(predictions: Any, Y: Any, message: str) -> None:
    scores = Scores(1)
    with pytest.raises(InvalidInputError, match=message):
        scores.add(predictions, Y)
    assert scores.n_examples == 0
    with pytest.raises(InvalidInputError, match=message):
        metrics.macro_f1(predictions, Y)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="k must be at least 1, got 0"):
        metrics.precision_at_k(FOUND, DENSE, k=0)
    with pytest.raises(InvalidParameterError, match="k must be an integer or a list of integers"):
        Scores(())
    with pytest.raises(InvalidParameterError, match="bins must be at least 1"):
        Scores(bins=0)
    with pytest.raises(InvalidParameterError, match=r"k must be one of the cutoffs of these scores.*, got 2"):
        Scores().precision(2)
    with pytest.raises(InvalidParameterError, match="without propensities"):
        Scores().psp(1)
    with pytest.raises(
        InvalidInputError,
        match=r"only scores with k=\(1,\) and bins=15 can be merged into these, got k=\(1, 2\) and bins=15",
    ):
        Scores(1).merge(Scores((1, 2)))
    with pytest.raises(InvalidInputError, match="bins=9"):
        Scores(1, bins=9).merge(Scores(1))
    for other in (None, {"a": 0.4}):
        with pytest.raises(InvalidInputError, match="made with different propensities"):
            Scores(propensities={"a": 0.5}).merge(Scores(propensities=other))
    one, another = (Scores(propensities=Propensities({"a": 0.5}, unseen=unseen)) for unseen in (0.1, 0.2))
    with pytest.raises(InvalidInputError, match="made with different propensities"):  # of unnamed labels
        one.merge(another)
    with pytest.raises(InvalidParameterError, match="n_examples must be at least 3"):
        propensities([1], n_examples=2)
    with pytest.raises(InvalidParameterError, match="b must be a number above 0, got 0"):
        propensities([1], n_examples=3, b=0)
    with pytest.raises(InvalidInputError, match="other must be Scores, got int"):
        Scores().merge(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["0.5", None, 0, -1, math.inf, math.nan])
def test_propensities_refuse_bad_parameters(value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"a must be a number above 0, got {value!r}"):
        propensities([1], n_examples=3, a=value)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, -1], "the count of label 1 must be from 0 to n_examples=3, got -1"),
        ({"a": math.nan}, "the count of label 'a' must be from 0 to n_examples=3, got nan"),
        ({"a": 4}, "the count of label 'a' must be from 0 to n_examples=3, got 4"),
        ({"a": "4"}, "label_counts must be a mapping from labels to counts, or a 1-D array of them, got {'a': '4'}"),
        ("many", "label_counts must be a mapping .* got 'many'"),
        ([[1], [1, 2]], "label_counts must be a mapping .* got"),
        (np.ones((1, 3)), "label_counts must be a mapping .* got array"),
        ({1.5: 1}, "label 0 must be a non-empty string or an integer, got 1.5"),
    ],
)
def test_propensities_refuse_bad_counts(counts: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        propensities(counts, n_examples=3)


@pytest.mark.parametrize("wrong", [5, ["a"], {"a": "likely"}, {"a": None}])
def test_what_is_no_mapping_to_propensities_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="propensit"):
        metrics.psp_at_k(Predictions.from_rows([[("a", 0.9)]]), ["a"], wrong)


def test_a_huge_k_needs_no_memory_of_its_size() -> None:
    huge = 10**9
    p = propensities([1, 1, 1], n_examples=3)
    scores, small = Scores((1, huge), propensities=p), Scores((1, 3), propensities=p)
    for each in (scores, small):
        each.add(FOUND, DENSE)
    assert scores.precision(huge) == 3 / (huge * 3)
    for measure in ("recall", "ndcg", "psp", "psndcg", "coverage", "log_loss", "ece"):
        assert getattr(scores, measure)(huge) == getattr(small, measure)(3), measure
    assert metrics.recall_at_k(FOUND, DENSE, k=huge) == small.recall(3)
    assert metrics.ece_at_k(FOUND, DENSE, k=huge) == small.ece(3)
    assert metrics.psp_at_k(FOUND, DENSE, p, k=huge) == small.psp(3)


def test_a_measure_at_one_k_refuses_several() -> None:
    found = Predictions.from_rows([[("cat", 0.9)]])
    at_k = (metrics.precision_at_k, metrics.recall_at_k, metrics.ndcg_at_k, metrics.coverage_at_k)
    for measure in (*at_k, metrics.log_loss_at_k, metrics.ece_at_k):
        for k, shown in (((1, 3), r"\(1, 3\)"), (None, "None")):
            with pytest.raises(InvalidParameterError, match=f"k must be an integer, got {shown}"):
                measure(found, [["cat"]], k=k)  # type: ignore[arg-type]


def by_label_of_sklearn(found: Predictions, Y: list[list[int]], n_labels: int) -> list[dict[str, Any]]:
    dense = np.zeros((2, len(Y), n_labels), dtype=int)
    for i, (row, true) in enumerate(zip(found, Y, strict=True)):
        dense[0, i, true] = 1
        dense[1, i, [label for label, _ in row]] = 1
    figures = precision_recall_fscore_support(*dense, average=None, zero_division=np.nan)
    names = ("precision", "recall", "f1", "support")
    return [dict(zip(names, row, strict=True)) for row in np.array(figures).T.tolist()]


def test_scores_by_label_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    Y = [rng.choice(6, size=rng.integers(0, 3), replace=False).tolist() for _ in range(60)]  # 6 and 7 are never true
    rows = [[(label, 0.5) for label in rng.choice(8, 2, replace=False).tolist() if label != 5] for _ in Y]
    found = Predictions.from_rows(rows)
    scores = Scores()
    for part in (slice(20), slice(20, None)):
        scores.add(found[part], Y[part])
    report = scores.by_label()
    expected = by_label_of_sklearn(found, Y, 8)
    assert len(report) == 8
    for row in report.to_dicts():
        want = expected[row["label"]]
        assert row["support"] == want["support"]
        for name in ("precision", "recall"):
            assert row[name] == pytest.approx(want[name], nan_ok=True)
        assert row["f1"] == pytest.approx(np.nan_to_num(want["f1"]))
    order = [(-row["support"], row["label"]) for row in report.to_dicts()]
    assert order == sorted(order)
    assert np.mean(report.f1) == pytest.approx(scores.macro_f1)


def test_scores_by_label_as_a_table_and_as_frames() -> None:
    scores = Scores()
    scores.add(
        Predictions.from_rows([[("a", 0.9), ("two\nlines", 0.5)], [("a", 0.8)]]), [["a", "b"], ["a", "two\nlines"]]
    )
    report = scores.by_label()
    assert repr(report) == "<LabelScores of 3 labels>"
    assert str(report).splitlines() == [
        " support  predicted  precision  recall      F1  label",
        "       2          2     1.0000  1.0000  1.0000  a",
        "       1          0          -  0.0000  0.0000  b",
        "       1          1     0.0000  0.0000  0.0000  two\\nlines",
    ]
    names = ["label", "support", "predicted", "precision", "recall", "f1"]
    assert list(report.to_frame().columns) == names
    assert report.to_frame("polars")["support"].to_list() == [2, 1, 1]
    assert report.to_frame("pyarrow").column_names == names
    scores.add(Predictions.from_rows([[(i, 0.5) for i in range(30)]]), [[]])
    assert len(report) == 3
    assert str(scores.by_label()).endswith("\n... and 13 more labels")
    assert len(scores.by_label().to_text().splitlines()) == 34
    assert str(Scores().by_label()) == " support  predicted  precision  recall      F1  label"
