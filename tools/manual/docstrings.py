# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Docstrings and defaults as `help` shows them.

A line `{settings}` of a docstring is filled in when oplt is imported, and the default of a setting is named by its
declaration, such as `Settings.alpha`.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Class, Extension, Function, Object

from oplt import params


class RuntimeDocstrings(Extension):
    """Takes docstrings that are completed by decorators from the imported object."""

    def on_class_instance(self, *, cls: Class, **kwargs: Any) -> None:  # noqa: ARG002 (griffe's signature)
        """Complete the docstring of a class."""
        _complete(cls)

    def on_function_instance(self, *, func: Function, **kwargs: Any) -> None:  # noqa: ARG002
        """Complete the docstring of a function, and show the values of its defaults."""
        _complete(func)
        for parameter in func.parameters:
            owner, dot, name = str(parameter.default).partition(".")
            if dot and owner in ("Settings", "BatchSettings", "TextSettings"):
                parameter.default = repr(getattr(getattr(params, owner), name))


def _complete(described: Object) -> None:
    if described.docstring is None or "{settings}" not in described.docstring.value:
        return
    module = described.module.path
    found: Any = import_module(module)
    for name in described.path.removeprefix(module + ".").split("."):
        found = getattr(found, name)
    described.docstring.value = inspect.getdoc(found) or ""
