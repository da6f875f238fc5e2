# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Files of examples: reading in batches with bounded memory, writing, and conversion between formats."""

from oplt.files._examples import Batch, Columns, Problems
from oplt.files._formats import FORMATS
from oplt.files._reader import Reader, read
from oplt.files._writer import Converted, convert, write

__all__ = ["FORMATS", "Batch", "Columns", "Converted", "Problems", "Reader", "convert", "read", "write"]
