# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The node classifiers of the reference, and the two learners that update them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.reference.oplt_examples import Row, Settings

Classifier = dict[int, list[float]]  # feature id -> [weight, the learner's accumulator]


def new_classifier() -> Classifier:
    """NewClassifier of the paper."""
    return {}


def copy_classifier(classifier: Classifier) -> Classifier:
    """Copy of the paper."""
    return {feature: list(cell) for feature, cell in classifier.items()}


def inverse_classifier(classifier: Classifier) -> Classifier:
    """InverseClassifier of the paper.

    A classifier with negated weights predicts 1 - p and takes negated steps for flipped targets, with both learners, so
    no wrapper is needed.
    """
    return {feature: [0.0 - weight, accumulator] for feature, (weight, accumulator) in classifier.items()}


def sigmoid(z: float) -> float:
    """1 / (1 + e^-z), without overflow."""
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def score(classifier: Classifier, x: Row) -> float:
    """Weights times values."""
    total = 0.0
    for feature, value in x:
        total += classifier[feature][0] * value if feature in classifier else 0.0
    return total


@dataclass
class AdaGrad:
    """A_online: an AdaGrad step on the logistic loss, skipped if the gradient is below the gate."""

    learning_rate: float
    eps: float
    gate: float
    is_closed: bool = False  # no weights are started
    closest_to_gate: float = math.inf

    def estimate(self, classifier: Classifier, x: Row) -> float:
        """Give the probability of target 1."""
        return sigmoid(score(classifier, x))

    def update(self, classifier: Classifier, x: Row, target: int, weight: float) -> None:
        """Update the classifier with target 0 or 1 for x."""
        s = score(classifier, x)
        gradient = -sigmoid(-s) if target == 1 else sigmoid(s)
        if self.gate > 0:
            self.closest_to_gate = min(self.closest_to_gate, abs(abs(gradient) - self.gate))
        if abs(gradient) < self.gate:
            return
        for feature, value in x:
            if self.is_closed and feature not in classifier:
                continue
            g = gradient * weight * value
            cell = classifier.setdefault(feature, [0.0, 0.0])
            cell[1] += g * g
            cell[0] -= self.learning_rate * g / math.sqrt(self.eps + cell[1])


@dataclass
class Arow:
    """A_online: AROW with a diagonal covariance. The accumulator of a cell is 1 - variance.

    A weight that is still 0 starts to learn only if its first step is not much smaller than those of other features.
    """

    r: float
    sparsity: float
    is_closed: bool = False  # no weights are started
    closest_to_gate: float = math.inf

    def estimate(self, classifier: Classifier, x: Row) -> float:
        """Give the probability of target 1."""
        return sigmoid(3 * score(classifier, x))

    def update(self, classifier: Classifier, x: Row, target: int, weight: float) -> None:
        """Update the classifier with target 0 or 1 for x."""
        y = 1 if target == 1 else -1
        error = 1 - y * score(classifier, x)
        self.closest_to_gate = min(self.closest_to_gate, abs(error))
        if error <= 0 or not x:
            return
        r = self.r / weight
        variance = sum(value**2 * (1 - classifier.get(feature, [0.0, 0.0])[1]) for feature, value in x)
        alpha = error / (r + variance)
        norm = sum(value**2 for _, value in x)
        least = self.sparsity * math.sqrt(norm / len(x)) / (r + norm)
        for feature, value in x:
            if self.is_closed and feature not in classifier:
                continue
            if feature not in classifier:
                self.closest_to_gate = min(self.closest_to_gate, abs(alpha * abs(value) - least))
                if alpha * abs(value) < least:
                    continue
            w, confidence = classifier.get(feature, [0.0, 0.0])
            precision = 1 / (1 - confidence)
            classifier[feature] = [w + y * alpha * value / precision, 1 - 1 / (precision + value**2 / r)]


def a_online_of(settings: Settings) -> AdaGrad | Arow:
    """Make the learner that the settings name."""
    if settings.learner == "arow":
        return Arow(settings.arow_r, settings.sparsity)
    return AdaGrad(settings.learning_rate, settings.adagrad_eps, settings.gate)
