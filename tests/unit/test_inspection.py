# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The description of a model is correct."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from oplt import PLT, InvalidParameterError, OnlinePLT, _core
from oplt.datasets import make_stream
from oplt.inspection import Block, LabelCount, TreeSize
from oplt.text import TextFeatures

X, Y = map(list, zip(*make_stream(600, n_labels=60, seed=1), strict=True))


def learnt(**settings: Any) -> OnlinePLT:
    model = OnlinePLT(**settings)
    model.learn_many(X, Y)
    return model


def test_sizes_are_those_of_the_model_and_its_trees() -> None:
    model = learnt(trees=3, arity=3, max_leaves=4)
    found = model.inspect()
    assert (found.kind, found.takes) == ("online", "features")
    assert (found.n_examples, found.n_labels, found.n_features) == (600, model.n_labels, model.n_features)
    assert (found.depth, found.n_weights, found.memory_bytes) == (model.depth, model.n_cells, model.memory_bytes)
    assert len(found.trees) == 3
    assert (found.trees[0].n_nodes, found.trees[0].depth) == (model.tree.n_nodes, model.tree.depth)
    assert found.n_nodes == sum(len(model._state().tree(number)[0]) for number in range(3))


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"label_memory": 0}, {"trees", "label_names", "features", "history"}),
        ({}, {"trees", "label_names", "features", "label_memory", "history"}),
        ({"history": 0, "label_memory": 0}, {"trees", "label_names", "features"}),
    ],
)
def test_memory_has_the_parts_that_the_settings_ask_for(settings: dict[str, int], parts: set[str]) -> None:
    model = learnt(**settings)
    memory = model.inspect().memory
    assert {name for name, n_bytes in memory.items() if n_bytes > 0} == parts
    assert sum(memory.values()) == model.memory_bytes


def test_a_model_of_texts_keeps_text_features_in_the_place_of_names() -> None:
    model = OnlinePLT(features=TextFeatures(ngrams=(1, 2)))
    model.learn_many(["a text", "another text"], ["x", "y"])
    found = model.inspect()
    assert found.takes == "texts"
    assert found.changed == {"features": {"ngrams": (1, 2)}}
    assert model.features is not None
    assert found.memory["features"] >= model.features.memory_bytes > 0  # a copy has no spare capacity


def test_default_text_features_are_a_change_without_changes() -> None:
    assert OnlinePLT(features="text").inspect().changed == {"features": {}}
    assert OnlinePLT().inspect().changed == {}


def test_a_model_that_was_trained_at_once() -> None:
    model = PLT.fit(X, Y, cost=2.0)
    found = model.inspect()
    assert (found.kind, found.changed) == ("batch", {"cost": 2.0})
    counts = Counter(label for labels in Y for label in labels)
    assert found.labels.most[0].n_examples == max(counts.values())
    assert found.labels.n_once == sum(n == 1 for n in counts.values())
    assert found.trees == (TreeSize(model.tree.n_nodes, model.depth, model.n_cells),)


def test_the_largest_blocks_are_the_nodes_whose_children_have_the_most_weights() -> None:
    model = learnt(arity=3, max_leaves=4, label_memory=0)
    tree = model.tree
    children = {node: tree.children(node) for node in range(tree.n_nodes)}

    def n_weights(node: int) -> int:
        auxiliary = model._state().classifier(node, auxiliary=True)
        own = [model._state().classifier(child) for child in children[node]]
        return sum(len(cells[0]) for cells in [*own, auxiliary] if cells is not None)

    def n_labels(node: int) -> int:
        return sum(map(n_labels, children[node])) if children[node] else 1

    expected = [Block(0, node, n_labels(node), n_weights(node)) for node in children]
    expected.sort(key=lambda block: (-block.n_weights, block.node))
    assert list(model.inspect(n=7).largest_blocks) == expected[:7]


def test_blocks_of_all_trees_are_compared() -> None:
    blocks = learnt(trees=2).inspect(n=4).largest_blocks
    assert {block.tree for block in blocks} == {0, 1}
    assert [block.n_weights for block in blocks] == sorted((block.n_weights for block in blocks), reverse=True)


def test_frequent_and_rare_labels_equal_ones_in_order_of_arrival() -> None:
    model = OnlinePLT()
    labels = [["b"], ["a", "b"], ["c", 7], ["b"], ["a"]]
    model.learn_many([{"x": 1.0}] * len(labels), labels)
    found = model.inspect(n=2).labels
    assert found is not None
    assert found.most == (LabelCount("b", 3), LabelCount("a", 2))
    assert [count.n_examples for count in found.least] == [1, 1]
    assert {count.label for count in found.least} == {"c", 7}
    assert found.n_once == 2


def test_labels_of_a_tree_that_never_came_are_the_least_frequent() -> None:
    model = OnlinePLT.from_tree(OnlinePLT.warm_start([{"x": 1}, {"y": 1}], ["a", "b"]).tree)
    model.learn_one({"x": 1}, "b")
    labels = model.inspect().labels
    assert labels is not None
    assert labels.least == (LabelCount("a", 0), LabelCount("b", 1))


def test_an_empty_model() -> None:
    found = OnlinePLT().inspect()
    assert (found.n_labels, found.n_nodes, found.n_weights, found.largest_blocks) == (0, 1, 0, ())
    assert found.labels is not None
    assert found.labels.most == ()


def test_facts_are_the_same_after_loading_and_can_be_written_as_json(tmp_path: Any) -> None:
    model = learnt(features=None, trees=2)
    model.save(tmp_path / "m.oplt")
    again = OnlinePLT.load(tmp_path / "m.oplt").inspect()
    here = model.inspect()
    assert (again.trees, again.largest_blocks, again.labels) == (here.trees, here.largest_blocks, here.labels)
    written = json.loads(json.dumps(here.to_dict()))
    assert written["memory_bytes"] == model.memory_bytes
    assert here.labels is not None
    assert [LabelCount(**count) for count in written["labels"]["most"]] == list(here.labels.most)


def test_looking_changes_nothing() -> None:
    model = learnt()
    before = model.fingerprint()
    model.inspect(n=0)
    assert model.fingerprint() == before


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="n must be at least 0, got -1"):
        OnlinePLT().inspect(n=-1)


def test_the_core_tells_parts_in_a_stable_order() -> None:
    parts = ["trees", "label_memory", "history", "label_names", "features", "regrowth"]
    assert list(_core.memory_parts(OnlinePLT()._state())) == parts
