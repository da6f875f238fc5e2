# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts as examples: from words to features that grow with the stream."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core, frames
from oplt._typing import Name
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.params import Range, TextSettings
from oplt.validation import NamedRows, as_rows, briefly

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["TextFeatures"]

_WANTS_TEXTS = "; a model that takes features, not texts, is made without features="


@dataclass(frozen=True)
class Texts:
    """Examples as texts."""

    texts: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def chunk(self, begin: int, end: int) -> Texts:
        """Texts [begin, end)."""
        return Texts(self.texts[begin:end])


def as_texts(X: Any) -> Texts:  # noqa: N803 (for as_rows it is a matrix)
    """Texts of many examples: any iterable of strings, or a column of a frame."""
    if isinstance(X, (str, bytes, Mapping)):
        msg = f"X must hold many texts, got one {type(X).__name__}: use learn_one or predict_one, or put it in a list"
        raise InvalidInputError(msg)
    if sp.issparse(X) or not (isinstance(X, Iterable) or frames.is_frame(X)):
        msg = f"X must be a list of texts, got {type(X).__name__}{_WANTS_TEXTS}"
        raise InvalidInputError(msg)
    texts = frames.as_values(X, "X") if frames.is_frame(X) else list(X)
    if not set(map(type, texts)) <= {str}:
        bad = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
        if bad is not None:
            msg = f"row {bad} of X must be a text (str), got {briefly(texts[bad])}{_WANTS_TEXTS}"
            raise InvalidInputError(msg)
    return Texts(texts)


def as_text(x: Any) -> Texts:
    """Text of one example."""
    if not isinstance(x, str):
        msg = f"x must be a text (str), got {briefly(x)}{_WANTS_TEXTS}"
        raise InvalidInputError(msg)
    return Texts([x])


class TextFeatures:
    """How texts become features: words, their sequences or their characters, weighted by how rare they are.

    Hand it to a model, ``OnlinePLT(features=TextFeatures(ngrams=(1, 2)))``, and the model takes texts:
    ``learn_one("some text", ["label"])``. Or use it by itself: `learn` and `transform`.

    A word is a run of letters, numbers and underscores of any script; accents and vowel signs belong to it, upper and
    lower case are the same. Each letter of a script that puts no space between words (Chinese characters, Hiragana,
    Thai, Lao, Khmer, Burmese) is a word. Everything else lies between words.

    Parameters
    ----------
    ngrams
        Sequences of so many words, from the least to the most, are terms: ``(1, 2)`` for words and pairs of neighbours.
        None: only `chars` are.
    chars
        Sequences of so many characters of a word and the spaces around it are terms, too: ``(3, 5)``. They find words
        that are spelt or inflected differently, at several times the features. Their names begin with ``~``.
    idf
        Rare terms count more: by 1 + ln((1 + n) / (1 + d)) for a term that d of the n texts so far have. See below.
    sublinear
        A term that occurs f times counts 1 + ln f instead of f.
    hash_bits
        Keep no terms: at most 2 ** hash_bits features, to which hashes distribute the terms. The names of features are
        numbers then.
    max_features
        Keep at most so many terms, the most frequent ones. See below.

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
    its words does not matter (but for sequences). One thread at a time learns, any number transform.

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
    ) -> None:
        self._settings = TextSettings(
            ngrams=ngrams,
            chars=chars,
            idf=idf,
            sublinear=sublinear,
            hash_bits=hash_bits,
            max_features=max_features,
        )
        self._core = _core.TextFeatures(self._settings.to_core())

    @classmethod
    def _of(cls, settings: TextSettings, core: _core.TextFeatures) -> Self:
        features = cls.__new__(cls)
        features._settings = settings
        features._core = core
        return features

    def learn(self, texts: Iterable[str]) -> Self:
        """Count the terms of texts.

        Examples
        --------
        >>> TextFeatures().learn(["one text", "another text"]).counts.tolist()
        [1, 2, 1]
        """
        self._core.learn(as_texts(texts).texts)
        return self

    def learn_transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Count the terms of each text in turn, and make its row with the counts so far: what a model learns.

        Examples
        --------
        >>> print(TextFeatures().learn_transform(["one", "one two"]).toarray().round(3))
        [[1.    0.   ]
         [0.58  0.815]]
        """
        return self._matrix(*self._core.learn(as_texts(texts).texts))

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Make rows of norm 1, with the counts as they are; terms that have no feature are ignored.

        Examples
        --------
        >>> TextFeatures().learn(["one", "one two"]).transform(["two", "three"]).toarray().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        return self._matrix(*self._core.transform(as_texts(texts).texts))

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
        got = f"the class {features.__name__}: make one" if isinstance(features, type) else repr(features)
        msg = f'features must be "text", oplt.text.TextFeatures(...) or None, got {got}'
        raise InvalidParameterError(msg)
    return TextFeatures()


def rows_to_cluster(rows: NamedRows | Texts, features: TextFeatures | None) -> NamedRows:
    """Make what `trees.cluster` takes: of texts, their features once all have been counted."""
    if isinstance(rows, NamedRows) or features is None:
        return cast("NamedRows", rows)
    return as_rows(copy.deepcopy(features).learn(rows.texts).transform(rows.texts))
