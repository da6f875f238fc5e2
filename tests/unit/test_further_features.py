# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts with further features in one model, and what a word is."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from oplt import PLT, InvalidInputError, InvalidParameterError, OnlinePLT
from oplt.evaluate import progressive
from oplt.text import TextFeatures

EXAMPLES = [
    ({"text": "a report", "source": "web", "size": 0.5}, "x"),
    ({"text": "a report", "source": "mail", "size": 0.5}, "y"),
    ({"text": "the report", "source": "web"}, "x"),
    ({"text": "the report", "source": "mail", "v": [0.1, 0.2]}, "y"),
    ("a report", "z"),
] * 30


def learnt(examples: list[Any] = EXAMPLES, **settings: Any) -> OnlinePLT:
    model = OnlinePLT(features="text", **settings)
    for x, label in examples:
        model.learn_one(x, label)
    return model


def test_further_features_decide_where_texts_do_not() -> None:
    model = learnt()
    assert model.predict_one({"text": "report", "source": "web"}, k=1)[0][0] == "x"
    assert model.predict_one({"text": "report", "source": "mail"}, k=1)[0][0] == "y"
    assert {"report", ":source=web", ":source=mail", ":size", ":v[0]"} <= set(model.features.names)


def test_many_and_one_are_the_same_model_to_the_bit() -> None:
    model = OnlinePLT(features="text")
    model.learn_many([x for x, _ in EXAMPLES], [label for _, label in EXAMPLES])
    assert model.fingerprint() == learnt().fingerprint()
    found = [row[0][0] for row in model.predict_many([x for x, _ in EXAMPLES[:5]], k=1)]
    assert found == [model.predict_one(x, k=1)[0][0] for x, _ in EXAMPLES[:5]]


def test_the_order_of_features_does_not_matter() -> None:
    turned = [(dict(reversed(x.items())) if isinstance(x, dict) else x, label) for x, label in EXAMPLES]
    assert learnt(turned).fingerprint() == learnt().fingerprint()


@pytest.mark.parametrize("settings", [{}, {"history": 0}, {"label_memory": 0}])
def test_it_is_saved(settings: dict[str, Any], tmp_path: Path) -> None:
    model = learnt(**settings)
    model.save(tmp_path / "m.oplt")
    for same in (OnlinePLT.load(tmp_path / "m.oplt"), pickle.loads(pickle.dumps(model)), PLT.load(tmp_path / "m.oplt")):
        assert same.fingerprint() == model.fingerprint()
        assert same.predict_one(EXAMPLES[0][0]) == model.predict_one(EXAMPLES[0][0])


@pytest.mark.parametrize("settings", [{"hash_bits": 4}, {"max_features": 4}])
def test_bounded_vocabularies_take_further_features(settings: dict[str, int]) -> None:
    model = OnlinePLT(features=TextFeatures(**settings))
    for x, label in EXAMPLES:
        model.learn_one(x, label)
    assert model.n_features <= 16
    assert len(model.predict_one(EXAMPLES[0][0], k=3)) == 3


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 20}])
def test_further_features_take_linear_time(settings: dict[str, int]) -> None:
    x: dict[str, Any] = {"text": "a", **{f"f{i}": 1.0 for i in range(200_000)}}
    model = OnlinePLT(features=TextFeatures(**settings), label_memory=0)
    begin = time.process_time()
    for _ in range(4):
        model.learn_one(x, "a")
    assert time.process_time() - begin < 10  # in quadratic time, each would take seconds


def test_a_text_without_further_features_is_as_before() -> None:
    texts = [(x["text"] if isinstance(x, dict) else x, label) for x, label in EXAMPLES]
    alone = [({"text": text}, label) for text, label in texts]
    assert [model.n_features for model in (learnt(texts), learnt(alone))] == [3, 3]


def test_a_frame_has_a_column_of_texts_and_others() -> None:
    frame = pd.DataFrame({"text": ["a b", "b c"], "size": [0.5, 0.25], "source": pd.Categorical(["web", "mail"])})
    model = OnlinePLT(features="text")
    model.learn_many(frame, ["x", "y"])
    same = OnlinePLT(features="text")
    same.learn_one({"text": "a b", "size": 0.5, "source": "web"}, "x")
    same.learn_one({"text": "b c", "size": 0.25, "source": "mail"}, "y")
    assert model.fingerprint() == same.fingerprint()


def test_batch_training_and_streams_take_them() -> None:
    model = PLT.fit([x for x, _ in EXAMPLES], [label for _, label in EXAMPLES], features="text")
    assert model.predict_one({"text": "report", "source": "web"}, k=1)[0][0] == "x"
    *_, report = progressive(OnlinePLT(features="text"), EXAMPLES)
    assert report.total["P@1"] > 0.8
    pair = ([x for x, _ in EXAMPLES], [label for _, label in EXAMPLES])
    *_, same = progressive(OnlinePLT(features="text"), pair)
    assert same.total["P@1"] == report.total["P@1"]


@pytest.mark.parametrize(
    ("x", "code"),
    [
        ({"source": "web"}, "not-a-text"),
        ({"text": 3}, "not-a-text"),
        ({"text": "a", "size": float("nan")}, "value-out-of-range"),
        ({"text": "a", "size": object()}, "value-not-a-number"),
        ({"text": "a", "": 1.0}, "name-not-valid"),
    ],
)
def test_what_is_wrong_is_refused(x: Any, code: str) -> None:
    model = OnlinePLT(features="text")
    for call in (lambda: model.learn_one(x, "a"), lambda: model.learn_many([x], ["a"]), lambda: model.predict_one(x)):
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert caught.value.code == code
    assert model.n_examples == model.n_features == 0


# --- What a word is ---------------------------------------------------------------------------------------------------


def names(text: str, **settings: Any) -> list[Any]:
    return sorted(TextFeatures(**settings).learn([text]).names)


def test_symbols_of_words_and_emoji_survive() -> None:
    assert names("C++, C# or C? 😀") == ["c", "c#", "c++", "or", "😀"]
    assert names("C++, C# or C? 😀", symbols=False) == ["c", "or"]
    model = OnlinePLT(features="text")
    model.learn_many(["C", "C++", "C#", "😀", "😡"] * 20, ["c", "cpp", "cs", "happy", "angry"] * 20)
    found = [row[0][0] for row in model.predict_many(["c++", "c#", "c", "😡"], k=1)]
    assert found == ["cpp", "cs", "c", "angry"]


def test_characters_see_symbols() -> None:
    assert names("a? b", ngrams=None, chars=(2, 2)) == ["~ a", "~ b", "~? ", "~a?", "~b "]
    assert names("a? b", ngrams=None, chars=(2, 2), symbols=False) == ["~ a", "~ b", "~a ", "~b "]


def test_a_pattern_finds_words() -> None:
    assert names("Node.js is NOT .NET", token_pattern=r"\S+") == [".net", "is", "node.js", "not"]
    assert names("a=1; b=2", token_pattern=r"(\w)=") == ["a", "b"]
    assert names("New York|Rome", token_pattern=r"[^|]+", ngrams=(1, 2)) == ["new york", "new york rome", "rome"]


def test_a_pattern_is_saved_with_the_model(tmp_path: Path) -> None:
    model = OnlinePLT(features=TextFeatures(token_pattern=r"\S+"))
    model.learn_one("asp.net", "a")
    model.learn_many(["node.js", "c++11"], ["b", "c"])
    model.save(tmp_path / "m.oplt")
    assert model.features.names == ["asp.net", "node.js", "c++11"]
    for same in (OnlinePLT.load(tmp_path / "m.oplt"), PLT.load(tmp_path / "m.oplt"), pickle.loads(pickle.dumps(model))):
        assert same.settings["features"]["token_pattern"] == r"\S+"
        assert same.predict_one("NODE.JS", k=1)[0][0] == "b"
        assert same.predict_many(["node.js"], k=1)[0][0][0] == "b"
    assert OnlinePLT.warm_start(["a.b", "c.d"], ["x", "y"], features=model.features).n_features == 5


@pytest.mark.parametrize("pattern", [str.split, "(", "(a)(b)", "", 3])
def test_what_is_no_pattern_is_refused(pattern: Any) -> None:
    with pytest.raises(InvalidParameterError, match="token_pattern must be a regular expression"):
        TextFeatures(token_pattern=pattern)


def test_a_further_pass_is_known_by_further_features_too() -> None:
    rows = [{"text": "always the same", "a": i / 200, f"b{i}": 1.0} for i in range(200)]
    labels = [f"label-{i % 5}" for i in range(200)]
    model = OnlinePLT(features="text")
    model.learn_many(rows, labels)
    assert not model.is_repeating
    model.learn_many(rows, labels)
    assert model.is_repeating
