# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The setting `max_memory`: when a model is closed, what that leaves out, and that it stays within its memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oplt import InvalidInputError, InvalidParameterError, OnlinePLT
from oplt.text import TextFeatures

LEAST = 10_000_000
Example = tuple[Any, list[str]]


# --- Streams that never end -------------------------------------------------------------------------------------------


def of_new_names(seed: int = 0) -> Iterator[Example]:
    """Half of the examples bring a new label, and all bring new features."""
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    n = 0
    while True:
        n += 1
        label = n // 2 if n % 2 == 0 else source.randrange(n // 2 + 1)
        x = {f"feature {label} {source.randrange(30)}": 1.0 for _ in range(8)}
        x.update({f"common {source.randrange(2000)}": 0.5 for _ in range(8)})
        x[f"new {n}"] = 1.0
        yield x, [f"label {label}", f"group {label % 50}"]


def of_texts(seed: int = 1) -> Iterator[Example]:
    for x, labels in of_new_names(seed):
        yield " ".join(name.replace(" ", "") for name in x), labels


def of_few_features(seed: int = 2) -> Iterator[Example]:
    """Recent examples are kept, because there are few features."""
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    while True:
        label = int(source.expovariate(1 / 2000))
        yield {i: source.gauss(label % (i + 2), 0.3) for i in range(12)}, [str(label)]


def of_few_features_and_several_labels(seed: int = 5) -> Iterator[Example]:
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    for x, (label,) in of_few_features(seed):
        yield x, [label, *(f"group {source.randrange(300)}" for _ in range(source.randrange(5)))]


def of_long_rows(seed: int = 3) -> Iterator[Example]:
    """Few labels, but features without end."""
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    n = 0
    while True:
        n += 1
        label = source.randrange(40)
        yield {f"{label} {source.randrange(20 * n)}": 1.0 for _ in range(40)}, [str(label)]


def of_numbers(seed: int = 4) -> Iterator[Example]:
    """Only new labels, with single features, so that rows are short."""
    n = seed
    while True:
        n += 1
        yield {n: 1.0}, [f"label {n} with a name that is rather long, as those of some catalogues are"]


STREAMS: dict[str, tuple[Callable[[], Iterator[Example]], dict[str, Any]]] = {
    "default": (of_new_names, {}),
    "no history": (of_new_names, {"history": 0}),
    "no label memory": (of_new_names, {"history": 0, "label_memory": 0}),
    "adagrad": (of_new_names, {"history": 0, "learner": "adagrad", "label_memory": 0}),
    "paper": (of_new_names, {"policy": "best-greedy", "arity": 2, "max_leaves": 100, "history": 0, "label_memory": 0}),
    "random": (of_new_names, {"policy": "random", "history": 0, "sparsity": 0.0}),
    "complete": (of_new_names, {"policy": "complete", "arity": 2}),
    "two trees": (of_new_names, {"trees": 2}),
    "flat": (of_long_rows, {"policy": "flat"}),
    "texts": (of_texts, {"features": "text"}),
    "few terms": (of_texts, {"features": TextFeatures(max_features=3000)}),
    "few features": (of_few_features, {}),
    "few features, several labels": (of_few_features_and_several_labels, {}),
    "long rows": (of_long_rows, {}),
    "numbers": (of_numbers, {}),
    "numbers, no memory": (of_numbers, {"label_memory": 0, "history": 0}),
}


FAST = {"default", "no label memory", "two trees", "texts", "few features", "numbers"}
STREAM_NAMES = [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in STREAMS]


def taken(stream: Iterator[Example], n: int) -> tuple[list[Any], list[list[str]]]:
    examples = [next(stream) for _ in range(n)]
    return [x for x, _ in examples], [labels for _, labels in examples]


def until_closed(
    model: OnlinePLT, stream: Iterator[Example], most: int = 60_000, look: Callable[[], None] = lambda: None
) -> OnlinePLT:
    while model.closed_at is None and model.n_examples < most:
        model.learn_many(*taken(stream, 500))
        look()
    assert model.closed_at is not None
    return model


@pytest.mark.parametrize("name", STREAM_NAMES)
def test_memory_stays_below_the_limit(name: str) -> None:
    make, settings = STREAMS[name]
    limit = 2 * LEAST
    model = OnlinePLT(max_memory=limit, **settings)
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, model.memory_bytes)
        assert most <= limit

    stream = make()
    until_closed(model, stream, look=look)
    sizes = model.n_labels, model.n_features, model.n_cells
    for _ in range(20):
        model.learn_many(*taken(stream, 500))
        look()
    assert (model.n_labels, model.n_features, model.n_cells) == sizes


def closing_model(**settings: Any) -> OnlinePLT:
    return until_closed(OnlinePLT(max_memory=LEAST, **settings), of_new_names())


@pytest.mark.parametrize("features", [None, "text"])
def test_new_examples_of_a_closed_model_are_not_taken_for_repetitions(features: str | None) -> None:
    model = OnlinePLT(max_memory=LEAST, features=features) if features else OnlinePLT(max_memory=LEAST)
    until_closed(model, of_texts() if features else of_new_names())
    xs: list[Any] = [{f"never seen {i}": 1.0} for i in range(200)]
    model.learn_many([next(iter(x)) for x in xs] if features else xs, [["group 1"]] * len(xs))
    assert not model.is_repeating


# --- When a model is closed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"history": 0, "trees": 2}, {"features": "text"}], ids=str)
def test_calls_threads_and_files_do_not_change_when(settings: dict[str, Any], tmp_path: Path) -> None:
    stream = of_texts if "features" in settings else of_new_names
    expected = until_closed(OnlinePLT(max_memory=LEAST, **settings), stream())
    n_examples = expected.n_examples + 1500
    expected = OnlinePLT(max_memory=LEAST, **settings)
    expected.learn_many(*taken(stream(), n_examples))
    for threads, sizes in [(1, [1, 700, 1024]), (2, [3000, 31]), (3, [5, 2048, 1])]:
        model = OnlinePLT(max_memory=LEAST, threads=threads, **settings)
        examples = stream()
        for i in range(n_examples):
            n = min(sizes[i % len(sizes)], n_examples - model.n_examples)
            if n == 0:
                break
            model.learn_many(*taken(examples, n))
            if i % 3 == 1:
                model.save(tmp_path / "model.oplt")
                model = OnlinePLT.load(tmp_path / "model.oplt", threads=threads)
        assert model.closed_at == expected.closed_at
        assert model.fingerprint() == expected.fingerprint()


def test_until_it_is_closed_the_limit_changes_nothing() -> None:
    limited = closing_model(history=0)
    assert limited.closed_at is not None
    free, stream = OnlinePLT(history=0), of_new_names()
    free.learn_many(*taken(stream, limited.closed_at))
    again, same = OnlinePLT(history=0, max_memory=LEAST), of_new_names()
    again.learn_many(*taken(same, limited.closed_at))
    queries, _ = taken(stream, 50)
    assert again.closed_at == limited.closed_at
    assert [free.predict_one(x) for x in queries] == [again.predict_one(x) for x in queries]
    assert (free.n_cells, free.tree) == (again.n_cells, again.tree)


def test_without_a_limit_it_stays_open() -> None:
    model = OnlinePLT()
    model.learn_many(*taken(of_new_names(), 3000))
    assert model.closed_at is None
    assert model.inspect().closed_at is None
    assert model.settings["max_memory"] is None


# --- The history goes first -------------------------------------------------------------------------------------------


def test_the_history_is_discarded_before_the_model_is_closed() -> None:
    model, stream = OnlinePLT(max_memory=2 * LEAST), of_new_names()
    while model.has_history:
        model.learn_many(*taken(stream, 512))
    assert model.closed_at is None
    n_examples = model.n_examples
    with pytest.raises(InvalidInputError, match="discarded them to stay within max_memory"):
        model.regrow()
    with pytest.raises(InvalidInputError, match="discarded them"):
        model.forget([0])
    until_closed(model, stream)
    assert model.closed_at is not None
    assert model.closed_at > n_examples
    assert model.inspect().memory["history"] == 0


# --- What a closed model does -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"learner": "adagrad"}, {"label_memory": 0}], ids=str)
def test_new_labels_and_features_are_ignored(settings: dict[str, Any]) -> None:
    model, twin = closing_model(**settings), closing_model(**settings)
    sizes = model.n_labels, model.n_features, model.n_cells, model.tree
    model.learn_one({"common 1": 1.0}, ["label 3", "never seen"])
    twin.learn_one({"common 1": 1.0}, ["label 3"])
    assert model.fingerprint() == twin.fingerprint()
    model.learn_one({"common 1": 1.0, "never seen": 0.0}, ["label 3"])
    twin.learn_one({"common 1": 1.0}, ["label 3"])
    assert model.fingerprint() == twin.fingerprint()
    assert (model.n_labels, model.n_features, model.n_cells, model.tree) == sizes
    assert "never seen" not in model.labels


def test_it_goes_on_learning() -> None:
    model = closing_model()
    x = {"common 1": 1.0, "common 2": 1.0, "common 3": 1.0}
    before = dict(model.predict_one(x, k=5)).get("group 7", 0.0)
    for _ in range(30):
        model.learn_one(x, ["group 7"])
    assert model.predict_one(x, k=1)[0][0] == "group 7"
    assert dict(model.predict_one(x, k=1))["group 7"] > before


def test_a_label_cannot_be_added() -> None:
    model = closing_model()
    with pytest.raises(InvalidInputError, match="cannot be added to a closed model") as raised:
        model.labels.add("never seen")
    assert raised.value.code == "labels-closed"
    n_features = model.n_features
    model.labels.add("label 3", features={"never seen": 1.0, "common 5": 1.0})  # it has one, and may be described
    model.labels.rename("label 3", "label three")
    assert (model.n_features, "label three" in model.labels) == (n_features, True)


def test_it_is_closed_in_a_file_too(tmp_path: Path) -> None:
    model = closing_model()
    model.save(tmp_path / "model.oplt")
    loaded = OnlinePLT.load(tmp_path / "model.oplt")
    assert loaded.closed_at == model.closed_at == model.snapshot().inspect().closed_at
    rest = taken(of_new_names(seed=7), 300)
    loaded.learn_many(*rest)
    model.learn_many(*rest)
    assert loaded.fingerprint() == model.fingerprint()


# --- The setting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (12_345_678, 12_345_678),
        ("12345678", 12_345_678),
        ("4GB", 4 * 10**9),
        ("4 gb", 4 * 10**9),
        ("1.5GB", 1_500_000_000),
        ("512MiB", 512 * 2**20),
        ("20000kB", 20_000_000),
        ("1TiB", 2**40),
        (None, None),
    ],
)
def test_sizes(given: int | str | None, expected: int | None) -> None:
    assert OnlinePLT(max_memory=given).settings["max_memory"] == expected


@pytest.mark.parametrize(
    "given",
    ["", "4", "GB", "4XB", "4 G", "-4GB", "4iB", "9MB", 0, -1, True, 1e9, "1e9", 2**61, "9" * 400 + "GB", [4]],
    ids=repr,
)
def test_other_sizes_are_refused(given: Any) -> None:
    with pytest.raises(InvalidParameterError, match="max_memory must be"):
        OnlinePLT(max_memory=given)
