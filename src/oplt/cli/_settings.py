# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings of models as options. Names, types and defaults are those of the settings, help is their docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import Field, dataclass, fields
from functools import wraps
from typing import Any

import click

from oplt.cli._console import WrongUsageError
from oplt.cli._options import Option
from oplt.model import OnlinePLT
from oplt.params import Settings, TextSettings
from oplt.text import TextFeatures

__all__ = ["ModelOptions", "described", "model_options"]

_FIRST = ("label_memory", "trees", "warm_up", "replay", "seed")  # that matter most
_KINDS: dict[str, tuple[type, str]] = {"str": (str, "NAME"), "float": (float, "NUMBER")}
_NOTHING = ()
_ENOUGH = 60  # characters of help: a first sentence that is shorter wants the second


@dataclass(frozen=True)
class ModelOptions:
    """What was asked for: only what was given."""

    paper: bool
    settings: dict[str, Any]
    text: dict[str, Any]

    def make(self, kind: str, threads: int) -> OnlinePLT:
        """Make the model that learns examples of a kind, "text" or "features"."""
        if kind != "text" and self.text:
            given = ", ".join(f"--{name.replace('_', '-')}" for name in self.text)
            msg = f"{given}: for texts only, but the examples are features"
            raise WrongUsageError(msg)
        features = TextFeatures(**self.text) if kind == "text" else None
        start = OnlinePLT.paper if self.paper else OnlinePLT
        return start(**self.settings, features=features, threads=threads)


def _as_range(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Two numbers, `1,2`, one that stands for both, or `none`."""
    if value == "none":
        return _NOTHING  # None is an option that was not given
    try:
        least, _, most = (value or "").partition(",")
        return None if value is None else (int(least), int(most or least))
    except ValueError:
        msg = f"{value!r} is not LEAST,MOST, such as 1,2, nor none"
        raise click.BadParameter(msg) from None


def described(cls: type) -> dict[str, str]:
    """Read the parameters in a docstring: the first sentences about each."""
    text = inspect.getdoc(cls) or ""
    section = re.split(r"\n\w+\n-+\n", text.partition("Parameters\n----------\n")[2])[0]
    found = {}
    for entry in re.split(r"\n(?=\w)", section):
        names, _, body = entry.partition("\n")
        plain = re.sub(r"""[`"]| See below\.""", "", " ".join(body.split()))
        plain = re.sub(r"\((\d), (\d)\)", r"\1,\2", plain)  # as it is typed here
        for name in names.split(", "):
            found[name] = _beginning(plain)
    return found


def _beginning(text: str) -> str:
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z0-9])", text)
    shown = sentences[0]
    for sentence in sentences[1:]:
        if len(shown) >= _ENOUGH:
            break
        shown = f"{shown} {sentence}"
    return shown


def _option(field: Field[Any], text: str, section: str) -> Callable[[Any], Any]:
    name = field.name.replace("_", "-")
    is_flag = isinstance(field.default, bool)
    is_range = "Range" in str(field.type)
    kind, metavar = (str, "LEAST,MOST") if is_range else _KINDS.get(str(field.type), (int, "N"))
    shown = _shown(field.default, name)
    return click.option(
        f"--{name}/--no-{name}" if is_flag else f"--{name}",
        cls=Option,
        section=section,
        type=None if is_flag else kind,
        callback=_as_range if is_range else None,
        default=None,
        metavar=None if is_flag else metavar,
        help=f"{text}  [default: {shown}]",
    )


def _shown(default: Any, name: str) -> str:
    if isinstance(default, bool):
        return name if default else f"no-{name}"
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default).lower()


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the settings of a model, which it gets as one object, `model_options`."""
    own = [field for field in fields(Settings) if field.name != "features"]
    ordered = sorted(own, key=_rank)
    of_texts = list(fields(TextSettings))

    @wraps(function)
    def packed(*args: Any, **kwargs: Any) -> Any:
        given = ModelOptions(kwargs.pop("paper"), _given(kwargs, own), _given(kwargs, of_texts))
        return function(*args, model_options=given, **kwargs)

    decorated: Callable[..., Any] = packed
    model_help, text_help = described(OnlinePLT), described(TextFeatures)
    for field in reversed(of_texts):
        decorated = _option(field, text_help[field.name], "How texts become features")(decorated)
    for field in reversed(ordered):
        decorated = _option(field, model_help[field.name], "How the model learns")(decorated)
    return click.option(
        "--paper",
        cls=Option,
        section="How the model learns",
        is_flag=True,
        help="Begin with the settings of the paper: binary tree, 100 leaves a node, no gate, no label memory.",
    )(decorated)


def _rank(field: Field[Any]) -> int:
    return _FIRST.index(field.name) if field.name in _FIRST else len(_FIRST)


def _given(kwargs: dict[str, Any], own: list[Field[Any]]) -> dict[str, Any]:
    found = {field.name: kwargs.pop(field.name) for field in own}
    return {name: None if value == _NOTHING else value for name, value in found.items() if value is not None}
