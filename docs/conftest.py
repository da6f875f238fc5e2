# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Pages whose examples cannot run here."""

import sys

collect_ignore = ["howto/migrate/river.md", "howto/river.md"] if sys.version_info < (3, 11) else []  # which river needs
