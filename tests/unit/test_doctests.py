# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The examples in the docstrings of the installed package run and are correct."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import oplt
import oplt.sklearn

MODULES = [module.name for module in pkgutil.walk_packages(oplt.__path__, "oplt.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except oplt.MissingPackageError as error:
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0


PUBLIC = {
    name: getattr(module, name)
    for module in (
        oplt,
        oplt.batch_prediction,
        oplt.datasets,
        oplt.drawing,
        oplt.evaluate,
        oplt.features,
        oplt.files,
        oplt.metrics,
        oplt.sklearn,
        oplt.testing,
        oplt.text,
        oplt.thresholds,
        oplt.tree,
    )
    for name in module.__all__
    if callable(getattr(module, name)) and not name.endswith("Error")
}


@pytest.mark.parametrize("name", PUBLIC)
def test_there_is_an_example_of(name: str) -> None:
    (own,) = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name)
    assert own.examples
