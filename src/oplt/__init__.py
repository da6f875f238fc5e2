# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Online probabilistic label trees: classification with labels, features and a tree that grow as data arrives."""

from importlib import import_module
from typing import TYPE_CHECKING

from oplt.errors import (
    BrokenModelError,
    ForkedCallError,
    InvalidInputError,
    InvalidParameterError,
    MissingPackageError,
    ModelFormatError,
    OpltError,
    OpltWarning,
)

__all__ = [
    "PLT",
    "BrokenModelError",
    "ForkedCallError",
    "InvalidInputError",
    "InvalidParameterError",
    "LabelTree",
    "MissingPackageError",
    "ModelFormatError",
    "OnlinePLT",
    "OpltError",
    "OpltWarning",
    "Predictions",
    "__version__",
    "batch_prediction",
    "browsing",
    "datasets",
    "drawing",
    "evaluate",
    "features",
    "files",
    "metrics",
    "show_versions",
    "testing",
    "text",
    "thresholds",
    "tree",
]

# The modules of the public names that are not modules themselves. They are imported on first use (PEP 562): importing
# them takes half a second, because of NumPy and SciPy, and `oplt --help` needs none of them.
_HOMES = {
    "LabelTree": "tree",
    "OnlinePLT": "model",
    "PLT": "plt",
    "Predictions": "predictions",
    "show_versions": "versions",
}

if TYPE_CHECKING:
    from oplt import (
        batch_prediction,
        browsing,
        datasets,
        drawing,
        evaluate,
        features,
        files,
        metrics,
        testing,
        text,
        thresholds,
        tree,
    )
    from oplt.model import OnlinePLT
    from oplt.plt import PLT
    from oplt.predictions import Predictions
    from oplt.tree import LabelTree
    from oplt.versions import show_versions

    __version__: str
else:  # hidden from type checkers, which would conclude that every name exists

    def __getattr__(name: str) -> object:
        if name not in __all__:
            msg = f"module 'oplt' has no attribute {name!r}"
            raise AttributeError(msg)
        if name == "__version__":
            value = import_module("importlib.metadata").version("oplt")
        else:
            module = import_module(f"oplt.{_HOMES.get(name, name)}")
            value = getattr(module, name) if name in _HOMES else module
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
