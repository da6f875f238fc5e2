# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The classifier for scikit-learn: its own checks, and what it is used for."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_multilabel_classification
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oplt import PLT, InvalidInputError, InvalidParameterError, OnlinePLT
from oplt.declarations import declared
from oplt.params import Settings
from oplt.sklearn import OPLTClassifier
from oplt.thresholds import Thresholds

_ONLINE = (
    "a weight multiplies one update of an online model, which is not the same as several updates by the same example;"
    " SGDClassifier is expected to fail, too"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": _ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": _ONLINE,
}


@parametrize_with_checks(
    [OPLTClassifier(), OPLTClassifier(learner="adagrad", label_memory=0, trees=2)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_as_scikit_learn_wants_it(estimator: OPLTClassifier, check: Callable[[OPLTClassifier], None]) -> None:
    check(estimator)


DIGITS, DIGIT_CLASSES = load_digits(return_X_y=True)
IRIS, IRIS_CLASSES = load_iris(return_X_y=True)
TEXTS = ["Heap overflow in the kernel", "Script injection in the form", "Heap of scripts", "Kernel overflow"] * 5
TAGS = ["memory", "web", "web", "memory"] * 5


def many_labels(**options: Any) -> tuple[Any, Any]:
    return make_multilabel_classification(200, n_classes=6, random_state=0, **options)


def test_the_parameters_are_the_settings_of_a_model() -> None:
    own = {"shuffle", "top_k", "multilabel"}
    defaults = {name: p.default for name, p in inspect.signature(OnlinePLT).parameters.items()}
    assert set(defaults) == {*(one.name for one in declared(Settings)), "threads"}
    parameters = OPLTClassifier().get_params()
    assert {name: value for name, value in parameters.items() if name not in own} == defaults
    assert set(parameters) == {*defaults, *own}
    assert all(one.described().partition("\n")[0] in str(OPLTClassifier.__doc__) for one in declared(Settings))


def test_parameters_reach_the_model() -> None:
    settings = {"arity": 4, "max_leaves": 8, "trees": 2, "seed": 7, "label_memory": 0, "threads": 2}
    classifier = clone(OPLTClassifier(**settings)).set_params(alpha=0.5).fit(IRIS, IRIS_CLASSES)
    assert classifier.model_.threads == settings.pop("threads")
    assert classifier.model_.settings.items() >= {**settings, "alpha": 0.5}.items()


def test_it_is_a_model_that_learned_the_examples_in_random_order() -> None:
    classifier = OPLTClassifier(seed=3).fit(IRIS, IRIS_CLASSES)
    order = np.random.default_rng(3).permutation(len(IRIS))
    model = OnlinePLT(seed=3)
    model.learn_many(IRIS[order], IRIS_CLASSES[order].tolist())
    assert classifier.model_.fingerprint() == model.fingerprint()
    plain = OPLTClassifier(shuffle=False).fit(IRIS, IRIS_CLASSES)
    assert plain.model_.fingerprint() == OPLTClassifier().partial_fit(IRIS, IRIS_CLASSES).model_.fingerprint()


def test_examples_that_are_sorted_by_class() -> None:
    train, test, y_train, y_test = train_test_split(DIGITS, DIGIT_CLASSES, test_size=1 / 3, random_state=0)
    order = np.argsort(y_train, kind="stable")
    assert OPLTClassifier().fit(train[order], y_train[order]).score(test, y_test) > 0.95
    assert OPLTClassifier(shuffle=False).fit(train[order], y_train[order]).score(test, y_test) < 0.5


def test_any_parts_equal_the_whole() -> None:
    whole = OPLTClassifier(shuffle=False).fit(DIGITS[:300], DIGIT_CLASSES[:300])
    parts = OPLTClassifier()
    for begin, end in [(0, 1), (1, 7), (7, 150), (150, 300)]:
        assert parts.partial_fit(DIGITS[begin:end], DIGIT_CLASSES[begin:end]) is parts
    assert parts.model_.fingerprint() == whole.model_.fingerprint()
    assert parts.classes_.tolist() == whole.classes_.tolist()
    fresh = parts.fit(IRIS, IRIS_CLASSES)  # starts over
    assert fresh.classes_.tolist() == [0, 1, 2]
    assert fresh.n_features_in_ == 4


def test_new_classes_extend_the_classes() -> None:
    classifier = OPLTClassifier().partial_fit(DIGITS[:1], ["zero"])
    classifier.partial_fit(DIGITS[1:3], ["two", "twelve"])
    assert classifier.classes_.tolist() == ["twelve", "two", "zero"]
    assert classifier.predict_proba(DIGITS[:4]).shape == (4, 3)
    assert classifier.predict(DIGITS[:3]).tolist() == ["zero", "two", "twelve"]


def test_classes_that_are_declared_have_probability_0_until_they_occur() -> None:
    classifier = OPLTClassifier().partial_fit(IRIS, IRIS_CLASSES, classes=[0, 1, 2, 9])
    assert classifier.classes_.tolist() == [0, 1, 2, 9]
    found = classifier.predict_proba(IRIS)
    assert (found[:, 3] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    classifier.partial_fit(100 + IRIS[:5], [9] * 5)
    assert (classifier.predict_proba(IRIS)[:, 3] > 0).any()
    assert classifier.classes_.tolist() == [0, 1, 2, 9]


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array, pd.DataFrame, list])
def test_forms_of_input(convert: Callable[[Any], Any]) -> None:
    dense = OPLTClassifier().fit(DIGITS[:200], DIGIT_CLASSES[:200])
    other = OPLTClassifier().fit(convert(DIGITS[:200]), DIGIT_CLASSES[:200])
    np.testing.assert_array_equal(dense.predict_proba(DIGITS), other.predict_proba(convert(DIGITS)))
    assert other.n_features_in_ == 64


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, -1, 5]),
        np.array([0.0, 1.0, 2.0]),
        np.array(["a", "bb", "ccc"]),
        np.array(["a", "bb", "ccc"], dtype=object),
        pd.Series(["a", "bb", "ccc"]),
        pd.Series(["a", "bb", "ccc"], dtype="category"),
    ],
)
def test_classes_keep_their_type(classes: Any) -> None:
    y = classes[IRIS_CLASSES]
    classifier = OPLTClassifier().fit(IRIS, y)
    assert classifier.classes_.tolist() == sorted(classes)
    assert classifier.classes_.dtype == classifier.predict(IRIS).dtype == np.unique(np.asarray(y)).dtype
    assert classifier.score(IRIS, y) > 0.9
    assert next(iter(classifier.model_.labels)) in {*classes}


def test_two_classes() -> None:
    y = IRIS_CLASSES == 1
    classifier = OPLTClassifier().fit(IRIS, y)
    assert classifier.classes_.tolist() == [False, True]
    found = classifier.predict_proba(IRIS)
    odds = classifier.decision_function(IRIS)
    np.testing.assert_allclose(odds, np.log(found[:, 1] / found[:, 0]), rtol=1e-6)
    np.testing.assert_array_equal(classifier.predict(IRIS), odds > 0)


def test_probabilities_are_those_of_the_model_divided_by_their_sum() -> None:
    classifier = OPLTClassifier().fit(DIGITS, DIGIT_CLASSES)
    found = dict(classifier.model_.predict_one(DIGITS[0], k=10))
    own = np.array([found[label] for label in range(10)])
    np.testing.assert_allclose(classifier.predict_proba(DIGITS[:1])[0], own / own.sum())
    odds = classifier.decision_function(DIGITS)
    np.testing.assert_array_equal(odds.argmax(axis=1), classifier.predict(DIGITS))


# --- Many labels ------------------------------------------------------------------------------------------------------


def test_multi_label() -> None:
    X, Y = many_labels()
    classifier = OPLTClassifier().fit(X, Y)
    assert classifier.classes_.tolist() == list(range(6))
    found = classifier.predict_proba(X)
    assert found.shape == (200, 6)
    np.testing.assert_array_equal(classifier.predict(X), found > 0.5)
    np.testing.assert_array_equal(classifier.predict(X), classifier.decision_function(X) > 0)
    assert (classifier.predict(X) == Y).mean() > 0.75
    model = OnlinePLT()
    order = np.random.default_rng(0).permutation(200)
    model.learn_many(X[order], Y[order])
    assert classifier.model_.fingerprint() == model.fingerprint()


def test_a_sparse_indicator_gives_sparse_predictions() -> None:
    X, Y = many_labels()
    dense = OPLTClassifier().fit(X, Y)
    sparse = OPLTClassifier().fit(sp.csr_array(X), sp.csr_array(Y))
    found = sparse.predict(X)
    assert sp.issparse(found)
    np.testing.assert_array_equal(found.toarray(), dense.predict(X))
    assert sparse.score(X, sp.csr_array(Y)) == dense.score(X, Y)


def test_a_column_without_any_1_is_never_predicted() -> None:
    X, Y = many_labels()
    Y[:, 2] = 0
    classifier = OPLTClassifier().fit(X, Y)
    assert classifier.predict(X)[:, 2].sum() == 0
    assert (classifier.predict_proba(X)[:, 2] == 0).all()


def test_an_indicator_may_get_more_columns() -> None:
    X, Y = many_labels()
    classifier = OPLTClassifier().partial_fit(X, Y[:, :4]).partial_fit(X, Y)
    assert classifier.predict(X).shape == (200, 6)
    with pytest.raises(InvalidInputError, match="a column for each of the 6 classes so far, got 4 columns"):
        classifier.partial_fit(X, Y[:, :4])
    with pytest.raises(InvalidInputError, match="a column for each of the 8 classes so far, got 6 columns"):
        OPLTClassifier().partial_fit(X, Y, classes=range(8))


def test_many_classes_give_sparse_probabilities() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 500), density=0.02, rng=rng, format="csr")
    y = np.arange(3000) % 1500
    classifier = OPLTClassifier().fit(X, y)
    found = classifier.predict_proba(X[:20])
    assert isinstance(found, sp.csr_array)
    assert found.shape == (20, 1500)
    assert np.diff(found.indptr).tolist() == [10] * 20
    np.testing.assert_array_equal(classifier.classes_[found.argmax(axis=1)], classifier.predict(X[:20]))
    for row, expected in enumerate(classifier.model_.predict_many(X[:20], k=10)):
        own = found[[row]].tocoo()
        np.testing.assert_allclose(sorted(own.data), sorted(p for _, p in expected))
        assert set(own.coords[1].tolist()) == {label for label, _ in expected}
    with pytest.raises(InvalidParameterError, match=r"got top_k=None and 1,500 classes. Use predict_proba"):
        classifier.decision_function(X[:20])


def test_top_k() -> None:
    classifier = OPLTClassifier(top_k=3).fit(DIGITS, DIGIT_CLASSES)
    found = classifier.predict_proba(DIGITS[:5])
    assert np.diff(found.indptr).tolist() == [3] * 5
    with pytest.raises(InvalidParameterError, match="top_k must be at least 1, got 0"):
        classifier.set_params(top_k=0).predict_proba(DIGITS)


# --- What scikit-learn has --------------------------------------------------------------------------------------------


def test_texts_in_a_pipeline() -> None:
    pipeline = make_pipeline(TfidfVectorizer(), OPLTClassifier())
    assert pipeline.fit(TEXTS, TAGS).predict(["the form", "overflow"]).tolist() == ["web", "memory"]
    assert cross_val_score(pipeline, TEXTS, TAGS, cv=3).mean() == 1


@pytest.mark.parametrize("convert", [list, np.array, pd.Series])
def test_texts_without_a_vectorizer(convert: Callable[[Any], Any]) -> None:
    classifier = OPLTClassifier(features="text")
    assert cross_val_score(classifier, convert(TEXTS), TAGS, cv=3).mean() == 1
    weights = np.arange(20) % 4
    classifier.fit(convert(TEXTS), convert(TAGS), sample_weight=weights)
    assert classifier.model_.n_examples == 15
    with pytest.raises(InvalidInputError, match="row 0 of X must be a text"):
        classifier.predict([[1.0]])


def test_texts_with_several_labels() -> None:
    binarizer = MultiLabelBinarizer()
    Y = binarizer.fit_transform([["a", "b"], ["b"], [], ["a", "c"]] * 50)
    classifier = OPLTClassifier(features="text").fit(TEXTS * 10, Y)
    assert binarizer.inverse_transform(classifier.predict(TEXTS[:4])) == [("a", "b"), ("b",), (), ("a", "c")]


def test_grid_search() -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), OPLTClassifier()),
        {"opltclassifier__learner": ["arow", "adagrad"], "opltclassifier__label_memory": [0, 512]},
        cv=3,
    )
    search.fit(DIGITS[:400], DIGIT_CLASSES[:400])
    assert search.best_score_ > 0.9
    assert len(search.cv_results_["params"]) == 4


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(method: str) -> None:
    train, test, y_train, y_test = train_test_split(DIGITS, DIGIT_CLASSES, random_state=0)
    calibrated = CalibratedClassifierCV(OPLTClassifier(), method=method, cv=3).fit(train, y_train)
    assert calibrated.score(test, y_test) > 0.95
    np.testing.assert_allclose(calibrated.predict_proba(test).sum(axis=1), 1)


def test_weights_are_routed() -> None:
    weights = np.where(IRIS_CLASSES == 2, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        classifier = OPLTClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        result = cross_validate(
            classifier, IRIS, IRIS_CLASSES, params={"sample_weight": weights}, cv=3, return_estimator=True
        )
    assert all(2 not in one.model_.labels for one in result["estimator"])  # they had no weight
    assert (result["test_score"] == 1).all()


def test_weights() -> None:
    weights = np.where(np.arange(150) % 2, 0.0, 3.0)
    classifier = OPLTClassifier(shuffle=False).fit(IRIS, IRIS_CLASSES, sample_weight=weights)
    model = OnlinePLT()
    model.learn_many(IRIS[::2], IRIS_CLASSES[::2].tolist(), weights=[3.0] * 75)
    assert classifier.model_.fingerprint() == model.fingerprint()
    with pytest.raises(ValueError, match="Negative"):
        classifier.fit(IRIS, IRIS_CLASSES, sample_weight=-weights)


def test_it_can_be_pickled_and_goes_on_learning() -> None:
    classifier = OPLTClassifier().fit(IRIS, IRIS_CLASSES)
    again = pickle.loads(pickle.dumps(classifier))
    for one in (classifier, again):
        one.partial_fit(IRIS, IRIS_CLASSES)
    assert again.model_.fingerprint() == classifier.model_.fingerprint()


# --- A model that exists ----------------------------------------------------------------------------------------------


def trained() -> OnlinePLT:
    model = OnlinePLT(features="text")
    model.learn_many(TEXTS, TAGS)
    return model


@pytest.mark.parametrize("model", [trained(), trained().snapshot()])
def test_a_model_predicts_without_fit(model: OnlinePLT | PLT) -> None:
    classifier = OPLTClassifier(learner=model)
    assert classifier.predict(["the form", "overflow"]).tolist() == ["web", "memory"]
    assert classifier.classes_.tolist() == ["memory", "web"]
    assert classifier.model_ is model
    before = model.fingerprint()
    assert classifier.fit(TEXTS, TAGS[::-1]) is classifier
    assert classifier.score(TEXTS, TAGS) == 1
    assert cross_val_score(classifier, TEXTS, TAGS, cv=2).tolist() == [1, 1]
    assert model.fingerprint() == before
    assert not hasattr(classifier, "partial_fit")
    np.testing.assert_allclose(classifier.predict_proba(TEXTS).sum(axis=1), 1)


def test_it_follows_its_model() -> None:
    model = trained()
    classifier = OPLTClassifier(learner=model)
    copied = clone(classifier)
    model.learn_one("The password is in the log", "secrets")
    assert classifier.predict(["my password"]).tolist() == ["secrets"]
    assert copied.classes_.tolist() == ["memory", "web"]


def test_calibration_of_a_model() -> None:
    model = OnlinePLT()
    model.learn_many(DIGITS[:1000], DIGIT_CLASSES[:1000].tolist())
    before = model.fingerprint()
    calibrated = CalibratedClassifierCV(OPLTClassifier(learner=model.snapshot()), cv=3)
    calibrated.fit(DIGITS[1000:1400], DIGIT_CLASSES[1000:1400])
    assert calibrated.score(DIGITS[1400:], DIGIT_CLASSES[1400:]) > 0.9
    assert model.fingerprint() == before


def test_a_model_with_several_labels() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}] * 20, [["x"], ["y"], ["x", "y"]] * 20)
    classifier = OPLTClassifier(learner=model, multilabel=True)
    frame = pd.DataFrame({"a": [1.0, 0.0, 1.0], "b": [0.0, 1.0, 1.0]})
    assert classifier.predict(frame).tolist() == [[1, 0], [0, 1], [1, 1]]
    assert classifier.score(frame, [[1, 0], [0, 1], [1, 1]]) == 1
    model.thresholds = Thresholds(1.0, {"y": 0.0})
    assert classifier.predict(frame).tolist() == [[0, 1], [0, 1], [0, 1]]


def test_a_model_with_names_of_both_types() -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1.0}, {"b": 1.0}, {"c": 1.0}], ["x", 7, 3])
    classifier = OPLTClassifier(learner=model)
    assert classifier.classes_.tolist() == [3, 7, "x"]
    assert classifier.predict([{"a": 1.0}, {"b": 1.0}]).tolist() == ["x", 7]


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OPLTClassifier(learner="svm").fit(IRIS, IRIS_CLASSES), "learner must be one of 'arow', 'adagrad'"),
        (lambda: OPLTClassifier(alpha=2).fit(IRIS, IRIS_CLASSES), "alpha must be between 0 and 1, got 2"),
        (lambda: OPLTClassifier(shuffle=1).fit(IRIS, IRIS_CLASSES), "shuffle must be True or False, got 1"),
        (lambda: OPLTClassifier(multilabel="no").fit(IRIS, IRIS_CLASSES), "multilabel must be True or False"),
        (
            lambda: OPLTClassifier(learner=trained(), arity=4).predict(TEXTS),
            "arity has no effect with a model passed as learner, .*, got arity=4. Leave arity out.",
        ),
        (lambda: OPLTClassifier(learner=trained(), trees=2).fit(TEXTS, TAGS), "trees has no effect"),
        (lambda: OPLTClassifier(learner=trained(), shuffle=False).predict(TEXTS), "shuffle has no effect"),
        (
            lambda: OPLTClassifier(multilabel=True).fit(IRIS, IRIS_CLASSES),
            "y must be an indicator matrix, got one class for each row",
        ),
        (
            lambda: OPLTClassifier().fit(IRIS, IRIS_CLASSES).partial_fit(*many_labels(n_features=4)),
            "y must be one class for each row, got an indicator matrix",
        ),
        (
            lambda: OPLTClassifier().fit(IRIS, IRIS_CLASSES).partial_fit(IRIS[:1], ["setosa"]),
            "the classes so far are numbers, so those of y must be, too, got 'setosa'",
        ),
        (
            lambda: OPLTClassifier(features="text").fit(TEXTS[:2], [["a", "b"], ["b"]]),
            r"y must hold one class for each row, .*, got \['a', 'b'\] for the first row. .*MultiLabelBinarizer",
        ),
        (
            lambda: OPLTClassifier(features="text").fit(TEXTS[:2], [["a", "b"], ["b", "c"]]),
            r"y must hold one class for each row, .*, got \['a', 'b'\] for the first row. .*MultiLabelBinarizer",
        ),
        (
            lambda: OPLTClassifier().fit(IRIS, IRIS_CLASSES, sample_weight=np.zeros(150)),
            "zero",
        ),
        (lambda: OPLTClassifier(features="text").fit(TEXTS, None), "requires y to be passed"),
        (lambda: OPLTClassifier(features="text").fit(TEXTS, TAGS[:3]), "inconsistent numbers of samples"),
    ],
)
def test_errors(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_misspelled_setting() -> None:
    with pytest.raises(TypeError, match="OPLTClassifier has no setting 'artiy': did you mean 'arity'?"):
        OPLTClassifier(artiy=4)


def test_a_model_is_updated_by_itself() -> None:
    with pytest.raises(AttributeError) as raised:
        OPLTClassifier(learner=trained()).partial_fit(TEXTS, TAGS)
    assert "call the model's learn_many instead" in str(raised.value.__cause__)


def test_not_fitted() -> None:
    for classifier in (OPLTClassifier(), OPLTClassifier(learner=OnlinePLT())):
        with pytest.raises(NotFittedError):
            classifier.predict(IRIS)
        assert not hasattr(classifier, "classes_")


def test_a_failed_update_leaves_the_classifier_as_it_was() -> None:
    classifier = OPLTClassifier().fit(IRIS, IRIS_CLASSES)
    before = classifier.model_.fingerprint()
    with pytest.raises(InvalidInputError):
        classifier.partial_fit(IRIS[:2], [3, 4], sample_weight=[1.0, 1e9])
    assert classifier.model_.fingerprint() == before
    assert classifier.classes_.tolist() == [0, 1, 2]


def test_a_column_of_classes_is_taken_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning):
        OPLTClassifier().fit(IRIS, IRIS_CLASSES[:, np.newaxis])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import oplt; from oplt import *; OnlinePLT(); oplt.testing; print('sklearn' in sys.modules)", "False"),
        (
            "sys.modules['sklearn'] = None\n"
            "try: import oplt.sklearn\n"
            "except ImportError as error: print(type(error).__name__, error)",
            "MissingPackageError oplt.sklearn needs scikit-learn 1.6 or later. Run: pip install 'oplt[sklearn]'",
        ),
    ],
)
def test_it_is_optional(code: str, expected: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}"], check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout.strip() == expected
