# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How settings are declared, as fields of a dataclass, and how classes and functions take the declared settings."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, TypeVar

from oplt.checks import Check

__all__ = ["Setting", "check_keywords", "check_settings", "declared", "setting", "with_settings"]

_WIDTH = 100  # of generated documentation
_PLACEHOLDER = re.compile(r"^( *)\{settings\}$", re.MULTILINE)

Documented = TypeVar("Documented", bound=Callable[..., Any])


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting.

    Attributes
    ----------
    summary
        A sentence that stands alone: the help of the command-line option.
    details
        Further sentences, for the docstring.
    presets
        The values in the presets that fix the setting; see `oplt.params.PRESETS`.
    """

    name: str
    default: Any
    check: Check
    summary: str
    details: str
    presets: Mapping[str, Any]

    def described(self) -> str:
        """Format the entry for a docstring."""
        body = textwrap.fill(f"{self.summary} {self.details}".strip(), _WIDTH, break_on_hyphens=False)
        head = f"{self.name} : {self.check.kind}, default {self.default!r}"
        return head + "\n" + textwrap.indent(body, "    ")


def setting(default: Any, check: Check, summary: str, details: str = "", **presets: Any) -> Any:
    """Declare a setting: a field of a frozen dataclass, whose `__post_init__` calls `check_settings`."""
    return field(default=default, metadata={"check": check, "summary": summary, "details": details, "presets": presets})


def declared(cls: type) -> tuple[Setting, ...]:
    """List the settings that a class declares, in order of declaration."""
    return tuple(Setting(one.name, one.default, **one.metadata) for one in fields(cls))


def check_settings(settings: Any) -> None:
    """Check all values of an object whose class declares settings, and convert them to their types."""
    for one in declared(type(settings)):
        object.__setattr__(settings, one.name, one.check(one.name, getattr(settings, one.name)))


def with_settings(cls: type) -> Callable[[Documented], Documented]:
    """Let a class or function take the settings that `cls` declares.

    A line ``{settings}`` of its docstring is replaced by their descriptions. A misspelled keyword is refused with a
    message that suggests the right one.
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
        check_keywords(called, kwargs, known)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def check_keywords(called: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown keywords, as Python does for explicit parameters, and suggest the nearest one."""
    names = list(known)
    for name in given:
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"the settings are {', '.join(names)}"
            msg = f"{called} has no setting {name!r}: {hint}"
            raise TypeError(msg)
