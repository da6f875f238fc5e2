# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`python -m oplt.annif`: Annif's command line, with the backend `oplt`."""

from oplt.annif import main

if __name__ == "__main__":
    main()
