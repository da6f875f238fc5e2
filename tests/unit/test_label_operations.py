# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A label's life: it is added, described, renamed, hidden, merged and removed."""

from __future__ import annotations

import json
import math
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, LabelTree, OnlinePLT
from oplt.datasets import make_stream
from oplt.labels import LabelInfo, LabelOperation, OnlineLabels
from oplt.thresholds import Thresholds

ANIMALS = ["My cat purrs", "The dog barks", "A cat sleeps", "Dogs bark loudly"]


def animals(**settings: Any) -> OnlinePLT:
    model = OnlinePLT(features="text", **settings)
    model.learn_many(ANIMALS, ["cat", "dog", "cat", "dog"])
    return model


def best(model: OnlinePLT | PLT, text: str) -> Any:
    return model.predict_one(text, k=1)[0][0]


# --- Each operation ---------------------------------------------------------------------------------------------------


def test_a_described_label_is_predicted_before_its_first_example() -> None:
    model = animals()
    model.labels.add("cow", text="A cow moos and gives milk")
    assert best(model, "Who gives us milk?") == "cow"
    assert model.labels.info("cow") == LabelInfo("cow", 0, None, None, hidden=False, aliases=())
    assert (model.n_labels, model.n_examples) == (3, 4)
    model.learn_one("The cow is on the meadow", "cow")
    assert best(model, "on the meadow") == "cow"
    assert best(model, "gives milk") == "cow"
    assert model.labels.info("cow").first == 4


def test_a_label_can_be_described_by_features_and_in_an_empty_model() -> None:
    model = OnlinePLT()
    model.labels.add("cow", features={"moos": 1})
    model.labels.add("horse", features={"neighs": 2.0})
    assert model.predict_one({"moos": 1})[0][0] == "cow"
    assert model.predict_one({"neighs": 1})[0][0] == "horse"
    model.learn_one({"barks": 1}, "dog")
    assert model.predict_one({"moos": 1}, k=1)[0][0] == "cow"


def test_a_text_with_further_features_can_describe_a_label() -> None:
    model = animals()
    model.labels.add("cow", text="cow", features={"legs": 4.0})
    assert model.labels.operations[-1].features == {"legs": 4.0}
    assert model.predict_one({"text": "It has", "legs": 4.0}, k=1)[0][0] == "cow"


def test_a_known_label_can_be_described() -> None:
    model = animals()
    assert best(model, "A tail wags") == "cat"  # because of the A
    model.labels.add("dog", text="A dog wags its tail")
    assert best(model, "A tail wags") == "dog"
    assert model.labels.counts()["dog"] == 2


def test_a_label_without_description_is_known_but_not_predicted() -> None:
    model = animals()
    model.labels.add("cow")
    assert "cow" in model.labels
    assert "cow" not in dict(model.predict_one("cow", k=10))
    model.labels.add("cow")  # has no effect
    assert len(model.labels.operations) == 1


def test_both_names_of_a_renamed_label_lead_to_it() -> None:
    model = animals()
    before = model.predict_one("My cat", k=2)
    model.labels.rename("cat", "feline")
    assert model.predict_one("My cat", k=2) == [("feline", before[0][1]), before[1]]
    assert list(model.labels) == ["feline", "dog"]
    model.learn_one("Another cat", "cat")
    assert model.labels.counts() == {"feline": 3, "dog": 2}
    assert model.labels.info("cat") == LabelInfo("feline", 3, 0, 4, hidden=False, aliases=("cat",))
    assert model.tree.to_nested() == ["feline", "dog"]


def test_hidden_labels_are_learned_but_not_predicted() -> None:
    model = animals()
    model.labels.hide("cat")
    assert [label for label, _ in model.predict_one("My cat purrs", k=5)] == ["dog"]
    assert [label for label, _ in model.predict_one("My cat purrs", threshold=0.0)] == ["dog"]
    assert model.predict_one("My cat purrs", allow=["cat"]) == []
    model.learn_one("A cat in the sun", "cat")
    model.labels.unhide("cat")
    assert best(model, "in the sun") == "cat"
    assert model.labels.counts()["cat"] == 3


def test_removed_labels_are_neither_predicted_nor_learned() -> None:
    model = animals()
    model.labels.remove(["cat"])
    assert list(model.labels) == ["dog"]
    assert [label for label, _ in model.predict_one("My cat purrs", k=5)] == ["dog"]
    model.learn_one("Cats and dogs", ["cat", "dog"])
    model.learn_one("A cat", "cat")  # learned as an example without labels
    assert list(model.labels) == ["dog"]
    assert model.labels.counts() == {"dog": 3}
    assert (model.n_labels, model.n_examples) == (1, 6)
    assert model.tree.to_nested() == ["dog"] or model.tree.n_labels == 1
    model.regrow()
    assert len(model._state().tree()[0]) == 1


def test_merged_labels_become_one() -> None:
    model = animals()
    model.learn_many(["A kitten plays", "A kitten sleeps"], ["kitten", "kitten"])
    model.labels.merge("kitten", into="cat")
    assert list(model.labels) == ["cat", "dog"]
    assert model.labels.info("kitten") == LabelInfo("cat", 4, 0, 5, hidden=False, aliases=("kitten",))
    assert best(model, "a kitten plays") == "cat"
    model.learn_one("My kitten", "kitten")
    assert model.labels.counts() == {"cat": 5, "dog": 2}
    model.regrow()
    assert sorted(model.tree.to_nested()) == ["cat", "dog"]
    assert best(model, "a kitten plays") == "cat"


def test_an_unknown_name_becomes_an_alias() -> None:
    model = animals()
    model.labels.merge(["hound", "doggo"], into="dog")
    model.learn_one("A hound hunts", ["hound", "doggo"])
    assert model.labels.counts() == {"cat": 2, "dog": 3}
    assert model.labels.info("doggo").aliases == ("hound", "doggo")


def test_merging_adds_up_the_votes_of_recent_examples() -> None:
    model = OnlinePLT()  # few features, so that recent examples vote
    angles = [0.2 * (i % 7) + 0.01 * (i % 9) for i in range(900)]
    X = [{"x": math.cos(angle), "y": math.sin(angle)} for angle in angles]
    model.learn_many(X, [f"{i % 7}-{i % 2}" for i in range(900)])  # two labels that cannot be told apart
    for i in range(7):
        model.labels.merge(f"{i}-1", into=f"{i}-0")
    model.learn_many(X, [f"{i % 7}-{i % 2}" for i in range(900)])
    right = sum(model.predict_one(x, k=1)[0][0] == f"{i % 7}-0" for i, x in enumerate(X))
    assert right > 800
    again = pickle.loads(pickle.dumps(model))
    assert again.fingerprint() == model.fingerprint()
    assert again.predict_one(X[0]) == model.predict_one(X[0])


def test_labels_unseen_for_long_can_be_hidden() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1}] * 6, ["old", "older", "old", "new", "new", "new"])
    model.labels.add("described", features={"a": 1})
    assert model.labels.unseen(3) == ["old", "older"]
    assert model.labels.unseen(4) == ["older"]
    model.labels.hide(model.labels.unseen(4))
    assert [info.label for info in model.labels.table() if info.hidden] == ["older"]


def test_operations_with_integer_features_can_be_repeated_from_json() -> None:
    model, other = OnlinePLT(), OnlinePLT()
    model.labels.add("cow", features={7: 1.0, "7": 2.0})
    (operation,) = model.labels.operations
    assert LabelOperation.from_dict(operation.to_dict()) == operation
    other.labels.apply(json.loads(json.dumps(operation.to_dict())))
    assert other.fingerprint() == model.fingerprint()
    with pytest.raises(InvalidInputError, match="needs a kind"):
        other.labels.apply({"kind": "add", "label": "horse", "features": [7]})


def test_a_label_may_be_listed_twice() -> None:
    model = animals()
    model.labels.remove(["cat", "cat"])
    assert list(model.labels) == ["dog"]


def test_k_labels_are_predicted_if_most_others_are_hidden() -> None:
    model = OnlinePLT()
    n_labels = 1000
    rows = [{f"f{i % 50}": 1.0, f"g{i % n_labels // 8}": 1.0} for i in range(4 * n_labels)]
    model.learn_many(rows, [i % n_labels for i in range(len(rows))])
    model.labels.hide(label for label in range(n_labels) if label % 40)
    for row in rows[:100]:
        assert len(model.predict_one(row, k=10)) == 10
        assert len(model.predict_one(row, k=10, allow=range(0, n_labels, 40))) == 10


def test_a_label_that_has_taken_the_name_of_a_merged_one_can_be_removed(tmp_path: Path) -> None:
    model = animals()
    model.labels.merge("cat", into="dog")
    model.labels.rename("dog", "cat")
    model.labels.remove("cat")
    model.save(tmp_path / "model.oplt")
    assert OnlinePLT.load(tmp_path / "model.oplt").fingerprint() == model.fingerprint()


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda labels: labels.rename("cow", "bull"), "unknown-label", "the model knows no label 'cow'"),
        (lambda labels: labels.rename("cat", "dog"), "label-exists", "there is another label 'dog'. Merge the two"),
        (lambda labels: labels.rename("cat", ""), "name-not-valid", "must be a non-empty string"),
        (lambda labels: labels.hide(["cat", "cow"]), "unknown-label", "the model knows no label 'cow'"),
        (lambda labels: labels.remove(["cat", "cow"]), "unknown-label", "the model knows no label 'cow'"),
        (lambda labels: labels.merge("cat", into="cow"), "unknown-label", "the model knows no label 'cow'"),
        (lambda labels: labels.merge("gone", into="cat"), "label-removed", "'gone' has been removed"),
        (lambda labels: labels.add("gone"), "label-removed", "A removed label cannot come back"),
        (lambda labels: labels.add("cow", text=7), "not-a-text", "must be a text"),
        (lambda labels: labels.info("cow"), "unknown-label", "the model knows no label 'cow'"),
        (lambda labels: labels.apply({"kind": "paint", "label": "cat"}), "operation-not-valid", "needs a kind"),
        (lambda labels: labels.apply({"kind": "hide", "label": "cat", "other": "x"}), "operation-not-valid", "a kind"),
        (lambda labels: labels.apply({"kind": "rename", "label": "cat"}), "operation-not-valid", "also other"),
        (lambda labels: labels.apply({"color": "red"}), "operation-not-valid", "needs a kind"),
        (lambda labels: labels.apply({"kind": "hide", "label": None}), "operation-not-valid", "and a label"),
        (lambda labels: labels.apply({"kind": "hide", "label": "cat", "text": "x"}), "operation-not-valid", "only add"),
        (lambda labels: labels.add("cow", features=["legs"]), "rows-not-valid", "must be a mapping"),
    ],
)
def test_impossible_operations_have_no_effect(change: Callable[[OnlineLabels], None], code: str, message: str) -> None:
    model = animals()
    model.learn_one("Gone", "gone")
    model.labels.remove("gone")
    before = model.fingerprint()
    with pytest.raises(InvalidInputError, match=message) as raised:
        change(model.labels)
    assert raised.value.code == code
    assert model.fingerprint() == before


def test_a_model_of_arrays_takes_an_array_as_a_description() -> None:
    X = np.array([[0.1, 0.9, 0.0], [0.8, 0.0, 0.2]], dtype=np.float32)
    described, mapped = OnlinePLT(), OnlinePLT()
    for model in described, mapped:
        model.learn_many(X, ["cat", "dog"])
    described.labels.add("cow", features=np.array([0.0, 0.5, 0.5]))
    mapped.labels.add("cow", features={1: 0.5, 2: 0.5})
    assert described.fingerprint() == mapped.fingerprint()
    assert described.labels.operations[0].to_dict()["features"] == [[1, 0.5], [2, 0.5]]
    assert described.predict_one([0.0, 0.5, 0.5], k=1)[0][0] == "cow"
    with pytest.raises(InvalidInputError, match="has 2 columns, but the model was trained on arrays with 3"):
        described.labels.add("hen", features=np.array([0.5, 0.5]))
    with pytest.raises(InvalidInputError, match="or an array if the model takes arrays") as raised:
        animals().labels.add("cow", features=np.array([0.5, 0.5]))
    assert raised.value.code == "rows-not-valid"


def test_a_description_needs_a_memory_and_the_kind_of_the_model() -> None:
    with pytest.raises(InvalidInputError, match="needs a label memory") as raised:
        animals(label_memory=0).labels.add("cow", text="moos")
    assert raised.value.code == "no-label-memory"
    with pytest.raises(InvalidInputError, match="must be described by features, got a text"):
        OnlinePLT().labels.add("cow", text="moos")


def test_a_fixed_tree_has_no_further_labels() -> None:
    model = OnlinePLT.from_tree(LabelTree.from_nested(["a", "b"]), policy="fixed")
    with pytest.raises(InvalidInputError, match="cannot be added to a fixed tree") as raised:
        model.labels.add("c")
    assert raised.value.code == "labels-fixed"
    model.labels.merge("c", into="a")  # an alias
    model.labels.remove("b")
    model.learn_one({"x": 1}, ["b", "c"])
    assert model.labels.counts() == {"a": 1}


# --- What goes on -----------------------------------------------------------------------------------------------------


def test_thresholds_follow_their_labels() -> None:
    model = animals()
    model.labels.add("cow", text="moos")
    model.thresholds = Thresholds(0.1, {"cat": 0.2, "dog": 0.3, "cow": 0.4})
    model.labels.rename("cat", "feline")
    model.labels.hide("dog")
    model.labels.remove("cow")
    assert model.thresholds == Thresholds(0.1, {"feline": 0.2, "dog": 0.3})
    model.labels.merge("dog", into="cat")
    assert model.thresholds == Thresholds(0.1, {"feline": 0.2})
    model.labels.merge(["cat", "dog"], into="feline")  # these names lead to it already
    assert model.thresholds == Thresholds(0.1, {"feline": 0.2})


def test_operations_are_saved_and_can_be_repeated(tmp_path: Path) -> None:
    model = animals()
    model.labels.add("cow", text="It moos", features={"legs": 4.0})
    model.labels.rename("cat", "feline")
    model.learn_one("A bird sings", "bird")
    model.labels.merge("bird", into="cow")
    model.labels.hide("dog")
    model.save(tmp_path / "model.oplt")
    for loaded in (OnlinePLT.load(tmp_path / "model.oplt"), PLT.load(tmp_path / "model.oplt"), model.snapshot()):
        assert loaded.labels.operations == [
            LabelOperation("add", "cow", text="It moos", features={"legs": 4.0}, n_examples=4),
            LabelOperation("rename", "cat", "feline", n_examples=4),
            LabelOperation("merge", "bird", "cow", n_examples=5),
            LabelOperation("hide", "dog", n_examples=5),
        ]
        assert loaded.labels.table() == model.labels.table()
        assert loaded.predict_one("It sings", k=3) == model.predict_one("It sings", k=3)
    other = animals()
    for operation in model.labels.operations:
        if operation.n_examples == 5 and other.n_examples == 4:
            other.learn_one("A bird sings", "bird")
        other.labels.apply(operation.to_dict())
    assert other.fingerprint() == model.fingerprint()


def test_forgetting_examples_of_texts_repeats_descriptions() -> None:
    model, expected = animals(), OnlinePLT(features="text")
    model.labels.add("cow", text="It moos")
    model.labels.rename("cat", "feline")
    model.learn_one("It purrs", "feline")
    model.forget([0, 1])
    expected.learn_many(ANIMALS[2:], ["cat", "dog"])
    expected.labels.add("cow", text="It moos")
    expected.labels.rename("cat", "feline")
    expected.learn_one("It purrs", "feline")
    assert model.fingerprint() == expected.fingerprint()


def test_operations_on_labels_that_are_forgotten_are_forgotten() -> None:
    model = animals()
    model.learn_one("A secret", "private")
    model.labels.rename("private", "confidential")
    model.forget(4)
    assert model.fingerprint() == animals().fingerprint()
    assert model.labels.operations == []


@pytest.mark.parametrize("settings", [{}, {"trees": 2}, {"label_memory": 0}])
def test_a_tree_that_is_regrown_beside_the_stream_follows_operations(settings: dict[str, int], tmp_path: Path) -> None:
    stream = list(make_stream(1300, n_labels=60, seed=4))
    model = OnlinePLT(**settings)
    model.learn_many([x for x, _ in stream[:1000]], [labels for _, labels in stream[:1000]])
    first, second, third, fourth = list(model.labels)[:4]
    model.labels.merge(first, into=second)
    model.labels.remove(third)
    for i, (x, labels) in enumerate(stream[1000:]):
        model.learn_one(x, labels)
        if i == 100:  # a new tree is being built from the first 1,024 examples
            model.labels.remove(fourth)
        if i in (50, 150):
            model.save(tmp_path / "model.oplt")
            again = OnlinePLT.load(tmp_path / "model.oplt")
            again.learn_many([x for x, _ in stream[1001 + i : 1300]], [labels for _, labels in stream[1001 + i : 1300]])
            if i == 150:
                resumed = again
    assert model.fingerprint() == resumed.fingerprint()
    parents, ids = model._state().tree()
    assert model._state().find_label(second) in ids.tolist()
    gone = [operation.label for operation in model.labels.operations[:2]]
    assert {0, 2}.isdisjoint(ids.tolist()), gone


def test_operations_wait_for_their_turn() -> None:
    stream = list(make_stream(3000, n_labels=200, seed=5))
    model = OnlinePLT()
    model.learn_many([x for x, _ in stream[:500]], [labels for _, labels in stream[:500]])
    known = list(model.labels)
    worker = threading.Thread(
        target=lambda: model.learn_many([x for x, _ in stream[500:]], [labels for _, labels in stream[500:]])
    )
    worker.start()
    model.labels.hide(known[:20])
    model.labels.remove(known[20])
    found = {label for row in model.predict_many([x for x, _ in stream[:50]], k=20) for label, _ in row}
    worker.join()
    assert found.isdisjoint(known[:21])
    assert model.n_examples == 3000
    assert known[20] not in model.labels


def test_a_frame_of_labels() -> None:
    model = animals()
    model.labels.hide("dog")
    frame = model.labels.to_frame()
    assert frame.to_dict("records") == [
        {"label": "cat", "n_examples": 2, "first": 0, "last": 2, "hidden": False},
        {"label": "dog", "n_examples": 2, "first": 1, "last": 3, "hidden": True},
    ]
    model.labels.add("cow")
    assert model.labels.to_frame("polars")["first"].is_nan().to_list() == [False, False, True]
    assert OnlinePLT().labels.to_frame("pyarrow").num_rows == 0


def test_many_labels_are_hidden_in_one_call() -> None:
    model = OnlinePLT(label_memory=0)
    model.learn_many([{"a": 1.0}] * 2000, list(range(2000)))
    model.labels.hide(range(1990))
    assert {label for label, _ in model.predict_one({"a": 1.0}, k=50)} == set(range(1990, 2000))
    model.labels.unhide(range(1990))
    assert len(model.predict_one({"a": 1.0}, k=50)) == 50
