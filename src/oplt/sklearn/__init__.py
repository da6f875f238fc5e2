# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A classifier for scikit-learn: pipelines, cross-validation, grid search, calibration.

Needs scikit-learn, which ``pip install 'oplt[sklearn]'`` installs.
"""

from oplt.errors import MissingPackageError

try:
    from oplt.sklearn._classifier import OPLTClassifier
except ImportError as error:
    if not (error.name or "").startswith("sklearn"):
        raise
    raise MissingPackageError(
        "package-missing", "oplt.sklearn needs scikit-learn 1.6 or later", hint="Run: pip install 'oplt[sklearn]'"
    ) from None

__all__ = ["OPLTClassifier"]
