# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from oplt import InvalidParameterError
from oplt.datasets import make_stream


def test_the_seed_decides() -> None:
    assert list(make_stream(50, seed=1)) == list(make_stream(50, seed=1))
    assert list(make_stream(50, seed=1)) != list(make_stream(50, seed=2))


@pytest.mark.parametrize(
    "settings", [{"seed": -1}, {"words_per_label": 0}, {"labels_per_example": 0.5}, {"n_labels": 2.5}]
)
def test_bad_settings_are_refused_at_once(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(settings))):
        make_stream(10, **settings)  # type: ignore[arg-type]


def test_labels_and_features_emerge_all_along_and_frequencies_are_skewed() -> None:
    examples = list(make_stream(4000, n_labels=400, seed=0))
    born: list[int] = []
    words: list[int] = []
    counts: Counter[str] = Counter()
    seen_words: set[str] = set()
    for x, labels in examples:
        assert labels
        assert len(set(labels)) == len(labels)
        counts.update(labels)
        seen_words.update(x)
        born.append(len(counts))
        words.append(len(seen_words))
    quarters = [0, *(born[1000 * i - 1] for i in (1, 2, 3, 4))]
    assert all(later - earlier > 20 for earlier, later in pairwise(quarters))
    assert words[999] < words[1999] < words[3999]
    frequencies = sorted(counts.values(), reverse=True)
    assert frequencies[0] > 20 * frequencies[len(frequencies) // 2]
