# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""An explanation as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from oplt._typing import Name
from oplt.explanation._objects import (
    Comparison,
    Contribution,
    Explanation,
    Memory,
    MemoryFeature,
    Split,
    Step,
    TreePath,
)
from oplt.wording import number_of, on_one_line, width

__all__ = ["as_text", "by_source", "feature_name", "number", "probability", "proposed", "rank_of", "says"]

_WIDEST = 40  # columns of a name in a list of features
_SMALLEST = 0.0005  # number with three decimals that is not 0


def as_text(explanation: Explanation, n: int) -> str:
    """Format an explanation, with at most `n` features in each list."""
    parts = [_summary(explanation)]
    parts += [_tree(path, explanation, n) for path in explanation.trees]
    if explanation.memory is not None:
        parts.append(_memory(explanation.memory, n))
    parts.append(_steps(explanation.steps, n))
    if explanation.comparison is not None:
        parts.append(_comparison(explanation, explanation.comparison, n))
    return "\n\n".join("\n".join(lines) for lines in parts)


def probability(value: float) -> str:
    """Format a probability."""
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.1e}"


def number(value: float) -> str:
    """Format a number with its sign."""
    return f"{value + 0.0:+.3f}" if abs(value) >= _SMALLEST or value == 0 else f"{value:+.0e}"  # no -0


def feature_name(feature: Name | None) -> str:
    """Format the name of a feature on one line."""
    return "(bias)" if feature is None else on_one_line(feature)


def rank_of(explanation: Explanation) -> str:
    """Say where a label is among the candidates."""
    if explanation.hidden:
        return "hidden, so it is not predicted"
    if explanation.rank is None:
        return f"not among the {number_of(explanation.n_candidates, 'candidate')}"
    return f"rank {explanation.rank} of {number_of(explanation.n_candidates, 'candidate')}"


def proposed(explanation: Explanation) -> str:
    """Say who proposed the label."""
    by_trees = any(path.counts for path in explanation.trees) and explanation.rank is not None
    by_memory = explanation.memory is not None and explanation.memory.proposed
    trees = "the tree" if len(explanation.trees) == 1 else "the trees"
    if by_trees and by_memory:
        return f"proposed by {trees} and by the label memory"
    if by_trees or by_memory:
        return f"proposed by {trees}" if by_trees else f"proposed by the label memory, not by {trees}"
    return f"proposed neither by {trees} nor by the label memory"


def says(path: TreePath) -> str:
    """Say what a tree thinks of the label."""
    if path.probability is None:
        return "the label has no leaf in this tree"
    found = f"probability {probability(path.probability)}"
    return found if path.counts else f"{found}, which does not count: the search did not reach the label"


def by_source(terms: Iterable[tuple[str, float]]) -> str:
    """Sum up the contributions to a score by where they come from, which the names begin with."""
    sums: dict[str, float] = {}
    for name, contribution in terms:
        source = name.partition(": ")[0] if ": " in name else "other"
        sums[source] = sums.get(source, 0.0) + contribution
    if len(sums) < 2:
        return ""
    return f" ({', '.join(f'{source} {number(total)}' for source, total in sums.items() if abs(total) >= _SMALLEST)})"


def _summary(explanation: Explanation) -> list[str]:
    head = f"{on_one_line(explanation.label)}: probability {probability(explanation.probability)}"
    lines = [f"{head}, {rank_of(explanation)}"]
    if explanation.memory is not None:
        lines[0] += f", {proposed(explanation)}"
    lines += ["", "Predicted labels"]
    rows = [
        (str(place), probability(value), on_one_line(label) + (" <--" if label == explanation.label else ""))
        for place, (label, value) in enumerate(explanation.predicted, 1)
    ]
    if not explanation.is_predicted:
        rows.append((str(explanation.rank or "-"), probability(explanation.probability), _marked(explanation)))
    return [*lines, *_table(rows, ">><")]


def _marked(explanation: Explanation) -> str:
    return f"{on_one_line(explanation.label)} <--"


def _tree(path: TreePath, explanation: Explanation, n: int) -> list[str]:
    title = "Tree" if len(explanation.trees) == 1 else f"Tree {path.tree}"
    adds_up = "log-odds" if explanation.link == "logistic" else "margin"
    rows = [("node", "labels", "given parent", "from root", adds_up, "features")]
    for node in path.nodes:
        cells = (f"{node.node}", f"{node.n_labels:,}", probability(node.probability), probability(node.cumulative))
        rows.append((*cells, number(node.score), _pushes(node.features, n)))
    return [f"{title}: {says(path)}", *(_table(rows, ">>>>><") if path.nodes else [])]


def _pushes(features: Iterable[Contribution], n: int) -> str:
    listed = list(features)
    shown = ", ".join(f"{_short(feature_name(each.feature))} {number(each.contribution)}" for each in listed[:n])
    rest = sum(each.contribution for each in listed[n:])
    return f"{shown}, {len(listed) - n} more {number(rest)}" if len(listed) > n else shown


def _short(name: str) -> str:
    return name if width(name) <= _WIDEST else f"{name[: _WIDEST - 3]}..."


def _memory(memory: Memory, n: int) -> list[str]:
    examples = number_of(memory.n_examples, "example")
    lines = [
        f"Label memory: cosine {memory.cosine:.4f}, coverage {memory.coverage:.4f}, mean share {memory.mean_share:.4f},"
        f" largest share {memory.largest_share:.4f}; {examples}, {_since(memory)}"
    ]
    if memory.votes is not None:
        votes = memory.votes
        lines.append(
            f"  voting recent examples: {votes.n_voters}; share of the votes {votes.share:.4f},"
            f" nearness {votes.nearness:.4f}"
        )
    rows = [("cosine", "value", "weight", "mean", "share", "feature"), *map(_memory_row, memory.features[:n])]
    rest = memory.features[n:]
    if rest:
        rows.append((number(sum(each.contribution for each in rest)), "", "", "", "", f"{len(rest)} more"))
    return [*lines, *(_table(rows, ">>>>><") if memory.features else [])]


def _since(memory: Memory) -> str:
    if memory.n_examples == 0:
        return "none of the label"
    if memory.n_since == 0:
        return "the last one just learned"
    return f"the last one {number_of(memory.n_since, 'example')} ago"


def _memory_row(each: MemoryFeature) -> tuple[str, ...]:
    numbers = (f"{each.value:.3f}", f"{each.weight:.2f}", f"{each.mean:.3f}", f"{each.share:.4f}")
    return (number(each.contribution), *numbers, _short(feature_name(each.feature)))


def _steps(steps: Sequence[Step], n: int) -> list[str]:
    lines = ["From the evidence to the probability"]
    for step in steps:
        is_probability = step.name.startswith(("probability", "base rate"))
        result = probability(step.result) if is_probability else number(step.result)
        lines.append(f"  {step.name}: {result}{by_source((term.name, term.contribution) for term in step.terms)}")
        terms = sorted((term for term in step.terms if term.contribution), key=lambda term: -abs(term.contribution))
        rows = [(number(term.contribution), _product(term.value, term.weight), term.name) for term in terms[: 2 * n]]
        if len(terms) > 2 * n:
            rest = terms[2 * n :]
            rows.append((number(sum(term.contribution for term in rest)), "", f"{len(rest)} more"))
        lines += [f"  {line}" for line in _table(rows, "><<")]
    return lines


def _product(value: float, weight: float) -> str:
    return f"= {value:.3f} x {weight:.3f}"


def _comparison(explanation: Explanation, comparison: Comparison, n: int) -> list[str]:
    best = on_one_line(comparison.label)
    lines = [f"Compared with the best label, {best}: probability {probability(comparison.probability)}"]
    for split in comparison.splits:
        where = f"node {split.node}" + (f" of tree {split.tree}" if len(explanation.trees) > 1 else "")
        lines.append(
            f"  the paths separate at {where}: node {split.own.node} towards the label has probability"
            f" {probability(split.own.probability)}, node {split.other.node} towards the best label"
            f" {probability(split.other.probability)}"
        )
        lines.append(f"    {_differences(split, n)}")
    listed = [each for each in comparison.differences if each.difference][: 2 * n]
    rows = [(number(each.difference), number(each.own), number(each.other), each.name) for each in listed]
    if rows:
        total = sum(each.difference for each in comparison.differences)
        lines.append(
            f"  score: {number(total)}{by_source((each.name, each.difference) for each in comparison.differences)}"
        )
        lines += [f"  {line}" for line in _table([("difference", "label", "best", ""), *rows], ">>><")]
    return lines


def _differences(split: Split, n: int) -> str:
    return ", ".join(
        f"{_short(feature_name(each.feature))} {number(each.own)} against {number(each.other)}"
        for each in split.differences[:n]
    )


def _table(rows: Iterable[Sequence[str]], alignment: str) -> Iterator[str]:
    """Align the columns; the last one may be of any width."""
    listed = list(rows)
    widths = [max((width(row[i]) for row in listed), default=0) for i in range(len(alignment))]
    for row in listed:
        cells = []
        for cell, side, wide in zip(row, alignment, widths, strict=True):
            gap = " " * (wide - width(cell))
            cells.append(gap + cell if side == ">" else cell + gap)
        yield f"  {'  '.join(cells)}".rstrip()
