# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Print the oldest requirements that oplt and some of its extras allow, as `name==version`: for `make test-oldest`.

Usage: oldest.py EXTRA...
"""

import re
import sys
from pathlib import Path

import tomllib


def oldest(requirement: str) -> str | None:
    """Return `numpy==1.23` for `numpy>=1.23`; nothing if there is no lower bound."""
    found = re.match(r"([\w.-]+)(\[[\w,]+\])?>=([\d.]+)", requirement)
    marker = requirement.partition(";")[2]
    return f"{found[1]}{found[2] or ''}=={found[3]}{';' + marker if marker else ''}" if found else None


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras = [one for name in sys.argv[1:] for one in project["optional-dependencies"][name]]
    print("\n".join(filter(None, map(oldest, [*project["dependencies"], *extras]))))
