# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Label trees: the `LabelTree` class, functions that build trees ahead of training, and tree files.

`OnlinePLT.from_tree` starts from any of them, and the `tree` of a model is one.
"""

from oplt.tree._builders import balanced_random, complete, from_parents, kmeans
from oplt.tree._files import load, save
from oplt.tree._label_tree import LabelTree

__all__ = ["LabelTree", "balanced_random", "complete", "from_parents", "kmeans", "load", "save"]
