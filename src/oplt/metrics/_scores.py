# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""All metrics of a stream of predictions, chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from oplt._typing import Label, LabelRows
from oplt.checks import count
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.metrics._labels import LabelScores
from oplt.metrics._matching import as_cutoffs, match
from oplt.metrics._parts import LabelSets, Probabilities, PropensityScored, Ranking
from oplt.metrics._propensity import Propensities
from oplt.predictions import Predictions
from oplt.wording import briefly

__all__ = ["DEFAULT_BINS", "Scores", "entropy_reduction_of"]

DEFAULT_BINS = 15


class Scores:
    """Metrics of predictions that arrive in chunks.

    Data may be split into chunks and merged in any way: the metrics are bit for bit those of the whole. Memory grows
    only with the number of distinct labels. A metric that is undefined, as all are before the first example, is NaN.

    Parameters
    ----------
    k
        One or several cutoffs: the numbers of top labels to evaluate.
    propensities
        Propensities for PSP@k and PSnDCG@k: the result of `propensities`, or any mapping from labels to propensities.
        The former has a propensity for new labels; with the latter, a label without one is an error.
    bins
        Number of equal-width bins for the calibration error.

    Examples
    --------
    >>> from oplt import Predictions
    >>> scores = Scores(k=(1, 3))
    >>> scores.add(Predictions.from_rows([[("cat", 0.9), ("pet", 0.6)]]), [["pet", "cat"]])
    >>> scores.add(Predictions.from_rows([[("dog", 0.7), ("pet", 0.4)]]), ["pet"])
    >>> scores.precision(1), scores.recall(3)
    (0.5, 1.0)
    >>> scores
    <Scores of 2 examples: P@1 0.5000, P@3 0.5000>
    """

    def __init__(
        self,
        k: int | Iterable[int] = (1, 3, 5),
        *,
        propensities: Mapping[Label, float] | None = None,
        bins: int = DEFAULT_BINS,
    ) -> None:
        self._cutoffs = as_cutoffs(k)
        self._bins = count("bins", bins)
        self._ranking = Ranking(self._cutoffs)
        self._propensity = None if propensities is None else PropensityScored(self._cutoffs, propensities)
        self._sets = LabelSets()
        self._probabilities = Probabilities(self._cutoffs, self._bins)

    def add(self, predictions: Predictions, Y: LabelRows) -> None:  # noqa: N803 (a matrix)
        """Add examples: their predictions, best first, and their true labels in any form that `learn_many` accepts."""
        matches = match(predictions, Y)
        if self._propensity is not None:
            self._propensity.add(matches)  # first: it raises if a propensity is missing
        self._ranking.add(matches)
        self._sets.add(matches)
        self._probabilities.add(matches)

    def merge(self, other: Scores) -> None:
        """Add the examples of another `Scores`, which must have been made with the same arguments."""
        if not isinstance(other, Scores):
            raise InvalidInputError("scores-not-valid", "other must be Scores", got=type(other).__name__)
        if (self._cutoffs, self._bins) != (other._cutoffs, other._bins):
            raise InvalidInputError(
                "scores-differ",
                f"only scores with k={self._cutoffs} and bins={self._bins} can be merged into these",
                got=f"k={other._cutoffs} and bins={other._bins}",
            )
        if _propensities_of(self) != _propensities_of(other):
            raise InvalidInputError(
                "scores-differ", "scores that were made with different propensities cannot be merged"
            )
        if self._propensity is not None and other._propensity is not None:
            self._propensity.merge(other._propensity)
        self._ranking.merge(other._ranking)
        self._sets.merge(other._sets)
        self._probabilities.merge(other._probabilities)

    @property
    def k(self) -> tuple[int, ...]:
        """The cutoffs."""
        return self._cutoffs

    @property
    def n_examples(self) -> int:
        """Number of examples so far."""
        return self._ranking.n_rows

    def precision(self, k: int) -> float:
        """P@k: the fraction of the first k labels that are true. The divisor is k even if fewer were predicted."""
        return self._ranking.precision(self._known(k))

    def recall(self, k: int) -> float:
        """R@k: the fraction of the true labels among the first k, averaged over the examples that have labels."""
        return self._ranking.recall(self._known(k))

    def ndcg(self, k: int) -> float:
        """nDCG@k: the sum of 1 / log2(rank + 1) over the hits among the first k, divided by the best possible sum.

        It is averaged over the examples that have labels.
        """
        return self._ranking.ndcg(self._known(k))

    def psp(self, k: int) -> float:
        """PSP@k: propensity-scored P@k, in which a hit counts 1 / propensity, divided by the best possible."""
        return self._with_propensities().precision(self._known(k))

    def psndcg(self, k: int) -> float:
        """PSnDCG@k: propensity-scored nDCG@k, in which a hit counts 1 / propensity, divided by the best possible."""
        return self._with_propensities().ndcg(self._known(k))

    def coverage(self, k: int) -> float:
        """Coverage@k: the fraction of the true labels that are among the first k of at least one example with them."""
        return self._sets.coverage(self._known(k))

    def log_loss(self, k: int) -> float:
        """Log-loss@k: the mean of -ln p over true labels and of -ln(1 - p) over wrong labels among the first k.

        A label that is not predicted has no probability and does not count. Probabilities nearer to 0 or 1 than 2^-24
        are clipped to that distance.
        """
        return self._probabilities.log_loss(self._known(k))

    def ece(self, k: int) -> float:
        """ECE@k: expected calibration error of the first k labels, in bins of equal width weighted by their size."""
        return self._probabilities.ece(self._known(k))

    @property
    def accuracy(self) -> float:
        """Fraction of the examples whose first predicted label is true, for multi-class problems; equals P@1."""
        return self._ranking.accuracy()

    @property
    def entropy_reduction(self) -> float:
        """log2 of the accuracy minus log2 of the accuracy of always predicting the most frequent label."""
        return entropy_reduction_of(self._ranking, self._sets)

    @property
    def micro_f1(self) -> float:
        """F1 over all pairs of example and label. All predicted labels count: predict with a threshold."""
        return self._sets.micro_f1()

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that are true or predicted at least once."""
        return self._sets.macro_f1()

    @property
    def sample_f1(self) -> float:
        """Mean F1 of the examples; 1 where there are neither true nor predicted labels."""
        return self._sets.sample_f1()

    def by_label(self) -> LabelScores:
        """Support, precision, recall and F1 of each label that is true or predicted at least once.

        All predicted labels count: predict with a threshold. Chunks that are added later do not change the result.
        """
        return self._sets.by_label()

    def result(self) -> dict[str, float]:
        """All metrics by name; PSP and PSnDCG need propensities, log-loss and ECE need probabilities."""
        at_k = {"P": self.precision, "R": self.recall, "nDCG": self.ndcg, "coverage": self.coverage}
        if self._propensity is not None:
            at_k |= {"PSP": self.psp, "PSnDCG": self.psndcg}
        if self._probabilities.usable:
            at_k |= {"log-loss": self.log_loss, "ECE": self.ece}
        measures = {f"{name}@{k}": measure(k) for name, measure in at_k.items() for k in self._cutoffs}
        for name in ("micro_f1", "macro_f1", "sample_f1", "accuracy", "entropy_reduction"):
            measures[name.replace("_", "-").replace("f1", "F1")] = getattr(self, name)
        return measures

    def _known(self, k: int) -> int:
        if k not in self._cutoffs:
            raise InvalidParameterError(
                "k-not-measured",
                f"k must be one of the cutoffs of these scores, {self._cutoffs}",
                got=briefly(k),
            )
        return k

    def _with_propensities(self) -> PropensityScored:
        if self._propensity is None:
            raise InvalidParameterError(
                "no-propensities",
                "these scores were made without propensities",
                hint="Pass Scores(propensities=...).",
            )
        return self._propensity

    def __repr__(self) -> str:
        shown = ", ".join(f"P@{k} {self.precision(k):.4f}" for k in self._cutoffs)
        return f"<Scores of {self.n_examples} examples: {shown}>"


def _propensities_of(scores: Scores) -> tuple[Mapping[Label, float], float | None] | None:
    """Return the propensities of known labels, and that of all others if there is one."""
    if scores._propensity is None:
        return None
    propensities = scores._propensity.propensities
    return propensities, propensities.unseen if isinstance(propensities, Propensities) else None


def entropy_reduction_of(ranking: Ranking, sets: LabelSets) -> float:
    """Compute the entropy reduction in bits, as in the paper's section on few-shot learning; -inf without hits."""
    n_constant = sets.most_frequent()
    if not n_constant:
        return float("nan")
    return math.log2(ranking.n_right / n_constant) if ranking.n_right else -math.inf
