# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Precision, recall and F1 of each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt import frames
from oplt._typing import PointerArray
from oplt.wording import on_one_line

__all__ = ["LabelScores"]

_SHOWN = 20  # labels


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Precision, recall and F1 of each label, as returned by `Scores.by_label`; the most frequent labels come first.

    Attributes
    ----------
    labels
        Names of the labels that are true or predicted at least once, an array of objects.
    support
        Number of examples that have the label.
    n_predicted
        Number of examples for which the label is predicted.
    n_hits
        Number of examples for which the label is both predicted and true.

    Examples
    --------
    >>> from oplt import Predictions
    >>> from oplt.metrics import Scores
    >>> scores = Scores()
    >>> scores.add(Predictions.from_rows([[("cat", 0.9)], [("cat", 0.8), ("pet", 0.6)]]), [["cat", "pet"], ["pet"]])
    >>> print(scores.by_label())
     support  predicted  precision  recall      F1  label
           2          1     1.0000  0.5000  0.6667  pet
           1          2     0.5000  1.0000  0.6667  cat
    """

    labels: npt.NDArray[np.object_]
    support: PointerArray
    n_predicted: PointerArray
    n_hits: PointerArray

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """Fraction of the predictions of each label that are true; NaN if it is never predicted."""
        return _shares(self.n_hits, self.n_predicted)

    @property
    def recall(self) -> npt.NDArray[np.float64]:
        """Fraction of the examples with each label for which it is predicted; NaN if there are none."""
        return _shares(self.n_hits, self.support)

    @property
    def f1(self) -> npt.NDArray[np.float64]:
        """Harmonic mean of precision and recall; 0 if there are no hits."""
        return _shares(2 * self.n_hits, self.support + self.n_predicted)

    def __len__(self) -> int:
        return len(self.labels)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each label. They can be written as JSON, except for NaN.

        Examples
        --------
        >>> from oplt import Predictions
        >>> from oplt.metrics import Scores
        >>> scores = Scores()
        >>> scores.add(Predictions.from_rows([[("cat", 0.9)]]), ["cat"])
        >>> scores.by_label().to_dicts()
        [{'label': 'cat', 'support': 1, 'predicted': 1, 'precision': 1.0, 'recall': 1.0, 'f1': 1.0}]
        """
        columns = {name: values.tolist() for name, values in self._columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a frame with a row for each label.

        Parameters
        ----------
        backend
            The library of the frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``. It must be installed.
        """
        return frames.make(self._columns(), backend)

    def to_text(self, n: int | None = None) -> str:
        """Format a table of the first n labels, or of all."""
        numbers = zip(self.support, self.n_predicted, self.precision, self.recall, self.f1, strict=True)
        lines = [f"{'support':>8}  {'predicted':>9}  {'precision':>9}  {'recall':>6}  {'F1':>6}  label"]
        for label, (support, predicted, precision, recall, f1) in list(zip(self.labels, numbers, strict=True))[:n]:
            shares = f"{_shown(precision):>9}  {_shown(recall):>6}  {_shown(f1):>6}"
            lines.append(f"{support:>8}  {predicted:>9}  {shares}  {on_one_line(label)}")
        return "\n".join(lines)

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "label": self.labels,
            "support": self.support,
            "predicted": self.n_predicted,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }

    def __str__(self) -> str:
        more = f"\n... and {len(self) - _SHOWN:,} more labels" if len(self) > _SHOWN else ""
        return self.to_text(_SHOWN) + more

    def __repr__(self) -> str:
        return f"<LabelScores of {len(self)} labels>"


def _shares(part: PointerArray, whole: PointerArray) -> npt.NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _shown(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.4f}"
