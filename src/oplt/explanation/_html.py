# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""An explanation as a page. `page.html`, beside this file, is the page without its content.

Labels, features and texts may be hostile: everything is escaped, and the page has no scripts and loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise

from oplt._typing import Name
from oplt.explanation._objects import Comparison, Contribution, Explanation, Memory, Span, Step, TreePath
from oplt.explanation._text import by_source, feature_name, number, probability, proposed, rank_of, says
from oplt.wording import number_of, on_one_line

__all__ = ["as_html", "pieces"]

Heat = Mapping[Name, float]


def as_html(explanation: Explanation, n: int) -> str:
    """Make a page, with at most `n` features in each list."""
    sections = [_predicted(explanation), *_texts(explanation)]
    if explanation.comparison is not None:
        sections.append(_comparison(explanation, explanation.comparison, n))
    sections += [_tree(path, explanation, n) for path in explanation.trees]
    if explanation.memory is not None:
        sections.append(_memory(explanation.memory, n))
    sections.append(_steps(explanation.steps))
    who = f", {proposed(explanation)}" if explanation.memory is not None else ""
    parts = {
        "title": f"Why {escape(on_one_line(explanation.label))}?",
        "summary": f"Probability {probability(explanation.probability)}, {rank_of(explanation)}{who}.",
        "content": "\n".join(sections),
    }
    page = files("oplt.explanation").joinpath("page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: parts[match[1]], page)  # one pass: no substitution in inserted text


def pieces(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, list[Name]]]:
    """Cut a text where terms begin and end: (begin, end, features that cover the piece)."""
    cuts = sorted({0, len(text), *(span.begin for span in spans), *(span.end for span in spans)})
    ahead = sorted(spans, key=lambda span: span.begin)
    active: list[Span] = []
    i = 0
    for begin, end in pairwise(cuts):
        while i < len(ahead) and ahead[i].begin <= begin:
            active.append(ahead[i])
            i += 1
        active = [span for span in active if span.end > begin]
        yield begin, end, list(dict.fromkeys(span.feature for span in active))


def _section(title: str, *content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(content)}\n</section>"


def _name(name: str) -> str:
    return f"<bdi>{escape(name)}</bdi>"  # a name must not reorder what follows it


def _predicted(explanation: Explanation) -> str:
    rows = list(enumerate(explanation.predicted, 1))
    if not explanation.is_predicted:
        rows.append((explanation.rank or 0, (explanation.label, explanation.probability)))
    cells = [
        f"<tr{' class=own' if label == explanation.label else ''}><td>{place or '-'}</td><td>{probability(value)}</td>"
        f'<td class=bar><i style="width:{100 * value:.1f}%"></i></td><td>{_name(on_one_line(label))}</td></tr>'
        for place, (label, value) in rows
    ]
    return _section("Predicted labels", _table((), cells))


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f"<div class=wide><table>{f'<tr>{head}</tr>' if head else ''}{''.join(rows)}</table></div>"


def _texts(explanation: Explanation) -> Iterator[str]:
    """Show the text twice: the contributions to the tree and to the label memory are in different units."""
    if explanation.text is None:
        return
    counting = [path for path in explanation.trees if path.counts] or list(explanation.trees)
    of_tree: dict[Name, float] = {}
    for path in counting:
        for each in (each for node in path.nodes for each in node.features):
            if each.feature is not None:
                of_tree[each.feature] = of_tree.get(each.feature, 0.0) + each.contribution / len(counting)
    what = "log-odds" if explanation.link == "logistic" else "margins"
    trees = "tree" if len(explanation.trees) == 1 else "trees"
    yield _text(f"The text, colored by what its words add to the {what} in the {trees}", explanation, of_tree)
    if explanation.memory is not None:
        of_memory = {each.feature: each.contribution for each in explanation.memory.features}
        yield _text("The text, colored by what its words add to the cosine of the label memory", explanation, of_memory)


def _text(title: str, explanation: Explanation, heat: Heat) -> str:
    text = explanation.text or ""
    cut = [
        (text[begin:end], sum(heat.get(feature, 0.0) for feature in features), features)
        for begin, end, features in pieces(text, explanation.spans)
    ]
    most = max((abs(each) for _, each, _ in cut), default=0.0)
    shown = "".join(_colored(piece, each / most if most else 0.0, heat, features) for piece, each, features in cut)
    return _section(title, f'<p class=text dir="auto">{shown}</p>')


def _colored(piece: str, strength: float, heat: Heat, features: Sequence[Name]) -> str:
    # A page cannot hold lone surrogates, and browsers ignore control characters.
    safe = escape(
        "".join(c if c in "\n\t" or c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in piece)
    )
    if not features:
        return safe
    said = "\n".join(f"{feature_name(each)} {number(heat[each])}" for each in features if each in heat)
    side = "up" if strength >= 0 else "down"
    return f'<span class={side} style="--c:{abs(strength):.2f}" title="{escape(said)}">{safe}</span>' if said else safe


def _tree(path: TreePath, explanation: Explanation, n: int) -> str:
    title = ("Tree" if len(explanation.trees) == 1 else f"Tree {path.tree}") + f": {says(path)}"
    adds_up = "log-odds" if explanation.link == "logistic" else "margin"
    heads = ("node", "labels", "given parent", "from root", adds_up, "pushed up", "pushed down")
    rows = []
    for node in path.nodes:
        up = [each for each in node.features if each.contribution > 0][:n]
        down = [each for each in node.features if each.contribution < 0][:n]
        cells = (str(node.node), f"{node.n_labels:,}", probability(node.probability), probability(node.cumulative))
        numbers = "".join(f"<td>{cell}</td>" for cell in (*cells, number(node.score)))
        rows.append(f"<tr>{numbers}<td>{_pushes(up, 'up')}</td><td>{_pushes(down, 'down')}</td></tr>")
    return _section(title, f"<div class=path>{_table(heads, rows)}</div>" if rows else "")


def _pushes(features: Iterable[Contribution], side: str) -> str:
    return " ".join(
        f'<span class="{side} chip" style="--c:.35" title="{each.value:.4g} &times; {each.weight:.4g}">'
        f"{_name(feature_name(each.feature))} {number(each.contribution)}</span>"
        for each in features
    )


def _memory(memory: Memory, n: int) -> str:
    facts = (
        f"<p>Cosine {memory.cosine:.4f}, coverage {memory.coverage:.4f}, mean share {memory.mean_share:.4f}, largest"
        f" share {memory.largest_share:.4f}; {number_of(memory.n_examples, 'example')},"
        f" {number_of(memory.n_since, 'example')} since the last one.</p>"
    )
    if memory.votes is not None:
        votes = memory.votes
        facts += (
            f"<p>Voting recent examples: {votes.n_voters}; share of the votes {votes.share:.4f},"
            f" nearness {votes.nearness:.4f}.</p>"
        )
    rows = []
    for each in memory.features[: 2 * n]:
        numbers = (f"{each.value:.3f}", f"{each.weight:.2f}", f"{each.mean:.3f}", f"{each.share:.4f}")
        cells = "".join(f"<td>{cell}</td>" for cell in (number(each.contribution), *numbers))
        rows.append(f"<tr>{cells}<td>{_name(feature_name(each.feature))}</td></tr>")
    heads = ("cosine", "value", "weight", "mean", "share", "feature")
    return _section("Label memory", facts, _table(heads, rows) if rows else "")


def _steps(steps: Sequence[Step]) -> str:
    content = []
    for step in steps:
        is_probability = step.name.startswith(("probability", "base rate"))
        result = probability(step.result) if is_probability else number(step.result)
        sources = by_source((term.name, term.contribution) for term in step.terms)
        content.append(f"<h3>{escape(step.name)}: {result}{sources}</h3>")
        terms = sorted((term for term in step.terms if term.contribution), key=lambda term: -abs(term.contribution))
        rows = [
            f"<tr><td>{number(term.contribution)}</td><td>{term.value:.3f}</td><td>{term.weight:.3f}</td>"
            f"<td>{escape(term.name)}</td></tr>"
            for term in terms
        ]
        content.append(_table(("contribution", "value", "weight", ""), rows) if rows else "")
    return _section("From the evidence to the probability", *content)


def _comparison(explanation: Explanation, comparison: Comparison, n: int) -> str:
    adds_up = "log-odds" if explanation.link == "logistic" else "margin"
    content = [f"<p>The best label has probability {probability(comparison.probability)}.</p>"]
    for split in comparison.splits:
        where = f"node {split.node}" + (f" of tree {split.tree}" if len(explanation.trees) > 1 else "")
        content.append(
            f"<p>The paths separate at {where}: node {split.own.node} towards the label has probability"
            f" {probability(split.own.probability)}, node {split.other.node} towards the best label"
            f" {probability(split.other.probability)}.</p>"
        )
        features = [
            f"<tr><td>{number(each.difference)}</td><td>{number(each.own)}</td><td>{number(each.other)}</td>"
            f"<td>{_name(feature_name(each.feature))}</td></tr>"
            for each in split.differences[:n]
        ]
        content.append(_table(("difference", "label", "best", f"contribution to the {adds_up} there"), features))
    rows = [
        f"<tr><td>{number(each.difference)}</td><td>{number(each.own)}</td><td>{number(each.other)}</td>"
        f"<td>{escape(each.name)}</td></tr>"
        for each in comparison.differences
        if each.difference
    ]
    if rows:
        differences = [(each.name, each.difference) for each in comparison.differences]
        total = number(sum(difference for _, difference in differences))
        content.append(f"<h3>Difference of the scores: {total}{by_source(differences)}</h3>")
        content.append(_table(("difference", "label", "best", "contribution to the score"), rows))
    return _section(f"Compared with the best label, {on_one_line(comparison.label)}", *content)
