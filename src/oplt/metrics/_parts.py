# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The definitions: what is added up of each example, and how measures are made of it.

Counts are integers and sums are exact, so that chunks can be added in any order and merged: the result is that of the
whole, to the last bit. A measure of nothing is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.metrics._exact import ONE, ExactSums
from oplt.metrics._matching import Matches

__all__ = ["LabelSets", "Probabilities", "PropensityScored", "Ranking"]

_NAN = float("nan")
_NEVER = np.iinfo(np.int64).max

# Probabilities are float32: none but 1 itself is nearer to 1 than this. It keeps a wrong "certain" finite.
_SURE = 2.0**-24


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else _NAN


def _discounts(k: int) -> npt.NDArray[np.float64]:
    """1 / log2(rank + 1) for the ranks 1 to k."""
    return 1 / np.log2(np.arange(2, k + 2))


def _ideal(k: int) -> npt.NDArray[np.float64]:
    """DCG of n labels that are all found first, for n from 0 to k."""
    return np.concatenate(([0.0], np.cumsum(_discounts(k))))


class Ranking:
    """P@k, R@k and nDCG@k."""

    def __init__(self, cutoffs: tuple[int, ...]) -> None:
        self._cutoffs = cutoffs
        self.n_rows = 0
        self._n_labelled = 0
        self._hits = np.zeros(cutoffs[-1], dtype=np.int64)  # by rank
        self._recall = ExactSums(len(cutoffs))
        self._ndcg = ExactSums(len(cutoffs))

    def add(self, matches: Matches) -> None:
        hits = matches.hits_at(self._cutoffs[-1])
        self.n_rows += len(matches)
        self._hits += hits.sum(axis=0)
        labelled = matches.n_true > 0
        n_true = matches.n_true[labelled]
        self._n_labelled += len(n_true)
        found = np.cumsum(hits[labelled], axis=1)
        gains = np.cumsum(hits[labelled] * _discounts(hits.shape[1]), axis=1)
        ideal = _ideal(hits.shape[1])
        for place, k in enumerate(self._cutoffs):
            places = np.full(len(n_true), place)
            self._recall.add(places, found[:, k - 1] / n_true)
            self._ndcg.add(places, gains[:, k - 1] / ideal[np.minimum(n_true, k)])

    def merge(self, other: Ranking) -> None:
        self.n_rows += other.n_rows
        self._n_labelled += other._n_labelled
        self._hits += other._hits
        self._recall.merge(other._recall)
        self._ndcg.merge(other._ndcg)

    def n_hits(self, k: int) -> int:
        return int(self._hits[:k].sum())

    def precision(self, k: int) -> float:
        return _ratio(self.n_hits(k), k * self.n_rows)

    def recall(self, k: int) -> float:
        return self._recall.mean(self._cutoffs.index(k), self._n_labelled)

    def ndcg(self, k: int) -> float:
        return self._ndcg.mean(self._cutoffs.index(k), self._n_labelled)


class PropensityScored:
    """PSP@k and PSnDCG@k: a hit counts 1 / propensity; the total is divided by the best possible."""

    def __init__(self, cutoffs: tuple[int, ...], propensities: Mapping[Label, float]) -> None:
        self._cutoffs = cutoffs
        self.propensities = propensities
        self._gain, self._best_gain = ExactSums(cutoffs[-1]), ExactSums(cutoffs[-1])  # by rank
        self._dcg, self._best_dcg = ExactSums(len(cutoffs)), ExactSums(len(cutoffs))

    def add(self, matches: Matches) -> None:
        inverse = self._inverse(matches.names)
        hit = matches.hit
        self._add(matches, self._gain, self._dcg, matches.row[hit], matches.rank[hit], inverse[matches.label[hit]])
        # The best that can be predicted: the true labels, those of the least propensity first.
        values = inverse[matches.true_label]
        order = np.lexsort((-values, matches.true_row))
        starts = np.cumsum(matches.n_true) - matches.n_true
        best_rank = np.arange(len(values)) - starts[matches.true_row]
        self._add(matches, self._best_gain, self._best_dcg, matches.true_row, best_rank, values[order])

    def _add(
        self,
        matches: Matches,
        gain: ExactSums,
        dcg: ExactSums,
        row: npt.NDArray[np.int64],
        rank: npt.NDArray[np.int64],
        value: npt.NDArray[np.float64],
    ) -> None:
        most = self._cutoffs[-1]
        near = rank < most
        row, rank, value = row[near], rank[near], value[near]
        gain.add(rank, value)
        discounted = value * _discounts(most)[rank]
        ideal = _ideal(most)
        for place, k in enumerate(self._cutoffs):
            near = rank < k
            terms = discounted[near] / ideal[np.minimum(matches.n_true[row[near]], k)]
            dcg.add(np.full(len(terms), place), terms)

    def _inverse(self, names: list[Label]) -> npt.NDArray[np.float64]:
        try:
            values = np.array([self.propensities[name] for name in names], dtype=np.float64)
        except KeyError as error:
            msg = (
                f"label {error.args[0]!r} has no propensity: oplt.metrics.propensities gives one to every label,"
                " new ones included"
            )
            raise InvalidInputError(msg) from None
        bad = ~((values > 0) & (values <= 1))
        if bad.any():
            place = int(np.argmax(bad))
            msg = f"the propensity of label {names[place]!r} is {values[place]}: it must be above 0 and at most 1"
            raise InvalidInputError(msg)
        return 1 / values

    def merge(self, other: PropensityScored) -> None:
        self._gain.merge(other._gain)
        self._best_gain.merge(other._best_gain)
        self._dcg.merge(other._dcg)
        self._best_dcg.merge(other._best_dcg)

    def precision(self, k: int) -> float:
        return _ratio(self._gain.total(0, k), self._best_gain.total(0, k))

    def ndcg(self, k: int) -> float:
        place = self._cutoffs.index(k)
        return _ratio(self._dcg.total(place, place + 1), self._best_dcg.total(place, place + 1))


class LabelSets:
    """What is counted for each label, and F1 of all predicted labels as a set."""

    def __init__(self) -> None:
        self._ids: dict[Label, int] = {}
        self._n_rows = 0
        # By label: how often it is true, predicted, and both; the best rank at which it was found.
        self._n_true, self._n_predicted, self._n_hits = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self._best_rank = np.zeros(0, dtype=np.int64)
        self._sample_f1 = ExactSums(1)

    def add(self, matches: Matches) -> None:
        n_labels = len(matches.names)
        best_rank = np.full(n_labels, _NEVER)
        np.minimum.at(best_rank, matches.label[matches.hit], matches.rank[matches.hit])
        self._count(
            matches.names,
            np.bincount(matches.true_label, minlength=n_labels),
            np.bincount(matches.label, minlength=n_labels),
            np.bincount(matches.label[matches.hit], minlength=n_labels),
            best_rank,
        )
        self._n_rows += len(matches)
        n_hits = np.bincount(matches.row[matches.hit], minlength=len(matches))
        n_both = matches.n_true + matches.n_predicted
        # Nothing predicted where nothing is true is right.
        f1 = np.where(n_both > 0, 2 * n_hits / np.maximum(n_both, 1), 1.0)
        self._sample_f1.add(np.zeros(len(f1)), f1)

    def _count(self, names: list[Label], *counts: npt.NDArray[np.int64]) -> None:
        n_true, n_predicted, n_hits, best_rank = counts
        ids = np.array([self._ids.setdefault(name, len(self._ids)) for name in names], dtype=np.int64)
        n_new = len(self._ids) - len(self._n_true)
        if n_new:
            new = np.zeros(n_new, dtype=np.int64)
            self._n_true = np.concatenate((self._n_true, new))
            self._n_predicted = np.concatenate((self._n_predicted, new))
            self._n_hits = np.concatenate((self._n_hits, new))
            self._best_rank = np.concatenate((self._best_rank, np.full(n_new, _NEVER)))
        self._n_true[ids] += n_true
        self._n_predicted[ids] += n_predicted
        self._n_hits[ids] += n_hits
        self._best_rank[ids] = np.minimum(self._best_rank[ids], best_rank)

    def merge(self, other: LabelSets) -> None:
        self._count(list(other._ids), other._n_true, other._n_predicted, other._n_hits, other._best_rank)
        self._n_rows += other._n_rows
        self._sample_f1.merge(other._sample_f1)

    def coverage(self, k: int) -> float:
        return _ratio(int(np.sum(self._best_rank < k)), int(np.sum(self._n_true > 0)))

    def micro_f1(self) -> float:
        return _ratio(2 * int(self._n_hits.sum()), int(self._n_true.sum() + self._n_predicted.sum()))

    def macro_f1(self) -> float:
        n_both = self._n_true + self._n_predicted
        each = 2 * self._n_hits[n_both > 0] / n_both[n_both > 0]
        # fsum rounds once: the order of the labels does not matter
        return math.fsum(each.tolist()) / len(each) if len(each) else _NAN

    def sample_f1(self) -> float:
        return self._sample_f1.mean(0, self._n_rows)

    def most_frequent(self) -> int:
        """How many examples have the most frequent label."""
        return int(self._n_true.max(initial=0))


class Probabilities:
    """Log-loss and calibration of the first k probabilities of each example."""

    def __init__(self, cutoffs: tuple[int, ...], bins: int) -> None:
        most = cutoffs[-1]
        self._n_bins = bins
        self._n = np.zeros((most, bins), dtype=np.int64)  # by rank and bin
        self._hits = np.zeros((most, bins), dtype=np.int64)
        self._sums = ExactSums(most * bins)
        self._losses = ExactSums(most)
        self._no_probability: float | None = None

    def add(self, matches: Matches) -> None:
        most = len(self._n)
        near = matches.rank < most
        rank, score, hit = matches.rank[near], matches.score[near], matches.hit[near]
        bad = ~((score >= 0) & (score <= 1))
        if bad.any():
            self._no_probability = float(score[np.argmax(bad)])
            return
        places = rank * self._n_bins + np.minimum((score * self._n_bins).astype(np.int64), self._n_bins - 1)
        self._n += np.bincount(places, minlength=self._n.size).reshape(self._n.shape)
        self._hits += np.bincount(places[hit], minlength=self._n.size).reshape(self._n.shape)
        self._sums.add(places, score)
        p = np.clip(score, _SURE, 1 - _SURE)
        self._losses.add(rank, -np.log(np.where(hit, p, 1 - p)))

    def merge(self, other: Probabilities) -> None:
        self._n += other._n
        self._hits += other._hits
        self._sums.merge(other._sums)
        self._losses.merge(other._losses)
        self._no_probability = self._no_probability if other._no_probability is None else other._no_probability

    @property
    def usable(self) -> bool:
        """All scores so far are probabilities."""
        return self._no_probability is None

    def _check(self) -> None:
        if not self.usable:
            msg = f"a score is {self._no_probability}: log-loss and calibration need probabilities, from 0 to 1"
            raise InvalidInputError(msg)

    def log_loss(self, k: int) -> float:
        self._check()
        return _ratio(self._losses.total(0, k), ONE * int(self._n[:k].sum()))

    def ece(self, k: int) -> float:
        self._check()
        hits = self._hits[:k].sum(axis=0).tolist()
        sums = [self._sums.total(place, k * self._n_bins, self._n_bins) for place in range(self._n_bins)]
        gaps = sum(abs(n_hits * ONE - total) for n_hits, total in zip(hits, sums, strict=True))
        return _ratio(gaps, ONE * int(self._n[:k].sum()))
