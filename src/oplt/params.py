# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of a model: their defaults, and their checks at the Python edge."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from oplt import _core
from oplt.errors import InvalidParameterError

__all__ = ["Settings", "count", "predict_params"]


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

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            object.__setattr__(self, name, _CHECKS[name](name, value))
        self.to_core()

    def to_core(self) -> _core.TrainParams:
        """Convert for the core, which checks the ranges."""
        return _core.TrainParams(**asdict(self))


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


def _seed(name: str, value: Any) -> int:
    return count(name, value, least=0, most=2**64 - 1)


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
}
