# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Explanations, made from what the core computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from oplt import _core
from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.explanation._objects import (
    Branch,
    Comparison,
    Contribution,
    Difference,
    Explanation,
    FeatureDifference,
    Memory,
    MemoryFeature,
    Node,
    Split,
    Step,
    Term,
    TreePath,
    Votes,
)
from oplt.explanation._spans import Names
from oplt.labels import Labels
from oplt.validation import NamedRows, Texts
from oplt.wording import briefly

__all__ = ["explain"]

_PREDICTED = 5  # as `predict_one` returns by default

_Parts = dict[str, Any]
_T = TypeVar("_T", Contribution, MemoryFeature, Difference, FeatureDifference)


def explain(
    state: _core.ModelState, example: NamedRows | Texts, label: Label | None, *, hashed: bool = False
) -> Explanation:
    """Explain the probability of a label, or of the best one, in one example. `hashed`: the terms of texts are."""
    x = example.to_core()
    parts = _core.explain(state, x, None if label is None else _id_of(state, label))
    if parts is None:
        raise _no_labels() if state.n_labels == 0 else _none_predicted()
    ranked = [name for name, _ in parts["ranked"]]
    best = ranked[0] if ranked else parts["label"]
    rival = None if best == parts["label"] else _core.explain(state, x, best)
    names = Names(state, example, hashed=hashed)
    names.look_up([*_features_of(parts), *([] if rival is None else _features_of(rival))])
    predicted = parts["ranked"][:_PREDICTED]
    labels = dict(zip(*_named(state, [parts["label"], *(found for found, _ in predicted)]), strict=True))
    return Explanation(
        label=labels[parts["label"]],
        probability=parts["probability"],
        hidden=state.hidden_labels(np.array([parts["label"]], dtype=np.uint32))[0],
        rank=ranked.index(parts["label"]) + 1 if parts["label"] in ranked else None,
        n_candidates=len(ranked),
        predicted=tuple((labels[found], probability) for found, probability in predicted),
        link="squared-hinge" if parts["slope"] is None else "logistic",
        tree_probability=_tree_probability(parts),
        trees=_trees(parts, names, labels[parts["label"]]),
        memory=None if parts["memory"] is None else _memory(parts["memory"], names),
        steps=tuple(Step(name, result, tuple(Term(*term) for term in terms)) for name, terms, result in parts["steps"]),
        comparison=None if rival is None else _comparison(parts, rival, labels[best], names),
        text=example.texts[0] if isinstance(example, Texts) else None,
        spans=names.spans,
    )


def _no_labels() -> InvalidInputError:
    return InvalidInputError("no-labels", "the model has no labels yet", hint="Train it on labeled examples first.")


def _none_predicted() -> InvalidInputError:
    return InvalidInputError(
        "no-labels",
        "the model predicts no label for this example",
        hint="Pass the label to explain. Hidden labels are not predicted, but can be explained.",
    )


def _id_of(state: _core.ModelState, label: Label) -> int:
    found = state.find_label(label)
    if found is not None:
        return found
    if state.n_labels == 0:
        raise _no_labels()
    wanted = str(label).casefold()
    alike = list(islice((name for name in Labels(lambda: state) if wanted and wanted in str(name).casefold()), 3))
    raise InvalidInputError(
        "unknown-label",
        "the model has no such label",
        got=briefly(label),
        hint=f"Did you mean {' or '.join(map(briefly, alike))}?"
        if alike
        else "Labels are case-sensitive; model.labels and the command oplt labels list them.",
    )


def _named(state: _core.ModelState, ids: list[int]) -> tuple[list[int], list[Any]]:
    return ids, state.label_names(np.array(ids, dtype=np.uint32))


def _features_of(parts: _Parts) -> Iterable[int]:
    for _, nodes in parts["trees"]:
        for node in nodes:
            yield from (feature for feature, _, _ in node["features"])
    if parts["memory"] is not None:
        yield from (feature for feature, *_ in parts["memory"]["features"])


def _tree_probability(parts: _Parts) -> float:
    """Return the probability by the trees that was used; if none was, the mean over the trees."""
    if parts["memory"] is not None:
        return float(parts["memory"]["tree_probability"])
    if parts["steps"][0][0] == "probability by the trees":
        return float(parts["steps"][0][2])
    ends = [nodes[-1]["cumulative"] if nodes else 0.0 for _, nodes in parts["trees"]]
    return float(sum(ends) / len(ends))


def _trees(parts: _Parts, names: Names, label: Label) -> tuple[TreePath, ...]:
    slope = 1.0 if parts["slope"] is None else parts["slope"]

    def node_of(node: _Parts) -> Node:
        features = [Contribution(names[id_], value, w, slope * (value * w)) for id_, value, w in node["features"]]
        return Node(
            node=node["node"],
            label=None if node["label"] is None else label,
            n_labels=node["n_labels"],
            probability=node["conditional"],
            cumulative=node["cumulative"],
            score=slope * node["score"],
            features=_largest_first(features, lambda each: each.contribution),
        )

    return tuple(
        TreePath(number, counts, tuple(map(node_of, nodes))) for number, (counts, nodes) in enumerate(parts["trees"])
    )


def _memory(memory: _Parts, names: Names) -> Memory:
    features = [MemoryFeature(names[feature], *numbers) for feature, *numbers in memory["features"]]
    n_voters, share, nearness = memory["votes"]
    return Memory(
        cosine=memory["cosine"],
        coverage=memory["coverage"],
        mean_share=memory["mean_share"],
        largest_share=memory["largest_share"],
        n_examples=memory["n_examples"],
        n_since=memory["n_since"],
        proposed=memory["is_nearest"],
        votes=Votes(n_voters, share, nearness) if n_voters else None,
        features=_largest_first(features, lambda each: each.contribution),
    )


def _comparison(own: _Parts, other: _Parts, best: Label, names: Names) -> Comparison:
    splits = []
    for number, ((_, ours), (_, theirs)) in enumerate(zip(own["trees"], other["trees"], strict=True)):
        pairs = list(zip(ours, theirs, strict=False))
        place = next((i for i, (a, b) in enumerate(pairs) if a["node"] != b["node"]), None)
        if place:  # the root is common
            parts = _split(*pairs[place], 1.0 if own["slope"] is None else own["slope"], names)
            splits.append(Split(number, pairs[place - 1][0]["node"], *parts))
    differences = []
    if own["steps"][0][1] and len(own["steps"][0][1]) == len(other["steps"][0][1]):  # the scores of the ranking
        for (name, _, _, mine), (_, _, _, yours) in zip(own["steps"][0][1], other["steps"][0][1], strict=True):
            differences.append(Difference(name, mine, yours, mine - yours))
    return Comparison(
        label=best,
        probability=other["probability"],
        splits=tuple(splits),
        differences=_largest_first(differences, lambda each: each.difference),
    )


def _split(own: _Parts, other: _Parts, slope: float, names: Names) -> tuple[Any, ...]:
    mine, yours = ({id_: slope * (value * w) for id_, value, w in node["features"]} for node in (own, other))
    pairs = [(names[id_], mine.get(id_, 0.0), yours.get(id_, 0.0)) for id_ in {**mine, **yours}]
    differences = [FeatureDifference(name, a, b, a - b) for name, a, b in pairs]
    return (
        Branch(own["node"], own["conditional"]),
        Branch(other["node"], other["conditional"]),
        _largest_first(differences, lambda each: each.difference),
    )


def _largest_first(items: list[_T], number: Callable[[_T], float]) -> tuple[_T, ...]:
    return tuple(sorted(items, key=lambda item: -abs(number(item))))
