# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts as examples: from words to features that grow with the stream."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core, forks
from oplt._typing import Name
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.params import Range, TextSettings, with_settings
from oplt.validation import NamedRows, Texts, as_rows, as_texts
from oplt.wording import briefly

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["TextFeatures"]


@with_settings(TextSettings)
class TextFeatures:
    """How texts become features: words, their sequences or their characters, weighted by how rare they are.

    Hand it to a model, ``OnlinePLT(features=TextFeatures(ngrams=(1, 2)))``, and the model takes texts:
    ``learn_one("some text", ["label"])``. Or use it by itself: `learn` and `transform`.

    A word is a run of letters, numbers and underscores of any script; accents and vowel signs belong to it, upper and
    lower case are the same. Each letter of a script that puts no space between words (Chinese characters, Hiragana,
    Thai, Lao, Khmer, Burmese) is a word. A ``+``, ``++`` or ``#`` at its end belongs to a word (C++, C#), and each
    emoji is a word. Everything else lies between words. Character n-grams are those of what lies between two blanks,
    with punctuation and symbols. ``symbols=False`` has neither: no symbols in words, no emoji, and the characters of
    words only.

    Parameters
    ----------
    {settings}

    Notes
    -----
    Everything grows with the texts learnt, and nothing else changes it: not prediction, not `transform`.

    *idf.* A text that is learnt is counted first; its own row is that of the counts afterwards. A text that is
    predicted or transformed has the row of the counts at that time. So the same text has another row later; what has
    been learnt from it is not changed.

    *Unknown terms* of a text that is predicted or transformed are ignored. They do not count in the norm of the row.

    *max_features.* When all places are taken, a new term takes that of the one with the smallest score, the lowest
    number among equals. A score is the number of texts with the term, plus the score of the term whose place it took
    ("Space-Saving", Metwally et al. 2005): so terms that come again and again stay, and those that come no more go. A
    term that occurs in more than (terms of all texts) / max_features texts is never missing. idf counts only the texts
    since the term came. The newcomer takes over the *feature*, too: a model's classifiers and label memory go on from
    what they have learnt for the term that went, as terms that share a feature by `hash_bits` do, but only among the
    rarest. So neither the terms nor the features of a model grow without end. A text whose terms take all places leaves
    no place for its further ones: they are ignored.

    Everything is the same on every machine. Terms of one text get their numbers in sorted order, so that the order of
    its words does not matter (but for sequences).

    Threads: one at a time learns, about a thousand texts in a row, so the texts of two threads are interleaved. Any
    number transform, with the counts as they were when it was called. Signal handlers may use it, too.

    Examples
    --------
    >>> features = TextFeatures(ngrams=(1, 2)).learn(["Heap overflow", "Heap corruption: CVE"])
    >>> features.names
    ['heap', 'heap overflow', 'overflow', 'corruption', 'corruption cve', 'cve', 'heap corruption']
    >>> features.transform(["HEAP"]).shape
    (1, 7)
    """

    def __init__(
        self,
        *,
        ngrams: Range | None = TextSettings.ngrams,
        chars: Range | None = TextSettings.chars,
        idf: bool = TextSettings.idf,
        sublinear: bool = TextSettings.sublinear,
        hash_bits: int | None = TextSettings.hash_bits,
        max_features: int | None = TextSettings.max_features,
        symbols: bool = TextSettings.symbols,
        token_pattern: str | None = TextSettings.token_pattern,
    ) -> None:
        self._settings = TextSettings(
            ngrams=ngrams,
            chars=chars,
            idf=idf,
            sublinear=sublinear,
            hash_bits=hash_bits,
            max_features=max_features,
            symbols=symbols,
            token_pattern=token_pattern,
        )
        self._core = _core.TextFeatures(self._settings.to_core())
        forks.wait_for(self._core)

    @classmethod
    def _of(cls, settings: TextSettings, core: _core.TextFeatures) -> Self:
        features = cls.__new__(cls)
        features._settings = settings
        features._core = core
        forks.wait_for(core)
        return features

    def learn(self, texts: Iterable[str]) -> Self:
        """Count the terms of texts.

        Examples
        --------
        >>> TextFeatures().learn(["one text", "another text"]).counts.tolist()
        [1, 2, 1]
        """
        self._core.learn(self._read(texts))
        return self

    def learn_transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Count the terms of each text in turn, and make its row with the counts so far: what a model learns.

        Examples
        --------
        >>> print(TextFeatures().learn_transform(["one", "one two"]).toarray().round(3))
        [[1.    0.   ]
         [0.58  0.815]]
        """
        return self._matrix(*self._core.learn(self._read(texts)))

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Make rows of norm 1, with the counts as they are; terms that have no feature are ignored.

        Examples
        --------
        >>> TextFeatures().learn(["one", "one two"]).transform(["two", "three"]).toarray().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        return self._matrix(*self._core.transform(self._read(texts)))

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """What a word is; None if words are found by rules."""
        return self._settings.pattern

    def _read(self, texts: Iterable[str]) -> list[str]:
        """Make what the core takes."""
        found = as_texts(texts)
        if found.further is not None:
            what = "TextFeatures takes texts; further features are for a model that was made with it"
            raise InvalidInputError("text-and-features", what)
        return cast("list[str]", replace(found, pattern=self.pattern).to_core())

    def _matrix(self, values: Any, ids: Any, indptr: Any) -> sp.csr_array:
        return sp.csr_array((values, ids, indptr), shape=(len(indptr) - 1, self.n_features))

    @property
    def names(self) -> list[Name]:
        """The terms by column; numbers if they are hashed."""
        return self._core.names()

    @property
    def counts(self) -> npt.NDArray[np.uint32]:
        """Number of texts that have the term, by column."""
        return self._core.counts()

    @property
    def n_texts(self) -> int:
        """Number of texts learnt so far."""
        return self._core.n_texts

    @property
    def n_features(self) -> int:
        """Number of terms that have a feature."""
        return self._core.n_features

    @property
    def memory_bytes(self) -> int:
        """Memory that it takes."""
        return self._core.memory_bytes

    @property
    def settings(self) -> dict[str, Any]:
        """The settings it was made with."""
        return asdict(self._settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (type(self), self.settings, self._core.save())

    def __repr__(self) -> str:
        defaults = asdict(TextSettings())
        changed = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if value != defaults[name])
        return f"<TextFeatures({changed}): {self.n_features} features, {self.n_texts} texts>"


def _from_bytes(cls: type[TextFeatures], settings: dict[str, Any], data: bytes) -> TextFeatures:
    checked = TextSettings(**settings)
    return cls._of(checked, _core.TextFeatures.load(checked.to_core(), np.frombuffer(data, dtype=np.uint8)))


def settings_of(features: TextFeatures | None) -> TextSettings | None:
    """Tell what a model keeps in its settings."""
    return None if features is None else features._settings


def core_of(features: TextFeatures | None) -> _core.TextFeatures | None:
    """Tell what the core is to copy into a model."""
    return None if features is None else features._core


def as_text_features(features: Any) -> TextFeatures | None:
    """Make what a model's setting `features` stands for: None, "text", settings, or text features, which are copied."""
    if features is None:
        return None
    if isinstance(features, TextFeatures):
        return copy.deepcopy(features)
    if isinstance(features, dict):  # as `OnlinePLT.settings` has them
        return TextFeatures(**features)
    if features != "text":
        is_class = isinstance(features, type)
        raise InvalidParameterError(
            "parameter-out-of-range",
            'features must be "text", oplt.text.TextFeatures(...) or None',
            got=f"the class {features.__name__}" if is_class else briefly(features),
            hint="Make one of the class." if is_class else None,
        )
    return TextFeatures()


def rows_to_cluster(rows: NamedRows | Texts, features: TextFeatures | None) -> NamedRows:
    """Make what the clustering of labels takes: of texts, their features once all have been counted."""
    if isinstance(rows, NamedRows) or features is None:
        return cast("NamedRows", rows)
    return as_rows(copy.deepcopy(features).learn(rows.texts).transform(rows.texts))
