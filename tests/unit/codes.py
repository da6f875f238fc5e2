# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The error codes in the sources."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import oplt

ROOT = Path(__file__).parents[2]
BINDINGS = ROOT / "cpp" / "bindings" / "bind_errors.cpp"
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")

# Calls whose first argument is the code of an error or a warning.
_CALLS = re.compile(r"\w+Error|fatal|warn|_tell")


@cache
def all_codes() -> frozenset[str]:
    """Collect the codes of errors that are made with a literal one, in Python, in the core and at the bindings."""
    found = set(re.findall(r'raise\("\w+Error", "([^"]+)"', BINDINGS.read_text()))
    for path in (ROOT / "cpp").rglob("*.cpp"):
        found |= set(re.findall(r'LabelRefused\("([^"]+)"', path.read_text()))
    for path in Path(oplt.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _CALLS.fullmatch(_name(node.func)) and node.args:
                found |= {str(one.value) for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)}
    return frozenset(code for code in found if CODE.fullmatch(code))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
