# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""PECOS XR-Linear: batch learning, and predicting the whole batch with a beam of 10."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from common import TOP, DataSet, Result
from libraries import Library, measure, wanted

BEAM = 10


class XRLinear(Library):
    """PECOS with the settings of its examples."""

    unit_rows = True

    def __init__(self) -> None:
        self.xmc = wanted("pecos.xmc", "libpecos")
        self.xlinear = wanted("pecos.xmc.xlinear.model", "libpecos")

    def load(self, data: DataSet) -> None:
        """Load the matrices, with labels in CSC."""
        super().load(data)
        self.Y = self.Y.tocsc()

    def learn(self) -> None:
        """Cluster the labels, then train."""
        embedded = self.xmc.LabelEmbeddingFactory.create(self.Y, self.X, method="pifa")
        chain = self.xmc.Indexer.gen(
            embedded, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=1, seed=0
        )
        self.model = self.xlinear.XLinearModel.train(
            self.X, self.Y, C=chain, threads=1, solver_type="L2R_L2LOSS_SVC_DUAL", threshold=0.1
        )

    def save(self, path: Path) -> None:
        """One folder."""
        self.model.save(str(path))

    def get_ready(self, path: Path) -> None:
        """Load the model into PECOS's fast predictor."""
        self.model = self.xlinear.XLinearModel.load(str(path), is_predict_only=True)

    def predict(self, X: Any) -> Any:
        """Predict all rows in one call."""
        return self.model.predict(X, beam_size=BEAM, only_topk=TOP, threads=1)

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Order each row of a sparse matrix by score."""
        for begin, end in pairwise(found.indptr):
            best = found.data[begin:end].argsort()[::-1]
            yield found.indices[begin:end][best].tolist()


def run(data: DataSet, workdir: Path) -> Result:
    """Measure PECOS."""
    return measure(XRLinear(), data, workdir)
