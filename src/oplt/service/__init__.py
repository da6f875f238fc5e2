# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt serve`: a model behind HTTP that learns what it is sent and loses nothing in a crash.

The journal is the model: learning is deterministic, so the ordered list of examples, on disk before they are
acknowledged, restores the model after a crash and makes equal replicas. It needs further packages:
``pip install 'oplt[serve]'``. The library never imports this package.
"""
