# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Metrics for Prometheus. Figures of models are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from oplt.service.monitoring import Window
from oplt.service.served_model import ServedModel

__all__ = ["Metrics"]

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

_GAUGES: dict[str, tuple[str, Callable[[ServedModel], float]]] = {
    "journal_position": ("Position of the last record of the journal", lambda m: m.journal.last),
    "learned_position": ("Position up to which the journal has been learned", lambda m: m.learned),
    "pending": ("Records that wait to be learned or are on their way to the disk", lambda m: m.n_pending),
    "examples": ("Examples that the model contains", lambda m: m.model.n_examples),
    "labels": ("Labels that the model knows", lambda m: m.model.n_labels),
    "features": ("Features that the model knows", lambda m: m.model.n_features),
    "memory_bytes": ("Memory of the model", lambda m: m.model.memory_bytes),
    "ready": ("1 if the model has learned its journal and works", lambda m: int(m.is_ready)),
    "diverged": ("1 if the model differs from its leader's", lambda m: int(m.diverged is not None)),
    "agreed_position": ("Last position at which the leader had the same fingerprint", lambda m: m.agreed),
    "follower_lag": ("Records of the leader that a follower has not learned yet", lambda m: m.lag),
}

_FIGURES = {
    "confidence": "Mean probability of the first answer, to compare with the precision of k=1",
    "calibration_error": "Expected calibration error of the first answer",
    "new_label_rate": "New labels for each learned example",
    "unknown_feature_share": "Share of the features that the model had not seen before",
}


class Metrics:
    """The metrics of one server.

    Parameters
    ----------
    models
        The served models by name.
    """

    def __init__(self, models: Mapping[str, ServedModel]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Models(models))
        labels = ["route", "method", "status"]
        self._requests = Counter("oplt_requests", "Requests", labels, registry=self._registry)
        self._seconds = Histogram(
            "oplt_request_seconds", "Latency", ["route"], buckets=_BUCKETS, registry=self._registry
        )

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, method, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        return generate_latest(self._registry)


class _Models(Collector):
    """Reads the figures of the models."""

    def __init__(self, models: Mapping[str, ServedModel]) -> None:
        self._models = models

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        for name, (says, value) in _GAUGES.items():
            gauge = GaugeMetricFamily(f"oplt_{name}", says, labels=["model"])
            for model_name, model in self._models.items():
                gauge.add_metric([model_name], float(value(model)))
            yield gauge
        yield from self._of_stream()

    def _of_stream(self) -> Iterator[Metric]:
        learned = CounterMetricFamily("oplt_learned", "Examples learned since the start", labels=["model"])
        precision = GaugeMetricFamily(
            "oplt_progressive_precision", "Precision on examples just before they are learned", labels=["model", "k"]
        )
        figures = {name: GaugeMetricFamily(f"oplt_{name}", says, labels=["model"]) for name, says in _FIGURES.items()}
        changes = CounterMetricFamily("oplt_changes", "Changes that were detected", labels=["model", "of"])
        last = GaugeMetricFamily("oplt_last_change_position", "Position of the last one", labels=["model", "of"])
        for name, model in self._models.items():
            learned.add_metric([name], model.n_learned)
            for of, n in model.monitor.n_changes().items():
                changes.add_metric([name, of], n)
            for of, position in {change.of: change.position for change in model.monitor.changes()}.items():
                last.add_metric([name, of], position)
            window = model.monitor.latest()
            if window is None:
                continue
            for k, value in ((1, window.p1), (3, window.p3), (5, window.p5)):
                if value is not None:
                    precision.add_metric([name, str(k)], value)
            for figure, value in _figures_of(window).items():
                if value is not None:
                    figures[figure].add_metric([name], value)
        yield from (learned, precision, *figures.values(), changes, last)


def _figures_of(window: Window) -> dict[str, float | None]:
    return {
        "confidence": window.confidence,
        "calibration_error": window.calibration_error,
        "new_label_rate": window.new_labels / window.n_learned,
        "unknown_feature_share": window.unknown_features,
    }
