# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of a model: their defaults, and their checks at the Python edge."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from oplt import _core
from oplt.errors import InvalidParameterError

__all__ = [
    "BEYOND_THE_PAPER",
    "BatchSettings",
    "Settings",
    "TextSettings",
    "check_setting_names",
    "count",
    "predict_params",
    "settings_from",
    "settings_to_save",
]

# The switches that go beyond the paper, and what each is when off.
BEYOND_THE_PAPER: dict[str, int] = {"label_memory": 0, "trees": 1, "warm_up": 0, "replay": 0}

_MOST_TREES = 32
_MOST_REPLAY = 16

Range = tuple[int, int]


@dataclass(frozen=True)
class TextSettings:
    """What decides how texts become features. `oplt.text.TextFeatures` describes each one."""

    ngrams: Range | None = (1, 1)
    chars: Range | None = None
    idf: bool = True
    sublinear: bool = True
    hash_bits: int | None = None
    max_features: int | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        self.to_core()

    def to_core(self) -> _core.TextParams:
        """Convert for the core, which checks that they go together."""
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
        )


@dataclass(frozen=True)
class Settings:
    """What decides how a model learns. `OnlinePLT` describes each one."""

    policy: str = "best-greedy"
    alpha: float = 0.75
    arity: int = 31
    max_leaves: int = 31
    learning_rate: float = 1.0
    adagrad_eps: float = 0.01
    gate: float = 0.15
    bias: bool = True
    normalize: bool = True
    seed: int = 0
    label_memory: int = 512
    trees: int = 1
    warm_up: int = 0
    replay: int = 0
    features: TextSettings | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        self.to_core()

    def to_core(self) -> _core.TrainParams:
        """Convert for the core, which checks the ranges."""
        return _core.TrainParams(**_without_features(self))

    def expect_one_tree(self, method: str) -> None:
        """Refuse what makes no sense when the tree is known ahead."""
        if self.trees > 1:
            msg = (
                f"{method} starts from one tree, so trees must be 1, got {self.trees}:"
                " an oplt.Ensemble averages models that start from different trees"
            )
            raise InvalidParameterError(msg)
        if self.warm_up > 0:
            msg = (
                f"{method} starts from a tree, so warm_up must be 0, got {self.warm_up}:"
                " OnlinePLT(warm_up=...) starts from nothing, and builds its tree from the first examples"
            )
            raise InvalidParameterError(msg)


@dataclass(frozen=True)
class BatchSettings:
    """What decides how a model is trained at once. `OnlinePLT.fit_batch` describes each one."""

    loss: str = "squared-hinge"
    cost: float = 1.0
    tolerance: float = 0.1
    max_iterations: int = 20
    prune: float = 0.1
    normalize: bool = True
    seed: int = 0
    features: TextSettings | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        self.to_solver()

    def to_solver(self) -> _core.BatchParams:
        """Convert for the training, which checks the ranges."""
        return _core.BatchParams(**_without_features(self))

    def to_core(self) -> _core.TrainParams:
        """Convert to what the trained model keeps."""
        return self.to_solver().of_model()


def check_setting_names(method: str, given: Iterable[str]) -> None:
    """Refuse what is no setting, as Python does where they are written out, and name the one that is meant."""
    known = [*(field.name for field in fields(Settings)), "threads"]
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"the settings are {', '.join(known)}"
            msg = f"{method} has no setting {name!r}: {hint}"
            raise TypeError(msg)


def settings_from(saved: dict[str, Any]) -> Settings | BatchSettings:
    """Make settings of either kind again of `asdict` of them, which in an older file may lack the newest."""
    return BatchSettings(**saved) if "loss" in saved else Settings(**{**BEYOND_THE_PAPER, **saved})


def settings_to_save(settings: Settings | BatchSettings) -> dict[str, Any]:
    """Make what `settings_from` takes. Without text features it does not mention them: files stay as they were."""
    return asdict(settings) if settings.features else _without_features(settings)


def _without_features(settings: Settings | BatchSettings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name != "features"}


def _check_types(settings: Settings | BatchSettings | TextSettings) -> None:
    for name, value in asdict(settings).items():
        object.__setattr__(settings, name, _CHECKS[name](name, value))


def predict_params(k: int | None, threshold: float | None, beam: int | None, threads: int) -> _core.PredictParams:
    """Check what is asked of a prediction. Without `k` and `threshold`, the five best labels are."""
    if k is None and threshold is None:
        k = 5
    return _core.PredictParams(
        top_k=0 if k is None else count("k", k),
        threshold=0.0 if threshold is None else _number("threshold", threshold),
        beam=0 if beam is None else count("beam", beam),
        threads=threads,
    )


def count(name: str, value: Any, least: int = 1, most: int = 2**31) -> int:
    """Check that a value is an integer of a range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        msg = f"{name} must be an integer, got {value!r}"
        raise InvalidParameterError(msg)
    number = operator.index(value)
    if not least <= number <= most:
        limit = f"at least {least}" if number < least else f"at most {most}"
        msg = f"{name} must be {limit}, got {value!r}"
        raise InvalidParameterError(msg)
    return number


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        msg = f"{name} must be a string, got {value!r}"
        raise InvalidParameterError(msg)
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, (str, bytes, bool)):
        msg = f"{name} must be a number, got {value!r}"
        raise InvalidParameterError(msg)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        msg = f"{name} must be a number, got {value!r}"
        raise InvalidParameterError(msg) from None


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        msg = f"{name} must be True or False, got {value!r}"
        raise InvalidParameterError(msg)
    return bool(value)


def _size(name: str, value: Any) -> int:
    return count(name, value, least=0, most=2**20)


def _trees(name: str, value: Any) -> int:
    return count(name, value, most=_MOST_TREES)


def _number_of_examples(name: str, value: Any) -> int:
    return count(name, value, least=0)


def _replay(name: str, value: Any) -> int:
    return count(name, value, least=0, most=_MOST_REPLAY)


def _seed(name: str, value: Any) -> int:
    return count(name, value, least=0, most=2**64 - 1)


def _range(name: str, value: Any) -> Range | None:
    bounds = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else ()
    if value is None:
        return None
    if len(bounds) != 2:
        msg = f"{name} must be (least, most), such as (1, 2), or None, got {value!r}"
        raise InvalidParameterError(msg)
    least, most = (count(name, bound, most=255) for bound in bounds)
    if least > most:
        msg = f"{name} must be (least, most), but {least} is more than {most}"
        raise InvalidParameterError(msg)
    return least, most


def _bits(name: str, value: Any) -> int | None:
    return None if value is None else count(name, value, most=31)


def _limit(name: str, value: Any) -> int | None:
    return None if value is None else count(name, value, most=2**31 - 1)


def _text_settings(name: str, value: Any) -> TextSettings | None:
    if value is None or isinstance(value, TextSettings):
        return value
    if not isinstance(value, dict):
        msg = f'{name} must be "text", oplt.text.TextFeatures(...) or None, got {value!r}'
        raise InvalidParameterError(msg)
    return TextSettings(**value)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "policy": _text,
    "alpha": _number,
    "arity": count,
    "max_leaves": count,
    "learning_rate": _number,
    "adagrad_eps": _number,
    "gate": _number,
    "bias": _flag,
    "normalize": _flag,
    "seed": _seed,
    "label_memory": _size,
    "trees": _trees,
    "warm_up": _number_of_examples,
    "replay": _replay,
    "loss": _text,
    "cost": _number,
    "tolerance": _number,
    "max_iterations": count,
    "prune": _number,
    "features": _text_settings,
    "ngrams": _range,
    "chars": _range,
    "idf": _flag,
    "sublinear": _flag,
    "hash_bits": _bits,
    "max_features": _limit,
}
