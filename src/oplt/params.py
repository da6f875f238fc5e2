# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of a model. The declaration of a setting is the one place that has its default, range and description.

Docstrings, options of the command line and the settings in a model file all follow from it.
"""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import wraps
from typing import Any, NoReturn, TypeVar

from oplt import _core
from oplt.checks import Bounds, Check, Choice, Flag, Integer, Number, Pattern, refuse
from oplt.errors import InvalidParameterError

__all__ = [
    "BatchSettings",
    "Range",
    "Setting",
    "Settings",
    "TextSettings",
    "check_setting_names",
    "declared",
    "paper_settings",
    "search_params",
    "with_settings",
]

Range = tuple[int, int]

_UNSET = object()
_WIDTH = 100  # of generated documentation
_PLACEHOLDER = re.compile(r"^( *)\{settings\}$", re.MULTILINE)

Documented = TypeVar("Documented", bound=Callable[..., Any])


@dataclass(frozen=True)
class Setting:
    """A setting as it is declared.

    Attributes
    ----------
    summary
        A sentence that stands alone: the help of the command-line option.
    details
        Further sentences, for the docstring.
    paper
        The value that the paper uses, if it is part of what `OnlinePLT.paper` stands for.
    """

    name: str
    default: Any
    check: Check
    summary: str
    details: str
    paper: Any

    def described(self) -> str:
        """Write the entry of the docstring."""
        body = textwrap.fill(f"{self.summary} {self.details}".strip(), _WIDTH, break_on_hyphens=False)
        head = f"{self.name} : {self.check.kind}, default {self.default!r}"
        return head + "\n" + textwrap.indent(body, "    ")


def _setting(default: Any, check: Check, summary: str, details: str = "", *, paper: Any = _UNSET) -> Any:
    return field(default=default, metadata={"check": check, "summary": summary, "details": details, "paper": paper})


def declared(cls: type) -> tuple[Setting, ...]:
    """List the settings that a class declares, in their order."""
    return tuple(Setting(one.name, one.default, **one.metadata) for one in fields(cls))


@dataclass(frozen=True)
class _TextFeaturesOrNone:
    """Settings of text features, as they are or as a mapping of them; None for examples that are features."""

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
    """What decides how texts become features."""

    ngrams: Range | None = _setting(
        (1, 1),
        Bounds(most=255),
        "Word n-grams: the least and the most words of a term.",
        "``(1, 2)``: words and pairs of neighbouring words. None: only `chars` are terms.",
    )
    chars: Range | None = _setting(
        None,
        Bounds(most=255),
        "Character n-grams of words: the least and the most characters of a term.",
        "``(3, 5)`` finds words that are spelt or inflected differently, at several times the features. The spaces"
        " around a word belong to it. The names of these terms begin with ``~``.",
    )
    idf: bool = _setting(
        True,
        Flag(),
        "Weight terms by inverse document frequency, as of the texts learnt so far.",
        "A term that d of n texts have is weighted by 1 + ln((1 + n) / (1 + d)). See below.",
    )
    sublinear: bool = _setting(True, Flag(), "Weight a term that occurs f times by 1 + ln f instead of f.")
    hash_bits: int | None = _setting(
        None,
        Integer(most=31, optional=True),
        "Hash terms to 2^N features instead of keeping a vocabulary.",
        "The names of the features are numbers then. None: keep a vocabulary.",
    )
    max_features: int | None = _setting(
        None,
        Integer(most=2**31 - 1, optional=True),
        "Keep at most N terms, the most frequent ones.",
        "None: keep all of them. See below.",
    )

    symbols: bool = _setting(
        True,
        Flag(),
        "Keep C++, C# and emoji as words, and let character n-grams see punctuation and symbols.",
        "False: words consist of letters, numbers and underscores only, and character n-grams are those of words.",
    )
    token_pattern: str | None = _setting(
        None,
        Pattern(),
        "Regular expression of a word, such as \\S+; by default, words are found by rules.",
        "One of Python's `re`; if it has a group, that is the word. Upper and lower case stay the same. It is saved"
        " with the model. Python finds the words then, which takes several times as long. A function is refused, since"
        " it cannot be saved. None: words as described above.",
    )

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern of words, compiled."""
        return None if self.token_pattern is None else re.compile(self.token_pattern)

    @property
    def _rule(self) -> _core.WordRule:
        if self.token_pattern is not None:
            return _core.WordRule.TOKENS
        return _core.WordRule.SYMBOLS if self.symbols else _core.WordRule.LETTERS

    def __post_init__(self) -> None:
        _check(self)
        if self.ngrams is None and self.chars is None:
            raise InvalidParameterError(
                "parameters-conflict", "ngrams and chars cannot both be None: no text would have a feature"
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
_RATE = Number(above=0, most=1e6, single=True)  # beyond it, the weights of a classifier would not stay finite

# Policies that grow other trees for other widths and seeds.
_VARYING = ("best-greedy", "random")


@dataclass(frozen=True)
class Settings:
    """What decides how a model learns."""

    policy: str = _setting(
        "best-greedy",
        Choice(("best-greedy", "random", "complete", "cpet", "flat", "fixed")),
        "Where a new label joins the tree: best-greedy, random, complete, cpet, flat or fixed.",
        '``"best-greedy"``: near labels that look alike, keeping the tree balanced. ``"random"``: anywhere.'
        ' ``"complete"``: at the next place of a complete tree. ``"cpet"``: at a leaf of a binary tree, which is split.'
        ' ``"flat"``: under the root, for a one-vs-rest (flat) model. ``"fixed"``: nowhere. The tree given to'
        " `from_tree` stays as it is; labels that it lacks are ignored, and an example that has no other label counts"
        " as one without labels.",
        paper="best-greedy",
    )
    alpha: float = _setting(
        0.75,
        Number(least=0, most=1),
        "How to choose the place of a new label, from 0, by the classifiers, to 1, by the balance of the tree.",
        "Used by best-greedy and cpet.",
        paper=0.75,
    )
    arity: int = _setting(
        31,
        Integer(least=2),
        "Number of children of an internal node.",
        "The paper's b. Used by best-greedy, random and complete.",
        paper=2,
    )
    max_leaves: int = _setting(
        31,
        Integer(least=2),
        "Number of children of a node that has only leaves; at least the arity.",
        "The paper's b_max. Used by best-greedy and random.",
        paper=100,
    )
    learning_rate: float = _setting(1.0, _RATE, "Learning rate of AdaGrad, which trains the classifiers.", paper=1.0)
    adagrad_eps: float = _setting(
        0.01,
        _RATE,
        "Epsilon of AdaGrad: a step is the learning rate times g / sqrt(epsilon + sum of g²).",
        paper=0.01,
    )
    gate: float = _setting(
        0.15,
        Number(least=0, below=0.5, single=True),
        "Skip the update of a classifier whose error is below this; 0 disables it.",
        "Saves time and memory and raises precision, but probabilities of improbable labels are less calibrated. It is"
        " below 0.5, the error of a classifier that has not learnt anything yet.",
        paper=0.0,
    )
    bias: bool = _setting(True, Flag(), "Give each classifier a bias (intercept).")
    normalize: bool = _setting(True, Flag(), _NORMALIZE)
    seed: int = _setting(
        0, _ANY_SEED, _SEED, "Used by the random policy and by the 2-means clustering that ends a warm-up."
    )
    label_memory: int = _setting(
        512,
        Integer(least=0, most=2**20),
        "Remember N features of each label, and rank labels by tree and memory together; 0 ranks by the tree alone.",
        "The memory is the mean of a label's examples. How much to trust it, and how much the tree, is learnt from the"
        ' stream. Much better for rare labels, and better for most others; see "beyond the paper" in the documentation'
        " for what it costs. Probabilities are calibrated by the stream so far: if all its labels are new, all"
        " probabilities are small. With 0, search is exact.",
        paper=0,
    )
    trees: int = _setting(
        1,
        Integer(most=32),
        "Number of trees; labels are ranked by their mean probability.",
        "Trees of different shapes err in different places. Time and memory grow with their number. Of each"
        " three trees, the first has `arity` and `max_leaves` as given, the second half the arity, and the third twice"
        " the leaves; besides, tree i, from 0, has i leaves more, and the seed `seed` + i. Only for best-greedy and"
        " random: other policies would grow the same tree again.",
        paper=1,
    )
    warm_up: int = _setting(
        0,
        Integer(least=0),
        "Build the tree anew from the first N examples, once they have been learnt; 0 disables it.",
        "The tree is the one that `warm_start` would have built from them; they are kept until then, learnt again on"
        " it, and forgotten. Until then the tree grows by the policy. The update that ends the warm-up takes as long as"
        " all before it, and Ctrl-C waits for it. Only for best-greedy and random.",
        paper=0,
    )
    features: TextSettings | None = _setting(
        None,
        _TextFeaturesOrNone(),
        "What an example is: a text, or features.",
        '``"text"``: a text, of which the model makes features; `oplt.text.TextFeatures` has the settings for that, and'
        " one that has been trained already is copied as it is. None: features by name.",
    )

    def __post_init__(self) -> None:
        _check(self)
        if self.arity > self.max_leaves:
            _conflict(f"arity must be at most max_leaves ({self.max_leaves}), or the tree becomes a chain", self.arity)
        varies = f"unless the policy is one of {' and '.join(_VARYING)}"
        if self.trees > 1 and self.policy not in _VARYING:
            _conflict(f"trees must be 1 {varies}, since others make the same tree again", self.trees)
        if self.warm_up > 0 and self.policy not in _VARYING:
            _conflict(f"warm_up must be 0 {varies}, since others make trees of a form of their own", self.warm_up)

    def to_core(self) -> _core.ModelParams:
        """Convert for the core."""
        return _core.ModelParams(**_without_features(self))

    def to_load(self) -> _core.StateParams:
        """Tell the core what a saved model of these settings is like."""
        return self.to_core().to_load(self.features.to_core() if self.features else None)

    def expect_one_tree(self, method: str) -> None:
        """Refuse what makes no sense when the tree is known ahead."""
        if self.trees > 1:
            _conflict(f"{method} starts from one tree, so trees must be 1", self.trees)
        if self.warm_up > 0:
            _conflict(
                f"{method} starts from a tree, so warm_up must be 0",
                self.warm_up,
                "OnlinePLT(warm_up=...) starts without a tree, and builds it from the first examples.",
            )


def _conflict(what: str, got: int, hint: str | None = None) -> NoReturn:
    raise InvalidParameterError("parameters-conflict", what, got=str(got), hint=hint)


_DEFAULT_COSTS = {"squared-hinge": 1.0, "logistic": 10.0}


@dataclass(frozen=True)
class BatchSettings:
    """What decides how a batch model is trained."""

    loss: str = _setting(
        "squared-hinge",
        Choice(("squared-hinge", "logistic")),
        "Loss of the classifiers: squared-hinge or logistic.",
        '``"squared-hinge"``: a support vector machine in each node, as in Parabel; a score s means the probability'
        ' exp(-max(0, 1 - s)²). ``"logistic"``: better calibrated.',
    )
    cost: float | None = _setting(
        None,
        Number(above=0, most=1e6, optional=True),
        "Weight of the examples' losses against the regularisation (LIBLINEAR's C): larger fits closer.",
        "None: 1 for the squared hinge loss and 10 for the logistic one, whose gradients are smaller.",
    )
    tolerance: float = _setting(
        0.1,
        Number(least=1e-9, most=1),  # below, rounding would keep the solver from ever getting there
        "Stop training a classifier at this tolerance.",
    )
    max_iterations: int = _setting(20, Integer(), "Stop training a classifier after N passes over its examples.")
    prune: float = _setting(
        0.1,
        Number(least=0, most=1, single=True),
        "Drop weights smaller than this, which makes the model much smaller.",
        "It suits normalised features: the larger the values, the smaller the weights, so use 0 with"
        " ``normalize=False``.",
    )
    normalize: bool = _setting(True, Flag(), _NORMALIZE)
    seed: int = _setting(
        0, _ANY_SEED, _SEED, "Used for the order of the examples in training, and for trees that are not given."
    )
    trees: int = _setting(
        1,
        Integer(most=32),
        "Number of trees; labels are ranked by their mean probability.",
        "Each is that of `oplt.tree.kmeans`, as in Parabel, with another seed. Or a `LabelTree`, or several, that"
        " have all labels of `Y` as leaves.",
    )
    features: TextSettings | None = _setting(
        None,
        _TextFeaturesOrNone(),
        "What an example is: a text, or features.",
        "As for `OnlinePLT`. All texts are counted before any gets its features.",
    )

    def __post_init__(self) -> None:
        _check(self)
        if self.cost is None:
            object.__setattr__(self, "cost", _DEFAULT_COSTS[self.loss])

    def to_core(self) -> _core.BatchParams:
        """Convert for the core."""
        own = _without_features(self)
        return _core.BatchParams(**{name: own[name] for name in own if name not in ("normalize", "trees")})

    def to_load(self) -> _core.StateParams:
        """Tell the core what a saved model of these settings is like."""
        text = self.features.to_core() if self.features else None
        return self.to_core().to_load(self.normalize, self.trees, text)


AnySettings = Settings | BatchSettings | TextSettings


def _check(settings: AnySettings) -> None:
    for one in declared(type(settings)):
        object.__setattr__(settings, one.name, one.check(one.name, getattr(settings, one.name)))


def paper_settings() -> dict[str, Any]:
    """Collect what `OnlinePLT.paper` stands for."""
    return {one.name: one.paper for one in declared(Settings) if one.paper is not _UNSET}


def _without_features(settings: Settings | BatchSettings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name != "features"}


def with_settings(cls: type) -> Callable[[Documented], Documented]:
    """Let a class or function take the settings that `cls` declares.

    A line ``{settings}`` of its docstring becomes their descriptions, and a keyword that is misspelt is refused naming
    the one that is meant.
    """

    def decorate(target: Documented) -> Documented:
        if target.__doc__ is not None:  # python -OO leaves docstrings out
            target.__doc__ = _PLACEHOLDER.sub(lambda found: _documentation(cls, found[1]), target.__doc__)
        if not isinstance(target, type):
            return _with_known_keywords(target, target.__qualname__)
        target.__init__ = _with_known_keywords(target.__init__, target.__name__)  # type: ignore[misc]
        return target

    return decorate


def _documentation(cls: type, indent: str) -> str:
    return textwrap.indent("\n".join(one.described() for one in declared(cls)), indent)


def _with_known_keywords(function: Documented, called: str) -> Documented:
    known = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_setting_names(called, kwargs, known)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def check_setting_names(method: str, given: Mapping[str, Any], known: Iterable[str] = ()) -> None:
    """Refuse what is no setting, as Python does where they are written out, and name the one that is meant."""
    names = list(known) or [*(one.name for one in declared(Settings)), "threads"]
    for name in given:
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"the settings are {', '.join(names)}"
            msg = f"{method} has no setting {name!r}: {hint}"
            raise TypeError(msg)


_THRESHOLD = Number(least=0, most=1, optional=True)
_LIMIT = Integer(optional=True)


def search_params(k: int | None, threshold: float | None, beam: int | None) -> _core.SearchParams:
    """Check what is asked of a prediction. Without `k` and `threshold`, the five best labels are."""
    if k is None and threshold is None:
        k = 5
    return _core.SearchParams(
        top_k=_LIMIT("k", k) or 0,
        threshold=_THRESHOLD("threshold", threshold) or 0.0,
        beam=_LIMIT("beam", beam) or 0,
    )
