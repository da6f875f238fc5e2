# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Online probabilistic label trees: classification whose labels, features and tree grow with the stream."""

from importlib.metadata import version

from oplt import datasets, evaluate, features, files, metrics, text, trees
from oplt.ensemble import Ensemble
from oplt.errors import (
    BrokenModelError,
    FrozenModelError,
    InvalidInputError,
    InvalidParameterError,
    MissingPackageError,
    ModelFormatError,
    OpltError,
)
from oplt.model import OnlinePLT
from oplt.predictions import Predictions
from oplt.tree import LabelTree

__all__ = [
    "BrokenModelError",
    "Ensemble",
    "FrozenModelError",
    "InvalidInputError",
    "InvalidParameterError",
    "LabelTree",
    "MissingPackageError",
    "ModelFormatError",
    "OnlinePLT",
    "OpltError",
    "Predictions",
    "__version__",
    "datasets",
    "evaluate",
    "features",
    "files",
    "metrics",
    "text",
    "trees",
]

__version__ = version("oplt")
