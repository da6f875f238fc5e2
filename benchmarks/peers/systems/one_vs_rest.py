# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""scikit-learn: one-vs-rest, one logistic SGD classifier per label, one pass."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from common import TOP, DataSet, Result, Skipped
from libraries import Library, measure, wanted

MOST_LABELS = 2000


class OneVsRest(Library):
    """scikit-learn's `OneVsRestClassifier`."""

    unit_rows = True

    def __init__(self) -> None:
        sgd = wanted("sklearn.linear_model", "scikit-learn").SGDClassifier
        many = wanted("sklearn.multiclass", "scikit-learn").OneVsRestClassifier
        self.model = many(sgd(loss="log_loss", alpha=1e-5, max_iter=1, tol=None, random_state=0), n_jobs=1)

    def learn(self) -> None:
        """One pass for each label."""
        self.model.fit(self.X, self.Y)

    def save(self, path: Path) -> None:
        """One pickle."""
        wanted("joblib", "scikit-learn").dump(self.model, path)

    def predict(self, X: Any) -> Any:
        """Predict all rows in one call."""
        return np.argsort(-self.model.decision_function(X), axis=1)[:, :TOP]

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Rows as lists."""
        return found.tolist()


def run(data: DataSet, workdir: Path) -> Result:
    """Measure scikit-learn."""
    n_labels = data.header("train")[2]
    if n_labels > MOST_LABELS:
        msg = f"{n_labels} labels: one classifier each is not feasible above {MOST_LABELS}"
        raise Skipped(msg)
    return measure(OneVsRest(), data, workdir)
