# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Which shard gets which subtrees."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["balanced"]


def balanced(sizes: Mapping[int, int], n: int) -> list[list[int]]:
    """Distribute items over `n` places so that their sums are about equal: the largest first, to the emptiest place.

    Examples
    --------
    >>> balanced({0: 5, 1: 1, 2: 3, 3: 3}, 2)
    [[0, 1], [2, 3]]
    """
    places: list[list[int]] = [[] for _ in range(n)]
    sums = [0] * n
    for item in sorted(sizes, key=lambda item: (-sizes[item], item)):
        emptiest = sums.index(min(sums))
        places[emptiest].append(item)
        sums[emptiest] += sizes[item]
    return [sorted(place) for place in places]
