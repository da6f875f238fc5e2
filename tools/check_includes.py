# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Check that the rooms of the C++ core include in one direction only: `make lint` runs it.

A room is a folder of cpp/. It may include itself and the rooms before it in the list.
"""

import re
import sys
from pathlib import Path

ROOMS = ["base", "io", "encode", "tree", "blocks", "forest", "shards", "ranking", "batch", "model", "bindings"]
_INCLUDE = re.compile(r'#include "(?:(.*)/)?[a-z0-9_]+\.hpp"')


def wrong_includes(root: Path) -> list[str]:
    """Find the includes that point upward, or to what is no room."""
    found = []
    for path in sorted(root.glob("*/*.[ch]pp")):
        room = path.parent.name
        if room == "tests":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            included = _INCLUDE.match(line)
            target = (included[1] or room) if included else room
            if room not in ROOMS or target not in ROOMS or ROOMS.index(target) > ROOMS.index(room):
                found.append(f"{path}:{number}: {room} must not include {target}: allowed are the rooms up to {room}")
    return found


if __name__ == "__main__":
    wrong = wrong_includes(Path(__file__).parent.parent / "cpp")
    print("\n".join(wrong) or f"includes point one way: {' <- '.join(ROOMS)}")
    sys.exit(bool(wrong))
