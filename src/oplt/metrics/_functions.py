# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Single metrics of one batch. They are defined in `_parts` and documented in `Scores`."""

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
    """P@k: the fraction of the first k predicted labels that are true. The divisor is k even if fewer were predicted.

    Parameters
    ----------
    predictions
        What `predict_many` returns. `Predictions.from_rows` converts the predictions of other systems.
    Y
        The true labels, in any form that `learn_many` accepts.
    k
        Number of predicted labels to consider.

    Examples
    --------
    >>> from oplt import Predictions
    >>> precision_at_k(Predictions.from_rows([[("cat", 0.9), ("pet", 0.6)]]), [["cat"]], k=2)
    0.5
    """
    k = count("k", k)
    return _of(Ranking((k,)), predictions, Y).precision(k)


def recall_at_k(predictions: Predictions, Y: LabelRows, k: int = 5) -> float:  # noqa: N803
    """R@k: the fraction of the true labels that are among the first k, averaged over the examples that have labels.

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
    """nDCG@k: normalized discounted cumulative gain of the first k labels; see `Scores.ndcg`.

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
    """PSP@k: propensity-scored P@k, in which a hit counts 1 / propensity, divided by the best possible value.

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
    """PSnDCG@k: propensity-scored nDCG@k, in which a hit counts 1 / propensity, divided by the best possible value.

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
    """Coverage@k: the fraction of the true labels that are among the first k of at least one example with them.

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
    """Log-loss of the probabilities of the first k labels; see `Scores.log_loss`.

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
    """ECE@k: expected calibration error of the first k labels.

    Labels are binned by their probabilities, in bins of equal width. The gap of a bin is the difference between its
    mean probability and its fraction of true labels; ECE is the mean gap, weighted by the number of labels.

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
    """Micro-F1: F1 over all pairs of example and label.

    All predicted labels count, or only the first `k` of each example. F1 compares sets: predict with a threshold.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> round(micro_f1(found, ["cat", "dog"]), 3)  # 2 of the 3 predicted and of the 2 true pairs
    0.8
    """
    return _of(LabelSets(), predictions, Y, k).micro_f1()


def macro_f1(predictions: Predictions, Y: LabelRows, k: int | None = None) -> float:  # noqa: N803
    """Macro-F1: mean F1 of the labels that are true or predicted at least once; see `micro_f1` for `k`.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> round(macro_f1(found, ["cat", "dog"]), 3)  # 2/3 of cat, 1 of dog
    0.833
    """
    return _of(LabelSets(), predictions, Y, k).macro_f1()


def sample_f1(predictions: Predictions, Y: LabelRows, k: int | None = None) -> float:  # noqa: N803
    """Sample-F1: mean F1 of the examples, 1 where there are neither true nor predicted labels; see `micro_f1` for `k`.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> round(sample_f1(found, ["cat", "dog"]), 3)  # 1 of the first example, 2/3 of the second
    0.833
    """
    return _of(LabelSets(), predictions, Y, k).sample_f1()


def accuracy(predictions: Predictions, Y: LabelRows) -> float:  # noqa: N803
    """Accuracy: the fraction of examples whose first predicted label is true, for multi-class problems; equals P@1.

    Examples
    --------
    >>> from oplt import Predictions
    >>> found = Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("dog", 0.4)]])
    >>> accuracy(found, ["cat", "dog"])
    0.5
    """
    return precision_at_k(predictions, Y, k=1)


def entropy_reduction(predictions: Predictions, Y: LabelRows) -> float:  # noqa: N803
    """Entropy reduction: log2 of the accuracy minus log2 of the accuracy of always predicting the most frequent label.

    The metric of the paper's figure on progressive few-shot learning (after Sun et al. 2019), in bits.

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
