# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The measures by their definitions: slow, obvious, one example after the other.

An example is (predicted, true): a list of (label, probability), best first, and a collection of labels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf, log, log2, nan

Label = str | int
Example = tuple[list[tuple[Label, float]], Collection[Label]]


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else nan


def first(example: Example, k: int) -> list[Label]:
    return [label for label, _ in example[0][:k]]


def precision(examples: list[Example], k: int) -> float:
    return mean([sum(label in set(e[1]) for label in first(e, k)) / k for e in examples])


def recall(examples: list[Example], k: int) -> float:
    return mean([len(set(first(e, k)) & set(e[1])) / len(set(e[1])) for e in examples if e[1]])


def dcg(gains: list[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(examples: list[Example], k: int) -> float:
    return mean(
        [
            dcg([label in set(e[1]) for label in first(e, k)]) / dcg([1] * min(k, len(set(e[1]))))
            for e in examples
            if e[1]
        ]
    )


def gains(labels: Collection[Label], true: Collection[Label], p: Mapping[Label, float]) -> list[float]:
    return [1 / p[label] if label in true else 0.0 for label in labels]


def best(example: Example, p: Mapping[Label, float], k: int) -> list[Label]:
    return sorted(set(example[1]), key=lambda label: p[label])[:k]


def psp(examples: list[Example], p: Mapping[Label, float], k: int) -> float:
    reached = sum(sum(gains(first(e, k), e[1], p)) for e in examples)
    possible = sum(sum(gains(best(e, p, k), e[1], p)) for e in examples)
    return reached / possible if possible else nan


def psndcg(examples: list[Example], p: Mapping[Label, float], k: int) -> float:
    labelled = [e for e in examples if e[1]]
    ideals = [dcg([1] * min(k, len(set(e[1])))) for e in labelled]
    reached = sum(dcg(gains(first(e, k), e[1], p)) / ideal for e, ideal in zip(labelled, ideals, strict=True))
    possible = sum(dcg(gains(best(e, p, k), e[1], p)) / ideal for e, ideal in zip(labelled, ideals, strict=True))
    return reached / possible if possible else nan


def coverage(examples: list[Example], k: int) -> float:
    occurring = {label for e in examples for label in e[1]}
    found = {label for e in examples for label in first(e, k) if label in e[1]}
    return len(found) / len(occurring) if occurring else nan


def f1(n_hits: int, n_predicted: int, n_true: int) -> float:
    if n_hits == 0:
        return 0.0
    p, r = n_hits / n_predicted, n_hits / n_true
    return 2 * p * r / (p + r)


def pairs(examples: list[Example], k: int) -> tuple[set[tuple[int, Label]], set[tuple[int, Label]]]:
    predicted = {(i, label) for i, e in enumerate(examples) for label in first(e, k)}
    return predicted, {(i, label) for i, e in enumerate(examples) for label in e[1]}


def micro_f1(examples: list[Example], k: int) -> float:
    predicted, true = pairs(examples, k)
    return f1(len(predicted & true), len(predicted), len(true)) if predicted or true else nan


def macro_f1(examples: list[Example], k: int) -> float:
    predicted, true = pairs(examples, k)
    each = []
    for j in {label for _, label in predicted | true}:
        p, t = ({pair for pair in some if pair[1] == j} for some in (predicted, true))
        each.append(f1(len(p & t), len(p), len(t)))
    return mean(each)


def sample_f1(examples: list[Example], k: int) -> float:
    each = []
    for e in examples:
        predicted, true = set(first(e, k)), set(e[1])
        each.append(f1(len(predicted & true), len(predicted), len(true)) if predicted or true else 1.0)
    return mean(each)


def accuracy(examples: list[Example]) -> float:
    return mean([bool(e[0]) and e[0][0][0] in e[1] for e in examples])


def entropy_reduction(examples: list[Example]) -> float:
    labels = {label for e in examples for label in e[1]}
    if not labels:
        return nan
    constant = max(mean([label in e[1] for e in examples]) for label in labels)
    return log2(accuracy(examples)) - log2(constant) if accuracy(examples) else -inf


def probabilities(examples: list[Example], k: int) -> list[tuple[float, bool]]:
    return [(p, label in e[1]) for e in examples for label, p in e[0][:k]]


def log_loss(examples: list[Example], k: int) -> float:
    sure = 2.0**-24
    clipped = [(min(max(p, sure), 1 - sure), hit) for p, hit in probabilities(examples, k)]
    return mean([-log(p) if hit else -log(1 - p) for p, hit in clipped])


def ece(examples: list[Example], k: int, bins: int) -> float:
    found = probabilities(examples, k)
    total = 0.0
    for b in range(bins):
        inside = [(p, hit) for p, hit in found if b / bins <= p < (b + 1) / bins or (p == 1 and b == bins - 1)]
        if inside:
            total += len(inside) * abs(mean([p for p, _ in inside]) - mean([hit for _, hit in inside]))
    return total / len(found) if found else nan
