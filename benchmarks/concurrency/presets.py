# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The settings under which `compare.py` compares two versions of oplt. Needs the standard library only."""

from __future__ import annotations

from typing import Any

BATCH = "batch"  # OnlinePLT.fit_batch
FIXED = "fixed"  # OnlinePLT.from_tree

# Name -> the class method that makes the model (None: the class itself), and settings.
PRESETS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "defaults": (None, {}),
    "paper": ("paper", {}),
    **{f"paper-{policy}": ("paper", {"policy": policy}) for policy in ("random", "complete", "cpet")},
    **{policy: (None, {"policy": policy}) for policy in ("random", "complete", "cpet", "flat")},
    "no-memory": (None, {"label_memory": 0}),
    "trees-3": (None, {"trees": 3}),
    "no history": (None, {"history": 0}),
    "replay": (None, {"replay": 1}),
    FIXED: ("from_tree", {"policy": "fixed"}),
    BATCH: ("fit_batch", {}),
}
