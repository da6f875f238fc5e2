# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""An explanation, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from oplt._typing import Label, Name

__all__ = [
    "Branch",
    "Comparison",
    "Contribution",
    "Difference",
    "Explanation",
    "FeatureDifference",
    "Memory",
    "MemoryFeature",
    "Node",
    "Span",
    "Split",
    "Step",
    "Term",
    "TreePath",
    "Votes",
]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a feature adds to the score of a node."""

    feature: Name | None  # None: the constant feature (bias)
    value: float  # in the example, after normalization
    weight: float
    contribution: float  # value times weight, times the slope of the link


@dataclass(frozen=True, slots=True)
class Node:
    """A node on the path from the root to a label."""

    node: int
    label: Label | None  # of a leaf
    n_labels: int  # at or below the node
    probability: float  # given that some label below the parent applies
    cumulative: float  # product of the probabilities from the root to this node
    score: float  # sum of the contributions: the log-odds of `probability`, unless the link is the squared hinge
    features: tuple[Contribution, ...]  # largest first, up or down


@dataclass(frozen=True, slots=True)
class TreePath:
    """The path from the root of one tree to the label's leaf; without nodes if the label has no leaf."""

    tree: int  # from 0
    counts: bool  # if not, the search of this tree did not reach the label
    nodes: tuple[Node, ...]

    @property
    def probability(self) -> float | None:
        """The probability of the label in this tree; None if it has no leaf."""
        return self.nodes[-1].cumulative if self.nodes else None


@dataclass(frozen=True, slots=True)
class MemoryFeature:
    """What a feature adds to the cosine between the example and the label's examples."""

    feature: Name
    value: float  # in the example, scaled to norm 1
    weight: float  # inverse label frequency
    mean: float  # in the label's examples, each scaled to norm 1
    share: float  # the label's share of the feature's total over all labels
    contribution: float  # part of the cosine


@dataclass(frozen=True, slots=True)
class Votes:
    """What the nearest recent examples say about the label; used on streams with few features."""

    n_voters: int  # nearest examples
    share: float  # of their squared similarities, the part of those that have the label
    nearness: float  # 1 if the nearest example has the label, less for a later one, 0 if none has it


@dataclass(frozen=True, slots=True)
class Memory:
    """What the label memory says about the label. All similarities are between 0 and 1 unless values are negative."""

    cosine: float  # between the example and the sum of the label's examples
    coverage: float  # the fraction of the example's squared norm in features that the label has had
    mean_share: float  # the label's share of the example's features: mean, weighted by their values
    largest_share: float  # and maximum
    n_examples: int  # of the label
    n_since: int  # examples since its last one
    proposed: bool  # whether the label is among the nearest ones that the memory proposed
    votes: Votes | None
    features: tuple[MemoryFeature, ...]  # largest contributions first; they sum to the cosine


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a sum: `contribution` is `value` times `weight`."""

    name: str
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Step:
    """A step from the evidence to the probability. If it is a sum, `terms` are its parts."""

    name: str
    result: float
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """A child of the node where two paths separate."""

    node: int
    probability: float  # given the parent


@dataclass(frozen=True, slots=True)
class FeatureDifference:
    """A feature of the example: its contributions to the scores of two nodes."""

    feature: Name | None  # None: the constant feature (bias)
    own: float
    other: float
    difference: float  # own - other


@dataclass(frozen=True, slots=True)
class Split:
    """Where the paths of two labels separate in a tree."""

    tree: int
    node: int  # the last node that they have in common
    own: Branch  # towards the explained label
    other: Branch  # towards the label that it is compared with
    differences: tuple[FeatureDifference, ...]  # largest first; they sum to the difference of the scores of both


@dataclass(frozen=True, slots=True)
class Difference:
    """A feature of the ranking: its contribution to the score of the label and to that of the best label."""

    name: str
    own: float
    other: float
    difference: float  # own - other


@dataclass(frozen=True, slots=True)
class Comparison:
    """The label and the best label."""

    label: Label  # the best one
    probability: float
    splits: tuple[Split, ...]  # one for each tree that has both labels
    differences: tuple[Difference, ...]  # largest first; they sum to the difference of the scores


@dataclass(frozen=True, slots=True)
class Span:
    """An occurrence of a feature in the text: characters [begin, end)."""

    begin: int
    end: int
    feature: Name


@dataclass(frozen=True)
class Explanation:
    """Why a label has its probability, returned by `Predictor.explain`.

    Attributes
    ----------
    label, probability
        The label, and its probability as `predict_one` returns it.
    hidden
        Whether the label is hidden, so that it is not predicted, whatever its probability.
    rank, n_candidates
        The position of the label among the candidates that were compared, from 1; None if it is not one of them.
    predicted
        The five most probable labels and their probabilities.
    link
        How the score of a node becomes a probability: for ``"logistic"``, it is the log-odds of the probability; for
        ``"squared-hinge"``, which batch-trained models use by default, the probability is exp(-max(0, 1 - score)²).
    tree_probability
        The probability of the label by the trees, as it was used: the mean over the trees, where a tree counts as 0 if
        its search did not reach the label. If that is true of all trees, but the label memory proposed the label, the
        lowest probability that the trees found.
    trees
        The path to the label in each tree.
    memory
        The evidence of the label memory; None without a label memory, or if it knows no feature of the example.
    steps
        How the evidence becomes the probability: the result of the last step.
    comparison
        Why the label is not the best one; None if it is.
    text, spans
        The text, and where its features occur in it; None and empty if the model does not take texts.
    """

    label: Label
    probability: float
    hidden: bool
    rank: int | None
    n_candidates: int
    predicted: tuple[tuple[Label, float], ...]
    link: Literal["logistic", "squared-hinge"]
    tree_probability: float
    trees: tuple[TreePath, ...]
    memory: Memory | None
    steps: tuple[Step, ...]
    comparison: Comparison | None
    text: str | None
    spans: tuple[Span, ...]

    @property
    def is_predicted(self) -> bool:
        """Whether the label is among the five most probable ones."""
        return any(label == self.label for label, _ in self.predicted)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON."""
        return {**asdict(self), "is_predicted": self.is_predicted}

    def to_text(self, n: int = 5) -> str:
        """Format as text for a terminal, with at most `n` features in each list; `str` uses 5."""
        from oplt.explanation._text import as_text

        return as_text(self, n)

    def to_html(self, n: int = 10) -> str:
        """Make a page: one file that needs no network. The words of a text are colored by their contributions.

        At most `n` features are listed in each direction.
        """
        from oplt.explanation._html import as_html

        return as_html(self, n)

    def __str__(self) -> str:
        return self.to_text()
