# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The history of examples: regrown trees and forgotten examples."""

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import InvalidInputError, InvalidParameterError, LabelTree, OnlinePLT, _core, learning
from oplt.datasets import make_stream
from oplt.text import TextFeatures
from oplt.thresholds import Thresholds
from oplt.tree import kmeans
from tests.property.proper import assert_models_proper

Example = tuple[dict[str, float], list[str]]

# A model is regrown from its first 1,024 examples, after 1,280; from 2,048, after 2,560.
N_FIRST, N_CHANGE, N_SECOND, N_ALL = 1024, 1280, 2048, 2600


@pytest.fixture(scope="module")
def stream() -> list[Example]:
    return list(make_stream(N_ALL, n_labels=300, seed=3))


def update(model: OnlinePLT, stream: list[Example]) -> OnlinePLT:
    model.learn_many([x for x, _ in stream], [labels for _, labels in stream])
    return model


def on_clustered_tree(stream: list[Example], n_clustered: int, **settings: Any) -> OnlinePLT:
    """Make the model that learns the stream on the tree of its first examples."""
    sample = stream[:n_clustered]
    shape = {name: settings[name] for name in ("arity", "max_leaves", "seed") if name in settings}
    tree = kmeans([x for x, _ in sample], [labels for _, labels in sample], **{"arity": 31, "max_leaves": 31, **shape})
    return update(OnlinePLT.from_tree(tree, **settings), stream)


# --- Regrowth ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "n_clustered"), [(N_CHANGE, N_FIRST), (2559, N_FIRST), (2560, N_SECOND), (2600, N_SECOND)]
)
@pytest.mark.parametrize("settings", [{}, {"learner": "adagrad", "normalize": False, "arity": 3, "max_leaves": 5}])
def test_a_regrown_model_is_the_one_that_learns_on_the_new_tree_from_the_start(
    stream: list[Example], settings: dict[str, Any], n: int, n_clustered: int
) -> None:
    settings = {**settings, "label_memory": 0, "seed": 7}
    model = update(OnlinePLT(**settings), stream[:n])
    expected = on_clustered_tree(stream[:n], n_clustered, **settings)
    assert model.tree == expected.tree
    assert_models_proper(model, expected)
    if settings.get("learner") == "adagrad":  # the calibration of AROW has seen the older trees
        for x, _ in stream[:50]:
            assert dict(model.predict_one(x, threshold=0.01)) == dict(expected.predict_one(x, threshold=0.01))


def test_a_model_grows_by_the_policy_until_it_is_regrown(stream: list[Example]) -> None:
    with_history, without = OnlinePLT(), OnlinePLT(history=0)
    update(with_history, stream[: N_CHANGE - 1])
    update(without, stream[: N_CHANGE - 1])
    assert with_history.tree == without.tree
    assert_models_proper(with_history, without)
    update(with_history, stream[N_CHANGE - 1 : N_CHANGE])
    update(without, stream[N_CHANGE - 1 : N_CHANGE])
    assert with_history.tree != without.tree
    assert sorted(with_history.tree.leaves()[1]) == sorted(without.tree.leaves()[1])
    assert (with_history.has_history, without.has_history) == (True, False)


@pytest.mark.parametrize("settings", [{}, {"trees": 2, "label_memory": 0}], ids=repr)
def test_a_regrown_model_depends_neither_on_calls_nor_on_threads_nor_on_saves(
    stream: list[Example], settings: dict[str, Any]
) -> None:
    expected = update(OnlinePLT(**settings), stream)
    singly, saved = OnlinePLT(**settings), OnlinePLT(**settings, threads=2)
    for x, labels in stream:
        singly.learn_one(x, labels)
    for begin in range(0, N_ALL, 130):
        update(saved, stream[begin : begin + 130])
        saved = pickle.loads(pickle.dumps(saved))
    assert singly.fingerprint() == saved.fingerprint() == expected.fingerprint()


def test_regrowing_on_request_uses_all_examples(stream: list[Example]) -> None:
    settings = {"label_memory": 0, "learner": "adagrad"}
    model = update(OnlinePLT(**settings), stream[:700])
    model.regrow()
    assert_models_proper(model, on_clustered_tree(stream[:700], 700, **settings))
    update(model, stream[700:1749])  # 1,750 = 1.25 · 2 · 700
    assert_models_proper(model, on_clustered_tree(stream[:1749], 700, **settings))
    update(model, stream[1749:1750])
    assert_models_proper(model, on_clustered_tree(stream[:1750], 1400, **settings))


@pytest.mark.parametrize("policy", ["random", "complete", "cpet", "flat"])
def test_trees_of_other_policies_keep_their_shape(stream: list[Example], policy: str) -> None:
    with_history, without = OnlinePLT(policy=policy), OnlinePLT(policy=policy, history=0)
    assert update(with_history, stream[:1500]).tree == update(without, stream[:1500]).tree
    with pytest.raises(InvalidParameterError, match=f"needs the policy best-greedy.*got {policy}"):
        with_history.regrow()
    with_history.forget(3)
    assert with_history.n_examples == 1499


def test_several_trees_are_regrown_each_with_its_own_shape(stream: list[Example]) -> None:
    model = update(OnlinePLT(trees=3, label_memory=0), stream[:N_CHANGE])
    trees = [model._state().tree(number) for number in range(3)]
    assert len({(parents.tobytes(), labels.tobytes()) for parents, labels in trees}) == 3
    assert model.tree == on_clustered_tree(stream[:N_CHANGE], N_FIRST, label_memory=0).tree


# --- The limit --------------------------------------------------------------------------------------------------------


def test_a_history_ends_at_its_limit_and_is_useless_then(stream: list[Example]) -> None:
    model = update(OnlinePLT(history=1500), stream[:1500])
    assert model.has_history
    tree = model.tree
    with_history = model.memory_bytes
    update(model, stream[1500:1501])
    assert not model.has_history
    assert model.memory_bytes < with_history
    assert sorted(model.tree.leaves()[1]) >= sorted(tree.leaves()[1])
    for call in (model.regrow, lambda: model.forget(0)):
        with pytest.raises(InvalidInputError, match="has learned 1,501 examples and keeps at most 1,500") as raised:
            call()
        assert raised.value.code == "no-history"
    update(model, stream[1501:])
    assert model.n_examples == N_ALL


def test_memory_includes_a_tree_that_is_being_regrown(stream: list[Example]) -> None:
    model = OnlinePLT()
    for x, labels in stream[:1500]:
        model.learn_one(x, labels)
        if model.n_examples in (N_FIRST, N_FIRST + 100, N_CHANGE - 1):
            memory = model.inspect().memory
            assert memory["regrowth"] > 0
            assert sum(memory.values()) == model.memory_bytes == model.snapshot().memory_bytes + memory["regrowth"]
    assert model.inspect().memory["regrowth"] == 0


def test_the_limit_does_not_depend_on_calls(stream: list[Example]) -> None:
    expected = update(OnlinePLT(history=1500), stream)
    in_parts = OnlinePLT(history=1500)
    for begin in range(0, N_ALL, 400):
        update(in_parts, stream[begin : begin + 400])
    assert in_parts.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("settings", [{"history": 0}, {"policy": "complete", "history": 0}])
def test_without_a_history_nothing_can_be_regrown_or_forgotten(settings: dict[str, Any]) -> None:
    model = OnlinePLT(**settings)
    model.learn_one({"a": 1}, "x")
    for call in (model.regrow, lambda: model.forget(0)):
        with pytest.raises(InvalidInputError, match=r"it keeps none \(history=0\)"):
            call()


@pytest.mark.parametrize("history", [-1, 0.5, True, "all", 2**32])
def test_a_bad_limit_is_refused(history: Any) -> None:
    with pytest.raises(InvalidParameterError, match="history must be"):
        OnlinePLT(history=history)


def test_a_model_with_a_given_tree_has_no_history(stream: list[Example]) -> None:
    started = OnlinePLT.warm_start([x for x, _ in stream[:100]], [labels for _, labels in stream[:100]])
    assert started.settings["history"] == 0
    assert not started.has_history
    with pytest.raises(InvalidParameterError, match="keeps the tree that it starts from, so history must be 0, got 5"):
        OnlinePLT.from_tree(started.tree, history=5)


def test_a_model_for_prediction_has_no_history(stream: list[Example], tmp_path: Path) -> None:
    model = update(OnlinePLT(), stream[:500])
    small = model.snapshot().for_prediction()
    small.save(tmp_path / "small.oplt")
    model.save(tmp_path / "model.oplt")
    assert (tmp_path / "small.oplt").stat().st_size < (tmp_path / "model.oplt").stat().st_size
    assert _core.memory_parts(small._state())["history"] == 0


# --- Forgetting -------------------------------------------------------------------------------------------------------


def without(stream: list[Example], numbers: list[int]) -> list[Example]:
    return [example for i, example in enumerate(stream) if i not in numbers]


@pytest.mark.parametrize("settings", [{}, {"label_memory": 0}, {"trees": 2}, {"policy": "random"}], ids=repr)
@pytest.mark.parametrize("numbers", [[0], [N_FIRST, 5, 1500, N_CHANGE, 5], [N_ALL - 1], []], ids=repr)
def test_a_forgotten_example_leaves_no_trace(
    stream: list[Example], settings: dict[str, Any], numbers: list[int]
) -> None:
    model = update(OnlinePLT(**settings, threads=2), stream)
    model.forget(numbers)
    expected = update(OnlinePLT(**settings), without(stream, numbers))
    assert model.fingerprint() == expected.fingerprint()
    model.learn_one({"new": 1}, "new")
    expected.learn_one({"new": 1}, "new")
    assert model.fingerprint() == expected.fingerprint()


def test_names_and_weights_are_those_of_the_examples_left() -> None:
    rows: list[dict[Any, float]] = [{"a": 1, 3: -2.5}, {"b": 1e-30, "c": 3}, {3: 1, "b": 2}, {"ü": 1}]
    labels: list[list[Any]] = [["x", 7], ["y"], [7], []]
    model, expected = OnlinePLT(), OnlinePLT()
    model.learn_many(rows, labels, weights=[1, 0.5, 2, 3])
    model.forget(1)
    expected.learn_many([rows[0], *rows[2:]], [labels[0], *labels[2:]], weights=[1, 2, 3])
    assert model.fingerprint() == expected.fingerprint()
    assert sorted(map(str, model.tree.leaves()[1])) == ["7", "x"]


TEXTS = [
    f"{a} {b} {b} {'and so on ' * (i % 3)}{a}-{i % 11}"
    for i, (a, b) in enumerate(
        zip("kernel web mail disk cpu".split() * 40, "xss leak race bug".split() * 50, strict=True)
    )
]


@pytest.mark.parametrize(
    "features",
    [{}, {"ngrams": (1, 2), "chars": (2, 3)}, {"hash_bits": 6}, {"idf": False, "sublinear": False}],
    ids=repr,
)
@pytest.mark.parametrize("further", [False, True])
def test_a_forgotten_text_leaves_no_trace(features: dict[str, Any], *, further: bool) -> None:
    labels = [text.split()[:2] for text in TEXTS]
    rows: list[Any] = [
        {"text": text, "pages": float(i % 7), "kind": 1.0} if further else text for i, text in enumerate(TEXTS)
    ]
    gone = [0, 17, 18, 199]
    kept = [i for i in range(len(rows)) if i not in gone]
    model, expected = (OnlinePLT(features=TextFeatures(**features)) for _ in range(2))
    model.learn_many(rows, labels)
    model.forget(np.array(gone))
    expected.learn_many([rows[i] for i in kept], [labels[i] for i in kept])
    assert model.fingerprint() == expected.fingerprint()


def test_texts_are_not_forgotten_if_terms_were_dropped() -> None:
    model = OnlinePLT(features=TextFeatures(max_features=5))
    model.learn_many(TEXTS, ["x"] * len(TEXTS))
    before = model.fingerprint()
    with pytest.raises(InvalidInputError, match=r"dropped because of max_features=5\. Train a new model") as raised:
        model.forget(0)
    assert raised.value.code == "texts-not-forgettable"
    assert "hash_bits limits memory, too" in str(raised.value.hint)
    assert model.fingerprint() == before
    model.regrow()


def test_texts_are_not_forgotten_if_the_features_had_been_trained_before() -> None:
    features = TextFeatures()
    features.learn(["some other text"])
    model = OnlinePLT(features=features)
    model.learn_many(TEXTS, ["x"] * len(TEXTS))
    with pytest.raises(InvalidInputError, match="200 texts and its text features have learned 201") as raised:
        model.forget(0)
    assert raised.value.code == "texts-not-forgettable"
    assert "from untrained TextFeatures" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (3, "the numbers of the examples are from 0 to 2, got 3"),
        ([0, -1], "from 0 to 2, got -1"),
        (1.5, r"must be an integer, got 1\.5"),
        (np.array([[0]]), "must be an integer"),
        (["0"], "must be an integer, got '0'"),
        ([True], "must be an integer, got True"),
        ([2**70], "from 0 to 2, got"),
    ],
)
def test_numbers_that_are_not_of_examples_are_refused(numbers: Any, message: str) -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1}] * 3, ["x"] * 3)
    before = model.fingerprint()
    with pytest.raises(InvalidInputError, match=message):
        model.forget(numbers)
    assert model.fingerprint() == before


def test_a_number_may_be_of_numpy() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1}] * 3, ["x"] * 3)
    model.forget(np.int64(1))
    assert model.n_examples == 2


def test_thresholds_of_forgotten_labels_are_forgotten() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1}, {"b": 1}], ["x", "private"])
    model.thresholds = Thresholds(0.1, {"x": 0.2, "private": 0.9})
    model.forget(1)
    assert model.thresholds == Thresholds(0.1, {"x": 0.2})


# A regrowth is in progress between these numbers of examples, also in the model that learned again.
@pytest.mark.parametrize("n", [1030, 1100, 1190, 1200, 1240, 1270])
def test_learning_goes_on_after_forgetting_while_a_tree_is_regrown(stream: list[Example], n: int) -> None:
    model = update(OnlinePLT(label_memory=0), stream[: n + 1])
    model.forget(3)
    update(model, stream[n + 1 : 1400])
    assert model.fingerprint() == update(OnlinePLT(label_memory=0), without(stream[:1400], [3])).fingerprint()


@pytest.mark.parametrize("call", [OnlinePLT.regrow, lambda model: model.forget([])])
def test_a_given_tree_is_not_regrown_even_before_the_first_example(call: Callable[[OnlinePLT], None]) -> None:
    model = OnlinePLT.from_tree(LabelTree.from_nested([["a", "b"], ["c", "d"]]))
    with pytest.raises(InvalidInputError, match="keeps none"):
        call(model)
    assert model.n_labels == 4


def test_an_empty_model_has_nothing_to_forget() -> None:
    model = OnlinePLT()
    model.regrow()
    model.forget([])
    with pytest.raises(InvalidInputError, match="the model has learned no examples"):
        model.forget(0)


# --- Interruptions and other threads ----------------------------------------------------------------------------------


def is_interrupted(call: Callable[[], None]) -> bool:
    """Let an alarm interrupt a call, which may be over before that."""

    def interrupt(*_: object) -> None:
        raise InterruptedError

    former = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        call()
    except InterruptedError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    return False


@pytest.mark.parametrize("method", ["regrow", "forget"])
def test_an_interrupted_call_leaves_the_model_as_it_was(stream: list[Example], method: str) -> None:
    def change(model: OnlinePLT) -> None:
        model.regrow() if method == "regrow" else model.forget(0)

    original = update(OnlinePLT(trees=8), stream)
    before = original.fingerprint()
    saved = pickle.dumps(original)
    change(original)
    after = original.fingerprint()
    for _ in range(20):
        model = pickle.loads(saved)
        is_ended = not is_interrupted(partial(change, model))
        found = model.fingerprint()
        # An alarm just after the work has been done interrupts the call, too, when Python is about to return from it.
        assert found == after if is_ended else found in (before, after)
        if found == before:
            break
    else:
        pytest.fail("no call was interrupted while it worked")
    model.learn_one(*stream[0])


def test_thresholds_follow_the_labels_even_if_the_end_of_a_call_is_interrupted() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1}, {"b": 1}], ["x", "private"])
    model.thresholds = Thresholds(0.1, {"x": 0.2, "private": 0.9})
    core = model._core

    class Interrupted:
        """A core that is interrupted as soon as its work is done."""

        def forget(self, *arguments: Any) -> None:
            core.forget(*arguments)
            raise KeyboardInterrupt

        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

    model._core = Interrupted()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        model.forget(1)
    assert model.thresholds == Thresholds(0.1, {"x": 0.2})


def test_calls_of_several_threads_wait_for_each_other(stream: list[Example]) -> None:
    model = update(OnlinePLT(trees=4), stream)
    started = threading.Barrier(4)
    failures: list[BaseException] = []

    def call(rebuild: Callable[[], None]) -> None:
        started.wait()
        try:
            rebuild()
        except BaseException as error:  # noqa: BLE001 (of a thread)
            failures.append(error)

    calls = [model.regrow, partial(model.forget, [0, 9]), model.regrow, partial(model.forget, [])]
    workers = [threading.Thread(target=call, args=[rebuild]) for rebuild in calls]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    model.regrow()  # the other times may have been before the examples were forgotten
    expected = update(OnlinePLT(trees=4), without(stream, [0, 9]))
    expected.regrow()
    assert model.fingerprint() == expected.fingerprint()


def test_numbers_that_another_thread_has_changed_are_refused(
    stream: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = update(OnlinePLT(), stream[:50])
    checked = learning.as_numbers

    def forget_another_first(*arguments: Any) -> Any:
        monkeypatch.setattr(learning, "as_numbers", checked)
        numbers = checked(*arguments)
        model.forget(0)
        return numbers

    monkeypatch.setattr(learning, "as_numbers", forget_another_first)
    with pytest.raises(InvalidInputError, match="numbers of the examples have changed"):
        model.forget(7)
    assert model.fingerprint() == update(OnlinePLT(), stream[1:50]).fingerprint()


def test_a_call_that_waits_can_be_interrupted(stream: list[Example]) -> None:
    model = update(OnlinePLT(trees=8), stream)
    started = threading.Barrier(2)

    def rebuild() -> None:
        started.wait()
        for _ in range(3):
            model.regrow()

    worker = threading.Thread(target=rebuild)
    worker.start()
    started.wait()
    interrupted = [is_interrupted(lambda: model.forget([0])) for _ in range(3)]
    worker.join()
    assert any(interrupted)
    n_forgotten = N_ALL - model.n_examples
    # A call that is interrupted just after its work has been done has forgotten the example.
    assert interrupted.count(False) <= n_forgotten <= len(interrupted)


@pytest.mark.parametrize("method", ["regrow", "forget"])
def test_others_may_predict_and_learn_meanwhile(stream: list[Example], method: str) -> None:
    model = update(OnlinePLT(trees=4), stream[:2000])
    started = threading.Barrier(2)

    def rebuild() -> None:
        started.wait()
        model.regrow() if method == "regrow" else model.forget([7, 1999])

    worker = threading.Thread(target=rebuild)
    worker.start()
    started.wait()
    for x, labels in stream[2000:]:
        assert model.predict_one(x, k=1)
        model.learn_one(x, labels)
    worker.join()
    expected = stream if method == "regrow" else without(stream, [7, 1999])
    assert model.n_examples == len(expected)
    assert model.has_history
    if method == "forget":  # whatever was learned meanwhile
        assert model.fingerprint() == update(OnlinePLT(trees=4), expected).fingerprint()
