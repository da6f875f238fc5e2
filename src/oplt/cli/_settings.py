# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of models as options. Names, types, defaults and help come from the declarations of the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from oplt.checks import Bounds, Choice, Flag, Integer, Number, Pattern, Size
from oplt.cli._console import WrongUsageError
from oplt.cli._options import Option
from oplt.declarations import Setting, declared
from oplt.model import OnlinePLT
from oplt.params import PRESETS, Settings, TextSettings
from oplt.text import TextFeatures

__all__ = ["ModelOptions", "model_options"]

_FIRST = ("label_memory", "trees", "history", "max_memory", "seed")  # the most important ones
_KINDS: dict[type, tuple[type | None, str | None]] = {
    Bounds: (str, "MIN,MAX"),
    Choice: (str, "NAME"),
    Flag: (None, None),
    Integer: (int, "N"),
    Number: (float, "NUMBER"),
    Pattern: (str, "REGEX"),
    Size: (str, "SIZE"),
}
_NOTHING = ()


@dataclass(frozen=True)
class ModelOptions:
    """The settings that the user passed, without defaults."""

    preset: str | None  # a name of PRESETS
    settings: dict[str, Any]
    text: dict[str, Any]

    def make(self, kind: str, threads: int) -> OnlinePLT:
        """Make a model for examples of a kind, "text" or "features"."""
        if kind != "text" and self.text:
            given = ", ".join(f"--{name.replace('_', '-')}" for name in self.text)
            msg = f"{given} can only be used with texts, but the examples are features"
            raise WrongUsageError(msg)
        features = TextFeatures(**self.text) if kind == "text" else None
        start = getattr(OnlinePLT, self.preset) if self.preset else OnlinePLT
        model: OnlinePLT = start(**self.settings, features=features, threads=threads)
        return model


def _as_range(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Parse two numbers, `1,2`, a single one that stands for both, or `none`."""
    if value == "none":
        return _NOTHING  # None means that the option was not passed
    try:
        least, _, most = (value or "").partition(",")
        return None if value is None else (int(least), int(most or least))
    except ValueError:
        msg = f"{value!r} is neither MIN,MAX, such as 1,2, nor none"
        raise click.BadParameter(msg) from None


def _option(setting: Setting, section: str) -> Callable[[Any], Any]:
    name = setting.name.replace("_", "-")
    is_flag = isinstance(setting.check, Flag)
    is_range = isinstance(setting.check, Bounds)
    kind, metavar = _KINDS[type(setting.check)]
    return click.option(
        f"--{name}/--no-{name}" if is_flag else f"--{name}",
        cls=Option,
        section=section,
        type=kind,
        callback=_as_range if is_range else None,
        default=None,
        metavar=metavar,
        help=f"{setting.summary.replace('the arity', '--arity')}  [default: {_shown(setting.default, name)}]",
    )


def _shown(default: Any, name: str) -> str:
    if isinstance(default, bool):
        return name if default else f"no-{name}"
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default).lower()


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the settings of a model to a command, which receives them as one object, `model_options`."""
    own = [setting for setting in declared(Settings) if setting.name != "features"]
    ordered = sorted(own, key=_rank)
    of_texts = declared(TextSettings)

    @wraps(function)
    def packed(*args: Any, **kwargs: Any) -> Any:
        presets = [name for name in PRESETS if kwargs.pop(name)]
        if len(presets) > 1:
            msg = f"--{presets[0]} and --{presets[1]} cannot be combined"
            raise WrongUsageError(msg)
        given = ModelOptions(next(iter(presets), None), _given(kwargs, own), _given(kwargs, of_texts))
        return function(*args, model_options=given, **kwargs)

    decorated: Callable[..., Any] = packed
    for setting in reversed(of_texts):
        decorated = _option(setting, "How texts become features")(decorated)
    for setting in reversed(ordered):
        decorated = _option(setting, "How the model learns")(decorated)
    for name, summary in reversed(PRESETS.items()):
        decorated = click.option(f"--{name}", cls=Option, section="How the model learns", is_flag=True, help=summary)(
            decorated
        )
    return decorated


def _rank(setting: Setting) -> int:
    return _FIRST.index(setting.name) if setting.name in _FIRST else len(_FIRST)


def _given(kwargs: dict[str, Any], own: Iterable[Setting]) -> dict[str, Any]:
    found = {setting.name: kwargs.pop(setting.name) for setting in own}
    return {name: None if value == _NOTHING else value for name, value in found.items() if value is not None}
