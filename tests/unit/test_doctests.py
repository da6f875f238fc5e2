# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The examples in the docstrings of the installed package run and say the truth."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import oplt

MODULES = [module.name for module in pkgutil.walk_packages(oplt.__path__, "oplt.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_public_classes_have_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [oplt.datasets, oplt.trees]
    functions = [getattr(module, name) for module in modules for name in module.__all__] + [oplt.evaluate.progressive]
    for public in (oplt.OnlinePLT, oplt.Ensemble, oplt.LabelTree, oplt.metrics.Scores, *functions):
        assert any(found.examples for found in finder.find(public)), public
