# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of a model. Each setting is declared once, with its default, range and description.

Docstrings, command-line options and the settings in a model file are all derived from that declaration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from oplt import _core
from oplt.checks import Bounds, Choice, Flag, Integer, Number, Pattern, Size, refuse
from oplt.declarations import check_keywords, check_settings, declared, setting
from oplt.errors import InvalidParameterError

__all__ = [
    "PRESETS",
    "BatchSettings",
    "Range",
    "Settings",
    "TextSettings",
    "check_setting_names",
    "preset",
    "search_params",
]

Range = tuple[int, int]


@dataclass(frozen=True)
class _TextFeaturesOrNone:
    """Settings of text features, given as an object or as a mapping; None for examples that are features."""

    kind: str = '"text", TextFeatures or None'

    def __call__(self, name: str, value: Any) -> TextSettings | None:
        """Check a value."""
        if value is None or isinstance(value, TextSettings):
            return value
        if not isinstance(value, dict):
            refuse(name, '"text", oplt.text.TextFeatures(...) or None', value)
        return TextSettings(**value)


@dataclass(frozen=True)
class TextSettings:
    """How texts are turned into features."""

    ngrams: Range | None = setting(
        (1, 1),
        Bounds(most=255),
        "Word n-grams: minimum and maximum number of words per term.",
        "``(1, 2)``: single words and pairs of adjacent words. None: no word n-grams, only `chars`.",
    )
    chars: Range | None = setting(
        None,
        Bounds(most=255),
        "Character n-grams of words: minimum and maximum number of characters per term.",
        "``(3, 5)`` matches words that are spelled or inflected differently, at the cost of several times as many"
        " features. The spaces around a word are part of it. The names of these terms begin with ``~``.",
    )
    idf: bool = setting(
        True,
        Flag(),
        "Weight terms by inverse document frequency, computed over the texts learned so far.",
        "A term that occurs in d of n texts is weighted by 1 + ln((1 + n) / (1 + d)). See below.",
    )
    sublinear: bool = setting(True, Flag(), "Weight a term that occurs f times by 1 + ln f instead of f.")
    hash_bits: int | None = setting(
        None,
        Integer(most=31, optional=True),
        "Hash terms to 2^N features instead of keeping a vocabulary.",
        "Feature names are then numbers. None: keep a vocabulary.",
    )
    max_features: int | None = setting(
        None,
        Integer(most=2**31 - 1, optional=True),
        "Keep at most N terms, the most frequent ones.",
        "None: keep all terms. See below.",
    )

    symbols: bool = setting(
        True,
        Flag(),
        "Keep C++, C# and emoji as words, and include punctuation and symbols in character n-grams.",
        "False: words consist of letters, numbers and underscores only, and character n-grams are taken from words.",
    )
    token_pattern: str | None = setting(
        None,
        Pattern(),
        "Regular expression that matches a word, such as \\S+; by default, built-in rules find the words.",
        "A pattern for Python's `re`; if it has a group, the group is the word. Case is still ignored. The pattern is"
        " saved with the model. Tokenization then runs in Python and takes several times as long. A function is"
        " refused, because it cannot be saved. None: words as described above.",
    )

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The compiled pattern."""
        return None if self.token_pattern is None else re.compile(self.token_pattern)

    @property
    def _rule(self) -> _core.WordRule:
        if self.token_pattern is not None:
            return _core.WordRule.TOKENS
        return _core.WordRule.SYMBOLS if self.symbols else _core.WordRule.LETTERS

    def __post_init__(self) -> None:
        check_settings(self)
        if self.ngrams is None and self.chars is None:
            raise InvalidParameterError(
                "parameters-conflict", "ngrams and chars cannot both be None: no text would have any features"
            )

    def to_core(self) -> _core.TextParams:
        """Convert for the core."""
        min_words, max_words = self.ngrams or (0, 0)
        min_chars, max_chars = self.chars or (0, 0)
        return _core.TextParams(
            min_words=min_words,
            max_words=max_words,
            min_chars=min_chars,
            max_chars=max_chars,
            idf=self.idf,
            sublinear=self.sublinear,
            hash_bits=self.hash_bits or 0,
            max_features=self.max_features or 0,
            words=self._rule,
        )


_NORMALIZE = "Scale the features of each example to Euclidean norm 1."
_SEED = "Seed of the random number generator."
_ANY_SEED = Integer(least=0, most=2**64 - 1)
_RATE = Number(above=0, most=1e6, single=True)  # above it, weights would not stay finite

# By learner: the settings that only the other one uses.
_NOT_USED_BY = {"adagrad": ("arow_r", "sparsity"), "arow": ("learning_rate", "adagrad_eps", "gate")}

# Policies that grow a different tree for a different arity or seed.
_VARYING = ("best-greedy", "random")


@dataclass(frozen=True)
class Settings:
    """How a model learns."""

    policy: str = setting(
        "best-greedy",
        Choice(("best-greedy", "random", "complete", "cpet", "flat", "fixed")),
        "Policy that places new labels in the tree: best-greedy, random, complete, cpet, flat or fixed.",
        '``"best-greedy"``: near similar labels, while keeping the tree balanced. ``"random"``: at a random place.'
        ' ``"complete"``: at the next place of a complete tree. ``"cpet"``: at a leaf of a binary tree, which is split.'
        ' ``"flat"``: directly under the root, for a one-vs-rest (flat) model. ``"fixed"``: nowhere. The tree given to'
        " `from_tree` does not change; labels that it lacks are ignored, and an example with no other label counts as"
        " an example without labels.",
        paper="best-greedy",
    )
    alpha: float = setting(
        0.75,
        Number(least=0, most=1),
        "Trade-off when a new label is placed: 0 follows the classifiers, 1 keeps the tree balanced.",
        "Used by best-greedy and cpet.",
        paper=0.75,
    )
    arity: int = setting(
        31,
        Integer(least=2),
        "Number of children of an internal node.",
        "The paper's b. Used by best-greedy, random and complete.",
        paper=2,
    )
    max_leaves: int = setting(
        31,
        Integer(least=2),
        "Maximum number of leaves under a lowest-level node; must be at least the arity.",
        "The paper's b_max. Used by best-greedy and random.",
        paper=100,
    )
    spread_new_labels: bool = setting(
        True,
        Flag(),
        "Keep the tree shallow if one example brings many new labels.",
        "New labels of one example share a node; once it is full, the others are spread evenly below it. False: the"
        " paper's rule, by which each full node is pushed down and the tree becomes a chain. Used by best-greedy,"
        " random and cpet.",
        paper=False,
    )
    learner: str = setting(
        "arow",
        Choice(("arow", "adagrad")),
        "Online learner of the classifiers: arow (more precise) or adagrad (as in the paper).",
        '``"arow"``: adaptive regularization of weights (AROW), a second-order learner with a margin. ``"adagrad"``:'
        " AdaGrad on the logistic loss, as in the paper.",
        paper="adagrad",
    )
    arow_r: float = setting(
        0.3,
        Number(least=0.001, most=1e6, single=True),  # below it, weights would not stay finite
        "Regularization of AROW (arow only): larger values learn more slowly, and suit noisy labels.",
    )
    sparsity: float = setting(
        0.4,
        Number(least=0, most=1e6, single=True),
        "Leave out weights whose first step is small (arow only); larger values save memory, 0 keeps all weights.",
        "A step is small if it is below this fraction of what a feature of medium size gets in an untrained classifier."
        " Larger values cost some precision.",
    )
    learning_rate: float = setting(1.0, _RATE, "Learning rate of AdaGrad (adagrad only).", paper=1.0)
    adagrad_eps: float = setting(
        0.01,
        _RATE,
        "Epsilon of AdaGrad (adagrad only): a step is learning rate * g / sqrt(epsilon + sum of g²).",
        paper=0.01,
    )
    gate: float = setting(
        0.15,
        Number(least=0, below=0.5, single=True),
        "Skip the update of a classifier whose error, |label - probability|, is below this (adagrad only).",
        "Saves time and memory and raises precision, but the probabilities of improbable labels are"
        " less well calibrated. It must be below 0.5, the error of an untrained classifier.",
        paper=0.0,
    )
    bias: bool = setting(True, Flag(), "Give each classifier a bias (intercept).")
    normalize: bool = setting(True, Flag(), _NORMALIZE)
    seed: int = setting(
        0, _ANY_SEED, _SEED, "Used by the random policy and by the 2-means clustering of a regrown tree."
    )
    label_memory: int = setting(
        512,
        Integer(least=0, most=2**20),
        "Remember N features of each label, and rank labels by tree and memory together; 0 uses the tree alone.",
        "The memory is the mean of a label's examples and, on streams with few features, its latest 64 examples. How to"
        " weight memory and tree is learned from the stream. The"
        ' memory helps rare labels a lot, and most others somewhat; see "beyond the paper" in the documentation for its'
        " cost. Probabilities are calibrated on the stream so far: if all its labels are new, all probabilities are"
        " small. With 0, search is exact; the probabilities of the tree are calibrated, too, if the learner is arow.",
        paper=0,
    )
    trees: int = setting(
        1,
        Integer(most=32),
        "Number of trees; labels are ranked by their mean probability over the trees.",
        "Trees of different shapes make different errors. Time and memory grow with the number of trees. In every"
        " group of three trees, the first has `arity` and `max_leaves` as given, the second half the arity, and the"
        " third twice the `max_leaves`. In addition, tree i (counted from 0) has i more leaves and the seed `seed` + i."
        " Only for best-greedy and random: the other policies would grow the same tree again.",
        paper=1,
        accurate=3,
    )
    history: int = setting(
        1_000_000,
        Integer(least=0, most=2**32 - 1),
        "Keep all examples, up to N, to regrow the tree from them and to forget examples; 0 keeps none.",
        "Whenever the stream has doubled, a better tree is built from all examples so far and trained on them, beside"
        " the stream, and then replaces the old one; see `regrow`. Once there are more than N examples, the history is"
        " discarded, and the tree grows by the policy alone. The history takes about 5 bytes for each feature of each"
        " example. Trees of other policies than best-greedy are not regrown.",
        paper=0,
    )
    max_memory: int | None = setting(
        None,
        Size(least=10 * 10**6),
        "Limit the memory of the model to SIZE, such as 4GB: when it is reached, the model takes no new labels or"
        " features.",
        'In bytes, or a string such as ``"4GB"`` or ``"512MiB"``. A model that reaches the limit first discards its'
        " history, and later it is closed: new labels and features are ignored, classifiers start no new weights, and"
        " all existing weights go on learning. See `closed_at`. None: no limit.",
    )
    features: TextSettings | None = setting(
        None,
        _TextFeaturesOrNone(),
        "What an example is: a text, or features.",
        '``"text"``: a text, which the model turns into features. To change how, pass an `oplt.text.TextFeatures`; one'
        " that has already been trained is copied with its vocabulary. None: features by name.",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.arity > self.max_leaves:
            _conflict(f"arity must be at most max_leaves ({self.max_leaves}), or the tree becomes a chain", self.arity)
        unless = f"unless the policy is {' or '.join(_VARYING)}"
        for name in _NOT_USED_BY[self.learner]:
            if getattr(self, name) != getattr(Settings, name):
                other = next(learner for learner in _NOT_USED_BY if learner != self.learner)
                hint = f"Choose the learner {other}, or leave {name} out."
                _conflict(f"{name} has no effect with the learner {self.learner}", getattr(self, name), hint)
        if self.trees > 1 and self.policy not in _VARYING:
            _conflict(f"trees must be 1 {unless}: the other policies would grow the same tree again", self.trees)

    def to_core(self) -> _core.ModelParams:
        """Convert for the core."""
        return _core.ModelParams(**_without_features(self))

    def to_load(self) -> _core.StateParams:
        """Describe a saved model with these settings to the core."""
        return self.to_core().to_load(self.features.to_core() if self.features else None)

    def expect_one_tree(self, method: str) -> None:
        """Refuse settings that make no sense when the tree is given."""
        if self.trees > 1:
            _conflict(f"{method} starts from one tree, so trees must be 1", self.trees)
        if self.history > 0:
            _conflict(
                f"{method} keeps the tree that it starts from, so history must be 0",
                self.history,
                "OnlinePLT(history=...) starts without a tree and regrows it.",
            )


def _conflict(what: str, got: float, hint: str | None = None) -> NoReturn:
    raise InvalidParameterError("parameters-conflict", what, got=str(got), hint=hint)


_DEFAULT_COSTS = {"squared-hinge": 1.0, "logistic": 10.0}


@dataclass(frozen=True)
class BatchSettings:
    """How a batch model is trained."""

    loss: str = setting(
        "squared-hinge",
        Choice(("squared-hinge", "logistic")),
        "Loss of the classifiers: squared-hinge or logistic.",
        '``"squared-hinge"``: a support vector machine in each node, as in Parabel; a score s is turned into the'
        ' probability exp(-max(0, 1 - s)²). ``"logistic"``: better calibrated.',
    )
    cost: float | None = setting(
        None,
        Number(above=0, most=1e6, optional=True),
        "Weight of the loss relative to the regularization (LIBLINEAR's C); larger values fit more closely.",
        "None: 1 for the squared hinge loss and 10 for the logistic one, whose gradients are smaller.",
    )
    tolerance: float = setting(
        0.1,
        Number(least=1e-9, most=1),  # below it, rounding errors would keep the solver from converging
        "Stopping tolerance of the solver.",
    )
    max_iterations: int = setting(20, Integer(), "Stop training a classifier after N passes over its examples.")
    prune: float = setting(
        0.1,
        Number(least=0, most=1, single=True),
        "Drop weights smaller than this, which makes the model much smaller.",
        "The default suits normalized features. Larger feature values lead to smaller weights, so use 0 with"
        " ``normalize=False``.",
    )
    normalize: bool = setting(True, Flag(), _NORMALIZE)
    seed: int = setting(
        0,
        _ANY_SEED,
        _SEED,
        "Used for the order of the examples in training, and for clustering the labels if no tree is given.",
    )
    trees: int = setting(
        1,
        Integer(most=32),
        "Number of trees; labels are ranked by their mean probability over the trees.",
        "Each is built by `oplt.tree.kmeans`, as in Parabel, with a different seed. Alternatively, a `LabelTree`, or"
        " several, whose leaves include all labels of `Y`.",
    )
    features: TextSettings | None = setting(
        None,
        _TextFeaturesOrNone(),
        "What an example is: a text, or features.",
        "As for `OnlinePLT`. Document frequencies are counted over all texts before any features are computed.",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.cost is None:
            object.__setattr__(self, "cost", _DEFAULT_COSTS[self.loss])

    def to_core(self) -> _core.BatchParams:
        """Convert for the core."""
        own = _without_features(self)
        return _core.BatchParams(**{name: own[name] for name in own if name not in ("normalize", "trees")})

    def to_load(self) -> _core.StateParams:
        """Describe a saved model with these settings to the core."""
        text = self.features.to_core() if self.features else None
        return self.to_core().to_load(self.normalize, self.trees, text)


# Settings by intent: each is a method of `OnlinePLT`, and an option of the commands that make a model.
PRESETS = {
    "accurate": "Start from settings that favor precision over speed and memory: three trees.",
    "paper": "Start from the settings of the paper: binary tree, 100 leaves per lowest-level node, learner adagrad"
    " without a gate, no label memory, no history, new labels not spread.",
}


def preset(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the settings of a preset and the changes to it, without those that a different learner does not use."""
    settings = {one.name: one.presets[name] for one in declared(Settings) if name in one.presets}
    learner = changes.get("learner", settings.get("learner", Settings.learner))
    used = {key: value for key, value in settings.items() if key not in _NOT_USED_BY.get(learner, ())}
    return {**used, **changes}


def _without_features(settings: Settings | BatchSettings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name != "features"}


def check_setting_names(method: str, given: Mapping[str, Any]) -> None:
    """Refuse keywords that are not settings of an online model."""
    check_keywords(method, given, [*(one.name for one in declared(Settings)), "threads"])


_THRESHOLD = Number(least=0, most=1, optional=True)
_LIMIT = Integer(optional=True)


def search_params(k: int | None, threshold: float | None, beam: int | None) -> _core.SearchParams:
    """Check the arguments of a prediction. Without `k` and `threshold`, `k` is 5."""
    if k is None and threshold is None:
        k = 5
    return _core.SearchParams(
        top_k=_LIMIT("k", k) or 0,
        threshold=_THRESHOLD("threshold", threshold) or 0.0,
        beam=_LIMIT("beam", beam) or 0,
    )
