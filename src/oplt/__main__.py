# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`python -m oplt` is the command `oplt`."""

from oplt.cli import main

if __name__ == "__main__":
    main(prog_name="python -m oplt")
