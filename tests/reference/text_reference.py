# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Text features, plain and slow: what `oplt.text.TextFeatures` is to do."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

UNSPACED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HIRAGANA LETTER",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)


def fold(c: str) -> str:
    """Lower case of one character, as long as that is one character."""
    return next((folded for folded in (c.casefold(), c.lower()) if len(folded) == 1), c)


def words(text: str) -> list[str]:
    found: list[str] = []
    is_open = False  # whether a letter would go on with the last word
    has_word = False  # whether a mark would
    for c in text:
        category = unicodedata.category(c)
        if category == "Cf" and c != "\u200b":
            continue
        if category[0] == "M":
            if has_word:
                found[-1] += fold(c)
        elif category[0] in "LN" or c == "_":
            is_alone = category[0] == "L" and unicodedata.name(c, "").startswith(UNSPACED)
            if is_open and not is_alone:
                found[-1] += fold(c)
            else:
                found.append(fold(c))
            is_open, has_word = not is_alone, True
        else:
            is_open = has_word = False
    return found


def windows(sequence: list[str] | str, bounds: tuple[int, int] | None) -> Iterator[list[str] | str]:
    least, most = bounds or (1, 0)
    for n in range(least, most + 1):
        for i in range(len(sequence) - n + 1):
            yield sequence[i : i + n]


def terms(text: str, ngrams: tuple[int, int] | None, chars: tuple[int, int] | None) -> Counter[str]:
    found = words(text)
    counted = Counter(" ".join(window) for window in windows(found, ngrams))
    for word in found:
        counted.update("~" + "".join(window) for window in windows(f" {word} ", chars))
    return counted


@dataclass
class TextFeatures:
    """Terms by feature, with their scores: see Space-Saving in the documentation of the real one."""

    ngrams: tuple[int, int] | None = (1, 1)
    chars: tuple[int, int] | None = None
    idf: bool = True
    sublinear: bool = True
    max_features: int | None = None

    n_texts: int = 0
    names: list[str] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    inherited: list[int] = field(default_factory=list)

    def learn(self, text: str) -> dict[str, float]:
        """Count a text, and make its row of the counts afterwards."""
        self.n_texts += 1
        found = terms(text, self.ngrams, self.chars)
        present = {name for name in found if name in self.names}
        for name in present:
            self.scores[self.names.index(name)] += 1
        # By their bytes; characters after words of the same text.
        for name in sorted(set(found) - present, key=lambda name: (name.removeprefix("~").encode(), name[0] == "~")):
            if self.add(name, present):
                present.add(name)
        return self.transform(text)

    def add(self, name: str, present: set[str]) -> bool:
        if self.max_features is None or len(self.names) < self.max_features:
            self.names.append(name)
            self.scores.append(1)
            self.inherited.append(0)
            return True
        free = [i for i, old in enumerate(self.names) if old not in present]
        if not free:
            return False
        place = min(free, key=lambda i: (self.scores[i], i))
        self.names[place] = name
        self.inherited[place] = self.scores[place]
        self.scores[place] += 1
        return True

    def transform(self, text: str) -> dict[str, float]:
        row = {}
        for name, frequency in terms(text, self.ngrams, self.chars).items():
            if name in self.names:
                i = self.names.index(name)
                n_with = self.scores[i] - self.inherited[i]
                tf = 1 + math.log(frequency) if self.sublinear else frequency
                row[name] = tf * (1 + math.log((1 + self.n_texts) / (1 + n_with)) if self.idf else 1)
        norm = math.sqrt(sum(value * value for value in row.values())) or 1
        return {name: value / norm for name, value in row.items()}
