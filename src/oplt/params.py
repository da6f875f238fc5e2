# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of a model: their defaults, and their checks at the Python edge."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass, fields
from typing import Any

from oplt import _core
from oplt.errors import InvalidParameterError

__all__ = ["Settings", "predict_params"]

# The range of the core's integers; the core checks what is sensible.
_LARGEST = {"arity": 2**32 - 1, "max_leaves": 2**32 - 1, "seed": 2**64 - 1}


@dataclass(frozen=True)
class Settings:
    """What decides how a model learns. `OnlinePLT` describes each one."""

    policy: str = "best-greedy"
    alpha: float = 0.75
    arity: int = 16
    max_leaves: int = 32
    learning_rate: float = 1.0
    adagrad_eps: float = 0.01
    gate: float = 0.1
    bias: bool = True
    normalize: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        checks = {"str": _text, "float": _number, "int": _integer, "bool": _flag}
        for field in fields(self):
            checked = checks[str(field.type)](field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, checked)
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


def count(name: str, value: Any) -> int:
    """Check that a value is an integer of at least 1 (and that the machine could have so many)."""
    number = _integer(name, value)
    if number < 1:
        msg = f"{name} must be at least 1, got {value!r}"
        raise InvalidParameterError(msg)
    return min(number, 2**31)


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


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        msg = f"{name} must be an integer, got {value!r}"
        raise InvalidParameterError(msg)
    number = operator.index(value)
    if not 0 <= number <= _LARGEST.get(name, number):
        msg = f"{name} must be between 0 and {_LARGEST.get(name, 'any positive integer')}, got {value!r}"
        raise InvalidParameterError(msg)
    return number


def _flag(name: str, value: Any) -> bool:
    if value not in (True, False):
        msg = f"{name} must be True or False, got {value!r}"
        raise InvalidParameterError(msg)
    return bool(value)
