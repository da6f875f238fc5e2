# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Text features: from words to TF-IDF features that grow with the stream."""

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
from oplt.declarations import with_settings
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.params import Range, TextSettings
from oplt.validation import NamedRows, Texts, as_rows, as_texts
from oplt.wording import briefly

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["TextFeatures"]


@with_settings(TextSettings)
class TextFeatures:
    """How texts become features: word or character n-grams, weighted by inverse document frequency.

    Pass it to a model, ``OnlinePLT(features=TextFeatures(ngrams=(1, 2)))``, and the model takes texts:
    ``learn_one("some text", ["label"])``. Or use it on its own, with `learn` and `transform`.

    A word is a run of letters, numbers and underscores of any script, with its accents and vowel signs; case is
    ignored. In scripts that put no spaces between words (Chinese characters, Hiragana, Thai, Lao, Khmer, Burmese), each
    letter is a word. A ``+``, ``++`` or ``#`` at the end of a word is part of it (C++, C#), and each emoji is a word.
    Everything else separates words. Character n-grams are taken from whitespace-separated tokens, with their
    punctuation and symbols. With ``symbols=False``, words have no symbols, emoji are ignored, and character n-grams are
    taken from words only.

    Parameters
    ----------
    {settings}

    Notes
    -----
    Only learning changes the vocabulary and the counts; prediction and `transform` do not.

    *idf.* When a text is learned, its terms are counted first, and its row is computed from the updated counts. When a
    text is predicted or transformed, its row is computed from the present counts. So the same text has a different row
    later; updates made with its earlier row are not revised.

    *Unknown terms* of a text that is predicted or transformed are ignored, in the norm of its row as well.

    *max_features.* When the vocabulary is full, a new term replaces the term with the lowest score, and among equals
    the one with the lowest number. The score of a term is the number of texts that contain it, plus the score of the
    term that it replaced ("Space-Saving", Metwally et al. 2005): so terms that keep occurring stay, and terms that no
    longer occur are replaced. A term that occurs in more than (terms of all texts) / max_features texts is never
    missing. idf counts only the texts since the term was added. The new term also takes over the *feature* of the old
    one: the model's classifiers and label memory keep what they learned for the old term. This is a collision as with
    `hash_bits`, but only among the rarest terms. So both the vocabulary and the features of a model are bounded. If a
    single text has more than `max_features` terms, those that find no place are ignored.

    Results are the same on every machine. New terms of a text are numbered in sorted order, so that the order of its
    words does not matter (except in n-grams).

    Thread safety: one thread at a time learns, about a thousand texts in a row, so the texts of two threads are
    interleaved. Any number of threads may call `transform`, which uses the counts at the time of the call. Signal
    handlers may also use it.

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
        """Count the terms of each text in turn, and compute its row from the counts so far, as a model does.

        Examples
        --------
        >>> print(TextFeatures().learn_transform(["one", "one two"]).toarray().round(3))
        [[1.    0.   ]
         [0.58  0.815]]
        """
        return self._matrix(*self._core.learn(self._read(texts)))

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Compute rows of norm 1 from the present counts; terms that have no feature are ignored.

        Examples
        --------
        >>> TextFeatures().learn(["one", "one two"]).transform(["two", "three"]).toarray().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        return self._matrix(*self._core.transform(self._read(texts)))

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The compiled token pattern; None if the built-in tokenizer is used."""
        return self._settings.pattern

    def _read(self, texts: Iterable[str]) -> list[str]:
        """Convert texts to what the core takes."""
        found = as_texts(texts)
        if found.further is not None:
            what = "TextFeatures takes texts alone; only a model can take texts with further features"
            raise InvalidInputError("text-and-features", what)
        return cast("list[str]", replace(found, pattern=self.pattern).to_core())

    def _matrix(self, values: Any, ids: Any, indptr: Any) -> sp.csr_array:
        return sp.csr_array((values, ids, indptr), shape=(len(indptr) - 1, self.n_features))

    @property
    def names(self) -> list[Name]:
        """The term of each column; numbers if terms are hashed."""
        return self._core.names()

    @property
    def counts(self) -> npt.NDArray[np.uint32]:
        """Number of texts that contain the term of each column."""
        return self._core.counts()

    @property
    def n_texts(self) -> int:
        """Number of texts learned so far."""
        return self._core.n_texts

    @property
    def n_features(self) -> int:
        """Number of terms that have a feature."""
        return self._core.n_features

    @property
    def memory_bytes(self) -> int:
        """Memory of the vocabulary and its counts, in bytes."""
        return self._core.memory_bytes

    @property
    def settings(self) -> dict[str, Any]:
        """The settings."""
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
    """Return what a model keeps in its settings."""
    return None if features is None else features._settings


def core_of(features: TextFeatures | None) -> _core.TextFeatures | None:
    """Return what the core copies into a model."""
    return None if features is None else features._core


def as_text_features(features: Any) -> TextFeatures | None:
    """Convert a model's `features`: None, "text", settings, or text features, which are copied."""
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
            hint="Pass an instance of it." if is_class else None,
        )
    return TextFeatures()


def rows_to_cluster(rows: NamedRows | Texts, features: TextFeatures | None) -> NamedRows:
    """Return the rows to cluster labels by; for texts, their features after all of them have been counted."""
    if isinstance(rows, NamedRows) or features is None:
        return cast("NamedRows", rows)
    return as_rows(copy.deepcopy(features).learn(rows.texts).transform(rows.texts))
