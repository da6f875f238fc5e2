# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Operations on labels anywhere in a stream: the tree stays proper, and everything can be saved and forgotten."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import InvalidInputError, LabelTree, OnlinePLT, _core
from oplt.labels import LabelOperation
from tests.property.proper import assert_models_proper
from tests.property.strategies import (
    COLUMN_LABELS,
    RULES,
    Example,
    Settings,
    all_settings,
    examples,
    rows,
    streams,
    tree_settings,
)
from tests.reference.label_names import LabelNames

LABELS = ["x", "y", "z", 5, 6, 7]
NEW = ["new", "newer", 99]

names = st.sampled_from([*LABELS, *NEW])
plain_operations = st.one_of(
    st.builds(LabelOperation, st.sampled_from(["add", "hide", "unhide", "remove"]), names),
    st.builds(LabelOperation, st.sampled_from(["rename", "merge"]), names, names),
)
operations = st.one_of(plain_operations, st.builds(LabelOperation, st.just("add"), names, features=rows()))
Step = Example | LabelOperation


def mixed(operations: st.SearchStrategy[LabelOperation]) -> st.SearchStrategy[list[Step]]:
    return st.lists(st.one_of(examples(labels=LABELS), examples(labels=LABELS), operations), min_size=1, max_size=24)


steps = mixed(operations)
plain_steps = mixed(plain_operations)  # descriptions bring features, whose order determines that of a sum


def perform(model: OnlinePLT, steps: Iterable[Step]) -> list[Step]:
    """Learn examples and perform operations. Returns the steps without impossible and ineffective operations."""
    performed: list[Step] = []
    for step in steps:
        n_before = len(model.labels.operations)
        if isinstance(step, Example):
            model.learn_one(step.x, step.labels, weight=step.weight)
        else:
            with suppress(InvalidInputError):
                model.labels.apply(step)
        if isinstance(step, Example) or len(model.labels.operations) > n_before:
            performed.append(step)
    return performed


def with_numbers(model: OnlinePLT) -> LabelTree:
    """Return the whole tree of a model, with the leaves of labels that are gone; a label is called by its number."""
    parents, ids = model._state().tree()
    labels = [None if label == _core.NONE else label for label in ids.tolist()]
    return LabelTree(np.where(parents == _core.NONE, -1, parents.astype(np.int64)), labels)


@pytest.mark.parametrize("rule", RULES)
@given(data=st.data())
def test_the_tree_stays_proper_for_the_labels_that_examples_had(rule: Settings, data: st.DataObject) -> None:
    settings = {**data.draw(tree_settings(**rule)), "history": 0}
    model = OnlinePLT(**settings)
    performed = perform(model, data.draw(plain_steps))
    known = LabelNames()
    expected = OnlinePLT.from_tree(with_numbers(model), **settings)
    for step in performed:
        if isinstance(step, LabelOperation):
            known.apply(step)
        else:
            expected.learn_one(step.x, [label.number for label in known.of_example(step.labels)], weight=step.weight)
    assert_models_proper(model, expected)
    present = [label for label in known.all if label.present() is label]
    assert list(model.labels) == [label.name for label in present]
    assert [info.hidden for info in model.labels.table()] == [label.is_hidden for label in present]
    assert {name for name in known.by_name if known.by_name[name].present()} == {
        name for name in [*LABELS, *NEW] if name in model.labels
    }


@pytest.mark.parametrize("rule", RULES)
@given(data=st.data())
def test_a_regrown_tree_has_the_present_labels_and_is_proper(rule: Settings, data: st.DataObject) -> None:
    settings = data.draw(tree_settings("best-greedy", **rule))
    model = OnlinePLT(**settings)
    performed = perform(model, data.draw(plain_steps))
    model.regrow()
    after = perform(model, data.draw(plain_steps))
    known = LabelNames()
    for step in performed:  # the tree of a regrown model is that of the labels at the end
        known.apply(step) if isinstance(step, LabelOperation) else known.of_example(step.labels)
    expected = OnlinePLT.from_tree(with_numbers(model), **{**settings, "history": 0})
    for i, step in enumerate(performed + after):
        if isinstance(step, Example):
            expected.learn_one(step.x, [label.number for label in known.of_example(step.labels)], weight=step.weight)
        elif i >= len(performed):
            known.apply(step)
    assert_models_proper(model, expected)


@given(all_settings(), st.data())
def test_saving_and_cuts_change_nothing(settings: Settings, data: st.DataObject) -> None:
    model, other = OnlinePLT(**settings), OnlinePLT(**settings)
    taken = data.draw(steps)
    perform(model, taken)
    begin = 0
    for i, step in enumerate(taken):  # examples between two operations in one call
        if isinstance(step, LabelOperation) or i + 1 == len(taken):
            batch = [one for one in taken[begin : i + 1] if isinstance(one, Example)]
            weights = [one.weight for one in batch]
            other.learn_many([one.x for one in batch], [one.labels for one in batch], weights=weights)
            begin = i + 1
            if data.draw(st.booleans()):
                other = pickle.loads(pickle.dumps(other))
            perform(other, [step] if isinstance(step, LabelOperation) else [])
    assert model.fingerprint() == other.fingerprint()
    assert model.labels.operations == other.labels.operations


@given(all_settings(), st.data())
def test_forgetting_repeats_the_operations(settings: Settings, data: st.DataObject) -> None:
    settings = {**settings, "history": 1000}
    model = OnlinePLT(**settings)
    performed = perform(model, data.draw(steps))
    n_examples = sum(isinstance(step, Example) for step in performed)
    gone = data.draw(st.sets(st.integers(0, max(n_examples - 1, 0)))) if n_examples else set()
    model.forget(gone)
    expected, number = OnlinePLT(**settings), 0
    for step in performed:
        if not isinstance(step, Example) or number not in gone:
            perform(expected, [step])
        number += isinstance(step, Example)
    assert model.labels.operations == expected.labels.operations
    assert model.fingerprint() == expected.fingerprint()


@given(tree_settings(**RULES[0]), streams(labels=COLUMN_LABELS), st.data())
def test_the_tree_gives_other_labels_the_same_probabilities(
    settings: Settings, stream: list[Example], data: st.DataObject
) -> None:
    model = OnlinePLT(**settings, label_memory=0)
    perform(model, stream)
    X = [example.x for example in stream]
    before = [dict(row) for row in model.predict_many(X, k=100)]
    ids = {label: model._state().find_label(label) for label in model.labels}
    for step in data.draw(st.lists(operations, max_size=5)):
        perform(model, [step])
    perform(model, [LabelOperation("hide", label) for label in data.draw(st.sets(st.sampled_from(COLUMN_LABELS)))])
    present = [label for label in ids if model._state().find_label(label) == ids[label]]  # neither removed nor merged
    names = {label: info.label for label in present if not (info := model.labels.info(label)).hidden}
    for old, new in zip(before, model.predict_many(X, k=100), strict=True):
        assert dict(new) == {names[label]: probability for label, probability in old.items() if label in names}
