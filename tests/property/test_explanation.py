# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Explanations are exact: contributions add up, and the probability is the predicted one to the bit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oplt import PLT, OnlinePLT
from oplt.datasets import make_stream
from oplt.explanation import Explanation
from oplt.predictor import Predictor
from oplt.text import TextFeatures
from tests.property.strategies import Name, Settings, Stream, all_settings, rows, streams

# Words of several scripts, in upper and lower case, with symbols that end words or belong to them.
WORDS = ["heap", "Heap", "OVERFLOW", "C++", "a+b", "日本", "Ärger", "x\u00adray", "naïve", "🐧", "--", "Ü", "l'été"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
text_settings: st.SearchStrategy[Settings] = st.fixed_dictionaries(
    {
        "ngrams": st.sampled_from([(1, 1), (1, 2), (2, 3)]),
        "chars": st.sampled_from([None, None, (2, 3)]),
        "hash_bits": st.sampled_from([None, None, 4, 20]),
        "symbols": st.booleans(),
    }
)


def adds_up(parts: list[float], total: float, slack: float = 1e-5) -> None:
    """Check a sum that was computed in single precision."""
    assert math.isclose(math.fsum(parts), total, rel_tol=slack, abs_tol=slack * (1e-3 + math.fsum(map(abs, parts))))


def check_sums(found: Explanation) -> None:
    for path in found.trees:
        cumulative = np.float32(1)
        for node in path.nodes:
            adds_up([each.contribution for each in node.features], node.score)
            if found.link == "logistic":
                expected = 1 / (1 + math.exp(-max(min(node.score, 87), -87)))
            else:
                expected = math.exp(-(max(0.0, 1 - node.score) ** 2))
            assert math.isclose(node.probability, expected, rel_tol=1e-4, abs_tol=1e-30)
            cumulative *= np.float32(node.probability)
            assert node.cumulative == cumulative
        assert not path.nodes or path.nodes[-1].label == found.label
    if found.memory is not None:
        adds_up([each.contribution for each in found.memory.features], found.memory.cosine)
    for step in found.steps:
        if step.terms:
            adds_up([term.contribution for term in step.terms], step.result, slack=1e-9)
        for term in step.terms:
            assert math.isclose(term.contribution, term.value * term.weight, rel_tol=1e-9, abs_tol=1e-12)
    assert np.float32(found.steps[-1].result) == found.probability


def check_comparison(found: Explanation, best: Explanation) -> None:
    if found.comparison is None:
        assert found.label == found.predicted[0][0]
        return
    assert (found.comparison.label, found.comparison.probability) == (best.label, best.probability)
    if found.comparison.differences:
        own, other = found.steps[0].result, best.steps[0].result
        adds_up([each.difference for each in found.comparison.differences], own - other, slack=1e-9)
    for split in found.comparison.splits:
        ours = {node.node: node for node in found.trees[split.tree].nodes}
        theirs = {node.node: node for node in best.trees[split.tree].nodes}
        assert split.node in ours
        assert split.node in theirs
        assert split.own.node not in theirs
        difference = ours[split.own.node].score - theirs[split.other.node].score
        adds_up([each.difference for each in split.differences], difference, slack=1e-4)
        assert (ours[split.own.node].probability, theirs[split.other.node].probability) == (
            split.own.probability,
            split.other.probability,
        )


def check_model(model: Predictor, x: Any, labels: Iterable[Any] | None = None) -> int:
    """Check the explanations of some labels of an example, or of all. Returns how many of them are no candidates."""
    n_outside = 0
    predicted = dict(model.predict_one(x, k=10 if model.settings.get("label_memory") else 20))
    best = model.explain(x)
    assert (best.label, best.probability) == next(iter(predicted.items()))
    assert best.comparison is None
    for label in model.labels if labels is None else labels:
        found = model.explain(x, label)
        n_outside += found.rank is None
        alone = model.predict_one(x, k=1, allow=[label])
        assert found.probability == predicted.get(label, alone[0][1])
        assert found.predicted == tuple(model.predict_one(x))
        assert found.rank is None or found.rank > len(predicted) or list(predicted).index(label) == found.rank - 1
        assert found.is_predicted == (label in list(predicted)[:5])
        check_sums(found)
        check_comparison(found, best)
        assert json.loads(json.dumps(found.to_dict()))["probability"] == found.probability
        assert str(found).splitlines()
        assert found.to_html().endswith("</html>\n")
    return n_outside


def learnt(stream: Stream, settings: Settings) -> OnlinePLT:
    model = OnlinePLT(**settings)
    for x, labels, weight in stream:
        model.learn_one(x, labels, weight=weight)
    return model


@given(streams(), all_settings(), rows())
def test_online_models(stream: Stream, settings: Settings, x: dict[Name, float]) -> None:
    model = learnt(stream, settings)
    if model.n_labels:
        check_model(model, x)
        check_model(model, stream[0].x)
        check_model(model, {})


@given(
    st.integers(0, 100),
    st.sampled_from([0, 3, 512]),
    st.sampled_from([1, 1, 3]),
    st.sampled_from([2, 16]),
    st.sampled_from([1, 5]),
)
def test_labels_that_are_no_candidates(seed: int, memory: int, trees: int, arity: int, most: int) -> None:
    examples = list(make_stream(400, n_labels=300, seed=seed))
    model = OnlinePLT(label_memory=memory, trees=trees, arity=arity, max_leaves=2 * arity)
    model.learn_many([x for x, _ in examples], [labels[:most] for _, labels in examples])
    assert check_model(model, examples[seed][0], model.labels[seed::20]) > 0


@given(streams(), rows(), st.sampled_from([1, 3]))
def test_the_settings_of_the_paper(stream: Stream, x: dict[Name, float], trees: int) -> None:
    model = OnlinePLT.paper(trees=trees)
    for example in stream:
        model.learn_one(example.x, example.labels)
    if model.n_labels:
        check_model(model, x)


@given(streams(), rows(), st.sampled_from(["squared-hinge", "logistic"]), st.sampled_from([1, 2]))
def test_batch_trained_models(stream: Stream, x: dict[Name, float], loss: str, trees: int) -> None:
    labels = [list(dict.fromkeys(example.labels)) for example in stream]
    if any(labels):
        model = PLT.fit([example.x for example in stream], labels, loss=loss, trees=trees)
        check_model(model, x)
        assert model.explain(x).link == ("logistic" if loss == "logistic" else "squared-hinge")


@given(streams(), all_settings(), rows(), st.sampled_from([{}, {"prune": 0.01}, {"half": True}]))
def test_models_for_prediction(stream: Stream, settings: Settings, x: dict[Name, float], how: Settings) -> None:
    model = learnt(stream, settings).snapshot().for_prediction(**how)
    if model.n_labels:
        check_model(model, x)


@given(st.lists(st.tuples(texts, st.sampled_from("abcdefghijklmnop")), min_size=1, max_size=30), texts, text_settings)
def test_models_of_texts(stream: list[tuple[str, str]], text: str, settings: Settings) -> None:
    model = OnlinePLT(features=TextFeatures(**settings), label_memory=64)
    model.learn_many([text for text, _ in stream], [label for _, label in stream])
    check_model(model, text)
    check_model(model, {"text": text, "year": 2.0, "kind": "x"})
    found = model.explain(text)
    for span in found.spans:
        assert 0 <= span.begin <= span.end <= len(text)
        if settings["hash_bits"] is None:
            piece = text[span.begin : span.end].replace("\u00ad", "").casefold()
            assert piece.split() == str(span.feature).removeprefix("~").split() or settings["ngrams"] != (1, 1)
