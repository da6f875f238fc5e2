# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The measures match their definitions and scikit-learn, and do not depend on how examples are split into chunks."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st

from oplt import Predictions, metrics
from oplt.metrics import Scores
from oplt.metrics._exact import ONE, ExactSums
from tests.reference import measures

Label = str | int
Example = measures.Example

NAMES: list[Label] = [0, 1, 2, 7, -3, 2**40, "a", "b", "1", "é"]
NUMBERS: list[Label] = list(range(8))
PROPENSITIES = metrics.propensities({name: 3 * i for i, name in enumerate(NAMES[:7])}, n_examples=50)

# Sixteenths lie on the bounds of sixteen bins; the log-loss clips 1 and 0.
probabilities = st.one_of(st.integers(0, 16).map(lambda n: n / 16), st.floats(0, 1, width=32))


@st.composite
def examples(draw: st.DrawFn, names: list[Label] = NAMES, most_true: int = 5) -> Example:
    predicted = draw(st.lists(st.sampled_from(names), unique=True, max_size=6))
    scores = sorted((draw(probabilities) for _ in predicted), reverse=True)
    true = draw(st.lists(st.sampled_from(names), max_size=most_true))  # including none, and duplicates
    return list(zip(predicted, scores, strict=True)), true


batches = st.lists(examples(), max_size=12)
cutoffs = st.integers(1, 7)


def split(batch: list[Example]) -> tuple[Predictions, list[Any]]:
    return Predictions.from_rows(predicted for predicted, _ in batch), [list(true) for _, true in batch]


def same(one: float, other: float) -> bool:
    return one == pytest.approx(other, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("measure", "reference"),
    [
        (metrics.precision_at_k, measures.precision),
        (metrics.recall_at_k, measures.recall),
        (metrics.ndcg_at_k, measures.ndcg),
        (metrics.coverage_at_k, measures.coverage),
        (metrics.log_loss_at_k, measures.log_loss),
        (metrics.micro_f1, measures.micro_f1),
        (metrics.macro_f1, measures.macro_f1),
        (metrics.sample_f1, measures.sample_f1),
        (lambda *given: metrics.ece_at_k(*given, bins=16), lambda batch, k: measures.ece(batch, k, 16)),
        (
            lambda found, Y, k: metrics.psp_at_k(found, Y, PROPENSITIES, k),
            lambda b, k: measures.psp(b, PROPENSITIES, k),
        ),
        (
            lambda found, Y, k: metrics.psndcg_at_k(found, Y, PROPENSITIES, k),
            lambda b, k: measures.psndcg(b, PROPENSITIES, k),
        ),
    ],
)
@given(batch=batches, k=cutoffs)
def test_a_measure_equals_its_definition(
    measure: Callable[..., float], reference: Callable[..., float], batch: list[Example], k: int
) -> None:
    assert same(measure(*split(batch), k), reference(batch, k))


@given(batches)
def test_accuracy_and_entropy_reduction_equal_their_definitions(batch: list[Example]) -> None:
    assert same(metrics.accuracy(*split(batch)), measures.accuracy(batch))
    assert same(metrics.entropy_reduction(*split(batch)), measures.entropy_reduction(batch))


@given(batches)
def test_f1_of_all_that_is_predicted(batch: list[Example]) -> None:
    for name in ("micro_f1", "macro_f1", "sample_f1"):
        assert same(getattr(metrics, name)(*split(batch)), getattr(measures, name)(batch, 99))


@given(batches)
def test_scores_have_the_measures_of_the_functions(batch: list[Example]) -> None:
    found, Y = split(batch)
    scores = Scores((1, 4), propensities=PROPENSITIES, bins=16)
    scores.add(found, Y)
    expected = {}
    for k in (1, 4):
        expected |= {
            f"P@{k}": metrics.precision_at_k(found, Y, k),
            f"R@{k}": metrics.recall_at_k(found, Y, k),
            f"nDCG@{k}": metrics.ndcg_at_k(found, Y, k),
            f"coverage@{k}": metrics.coverage_at_k(found, Y, k),
            f"PSP@{k}": metrics.psp_at_k(found, Y, PROPENSITIES, k),
            f"PSnDCG@{k}": metrics.psndcg_at_k(found, Y, PROPENSITIES, k),
            f"log-loss@{k}": metrics.log_loss_at_k(found, Y, k),
            f"ECE@{k}": metrics.ece_at_k(found, Y, k, bins=16),
        }
    expected |= {
        "micro-F1": metrics.micro_f1(found, Y),
        "macro-F1": metrics.macro_f1(found, Y),
        "sample-F1": metrics.sample_f1(found, Y),
        "accuracy": metrics.accuracy(found, Y),
        "entropy-reduction": metrics.entropy_reduction(found, Y),
    }
    assert_identical(scores.result(), expected)


def assert_identical(one: dict[str, float], other: dict[str, float]) -> None:
    """Check bitwise equality, including NaN."""
    assert {name: value.hex() for name, value in one.items()} == {name: value.hex() for name, value in other.items()}


@given(batch=batches, cuts=st.lists(st.integers(0, 12), max_size=4), data=st.data())
def test_chunks_in_any_order_and_merged_equal_the_whole_to_the_bit(
    batch: list[Example], cuts: list[int], data: st.DataObject
) -> None:
    whole, added, merged = (Scores((1, 3, 5), propensities=PROPENSITIES) for _ in range(3))
    whole.add(*split(batch))
    bounds = sorted({0, len(batch), *(min(cut, len(batch)) for cut in cuts)})
    for begin, end in data.draw(st.permutations(list(pairwise(bounds)))):
        added.add(*split(batch[begin:end]))
        chunk = Scores((1, 3, 5), propensities=PROPENSITIES)
        chunk.add(*split(batch[begin:end]))
        merged.merge(chunk)
    assert_identical(added.result(), whole.result())
    assert_identical(merged.result(), whole.result())
    assert added.n_examples == merged.n_examples == len(batch)


def test_many_chunks_equal_the_whole_to_the_bit() -> None:
    """Long enough that a plain sum of floats would differ. The labels also arrive in a different order."""
    rng = random.Random(0)  # noqa: S311 (no secret)
    batch: list[Example] = [
        ([(label, rng.random()) for label in rng.sample(range(50), 5)], rng.sample(range(50), rng.randint(0, 4)))
        for _ in range(3000)
    ]
    p = metrics.propensities([10 + 7 * i for i in range(50)], n_examples=3000)
    whole, chunked = Scores(propensities=p), Scores(propensities=p)
    whole.add(*split(batch))
    chunks = list(pairwise([0, *sorted(rng.sample(range(1, 3000), 150)), 3000]))
    rng.shuffle(chunks)
    for begin, end in chunks:
        chunked.add(*split(batch[begin:end]))
    assert_identical(chunked.result(), whole.result())


@pytest.mark.parametrize("most_terms", [1 << 25, 4])
@given(terms=st.lists(st.tuples(st.integers(0, 2), st.floats(-1e300, 1e300)), max_size=30))
def test_exact_sums_are_exact(most_terms: int, terms: list[tuple[int, float]]) -> None:
    sums = ExactSums(3)
    with mock.patch("oplt.metrics._exact._MOST_TERMS", most_terms):
        sums.add(np.array([place for place, _ in terms], dtype=np.int64), np.array([value for _, value in terms]))
    for place in range(3):
        expected = sum((Fraction(value) for at, value in terms if at == place), Fraction(0))
        assert Fraction(sums.total(place, place + 1), ONE) == expected


def indicator(rows: list[list[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    dense = np.zeros((len(rows), len(NUMBERS)), dtype=np.int64)
    for i, row in enumerate(rows):
        dense[i, row] = 1
    return dense


numbered = st.lists(examples(NUMBERS), min_size=1, max_size=10)


@given(numbered)
def test_f1_is_that_of_scikit_learn(batch: list[Example]) -> None:
    found, Y = split(batch)
    true, predicted = indicator(Y), indicator([[label for label, _ in row] for row in found])
    used = np.flatnonzero((true + predicted).sum(axis=0))
    assume(len(used))
    for average in ("micro", "macro"):
        expected = sklearn.metrics.f1_score(true[:, used], predicted[:, used], average=average)
        assert same(getattr(metrics, f"{average}_f1")(found, Y), expected)
    expected = sklearn.metrics.f1_score(true, predicted, average="samples", zero_division=1.0)
    assert same(metrics.sample_f1(found, Y), expected)


@given(batch=numbered, k=cutoffs)
def test_ndcg_is_that_of_scikit_learn(batch: list[Example], k: int) -> None:
    labelled = [example for example in batch if example[1]]
    assume(labelled)
    found, Y = split(labelled)
    # scikit-learn needs scores for all labels: those that are not predicted come last, beyond the first k.
    padded = [[*predicted, *((label, 0.0) for label in NUMBERS)] for predicted, _ in labelled]
    order = np.zeros((len(labelled), len(NUMBERS) + k))
    true = np.zeros_like(order)
    true[:, : len(NUMBERS)] = indicator(Y)
    for i, row in enumerate(padded):
        n_predicted = len(labelled[i][0])
        order[i, len(NUMBERS) :] = 1.0  # k wrong labels between the predicted ones and the others
        for rank, (label, _) in enumerate(row[:n_predicted]):
            order[i, label] = 10.0 - rank
    assert same(metrics.ndcg_at_k(found, Y, k), sklearn.metrics.ndcg_score(true, order, k=k, ignore_ties=True))


@given(st.lists(st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)), min_size=1, max_size=12))
def test_accuracy_is_that_of_scikit_learn(answers: list[tuple[Label, Label]]) -> None:
    predicted, true = zip(*answers, strict=True)
    found = Predictions.from_rows([[(label, 0.5)] for label in predicted])
    assert same(metrics.accuracy(found, list(true)), sklearn.metrics.accuracy_score(true, predicted))


@given(batch=numbered, k=cutoffs)
def test_recall_and_precision_are_those_of_scikit_learn(batch: list[Example], k: int) -> None:
    labelled = [example for example in batch if example[1]]
    assume(labelled)
    found, Y = split(labelled)
    true, predicted = indicator(Y), indicator([[label for label, _ in row[:k]] for row in found])
    recall = sklearn.metrics.recall_score(true, predicted, average="samples")
    assert same(metrics.recall_at_k(found, Y, k), recall)
    full = [example for example in labelled if len(example[0]) >= k]
    if full:
        found, Y = split(full)
        true, predicted = indicator(Y), indicator([[label for label, _ in row[:k]] for row in found])
        precision = sklearn.metrics.precision_score(true, predicted, average="samples")
        assert same(metrics.precision_at_k(found, Y, k), precision)


@given(batch=numbered, k=cutoffs)
def test_log_loss_is_that_of_scikit_learn(batch: list[Example], k: int) -> None:
    pairs = measures.probabilities(batch, k)
    assume(pairs)
    clipped = [min(max(p, 2.0**-24), 1 - 2.0**-24) for p, _ in pairs]
    expected = sklearn.metrics.log_loss([hit for _, hit in pairs], clipped, labels=[False, True])
    assert same(metrics.log_loss_at_k(*split(batch), k), expected)


@given(numbered)
def test_perfect_predictions_have_perfect_measures(batch: list[Example]) -> None:
    perfect: list[Example] = []
    for _, true in batch:
        ordered = sorted(set(true), key=lambda label: PROPENSITIES[label])
        perfect.append(([(label, 1.0) for label in ordered], true))
    assume(any(true for _, true in perfect))
    scores = Scores(5, propensities=PROPENSITIES)
    scores.add(*split(perfect))
    found = scores.result()
    for name in ("R@5", "nDCG@5", "PSP@5", "PSnDCG@5", "coverage@5", "micro-F1", "macro-F1", "sample-F1"):
        assert found[name] == 1, name
    assert found["ECE@5"] == 0
    assert math.isclose(found["log-loss@5"], 2.0**-24, rel_tol=1e-6)
