# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Evaluation metrics: single metrics of a batch as functions, or all metrics of a stream with `Scores`.

Predictions are what `predict_many` returns; true labels may have any form that `learn_many` accepts. No dense matrix is
ever made.
"""

from oplt.metrics._functions import (
    accuracy,
    coverage_at_k,
    ece_at_k,
    entropy_reduction,
    log_loss_at_k,
    macro_f1,
    micro_f1,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
    sample_f1,
)
from oplt.metrics._labels import LabelScores
from oplt.metrics._propensity import PROPENSITY_PARAMETERS, Propensities, propensities
from oplt.metrics._scores import Scores

__all__ = [
    "PROPENSITY_PARAMETERS",
    "LabelScores",
    "Propensities",
    "Scores",
    "accuracy",
    "coverage_at_k",
    "ece_at_k",
    "entropy_reduction",
    "log_loss_at_k",
    "macro_f1",
    "micro_f1",
    "ndcg_at_k",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
    "sample_f1",
]
