# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The paper's algorithms as slow, obvious Python, with which the core is compared.

Not for use. It shares nothing with the package, computes in double precision, keeps an auxiliary classifier in every
node permanently (the paper's plain form), and recomputes everything each time. One function is one algorithm and has
the paper's name. Examples and node classifiers are in modules of their own.

A comparison with a different arithmetic needs care where a step depends on which of two numbers is larger. The smallest
differences at such places are recorded: `Model.closest_choice` (best-greedy) and `closest_to_gate` of the learners.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.reference.oplt_classifiers import (
    AdaGrad,
    Arow,
    Classifier,
    a_online_of,
    copy_classifier,
    inverse_classifier,
    new_classifier,
)
from tests.reference.oplt_examples import Example, Row, Settings

ROOT = 0


# --- The tree ---------------------------------------------------------------------------------------------------------


class Tree:
    """Nodes are numbered in order of creation; children are in order of arrival."""

    def __init__(self) -> None:
        self.parent: list[int | None] = []
        self.children: list[list[int]] = []
        self.label: list[int | None] = []

    def new_node(self, parent: int | None = None, label: int | None = None) -> int:
        """NewNode of the paper, linked to its parent."""
        v = len(self.parent)
        self.parent.append(parent)
        self.children.append([])
        self.label.append(label)
        if parent is not None:
            self.children[parent].append(v)
        return v

    @property
    def nodes(self) -> range:
        """V_T."""
        return range(len(self.parent))

    def is_leaf(self, v: int) -> bool:
        """Whether v has no children."""
        return not self.children[v]

    def leaf_of(self, label: int) -> int:
        """Find the label's leaf."""
        return self.label.index(label)

    def leaf_children(self, v: int) -> list[int]:
        """Children of v that are leaves."""
        return [child for child in self.children[v] if self.is_leaf(child)]

    def n_leaves(self, v: int) -> int:
        """|L_v|."""
        return 1 if self.is_leaf(v) else sum(self.n_leaves(child) for child in self.children[v])


def assign_to_nodes(tree: Tree, labels: Iterable[int]) -> tuple[set[int], set[int]]:
    """Algorithm 9: the positive and the negative nodes of an example."""
    positive: set[int] = set()
    negative = {ROOT}
    for label in labels:
        v: int | None = tree.leaf_of(label)
        while v is not None and v not in positive:
            positive.add(v)
            negative.discard(v)
            negative.update(child for child in tree.children[v] if child not in positive)
            v = tree.parent[v]
    return positive, negative


# --- Training on a given tree -----------------------------------------------------------------------------------------


def iplt_train(
    tree: Tree, settings: Settings, stream: Iterable[Example], closed_at: float = math.inf
) -> dict[int, Classifier]:
    """Algorithm 1: the classifiers of a tree that is known from the start.

    From the example with the number `closed_at` on, which is not in the paper, no weights are started.
    """
    a_online = a_online_of(settings)
    classifiers = {v: new_classifier() for v in tree.nodes}
    for number, (x, labels, weight) in enumerate(stream):
        a_online.is_closed = number >= closed_at
        positive, negative = assign_to_nodes(tree, labels)
        for v in positive:
            a_online.update(classifiers[v], x, 1, weight)
        for v in negative:
            a_online.update(classifiers[v], x, 0, weight)
    return classifiers


# --- Training on a tree that grows ------------------------------------------------------------------------------------


@dataclass
class Model:
    """T, H_T and Theta_T of the paper, and what the policy remembers."""

    settings: Settings
    tree: Tree
    classifiers: dict[int, Classifier]
    auxiliary: dict[int, Classifier]
    a_online: AdaGrad | Arow
    random: SplitMix64
    known: set[int] = field(default_factory=set)
    selected: int | None = None  # the node chosen for the example's last new label
    first_selected: int | None = None  # the same for its first new label
    closest_choice: float = math.inf


def oplt_init(settings: Settings) -> Model:
    """Algorithm 2."""
    tree = Tree()
    tree.new_node()
    a_online = a_online_of(settings)
    return Model(
        settings, tree, {ROOT: new_classifier()}, {ROOT: new_classifier()}, a_online, SplitMix64(settings.seed)
    )


def oplt_train(model: Model, stream: Iterable[Example], closed_at: float = math.inf) -> None:
    """Algorithm 3; for `closed_at` see `iplt_train`. Later examples have no new labels."""
    for number, example in enumerate(stream):
        model.a_online.is_closed = number >= closed_at
        if set(example.labels) - model.known:
            update_tree(model, example)
        update_classifiers(model, example)


def update_tree(model: Model, example: Example) -> None:
    """Algorithm 4."""
    model.selected = model.first_selected = None
    for label in example.labels:
        if label in model.known:
            continue
        if not model.known:
            model.tree.label[ROOT] = label
        else:
            v, insert = policy(model, example.x)
            model.selected = v
            model.first_selected = v if model.first_selected is None else model.first_selected
            if insert:
                insert_node(model, v)
            add_leaf(model, label, v)
        model.known.add(label)


def insert_node(model: Model, v: int) -> None:
    """Algorithm 5."""
    tree = model.tree
    inserted = tree.new_node()
    if tree.is_leaf(v):
        tree.label[inserted], tree.label[v] = tree.label[v], None
    else:
        tree.children[inserted] = tree.children[v]
        for child in tree.children[inserted]:
            tree.parent[child] = inserted
    tree.children[v] = [inserted]
    tree.parent[inserted] = v
    model.classifiers[inserted] = copy_classifier(model.auxiliary[v])
    model.auxiliary[inserted] = copy_classifier(model.auxiliary[v])


def add_leaf(model: Model, label: int, v: int) -> None:
    """Algorithm 6."""
    leaf = model.tree.new_node(v, label)
    model.classifiers[leaf] = inverse_classifier(model.auxiliary[v])
    model.auxiliary[leaf] = new_classifier()


def update_classifiers(model: Model, example: Example) -> None:
    """Algorithm 7, with an auxiliary classifier in every node."""
    x, labels, weight = example
    positive, negative = assign_to_nodes(model.tree, labels)
    for v in positive:
        model.a_online.update(model.classifiers[v], x, 1, weight)
        model.a_online.update(model.auxiliary[v], x, 1, weight)
    for v in negative:
        model.a_online.update(model.classifiers[v], x, 0, weight)


# --- Where a new label goes -------------------------------------------------------------------------------------------


def policy(model: Model, x: Row) -> tuple[int, bool]:
    """A_policy: the node to extend, and whether a node is inserted there first."""
    policies = {"complete": complete_policy, "cpet": cpet_policy, "flat": flat_policy}
    return policies.get(model.settings.policy, random_or_best_greedy_policy)(model, x)


def random_or_best_greedy_policy(model: Model, x: Row) -> tuple[int, bool]:
    """Algorithm 8: one walk for an example, whose new labels stay together.

    If `spread_new_labels`, which is not in the paper, they leave a full node and walk down again from the first one's.
    """
    tree, settings = model.tree, model.settings
    v = model.selected
    if v is None:
        v = walk_down(model, ROOT, x)
    elif settings.spread_new_labels and is_full(model, v):
        assert model.first_selected is not None
        v = walk_down(model, model.first_selected, None)
    if len(tree.leaf_children(v)) == 1:
        (v,) = tree.leaf_children(v)
    return v, tree.is_leaf(v) or len(tree.children[v]) >= settings.max_leaves


def walk_down(model: Model, v: int, x: Row | None) -> int:
    """Walk to a node that has only leaves, or room for a child."""
    tree, settings = model.tree, model.settings
    while len(tree.leaf_children(v)) < len(tree.children[v]) >= settings.arity:
        v = select_randomly(model, v) if settings.policy == "random" else select_best(model, v, x)
    return v


def is_full(model: Model, v: int) -> bool:
    """Whether the node has neither room for a child nor exactly one leaf, which could be split."""
    n_leaves, n_children = len(model.tree.leaf_children(v)), len(model.tree.children[v])
    limit = model.settings.max_leaves if n_leaves == n_children else model.settings.arity
    return n_leaves != 1 and n_children >= limit


def complete_policy(model: Model, _: Row) -> tuple[int, bool]:
    """Fill a complete tree: the first node that has room. A leaf is split."""
    tree = model.tree
    v = next(v for v in tree.nodes if len(tree.children[v]) < model.settings.arity)
    return v, tree.is_leaf(v)


def cpet_policy(model: Model, x: Row) -> tuple[int, bool]:
    """Walk to a leaf and split it; further new labels of the example start from the place of that leaf."""
    spread = model.settings.spread_new_labels
    v = model.first_selected if spread else model.selected
    fit_to = None if spread and v is not None else x
    v = ROOT if v is None else v
    while not model.tree.is_leaf(v):
        v = select_best(model, v, fit_to)
    return v, True


def flat_policy(model: Model, _: Row) -> tuple[int, bool]:
    """All leaves are children of the root."""
    return ROOT, model.tree.is_leaf(ROOT)


def select_randomly(model: Model, v: int) -> int:
    """SelectRandomly of the paper."""
    children = model.tree.children[v]
    return children[model.random.below(len(children))]


def select_best(model: Model, v: int, x: Row | None) -> int:
    """Find the child that best trades its fit to x against the balance of the tree; the first among equals.

    Without x, only the balance counts.
    """
    alpha = model.settings.alpha
    children = model.tree.children[v]
    if x is None:
        return max(children, key=lambda child: balance(model, v, child))
    scores = {
        child: (1 - alpha) * model.a_online.estimate(model.classifiers[child], x) + alpha * balance(model, v, child)
        for child in children
    }
    best = max(children, key=lambda child: scores[child])
    for child in children:
        if not looks_the_same(model, best, child, x):
            model.closest_choice = min(model.closest_choice, scores[best] - scores[child])
    return best


def balance(model: Model, v: int, child: int) -> float:
    """Compute the balance as in the authors' code, which differs from the formula in the paper."""
    mean = model.tree.n_leaves(v) / len(model.tree.children[v])
    return math.log(mean / model.tree.n_leaves(child))


def looks_the_same(model: Model, a: int, b: int, x: Row) -> bool:
    """Whether the scores of two nodes are computed from the same numbers, so that they tie in any arithmetic."""
    alpha = model.settings.alpha
    first, second = model.classifiers[a], model.classifiers[b]
    same_fit = all(first.get(feature, [0.0])[0] == second.get(feature, [0.0])[0] for feature, _ in x)
    same_balance = model.tree.n_leaves(a) == model.tree.n_leaves(b)
    return (same_fit or alpha == 1) and (same_balance or alpha == 0)


class SplitMix64:
    """Steele, Lea and Flood, OOPSLA 2014."""

    def __init__(self, state: int) -> None:
        self.state = state

    def next(self) -> int:
        """64 random bits."""
        bits = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & bits
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & bits
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & bits
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """Uniform in [0, n): the first 2^64 mod n numbers are drawn again, the rest divides evenly."""
        draw = self.next()
        while draw < 2**64 % n:
            draw = self.next()
        return draw % n


# --- Prediction -------------------------------------------------------------------------------------------------------


def predict_top_labels(model: Model, k: int, x: Row) -> list[tuple[int, float]]:
    """Algorithm 10: uniform-cost search for the k most probable labels."""
    tree, classifiers, estimate = model.tree, model.classifiers, model.a_online.estimate
    found: list[tuple[int, float]] = []
    # In a tie, internal nodes come first, then labels by id, so that all tied labels are known before one is chosen.
    queue: list[tuple[float, bool, int, int]] = []

    def add(v: int, probability: float) -> None:
        label = tree.label[v]
        heapq.heappush(queue, (-probability, label is not None, v if label is None else label, v))

    if tree.label != [None]:  # otherwise no label has been seen
        add(ROOT, estimate(classifiers[ROOT], x))
    while queue and len(found) < k:
        negated, is_leaf, label, v = heapq.heappop(queue)
        if is_leaf:
            found.append((label, -negated))
        for child in tree.children[v]:
            add(child, -negated * estimate(classifiers[child], x))
    return found
