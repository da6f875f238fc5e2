# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Why a model gives a label its probability: as objects, as text, as JSON, as a page."""

from oplt.explanation._build import explain
from oplt.explanation._objects import (
    Branch,
    Comparison,
    Contribution,
    Difference,
    Explanation,
    FeatureDifference,
    Memory,
    MemoryFeature,
    Node,
    Span,
    Split,
    Step,
    Term,
    TreePath,
    Votes,
)

__all__ = [
    "Branch",
    "Comparison",
    "Contribution",
    "Difference",
    "Explanation",
    "FeatureDifference",
    "Memory",
    "MemoryFeature",
    "Node",
    "Span",
    "Split",
    "Step",
    "Term",
    "TreePath",
    "Votes",
    "explain",
]
