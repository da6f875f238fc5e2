# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How a served model does: precision, calibration, new labels and unknown features over the stream, and changes."""

from oplt.service.monitoring.changes import Change
from oplt.service.monitoring.labels import LabelCounts
from oplt.service.monitoring.monitor import Monitor, Noted
from oplt.service.monitoring.windows import Recall, Window

__all__ = ["Change", "LabelCounts", "Monitor", "Noted", "Recall", "Window"]
