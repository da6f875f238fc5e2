# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""All measures of a stream of predictions, chunk by chunk."""

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
    """Measures of predictions that come in chunks.

    Chunks may be cut and merged in any way: the measures are those of the whole, to the last bit. Memory grows with the
    number of distinct labels only. Before any example, and wherever a measure is not defined, it is NaN.

    Parameters
    ----------
    k
        One or several numbers of labels at which to measure.
    propensities
        What `propensities` gives, for PSP@k and PSnDCG@k, or any mapping from labels to propensities. The former knows
        a propensity for new labels; a label that the latter lacks is an error.
    bins
        Bins of equal width for the calibration error.

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
        """Add examples: what was predicted, best first, and their true labels in any form that `learn_many` takes."""
        matches = match(predictions, Y)
        if self._propensity is not None:
            self._propensity.add(matches)  # first: it may lack a propensity, and then nothing has changed
        self._ranking.add(matches)
        self._sets.add(matches)
        self._probabilities.add(matches)

    def merge(self, other: Scores) -> None:
        """Add all that another has seen. It must have been made with the same arguments."""
        if not isinstance(other, Scores):
            raise InvalidInputError("scores-not-valid", "other must be Scores", got=type(other).__name__)
        if (self._cutoffs, self._bins) != (other._cutoffs, other._bins):
            raise InvalidInputError(
                "scores-differ",
                f"scores with k={self._cutoffs} and bins={self._bins} cannot take in others",
                got=f"k={other._cutoffs} and bins={other._bins}",
            )
        if _propensities_of(self) != _propensities_of(other):
            raise InvalidInputError(
                "scores-differ", "scores cannot take in those that were made with other propensities"
            )
        if self._propensity is not None and other._propensity is not None:
            self._propensity.merge(other._propensity)
        self._ranking.merge(other._ranking)
        self._sets.merge(other._sets)
        self._probabilities.merge(other._probabilities)

    @property
    def k(self) -> tuple[int, ...]:
        """Where it measures."""
        return self._cutoffs

    @property
    def n_examples(self) -> int:
        """Number of examples so far."""
        return self._ranking.n_rows

    def precision(self, k: int) -> float:
        """P@k: share of the first k that are true. It divides by k, however many were predicted."""
        return self._ranking.precision(self._known(k))

    def recall(self, k: int) -> float:
        """R@k: share of the true labels that are among the first k; mean of the examples that have labels."""
        return self._ranking.recall(self._known(k))

    def ndcg(self, k: int) -> float:
        """Sum 1 / log2(rank + 1) over the hits among the first k, divided by the best possible: nDCG@k.

        Mean of the examples that have labels.
        """
        return self._ranking.ndcg(self._known(k))

    def psp(self, k: int) -> float:
        """PSP@k: P@k in which a hit counts 1 / propensity, divided by that of the best possible predictions."""
        return self._with_propensities().precision(self._known(k))

    def psndcg(self, k: int) -> float:
        """PSnDCG@k: nDCG@k in which a hit counts 1 / propensity, divided by that of the best possible predictions."""
        return self._with_propensities().ndcg(self._known(k))

    def coverage(self, k: int) -> float:
        """Share of the labels that occur which are found among the first k of some example: coverage@k."""
        return self._sets.coverage(self._known(k))

    def log_loss(self, k: int) -> float:
        """Mean of -ln p of the true and -ln(1 - p) of the wrong labels among the first k.

        A label that is not predicted has no probability and does not count. Probabilities nearer to 0 or 1 than 2^-24
        are taken as if they were so near.
        """
        return self._probabilities.log_loss(self._known(k))

    def ece(self, k: int) -> float:
        """ECE@k: gap between probability and share of true labels in bins of the first k labels, weighted by size."""
        return self._probabilities.ece(self._known(k))

    @property
    def accuracy(self) -> float:
        """Share of the examples whose first label is true. For multi-class problems; the same as P@1."""
        return self._ranking.accuracy()

    @property
    def entropy_reduction(self) -> float:
        """log2 of the accuracy, less that of the best constant prediction: the label that most examples have."""
        return entropy_reduction_of(self._ranking, self._sets)

    @property
    def micro_f1(self) -> float:
        """F1 of all pairs of example and label. All predicted labels count: ask the model for a threshold."""
        return self._sets.micro_f1()

    @property
    def macro_f1(self) -> float:
        """Mean of the F1 of the labels that are true or predicted somewhere."""
        return self._sets.macro_f1()

    @property
    def sample_f1(self) -> float:
        """Mean of the F1 of the examples. It is 1 where nothing is true and nothing predicted."""
        return self._sets.sample_f1()

    def by_label(self) -> LabelScores:
        """Support, precision, recall and F1 of each label that is true or predicted somewhere.

        All predicted labels count: ask the model for a threshold. Chunks that are added later do not change it.
        """
        return self._sets.by_label()

    def result(self) -> dict[str, float]:
        """All measures by name. Without propensities there is no PSP; without probabilities no log-loss and no ECE."""
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
                "k-not-measured", f"k must be one that these scores were made with, k={self._cutoffs}", got=briefly(k)
            )
        return k

    def _with_propensities(self) -> PropensityScored:
        if self._propensity is None:
            raise InvalidParameterError(
                "no-propensities",
                "these scores were made without propensities",
                hint="Give them as Scores(propensities=...).",
            )
        return self._propensity

    def __repr__(self) -> str:
        shown = ", ".join(f"P@{k} {self.precision(k):.4f}" for k in self._cutoffs)
        return f"<Scores of {self.n_examples} examples: {shown}>"


def _propensities_of(scores: Scores) -> tuple[Mapping[Label, float], float | None] | None:
    """Those of known labels, and that of all others if they have one."""
    if scores._propensity is None:
        return None
    propensities = scores._propensity.propensities
    return propensities, propensities.unseen if isinstance(propensities, Propensities) else None


def entropy_reduction_of(ranking: Ranking, sets: LabelSets) -> float:
    """Bits, as the paper's section on few-shot learning defines them; -inf if nothing was right."""
    n_constant = sets.most_frequent()
    if not n_constant:
        return float("nan")
    return math.log2(ranking.n_right / n_constant) if ranking.n_right else -math.inf
