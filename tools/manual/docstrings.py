# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Docstrings as `help` shows them: those with a line `{settings}` are completed when oplt is imported."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Class, Extension, Function, Object


class RuntimeDocstrings(Extension):
    """Takes docstrings that are completed by decorators from the imported object."""

    def on_class_instance(self, *, cls: Class, **kwargs: Any) -> None:  # noqa: ARG002 (griffe's signature)
        """Complete the docstring of a class."""
        _complete(cls)

    def on_function_instance(self, *, func: Function, **kwargs: Any) -> None:  # noqa: ARG002
        """Complete the docstring of a function."""
        _complete(func)


def _complete(described: Object) -> None:
    if described.docstring is None or "{settings}" not in described.docstring.value:
        return
    module = described.module.path
    found: Any = import_module(module)
    for name in described.path.removeprefix(module + ".").split("."):
        found = getattr(found, name)
    described.docstring.value = inspect.getdoc(found) or ""
