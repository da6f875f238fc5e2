# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Monitoring of a served model: each figure against a recomputation, changes, bounded memory, and restarts."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import OnlinePLT
from oplt.labels import LabelOperation
from oplt.service.examples import Example, as_rows
from oplt.service.label_listing import list_labels
from oplt.service.monitoring import Change, Monitor, Window
from oplt.service.monitoring.changes import Detector
from oplt.service.monitoring.labels import RecentLabels
from oplt.service.monitoring.latency import Latencies, quantile
from oplt.service.monitoring.windows import History, Latest, Sums
from oplt.service.restoring import learn
from oplt.service.served_model import ServedModel
from tests.service.processes import serving
from tests.service.running import PATIENCE, learn_all, new_folder, served, stream, until

ALWAYS = 1e9  # the share of time that lets every example be predicted, unless there are hundreds at a time


def texts(n: int, seed: int = 1) -> list[Example]:
    """Make texts about four topics, in which new words keep coming."""
    draw = random.Random(seed)  # noqa: S311
    found = []
    for i in range(n):
        topic = draw.choice(["heap", "web", "kernel", "router"])
        words = [topic, draw.choice("abcdef"), f"word{i // 3}", draw.choice(["x", "y"])]
        found.append(Example(text=" ".join(words), labels=[topic, f"{topic}{i // 100}"]))
    return found


class Reference:
    """The figures of monitoring, computed in the most obvious way, with one example after the other."""

    def __init__(self, model: OnlinePLT, examples: Sequence[Example], *, is_text: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        first: dict[Any, int] = {}
        counts: dict[Any, int] = {}
        seen: set[str] = set()
        for i, one in enumerate(examples):
            x: Any = one.text if is_text else one.features
            answers = model.predict_one(x, k=5)
            features = set(x.split() if is_text else x)
            self.rows.append(
                {
                    "right": [label in one.labels for label, _ in answers],
                    "confidence": answers[0][1] if answers else 0.0,
                    "new": sum(label not in counts for label in one.labels),
                    "features": len(features),
                    "unknown": len(features - seen),
                    "labels": [
                        (counts.get(label, 0), i - first.get(label, i), label in [name for name, _ in answers])
                        for label in one.labels
                    ],
                }
            )
            model.learn_one(x, one.labels)
            seen |= features
            for label in one.labels:
                counts[label] = counts.get(label, 0) + 1
                first.setdefault(label, i)

    def check(self, window: Window) -> None:
        rows = self.rows[window.first - 1 : window.last]
        n = len(rows)
        assert (window.n_learned, window.n) == (n, n)
        for k, value in ((1, window.p1), (3, window.p3), (5, window.p5)):
            assert value == pytest.approx(sum(sum(row["right"][:k]) for row in rows) / k / n)
        assert window.confidence == pytest.approx(sum(row["confidence"] for row in rows) / n)
        bins: dict[int, float] = {}
        for row in rows:
            place = min(9, int(10 * row["confidence"]))
            bins[place] = bins.get(place, 0.0) + row["confidence"] - any(row["right"][:1])
        assert window.calibration_error == pytest.approx(sum(map(abs, bins.values())) / n)
        assert window.new_labels == sum(row["new"] for row in rows)
        assert window.unknown_features == pytest.approx(
            sum(row["unknown"] for row in rows) / sum(row["features"] for row in rows)
        )
        labels = [label for row in rows for label in row["labels"]]
        for name, low, high in (("0", 0, 1), ("1-4", 1, 5), ("5-19", 5, 20), ("20+", 20, 10**9)):
            self.check_recall(window.by_count[name], [found for count, _, found in labels if low <= count < high])
        for name, low, high in (("new", 0, 1), ("1-99", 1, 100), ("100-999", 100, 1000)):
            self.check_recall(window.by_age[name], [found for _, age, found in labels if low <= age < high])
        assert window.by_age["10000+"].n == 0

    @staticmethod
    def check_recall(shown: Any, found: Sequence[bool]) -> None:
        assert shown.n == len(found)
        assert shown.recall == (pytest.approx(sum(found) / len(found)) if found else None)


@pytest.mark.parametrize("is_text", [False, True])
def test_all_figures_equal_their_recomputation(tmp_path: Path, *, is_text: bool) -> None:
    examples = texts(700) if is_text else stream(700)
    model, twin = (OnlinePLT(features="text" if is_text else None) for _ in range(2))
    monitor = Monitor(tmp_path / "monitoring.json", ALWAYS)
    for i, one in enumerate(examples, start=1):
        rows = as_rows([one], texts=is_text)
        noted = monitor.before(model, [one], rows)
        assert noted is not None
        learn(model, rows)
        monitor.after(model, noted, [one], rows, first=i, last=i)
    reference = Reference(twin, examples, is_text=is_text)
    windows = monitor.windows()
    assert [(one.first, one.last) for one in windows] == [(i, i + 99) for i in range(1, 700, 100)]
    for window in windows:
        reference.check(window)
        assert 0 < window.memory_bytes <= model.memory_bytes
        assert window.begin <= window.end
    latest = monitor.latest()
    assert latest is not None
    assert (latest.first, latest.last) == (1, 700)
    reference.check(latest)


def random_part(draw: random.Random, first: int) -> Sums:
    n_learned = draw.randint(1, 60)
    part = Sums(first, first + n_learned - 1, first, first + 0.5, n_learned, draw.randint(0, 3), first)
    part.n = draw.randint(0, n_learned)
    part.hits = [draw.randint(0, k * part.n) for k in (1, 3, 5)]
    for column in (part.right_in_bin, part.true_by_count, part.found_by_count, part.true_by_age, part.found_by_age):
        column[:] = [draw.randint(0, 9) if part.n else 0 for _ in column]
    part.sum_in_bin = [draw.random() if part.n else 0.0 for _ in part.sum_in_bin]
    part.n_features, part.n_unknown = (50, draw.randint(0, 50)) if part.n else (0, 0)
    part.latencies = {draw.randint(0, 99): draw.randint(1, 5) for _ in range(draw.randint(0, 3))}
    return part


def test_joined_windows_are_those_of_the_raw_stream_and_their_number_is_bounded() -> None:
    draw = random.Random(1)  # noqa: S311
    history, parts, position = History(), [], 1
    for _ in range(12_000):
        parts.append(random_part(draw, position))
        position = parts[-1].last + 1
        history.add(parts[-1])
        assert len(history.windows) <= 400
    assert history.size == 800
    assert len(history.windows) > 200
    assert [one.first for one in history.windows] == [1] + [one.last + 1 for one in history.windows[:-1]]
    for window in history.windows:
        own = [part for part in parts if window.first <= part.first <= window.last]
        assert (window.first, window.last) == (own[0].first, own[-1].last)
        assert (window.begin, window.end, window.memory_bytes) == (own[0].begin, own[-1].end, own[-1].memory_bytes)
        for name in ("n_learned", "new_labels", "n", "n_features", "n_unknown"):
            assert getattr(window, name) == sum(getattr(part, name) for part in own)
        for name in ("hits", "right_in_bin", "sum_in_bin", "true_by_count", "found_by_count", "true_by_age"):
            assert np.allclose(getattr(window, name), np.sum([getattr(part, name) for part in own], axis=0))
        requests = {i: sum(part.latencies.get(i, 0) for part in own) for i in range(100)}
        assert window.latencies == {i: n for i, n in requests.items() if n}


def test_windows_end_even_if_nothing_is_predicted() -> None:
    history, latest = History(), Latest()
    for i in range(40):
        part = Sums(1000 * i + 1, 1000 * i + 1000, 0.0, 1.0, 1000)
        history.add(part)
        latest.add(part)
    assert [one.n_learned for one in history.windows] == [5000] * 8
    assert Window.of(history.windows[0]).p1 is None
    sums = latest.sums()
    assert sums is not None
    assert (sums.first, sums.n_learned) == (1, 40_000)


def test_the_latest_figures_forget() -> None:
    latest = Latest()
    for i in range(3000):
        latest.add(Sums(i, i, 0.0, 1.0, 1, n=1, hits=[int(i >= 2000)] * 3))
        sums = latest.sums()
        assert sums is not None
        assert min(i + 1, 500) <= sums.n <= 1000
    assert Window.of(sums).p1 == 1


def test_latencies_are_exact_to_a_tenth() -> None:
    latencies, draw = Latencies(), random.Random(1)  # noqa: S311
    seconds = [draw.lognormvariate(-6, 1.5) for _ in range(5000)]
    for one in (*seconds, 0.0, 1e-9):
        latencies.add(one)
    counts = latencies.since_last()
    assert sum(counts.values()) == 5002
    for share in (0.5, 0.99):
        assert quantile(counts, share) == pytest.approx(np.quantile(seconds, share), rel=0.1)
    assert latencies.since_last() == {}
    latencies.add(1e9)
    assert latencies.since_last() == {99: 1}
    assert quantile({}, 0.5) is None


def zeros_and_ones(*parts: tuple[float, int], seed: int = 1) -> list[float]:
    draw = np.random.default_rng(seed)
    return [float(value) for mean, n in parts for value in draw.random(n) < mean]


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
def test_a_stationary_stream_raises_no_alarm_and_takes_little_memory(mean: float) -> None:
    detector = Detector()
    for i, value in enumerate(zeros_and_ones((mean, 100_000))):
        assert detector.add(value, i, 0.0) is None
    assert sum(block.n for block in detector.blocks) == 100_000
    assert sum(block.total for block in detector.blocks) == sum(zeros_and_ones((mean, 100_000)))
    assert len(detector.blocks) < 80


@pytest.mark.parametrize(("before", "after", "delay"), [(0.7, 0.4, 300), (0.4, 0.7, 300), (0.7, 0.6, 2000), (0, 1, 64)])
def test_a_change_is_found_where_it_is(before: float, after: float, delay: int) -> None:
    detector = Detector()
    alarms = []
    for i, value in enumerate(zeros_and_ones((before, 10_000), (after, 10_000))):
        found = detector.add(value, i, i / 10)
        if found is not None:
            alarms.append((i, *found))
    at, block, was, became = alarms[0]
    assert 10_000 <= at < 10_000 + delay
    assert abs(block.position - 10_000) < delay / 2
    assert block.time == block.position / 10
    assert was == pytest.approx(before, abs=0.03)
    assert (became < was) == (after < before)
    assert len(alarms) <= 2


def test_a_change_of_no_interest_is_not_reported() -> None:
    values = zeros_and_ones((0.5, 100_000), (0.51, 100_000))
    for least, is_reported in ((0.01, False), (0.0, True)):
        detector = Detector(least=least)
        assert any(detector.add(value, i, 0.0) for i, value in enumerate(values)) == is_reported


def test_recent_labels_are_bounded_and_the_oldest_are_dropped() -> None:
    recent = RecentLabels()
    for i in range(30_000):
        recent.add(1, [i, "always"])
        recent.add_prediction("always", is_found=i % 4 == 0)
        assert recent.n_examples <= 10_000
    assert len(recent.rows()) <= 10_002
    found = recent.counts([0, 29_999, "always", "never"])
    assert found.keys() == {29_999, "always"}
    assert found["always"].n == recent.n_examples
    assert found["always"].predicted == pytest.approx(recent.n_examples, abs=2)
    assert found["always"].found == pytest.approx(recent.n_examples / 4, abs=2)
    for i in range(20):  # many labels, few examples
        recent.add(1, [f"{i} {j}" for j in range(5000)])
    assert len(recent.rows()) <= 2 * 15_000


def test_monitoring_survives_a_restart_and_goes_on(tmp_path: Path) -> None:
    folder, examples = new_folder(tmp_path), stream(1000)
    with served(folder, progressive_share=ALWAYS) as model:
        learn_all(model, examples[:450])
        before = (model.monitor.windows(), model.monitor.changes(), model.monitor.latest())
        blocks = model.monitor._kept.blocks
        labels = list_labels(model, "", "arrival", 0, 100)
    with served(folder, progressive_share=ALWAYS) as model:
        assert (model.monitor.windows(), model.monitor.changes(), model.monitor.latest()) == before
        assert list_labels(model, "", "arrival", 0, 100) == labels
        assert blocks == model.monitor._kept.blocks
        assert blocks["p1"]
        learn_all(model, examples[450:])
        windows = model.monitor.windows()
        assert [one.first for one in windows] == [1] + [one.last + 1 for one in windows[:-1]]
        assert sum(one.n_learned for one in windows) == 1000


def test_after_a_crash_only_what_was_not_saved_is_missing(tmp_path: Path) -> None:
    folder, examples = new_folder(tmp_path), stream(600)
    with served(folder, snapshot_at_end=False, progressive_share=ALWAYS) as model:
        learn_all(model, examples[:300])
        model.snapshot().result(PATIENCE)
        learn_all(model, examples[300:400])
    with served(folder, progressive_share=ALWAYS) as model:
        until(lambda: model.is_ready)
        learn_all(model, examples[400:])
        assert sum(one.n_learned for one in model.monitor.windows()) == 500
        (position,) = model.roll_back(300).result(PATIENCE)
        model.when_learned(position).result(PATIENCE)
        learn_all(model, examples[:50])
        windows = model.monitor.windows()
        assert (windows[-1].last, sum(one.n_learned for one in windows)) == (651, 550)


def test_a_forgotten_label_leaves_no_trace(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, texts=True)
    with served(folder) as model:
        examples = [Example(text="a b", labels=["known"]), Example(text="a c", labels=["private person"])]
        _, second = learn_all(model, examples)
        model.monitor.save()
        assert b"private person" in (folder / "monitoring.json").read_bytes()
        (position,) = model.forget([second]).result(PATIENCE)
        model.when_learned(position).result(PATIENCE)
    content = (folder / "monitoring.json").read_bytes()
    assert (b"known" in content, b"private" in content) == (True, False)


@pytest.mark.parametrize("content", [b"", b"\xff", b'{"version": 99}', b'{"history": {"windows": [1]}}', None])
def test_a_damaged_file_means_a_new_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    path = tmp_path / "monitoring.json"
    if content is None:  # lists of another length
        monitor = Monitor(path)
        monitor._kept.history.add(Sums(1, 1, 0.0, 0.0, n=1, hits=[1]))
        monitor.save()
    else:
        path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert Monitor(path).windows() == []
    assert "starts anew" in caplog.text


def test_a_file_that_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Monitor(tmp_path / "missing" / "monitoring.json").save()
    assert "could not be written" in caplog.text


def test_learning_goes_on_if_monitoring_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("oplt.service.monitoring.monitor.predict", lambda *_: 1 // 0)
    with served(new_folder(tmp_path)) as model:
        learn_all(model, stream(300))
        assert (model.learned, model.is_ready, model.monitor.windows()) == (300, True, [])
    assert caplog.text.count("monitoring has stopped") == 1


def test_nothing_is_predicted_if_it_is_switched_off(tmp_path: Path) -> None:
    with served(new_folder(tmp_path), progressive_share=0) as model:
        learn_all(model, stream(300))
        (window,) = model.monitor.windows()
        assert (window.n_learned, window.n, window.p1, window.new_labels) == (300, 0, None, model.model.n_labels)


def test_a_renamed_label_is_known_by_both_names(tmp_path: Path) -> None:
    with served(new_folder(tmp_path, texts=True), progressive_share=ALWAYS) as model:
        learn_all(model, [Example(text="my cat purrs", labels=["cat"])] * 30)
        (position,) = model.change_labels(LabelOperation("rename", "cat", "feline")).result(PATIENCE)
        model.when_learned(position).result(PATIENCE)
        learn_all(model, [Example(text="my cat purrs", labels=["cat"])] * 100)
        (one,) = list_labels(model, "", "arrival", 0, 10).labels
        assert one.recent is not None
        assert (one.label, one.recent.n, one.recent.share) == ("feline", 130, 1.0)
        assert one.recent.recall == pytest.approx(1, abs=0.2)
        latest = model.monitor.latest()
        assert latest is not None
        assert latest.new_labels == 1


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Serve a model whose stream has changed: what was a cat is now a dog, and a third label is new."""
    examples = [Example(text=f"it {word} now", labels=[label]) for word, label in (("purrs", "cat"), ("barks", "dog"))]
    later = [Example(text=f"it {word} now", labels=[label]) for word, label in (("purrs", "dog"), ("moos", "cow"))]
    with served(new_folder(tmp_path_factory.mktemp("shifted"), texts=True), progressive_share=ALWAYS) as model:
        learn_all(model, examples * 5800, batch=1000)
        slowly = examples * 200 + later * 100
        for begin in range(0, len(slowly), 10):  # so that each is predicted
            learn_all(model, slowly[begin : begin + 10])
        yield model


def test_labels_are_listed_by_what_happened_lately(shifted: ServedModel) -> None:
    def listed(sort: Any) -> list[Any]:
        return [one.label for one in list_labels(shifted, "", sort, 0, 10).labels]

    assert listed("arrival") == ["cat", "dog", "cow"]
    assert listed("newest") == ["cow", "dog", "cat"]
    assert listed("examples") == ["dog", "cat", "cow"]
    assert listed("wrong")[0] == "cow"
    assert listed("drift")[0] == "cow"
    cat, dog, cow = (one.recent for one in list_labels(shifted, "", "arrival", 0, 10).labels)
    assert cat is not None
    assert dog is not None
    assert cow is not None
    assert cow.drift is None
    assert cat.drift is not None
    assert dog.drift is not None
    assert cat.drift < 1 < dog.drift + 0.05
    assert cow.n == 100
    n = round(cow.n / cow.share)
    assert 5000 <= n <= 10_000
    assert cat.drift == pytest.approx((cat.n / n) / ((6000 - cat.n) / (12_200 - n)))
    assert list_labels(shifted, "nothing", "drift", 0, 10).labels == []
    page = list_labels(shifted, "O", "examples", 1, 1)
    assert (page.total, [one.label for one in page.labels]) == (2, ["cow"])


def changes_of(model: ServedModel, of: str) -> list[Change]:
    return [change for change in model.monitor.changes() if change.of == of]


def test_changes_are_reported(shifted: ServedModel) -> None:
    changes = changes_of(shifted, "p1")
    assert changes
    assert changes[-1].after < changes[-1].before
    assert 11_900 < changes[-1].position < 12_200
    assert shifted.monitor.n_changes()["p1"] == len(changes)


def test_the_addresses_and_metrics_have_it(shifted: ServedModel) -> None:
    with serving({"tags": shifted}) as http:
        for _ in range(20):
            assert http.post("/v1/predict", json={"text": "it purrs"}).status_code == 200
        assert http.post("/v1/predict", json={"k": 0}).status_code == 400
        found = http.get("/v1/monitoring").json()
        last = found["windows"][-1]
        assert (found["windows"][0]["first"], last["last"]) == (1, 12_200)
        assert 0 < last["latency_p50"] <= last["latency_p99"]
        assert {change["of"] for change in found["changes"]} >= {"p1", "confidence"}
        assert http.get("/v1/progressive").status_code == 404
        assert [one["label"] for one in http.get("/v1/labels?sort=newest&limit=1").json()["labels"]] == ["cow"]
        assert http.get("/v1/labels?sort=other").status_code == 400
        metrics = http.get("/metrics").text
        latest = http.get("/v1/model").json()["progressive"]
    for line in (
        f'oplt_progressive_precision{{k="1",model="tags"}} {latest["p1"]}',
        f'oplt_calibration_error{{model="tags"}} {latest["calibration_error"]}',
        f'oplt_confidence{{model="tags"}} {latest["confidence"]}',
        f'oplt_unknown_feature_share{{model="tags"}} {latest["unknown_features"]}',
        f'oplt_new_label_rate{{model="tags"}} {latest["new_labels"] / latest["n_learned"]}',
        f'oplt_changes_total{{model="tags",of="p1"}} {float(shifted.monitor.n_changes()["p1"])}',
        'oplt_changes_total{model="tags",of="unknown_features"}',
        f'oplt_last_change_position{{model="tags",of="p1"}} {float(changes_of(shifted, "p1")[-1].position)}',
    ):
        assert line in metrics, line
