# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""omikuji's Parabel.

Its C functions are called directly: the Python API loads and trains in one call, and predicts one row at a time from
lists of pairs, which takes longer than the prediction.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from common import TOP, DataSet, Result
from libraries import Library, measure, wanted

BEAM = 10


class Parabel(Library):
    """omikuji with its default settings except for the number of trees."""

    def __init__(self, n_trees: int) -> None:
        self.omikuji = wanted("omikuji", "omikuji")
        self.pool = self.omikuji.lib.init_omikuji_thread_pool(1)
        self.settings = self.omikuji.Model.default_hyper_param()
        self.settings.n_trees = n_trees

    def load(self, data: DataSet) -> None:
        """Read the text format, as omikuji does."""
        path = self.omikuji.ffi.new("char[]", str(data.text("train")).encode())
        self.rows = self.omikuji.lib.load_omikuji_data_set(path, self.pool)

    def learn(self) -> None:
        """Train all trees."""
        self.model = self.omikuji.Model(self.omikuji.lib.train_omikuji_model(self.rows, self.settings, self.pool))

    def save(self, path: Path) -> None:
        """One folder."""
        self.model.save(str(path))

    def predict(self, X: Any) -> list[list[int]]:
        """Row by row, with a beam."""
        ffi, answer = self.omikuji.ffi, self.omikuji.lib.omikuji_predict
        X.sort_indices()
        columns = ffi.from_buffer("uint32_t[]", X.indices.astype("uint32"))
        values = ffi.from_buffer("float[]", X.data)
        labels, scores = ffi.new("uint32_t[]", TOP), ffi.new("float[]", TOP)
        model, ends, found = self.model._model_ptr, X.indptr.tolist(), []  # noqa: SLF001 (no other way)
        for begin, end in pairwise(ends):
            n = answer(model, BEAM, end - begin, columns + begin, values + begin, TOP, labels, scores, self.pool)
            found.append(ffi.unpack(labels, n))
        return found


def run(data: DataSet, workdir: Path, *, n_trees: int) -> Result:
    """Measure omikuji."""
    return measure(Parabel(n_trees), data, workdir)
