# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The classifiers for river pass river's own checks, and work in its pipelines and evaluations."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from oplt import InvalidInputError, InvalidParameterError, OnlinePLT
from oplt.datasets import make_stream

if sys.version_info < (3, 11):
    pytest.skip("river needs Python 3.11", allow_module_level=True)

from river import checks, datasets, evaluate, feature_extraction, metrics, preprocessing

from oplt.river import OPLTClassifier, OPLTMultiLabelClassifier

Check = Callable[[Any], None]


class GeneratedMusic:
    """In place of the data set of river's multi-label checks, which would be downloaded."""

    def take(self, n: int) -> Iterator[tuple[dict[str, float], dict[str, bool]]]:
        rng = np.random.default_rng(7)
        for _ in range(n):
            moods = rng.random(6) < 0.4
            sounds = moods @ np.arange(48.0).reshape(6, 8) / 100 + rng.normal(0, 0.1, 8)
            x = {f"sound-{i}": float(value) for i, value in enumerate(sounds)}
            yield x, {f"mood-{i}": bool(applies) for i, applies in enumerate(moods)}


def all_checks(model: Any) -> list[Any]:
    """List the checks now, while the data set is replaced: each holds the data that it will use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "Music", GeneratedMusic)
        found = list(checks.yield_checks(model))
    return [
        pytest.param(model, check, id=f"{type(model).__name__}-{i}-{check.__name__}") for i, check in enumerate(found)
    ]


MODELS = [
    OPLTClassifier(),
    OPLTClassifier(label_memory=0, history=0, policy="random"),
    OPLTMultiLabelClassifier(),
    preprocessing.StandardScaler() | OPLTClassifier(),
]


@pytest.mark.parametrize(("model", "check"), [one for model in MODELS for one in all_checks(model)])
def test_river_checks(model: Any, check: Check) -> None:
    random.seed(1)  # which the checks use
    check(model.clone())


def test_classes_that_appear_later_are_learned_in_a_pipeline() -> None:
    examples = list(datasets.ImageSegments().take(1500))
    model = preprocessing.StandardScaler() | OPLTClassifier()
    accuracy = evaluate.progressive_val_score(examples, model, metrics.Accuracy())
    assert accuracy.get() > 0.8
    assert set(model.predict_proba_one(examples[0][0])) == {y for _, y in examples}


def test_it_learns_what_the_model_alone_learns() -> None:
    examples = [(x, str(labels[0])) for x, labels in make_stream(300, n_labels=50, seed=3) if labels]
    model, alone = OPLTClassifier(alpha=0.5), OnlinePLT(alpha=0.5)
    for x, y in examples:
        model.learn_one(x, y)
        alone.learn_one(x, y)
    assert model.model.fingerprint() == alone.fingerprint()
    assert [model.predict_one(x) for x, _ in examples] == [alone.predict_one(x, k=1)[0][0] for x, _ in examples]


def test_probabilities_of_an_evaluation() -> None:
    examples = list(datasets.Phishing().take(600))
    metric = metrics.LogLoss() + metrics.ROCAUC() + metrics.F1()
    evaluate.progressive_val_score(examples, preprocessing.StandardScaler() | OPLTClassifier(), metric)
    log_loss, auc, f1 = metric.get()
    assert log_loss < 0.5
    assert auc > 0.9
    assert f1 > 0.7


@pytest.mark.parametrize("classes", [(False, True), tuple(np.array([False, True])), (0, 1), ("no", "yes")])
def test_a_class_is_returned_as_it_was_learned(classes: tuple[Any, Any]) -> None:
    model = OPLTClassifier()
    for _ in range(5):
        model.learn_one({"a": 1.0}, classes[0])
        model.learn_one({"b": 1.0}, classes[1])
    found = model.predict_one({"b": 1.0})
    assert found == classes[1]
    assert isinstance(found, bool) == isinstance(classes[1], (bool, np.bool_))
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_proba_one({"b": 1.0}) == model.predict_proba_one({"b": 1.0})


def test_texts_through_river_and_through_oplt() -> None:
    texts = [("heap overflow in the kernel", "memory"), ("script injection", "web")] * 5
    by_river = feature_extraction.BagOfWords(ngram_range=(1, 2)) | OPLTClassifier()
    by_oplt = OPLTClassifier(features="text")
    for text, y in texts:
        by_river.learn_one(text, y)
        by_oplt.learn_one(text, y)
    assert by_river.predict_one("an injection") == by_oplt.predict_one("an injection") == "web"
    assert by_oplt.predict_one({"text": "kernel"}) == "memory"
    assert by_river["OPLTClassifier"].model.predict_one({"script injection": 1.0}, k=1)[0][0] == "web"


def test_weights_reach_the_model() -> None:
    model = OPLTClassifier()
    rows = [({"a": 1.0}, "x", {"w": 3.0}), ({"b": 1.0}, "y", {"w": 0.5})]
    evaluate.progressive_val_score(rows, model, metrics.Accuracy())
    alone = OnlinePLT()
    alone.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"], weights=[3.0, 0.5])
    assert model.model.fingerprint() == alone.fingerprint()


def test_multi_label_metrics_when_new_labels_appear() -> None:
    examples = [(x, {str(label): True for label in labels}) for x, labels in make_stream(2000, n_labels=40, seed=5)]
    model = OPLTMultiLabelClassifier(threshold=0.3)
    recall = metrics.multioutput.MicroAverage(metrics.Recall())
    auc = metrics.multioutput.MicroAverage(metrics.LogLoss())
    evaluate.progressive_val_score(examples, model, recall)
    evaluate.progressive_val_score(examples[:200], model.clone(), auc)
    assert recall.get() > 0.7
    assert auc.get() > 0


def test_a_label_that_no_example_had_yet_is_predicted_as_false() -> None:
    model = OPLTMultiLabelClassifier()
    assert model.predict_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, {"x": True, "y": False})
    assert model.predict_proba_one({"a": 1.0})["y"] == {False: 1.0, True: 0.0}
    assert model.predict_one({"a": 1.0})["y"] is False
    assert model.predict_one({"a": 1.0})["never heard of"] is False
    assert model.predict_proba_one({"a": 1.0})["never heard of"] == {False: 1.0, True: 0.0}


def test_memory_includes_the_core() -> None:
    model = OPLTClassifier()
    model.learn_one({"a": 1.0}, "x")
    assert model._raw_memory_usage > model.model.memory_bytes


def test_errors_say_what_to_do() -> None:
    model = OPLTClassifier()
    with pytest.raises(InvalidInputError, match=r"feature 'color' must be a number, got 'red'\. .*OneHotEncoder"):
        model.learn_one({"color": "red"}, "x")
    with pytest.raises(InvalidInputError, match="OneHotEncoder"):
        model.predict_one({"color": "red"})
    with pytest.raises(InvalidInputError, match=r"y must be a mapping .*, got \['x'\]\. Pass dict"):
        OPLTMultiLabelClassifier().learn_one({"a": 1.0}, ["x"])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="threshold must be between 0 and 1, got 2"):
        OPLTMultiLabelClassifier(threshold=2)
    with pytest.raises(TypeError, match="OnlinePLT has no setting 'alhpa': did you mean 'alpha'"):
        OPLTClassifier(alhpa=1)
    assert model.predict_one({"a": 1.0}) is None


def test_without_river_the_error_says_how_to_install_it() -> None:
    hidden = "import sys; sys.modules['river'] = None; import oplt.river"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stderr.splitlines()[-1].endswith(
        "MissingPackageError: oplt.river needs the package river. Run: pip install 'oplt[river]'"
    )
