# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Text features against a reference implementation, for any texts and settings."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import OnlinePLT
from oplt.text import TextFeatures
from tests.reference import text_reference as reference

# Few letters, so that words repeat; all kinds of characters, of 1 to 4 bytes, from old versions of Unicode.
CHARACTERS = "aAbB1_ -.\t\n\0éÉßΣςЖж中あタกั\u0301\u00ad\u200b\u200d\ufeff🙂𐐀\U00020000Ⱥ\ud800"
texts = st.lists(st.text(alphabet=CHARACTERS, max_size=30), min_size=1, max_size=12)
ranges = st.sampled_from([(1, 1), (1, 2), (2, 2), (3, 5)])


@st.composite
def text_settings(draw: st.DrawFn) -> dict[str, Any]:
    ngrams, chars = draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    return {
        "ngrams": draw(ranges) if ngrams else None,
        "chars": draw(ranges) if chars else None,
        "idf": draw(st.booleans()),
        "sublinear": draw(st.booleans()),
        "max_features": draw(st.sampled_from([None, 1, 3, 10, 40])),
        "symbols": draw(st.booleans()),
    }


def only_row(features: TextFeatures, matrix: Any) -> dict[Any, float]:
    names = features.names
    return {names[i]: float(value) for i, value in zip(matrix.indices, matrix.data, strict=True)}


@given(text_settings(), texts, st.text(alphabet=CHARACTERS))
def test_rows_names_and_counts_are_those_of_the_plain_version(
    settings: dict[str, Any], stream: list[str], asked: str
) -> None:
    features, plain = TextFeatures(**settings), reference.TextFeatures(**settings)
    for text in stream:
        row = only_row(features, features.learn_transform([text]))
        assert row == pytest.approx(plain.learn(text), rel=1e-6)
        assert features.names == plain.names
        assert only_row(features, features.transform([asked])) == pytest.approx(plain.transform(asked), rel=1e-6)
    assert features.counts.tolist() == [s - i for s, i in zip(plain.scores, plain.inherited, strict=True)]
    assert features.n_texts == len(stream)


@given(text_settings(), texts, st.data())
def test_any_batches_and_a_save_in_between_equal_one_by_one(
    settings: dict[str, Any], stream: list[str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(stream)))
    labels = [len(text) % 5 for text in stream]
    model = OnlinePLT(features=TextFeatures(**settings), arity=2, max_leaves=2, threads=2)
    model.learn_many(stream[:cut], labels[:cut])
    model = pickle.loads(pickle.dumps(model))
    model.learn_many(stream[cut:], labels[cut:])
    expected = OnlinePLT(features=TextFeatures(**settings), arity=2, max_leaves=2)
    for text, label in zip(stream, labels, strict=True):
        expected.learn_one(text, label)
    assert model.fingerprint() == expected.fingerprint()
