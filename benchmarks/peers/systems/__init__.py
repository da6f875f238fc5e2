# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The systems that are compared: for each name, its module here and what to hand to that module's `run`.

Modules are imported only when they run, so that a worker stays small (see `programs.py`).
"""

from __future__ import annotations

from typing import Any

REFERENCE = "nxc-oplt-best-greedy"

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "oplt": ("ours", {"preset": "default"}),
    "oplt-2-threads": ("ours", {"preset": "default", "threads": 2}),
    "oplt-tree": ("ours", {"preset": "tree"}),
    "oplt-tree-2-threads": ("ours", {"preset": "tree", "threads": 2}),
    "oplt-tree-beam-10": ("ours", {"preset": "tree", "beam": 10}),
    "oplt-paper": ("ours", {"preset": "paper"}),
    "oplt-iplt": ("ours", {"preset": "iplt"}),
    "oplt-warm-start": ("ours", {"preset": "warm_start"}),
    "oplt-batch-1-tree": ("ours_batch", {"n_trees": 1}),
    "oplt-batch-3-trees": ("ours_batch", {"n_trees": 3}),
    REFERENCE: ("nxc", {"variant": "oplt-best-greedy"}),
    "nxc-oplt-random": ("nxc", {"variant": "oplt-random"}),
    "nxc-iplt": ("nxc", {"variant": "iplt"}),
    "nxc-plt-batch": ("nxc", {"variant": "plt-batch"}),
    "omikuji-1-tree": ("parabel", {"n_trees": 1}),
    "omikuji-3-trees": ("parabel", {"n_trees": 3}),
    "pecos": ("xr_linear", {}),
    "vw-plt": ("vw", {"variant": "plt"}),
    "vw-cmt": ("vw", {"variant": "cmt"}),
    "sklearn-sgd": ("one_vs_rest", {}),
}
