# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The definitions of the metrics: what is summed over examples, and how metrics are computed from the sums.

Counts are integers and sums are exact, so that chunks can be added and merged in any order: the result is bit for bit
that of the whole. A metric over no examples is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real

import numpy as np
import numpy.typing as npt

from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.metrics._exact import ONE, ExactSums
from oplt.metrics._labels import LabelScores
from oplt.metrics._matching import Matches
from oplt.wording import briefly

__all__ = ["LabelSets", "Probabilities", "PropensityScored", "Ranking"]

_NAN = float("nan")
_NEVER = np.iinfo(np.int64).max

# Probabilities are float32: only 1 itself is nearer to 1 than this. Clipping keeps the loss of a wrong certainty
# finite.
_SURE = 2.0**-24

# The inverse of a smaller propensity may overflow.
_LEAST_PROPENSITY = 1e-300


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else _NAN


def _discounts(rank: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """1 / log2(rank + 1), where ranks count from 1; these count from 0."""
    return 1 / np.log2(rank + 2)


def _ideal(n_true: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.float64]:
    """DCG at k of rows whose true labels are all found first."""
    n_found = np.minimum(n_true, k)
    each = _discounts(np.arange(n_found.max(initial=0)))
    return np.concatenate(([0.0], np.cumsum(each)))[n_found]


class Ranking:
    """P@k, R@k and nDCG@k."""

    def __init__(self, cutoffs: tuple[int, ...]) -> None:
        self._cutoffs = cutoffs
        self.n_rows = 0
        self.n_right = 0  # rows whose first label is true
        self._n_labelled = 0
        self._hits = np.zeros(len(cutoffs), dtype=np.int64)
        self._recall = ExactSums(len(cutoffs))
        self._ndcg = ExactSums(len(cutoffs))

    def add(self, matches: Matches) -> None:
        row, rank = matches.row[matches.hit], matches.rank[matches.hit]
        self.n_rows += len(matches)
        self.n_right += int(np.sum(rank == 0))
        labelled = matches.n_true > 0
        n_true = matches.n_true[labelled]
        self._n_labelled += len(n_true)
        for place, k in enumerate(self._cutoffs):
            near = rank < k
            found = np.bincount(row[near], minlength=len(matches))
            gains = np.bincount(row[near], weights=_discounts(rank[near]), minlength=len(matches))
            self._hits[place] += found.sum()
            places = np.full(len(n_true), place)
            self._recall.add(places, found[labelled] / n_true)
            self._ndcg.add(places, gains[labelled] / _ideal(n_true, k))

    def merge(self, other: Ranking) -> None:
        self.n_rows += other.n_rows
        self.n_right += other.n_right
        self._n_labelled += other._n_labelled
        self._hits += other._hits
        self._recall.merge(other._recall)
        self._ndcg.merge(other._ndcg)

    def accuracy(self) -> float:
        return _ratio(self.n_right, self.n_rows)

    def precision(self, k: int) -> float:
        return _ratio(int(self._hits[self._cutoffs.index(k)]), k * self.n_rows)

    def recall(self, k: int) -> float:
        return self._recall.mean(self._cutoffs.index(k), self._n_labelled)

    def ndcg(self, k: int) -> float:
        return self._ndcg.mean(self._cutoffs.index(k), self._n_labelled)


class PropensityScored:
    """PSP@k and PSnDCG@k: a hit counts 1 / propensity; the total is divided by the best possible."""

    def __init__(self, cutoffs: tuple[int, ...], propensities: Mapping[Label, float]) -> None:
        if not isinstance(propensities, Mapping):
            raise InvalidInputError(
                "propensity-not-valid",
                "propensities must be a mapping from labels to propensities",
                got=type(propensities).__name__,
            )
        self._cutoffs = cutoffs
        self.propensities = propensities
        self._gain, self._best_gain = ExactSums(len(cutoffs)), ExactSums(len(cutoffs))
        self._dcg, self._best_dcg = ExactSums(len(cutoffs)), ExactSums(len(cutoffs))

    def add(self, matches: Matches) -> None:
        inverse = self._inverse(matches.names)
        hit = matches.hit
        self._add(matches, self._gain, self._dcg, matches.row[hit], matches.rank[hit], inverse[matches.label[hit]])
        # The best possible prediction: the true labels, those with the lowest propensity first.
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
        for place, k in enumerate(self._cutoffs):
            near = rank < k
            places = np.full(int(near.sum()), place)
            gain.add(places, value[near])
            dcg.add(places, value[near] * _discounts(rank[near]) / _ideal(matches.n_true, k)[row[near]])

    def _inverse(self, names: list[Label]) -> npt.NDArray[np.float64]:
        try:
            values = np.array([self.propensities[name] for name in names], dtype=np.float64)
        except KeyError as error:
            raise InvalidInputError(
                "propensity-missing",
                f"label {error.args[0]!r} has no propensity",
                hint="oplt.metrics.propensities estimates one for every label, new labels included.",
            ) from None
        except (TypeError, ValueError):
            name = next((name for name in names if not isinstance(self.propensities[name], Real)), names[0])
            raise InvalidInputError(
                "propensity-not-valid",
                f"the propensity of label {name!r} must be a number above 0 and at most 1",
                got=briefly(self.propensities[name]),
            ) from None
        bad = ~((values >= _LEAST_PROPENSITY) & (values <= 1))
        if bad.any():
            place = int(np.argmax(bad))
            rule = "above 0" if values[place] <= 0 else f"at least {_LEAST_PROPENSITY:g}"
            raise InvalidInputError(
                "propensity-not-valid",
                f"the propensity of label {names[place]!r} must be {rule} and at most 1",
                got=str(values[place]),
            )
        return 1 / values

    def merge(self, other: PropensityScored) -> None:
        self._gain.merge(other._gain)
        self._best_gain.merge(other._best_gain)
        self._dcg.merge(other._dcg)
        self._best_dcg.merge(other._best_dcg)

    def precision(self, k: int) -> float:
        return self._share(self._gain, self._best_gain, k)

    def ndcg(self, k: int) -> float:
        return self._share(self._dcg, self._best_dcg, k)

    def _share(self, gained: ExactSums, best: ExactSums, k: int) -> float:
        place = self._cutoffs.index(k)
        return _ratio(gained.total(place, place + 1), best.total(place, place + 1))


class LabelSets:
    """Counts of each label, and F1 over the sets of predicted labels."""

    def __init__(self) -> None:
        self._ids: dict[Label, int] = {}
        self._n_rows = 0
        # By label: the number of times it is true, predicted, and both; the best rank of a hit.
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
        # An example with neither true nor predicted labels is correct.
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

    def by_label(self) -> LabelScores:
        names = np.empty(len(self._ids), dtype=object)
        names[:] = list(self._ids)
        by_name = sorted(range(len(names)), key=lambda i: (isinstance(names[i], str), names[i]))
        order = np.array(by_name, dtype=np.int64)
        order = order[np.argsort(-self._n_true[order], kind="stable")]
        return LabelScores(names[order], self._n_true[order], self._n_predicted[order], self._n_hits[order])

    def most_frequent(self) -> int:
        """Return the number of examples of the most frequent label."""
        return int(self._n_true.max(initial=0))


class Probabilities:
    """Log-loss and calibration of the first k probabilities of each example."""

    def __init__(self, cutoffs: tuple[int, ...], bins: int) -> None:
        self._cutoffs = cutoffs
        self._n_bins = bins
        # By stretch and bin. A stretch is the ranks from one cutoff to the next: at k, all stretches up to it count.
        self._n = np.zeros((len(cutoffs), bins), dtype=np.int64)
        self._hits = np.zeros((len(cutoffs), bins), dtype=np.int64)
        self._sums = ExactSums(len(cutoffs) * bins)
        self._losses = ExactSums(len(cutoffs))
        self._no_probability: float | None = None

    def add(self, matches: Matches) -> None:
        near = matches.rank < self._cutoffs[-1]
        stretch = np.searchsorted(self._cutoffs, matches.rank[near], side="right")
        score, hit = matches.score[near], matches.hit[near]
        bad = ~((score >= 0) & (score <= 1))
        if bad.any():
            self._no_probability = float(score[np.argmax(bad)])
            return
        places = stretch * self._n_bins + np.minimum((score * self._n_bins).astype(np.int64), self._n_bins - 1)
        self._n += np.bincount(places, minlength=self._n.size).reshape(self._n.shape)
        self._hits += np.bincount(places[hit], minlength=self._n.size).reshape(self._n.shape)
        self._sums.add(places, score)
        p = np.clip(score, _SURE, 1 - _SURE)
        self._losses.add(stretch, -np.log(np.where(hit, p, 1 - p)))

    def merge(self, other: Probabilities) -> None:
        self._n += other._n
        self._hits += other._hits
        self._sums.merge(other._sums)
        self._losses.merge(other._losses)
        self._no_probability = self._no_probability if other._no_probability is None else other._no_probability

    @property
    def usable(self) -> bool:
        """Whether all scores so far are probabilities."""
        return self._no_probability is None

    def _stretches(self, k: int) -> int:
        """Return the number of stretches up to k."""
        if not self.usable:
            raise InvalidInputError(
                "score-not-a-probability",
                "log-loss and ECE need probabilities from 0 to 1",
                got=f"the score {self._no_probability}",
            )
        return self._cutoffs.index(k) + 1

    def log_loss(self, k: int) -> float:
        n_stretches = self._stretches(k)
        return _ratio(self._losses.total(0, n_stretches), ONE * int(self._n[:n_stretches].sum()))

    def ece(self, k: int) -> float:
        n_stretches = self._stretches(k)
        hits = self._hits[:n_stretches].sum(axis=0).tolist()
        sums = [self._sums.total(place, n_stretches * self._n_bins, self._n_bins) for place in range(self._n_bins)]
        gaps = sum(abs(n_hits * ONE - total) for n_hits, total in zip(hits, sums, strict=True))
        return _ratio(gaps, ONE * int(self._n[:n_stretches].sum()))
