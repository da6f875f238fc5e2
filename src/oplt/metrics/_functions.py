# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""One measure of one batch. Each definition lives in `_parts`, and each is explained in `Scores`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from oplt._typing import Label, LabelRows
from oplt.checks import count
from oplt.metrics._matching import Matches, match
from oplt.metrics._parts import LabelSets, Probabilities, PropensityScored, Ranking
from oplt.metrics._scores import DEFAULT_BINS, entropy_reduction_of
from oplt.predictions import Predictions

__all__ = [
    "accuracy",
    "coverage_at_k",
    "ece_at_k",
    "entropy_reduction",
    "log_loss_at_k",
    "macro_f1",
    "micro_f1",
    "ndcg_at_k",
    "precision_at_k",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
    "sample_f1",
]


class _Part(Protocol):
    def add(self, matches: Matches) -> None: ...


_SomePart = TypeVar("_SomePart", bound=_Part)


def _of(part: _SomePart, predictions: Predictions, Y: LabelRows, k: int | None = None) -> _SomePart:  # noqa: N803
    part.add(match(predictions, Y, None if k is None else count("k", k)))
    return part


def precision_at_k(predictions: Predictions, Y: LabelRows, k: int = 5) -> float:  # noqa: N803
    """P@k: share of the first k predicted labels that are true. It divides by k, however many were predicted.

    Parameters
    ----------
    predictions
        What `predict_many` returns; `Predictions.from_rows` makes them of the answers of other systems.
    Y
        The true labels, in any form that `learn_many` takes.
    k
        How many labels count.

    Examples
    --------
    >>> from oplt import Predictions
    >>> precision_at_k(Predictions.from_rows([[("cat", 0.9), ("pet", 0.6)]]), [["cat"]], k=2)
    0.5
    """
    k = count("k", k)
    return _of(Ranking((k,)), predictions, Y).precision(k)


def recall_at_k(predictions: Predictions, Y: LabelRows, k: int = 5) -> float:  # noqa: N803
    """R@k: share of the true labels that are among the first k; mean of the examples that have labels.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9), ("cow", 0.6)]])
    >>> recall_at_k(found, [["cat", "pet"]], k=2)
    0.5
    """
    k = count("k", k)
    return _of(Ranking((k,)), predictions, Y).recall(k)


def ndcg_at_k(predictions: Predictions, Y: LabelRows, k: int = 5) -> float:  # noqa: N803
    """nDCG@k: a hit counts less the later it comes; divided by the best possible; see `Scores.ndcg`.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9), ("cow", 0.6)]])
    >>> round(ndcg_at_k(found, ["cow"], k=2), 3)  # the true label is second: 1 / log2(3)
    0.631
    """
    k = count("k", k)
    return _of(Ranking((k,)), predictions, Y).ndcg(k)


def psp_at_k(
    predictions: Predictions,
    Y: LabelRows,  # noqa: N803
    propensities: Mapping[Label, float],
    k: int = 5,
) -> float:
    """PSP@k: P@k in which a hit counts 1 / propensity, divided by that of the best possible predictions.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("common", 0.9), ("rare", 0.6)]])
    >>> round(psp_at_k(found, [["common", "rare"]], {"common": 0.8, "rare": 0.1}, k=1), 3)  # rare would be better
    0.125
    """
    k = count("k", k)
    return _of(PropensityScored((k,), propensities), predictions, Y).precision(k)


def psndcg_at_k(
    predictions: Predictions,
    Y: LabelRows,  # noqa: N803
    propensities: Mapping[Label, float],
    k: int = 5,
) -> float:
    """PSnDCG@k: nDCG@k in which a hit counts 1 / propensity, divided by that of the best possible predictions.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("common", 0.9), ("rare", 0.6)]])
    >>> round(psndcg_at_k(found, [["common", "rare"]], {"common": 0.8, "rare": 0.1}, k=2), 3)  # in the wrong order
    0.701
    """
    k = count("k", k)
    return _of(PropensityScored((k,), propensities), predictions, Y).ndcg(k)


def coverage_at_k(predictions: Predictions, Y: LabelRows, k: int = 5) -> float:  # noqa: N803
    """Share of the labels that occur which are found among the first k of some example: coverage@k.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> coverage_at_k(found, ["cat", "dog"], k=1), coverage_at_k(found, ["cat", "dog"], k=2)
    (0.5, 1.0)
    """
    k = count("k", k)
    return _of(LabelSets(), predictions, Y).coverage(k)


def log_loss_at_k(predictions: Predictions, Y: LabelRows, k: int = 5) -> float:  # noqa: N803
    """Mean of -ln p of the true and -ln(1 - p) of the wrong labels among the first k; see `Scores.log_loss`.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.5)], [("dog", 0.5)]])
    >>> round(log_loss_at_k(found, ["cat", "cow"], k=1), 3)  # a coin that is right half of the time: ln 2
    0.693
    """
    k = count("k", k)
    return _of(Probabilities((k,), bins=1), predictions, Y).log_loss(k)


def ece_at_k(predictions: Predictions, Y: LabelRows, k: int = 5, *, bins: int = DEFAULT_BINS) -> float:  # noqa: N803
    """ECE@k: how far the probabilities of the first k labels are from the share of true ones.

    The labels are put in bins of equal width by their probabilities. The gap of a bin is between the mean probability
    and the share of true labels; ECE is the mean gap, weighted by the number of labels.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.75)], [("dog", 0.75)]])
    >>> ece_at_k(found, ["cat", "cow"], k=1)  # it said 3 of 4, and 1 of 2 was right
    0.25
    """
    k = count("k", k)
    return _of(Probabilities((k,), count("bins", bins)), predictions, Y).ece(k)


def micro_f1(predictions: Predictions, Y: LabelRows, k: int | None = None) -> float:  # noqa: N803
    """F1 of all pairs of example and label.

    All predicted labels count, or the first `k` of each example. F1 is made for sets: predict with a threshold.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> round(micro_f1(found, ["cat", "dog"]), 3)  # 2 of the 3 predicted and of the 2 true pairs
    0.8
    """
    return _of(LabelSets(), predictions, Y, k).micro_f1()


def macro_f1(predictions: Predictions, Y: LabelRows, k: int | None = None) -> float:  # noqa: N803
    """Mean of the F1 of the labels that are true or predicted somewhere; see `micro_f1` for `k`.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> round(macro_f1(found, ["cat", "dog"]), 3)  # 2/3 of cat, 1 of dog
    0.833
    """
    return _of(LabelSets(), predictions, Y, k).macro_f1()


def sample_f1(predictions: Predictions, Y: LabelRows, k: int | None = None) -> float:  # noqa: N803
    """Mean of the F1 of the examples, 1 where nothing is true and nothing predicted; see `micro_f1` for `k`.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> round(sample_f1(found, ["cat", "dog"]), 3)  # 1 of the first example, 2/3 of the second
    0.833
    """
    return _of(LabelSets(), predictions, Y, k).sample_f1()


def accuracy(predictions: Predictions, Y: LabelRows) -> float:  # noqa: N803
    """Share of the examples whose first label is true. For multi-class problems; the same as P@1.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> accuracy(found, ["cat", "dog"])
    0.5
    """
    return precision_at_k(predictions, Y, k=1)


def entropy_reduction(predictions: Predictions, Y: LabelRows) -> float:  # noqa: N803
    """log2 of the accuracy, less that of the best constant prediction: the label that most examples have.

    The measure of the paper's figure of progressive few-shot learning (after Sun et al. 2019), in bits.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[(label, 0.9)] for label in ("cat", "dog", "cow", "cow")])
    >>> round(entropy_reduction(found, ["cat", "dog", "cow", "hen"]), 3)  # 3 of 4 right, a constant has 1 of 4
    1.585
    """
    matches = match(predictions, Y)
    ranking, sets = Ranking((1,)), LabelSets()
    ranking.add(matches)
    sets.add(matches)
    return entropy_reduction_of(ranking, sets)
