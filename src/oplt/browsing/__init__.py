# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Look around in a model: its trees, node by node, and the features that its classifiers go by."""

from oplt.browsing._browser import Browser, Known
from oplt.browsing._objects import Child, Evidence, LabelView, NodeView

__all__ = ["Browser", "Child", "Evidence", "Known", "LabelView", "NodeView"]
