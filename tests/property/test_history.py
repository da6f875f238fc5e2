# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Any stream can be regrown and forgotten at any point, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import OnlinePLT
from oplt.tree import kmeans
from tests.property.proper import assert_models_proper
from tests.property.strategies import RULES, Settings, Stream, all_settings, learn, streams, tree_settings


@pytest.mark.parametrize("rule", RULES)
@given(data=st.data())
def test_a_regrown_model_is_the_one_that_learns_on_the_new_tree(rule: Settings, data: st.DataObject) -> None:
    settings = data.draw(tree_settings("best-greedy", **rule))
    stream = data.draw(streams())
    n = data.draw(st.integers(0, len(stream)))
    model = learn(OnlinePLT(**settings), stream[:n])
    model.regrow()
    learn(model, stream[n:])
    shape = {name: settings[name] for name in ("arity", "max_leaves", "seed")}
    tree = kmeans([example.x for example in stream[:n]], [example.labels for example in stream[:n]], **shape)
    expected = learn(OnlinePLT.from_tree(tree, **settings), stream)
    assert model.tree == expected.tree
    assert_models_proper(model, expected)


@given(all_settings(), streams(), st.data())
def test_a_model_that_forgot_is_the_one_that_never_learned(
    settings: Settings, stream: Stream, data: st.DataObject
) -> None:
    settings = {**settings, "history": 1000}
    gone = data.draw(st.sets(st.integers(0, len(stream) - 1)))
    n = data.draw(st.integers(max(gone, default=-1) + 1, len(stream)))
    model = learn(OnlinePLT(**settings), stream[:n])
    model.forget(gone)
    learn(model, stream[n:])
    kept = [example for i, example in enumerate(stream) if i not in gone]
    assert model.fingerprint() == learn(OnlinePLT(**settings), kept).fingerprint()
