# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Batch training, against scikit-learn's LIBLINEAR and a simple reference implementation; models for prediction."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from oplt import PLT, InvalidInputError, InvalidParameterError, LabelTree, ModelFormatError, OnlinePLT
from oplt._core import LARGEST_WEIGHT
from oplt.tree import kmeans

LOSSES = ["squared-hinge", "logistic"]
N_ROWS, N_FEATURES, N_LABELS = 240, 30, 9
TREE = LabelTree.from_nested([[0, 1, 2, 3], [4, [5, 6]], [7], 8])
TIGHT: dict[str, Any] = {"tolerance": 1e-9, "max_iterations": 100_000, "prune": 0.0}
# Both solvers stop when the dual gradients are within 1e-9 of optimal: their weights then agree far better than the
# float32 that ours are rounded to, whose relative error is 6e-8 for weights of size 1 to 3.
WEIGHT_TOLERANCE = 1e-6

Matrix = npt.NDArray[np.float64]


def examples(seed: int = 0, *, unlabelled: bool = False) -> tuple[Any, list[list[int]]]:
    rng = np.random.default_rng(seed)
    X = sp.random_array((N_ROWS, N_FEATURES), density=0.2, rng=rng, format="csr")
    least = 0 if unlabelled else 1
    Y = [rng.choice(N_LABELS, rng.integers(least, 4), replace=False).tolist() for _ in range(N_ROWS)]
    return X, Y


def below(node: int) -> set[Any]:
    children = TREE.children(node)
    return set().union(*(below(child) for child in children)) if children else {TREE.labels[node]}


def with_bias(X: Any) -> Matrix:
    return np.hstack([X.toarray().astype(np.float32), np.ones((X.shape[0], 1))])


def liblinear(loss: str, X: Matrix, y: npt.NDArray[np.bool_], cost: float, weights: Matrix) -> Matrix:
    """Return the weights; the constant is an ordinary feature, whose weight is regularised, too."""
    if loss == "squared-hinge":
        solver = LinearSVC(C=cost, tol=1e-9, fit_intercept=False, max_iter=1_000_000, dual=True, random_state=0)
    else:
        solver = LogisticRegression(
            C=cost, tol=1e-9, fit_intercept=False, max_iter=1_000_000, solver="liblinear", dual=True, random_state=0
        )
    if y.all() or not y.any():  # scikit-learn rejects a single class: add the negated rows as the other one
        X, y, weights = np.vstack([X, -X]), np.concatenate([y, ~y]), np.concatenate([weights, weights])
        solver.C = cost / 2
    return solver.fit(X, y, sample_weight=weights).coef_[0]


def node_weights(
    loss: str, X: Any, Y: list[list[int]], node: int, cost: float = 1.0, weights: Matrix | None = None
) -> Matrix:
    """Solve one node's problem from its definition."""
    parent = int(TREE.parents[node])
    reached = np.array([parent == -1 or bool(below(parent) & set(labels)) for labels in Y])
    positive = np.array([bool(below(node) & set(labels)) for labels in Y])
    of_rows = np.ones(len(Y)) if weights is None else weights
    return liblinear(loss, with_bias(X)[reached], positive[reached], cost, of_rows[reached])


def learnt_weights(model: PLT, X: Any, node: int) -> Matrix:
    """Weights by column of X, then the constant's. Features are numbered in order of arrival, then by name."""
    seen = list(dict.fromkeys(int(j) for i in range(X.shape[0]) for j in sorted(X[[i]].indices)))
    cells = model._state().classifier(node)
    assert cells is not None
    weights = np.zeros(X.shape[1] + 1)
    for feature, weight in zip(*cells[:2], strict=True):
        weights[seen[feature] if feature < len(seen) else -1] = weight
    return weights


def probabilities(loss: str, scores: Matrix) -> Matrix:
    if loss == "logistic":
        return 1 / (1 + np.exp(-scores))
    return np.exp(-(np.maximum(0, 1 - scores) ** 2))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_node_equals_liblinear(loss: str, cost: float, weighted: bool) -> None:  # noqa: FBT001 (a test)
    X, Y = examples(unlabelled=True)
    weights = np.random.default_rng(2).choice([0.125, 0.5, 1.0, 3.0], N_ROWS) if weighted else None
    model = PLT.fit(X, Y, weights=weights, trees=TREE, loss=loss, cost=cost, normalize=False, **TIGHT)
    for node in range(TREE.n_nodes):
        expected = node_weights(loss, X, Y, node, cost, weights)
        np.testing.assert_allclose(learnt_weights(model, X, node), expected, rtol=0, atol=WEIGHT_TOLERANCE)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_counts_as_so_many_equal_examples(loss: str) -> None:
    X, Y = examples(unlabelled=True)
    times = np.random.default_rng(3).integers(1, 4, N_ROWS)
    repeated = np.repeat(np.arange(N_ROWS), times)
    weighted = PLT.fit(X, Y, weights=times, trees=TREE, loss=loss, **TIGHT)
    often = PLT.fit(X[repeated], [Y[i] for i in repeated], trees=TREE, loss=loss, **TIGHT)
    for node in range(TREE.n_nodes):
        np.testing.assert_allclose(
            learnt_weights(weighted, X, node), learnt_weights(often, X, node), rtol=0, atol=WEIGHT_TOLERANCE
        )


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_one_are_as_good_as_none(loss: str) -> None:
    X, Y = examples()
    ones = PLT.fit(X, Y, weights=np.ones(N_ROWS), trees=TREE, loss=loss)
    assert ones.fingerprint() == PLT.fit(X, Y, trees=TREE, loss=loss).fingerprint()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unlabelled", [False, True])
def test_the_whole_equals_an_obvious_version(loss: str, unlabelled: bool) -> None:  # noqa: FBT001 (a test)
    X, Y = examples(unlabelled=unlabelled)
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    X = sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1)) @ X)
    model = PLT.fit(X, Y, trees=TREE, loss=loss, cost=1.0, **TIGHT)
    found = np.zeros((N_ROWS, N_LABELS))
    for row, labels in enumerate(model.predict_many(X, k=N_LABELS)):
        assert len(labels) == N_LABELS
        for label, probability in labels:
            found[row, int(label)] = probability
    expected = np.ones((N_ROWS, TREE.n_nodes))
    for node in range(TREE.n_nodes):
        if node == 0 and not unlabelled:
            continue  # P(some label is relevant) is exactly 1
        of_parent = expected[:, TREE.parents[node]] if node else 1
        expected[:, node] = of_parent * probabilities(loss, with_bias(X) @ node_weights(loss, X, Y, node))
    leaves, labels = TREE.leaves()
    np.testing.assert_allclose(found[:, labels], expected[:, leaves], rtol=0, atol=1e-5)  # scores in float32


@pytest.mark.parametrize("loss", LOSSES)
def test_labels_that_all_or_no_examples_have(loss: str) -> None:
    X, Y = examples()
    everywhere, nowhere = 7, 8
    Y = [[*(label for label in labels if label not in (everywhere, nowhere)), everywhere] for labels in Y]
    model = PLT.fit(X, Y, trees=TREE, loss=loss)
    assert all(labels[0][0] == everywhere for labels in model.predict_many(X, k=1))
    least = [dict(labels)[nowhere] for labels in model.predict_many(X, k=N_LABELS)]
    assert max(least) < 0.1


def test_threads_and_forms_of_input_change_nothing() -> None:
    X, Y = examples(unlabelled=True)
    prints = {PLT.fit(X, Y, trees=TREE, threads=threads).fingerprint() for threads in (1, 2, 3)}
    listed = [{int(j): float(X[i, j]) for j in X[[i]].indices} for i in range(N_ROWS)]
    prints.add(PLT.fit(listed, Y, trees=TREE).fingerprint())
    indicator = np.zeros((N_ROWS, N_LABELS), dtype=int)
    for row, labels in enumerate(Y):
        indicator[row, labels] = 1
    prints.add(PLT.fit(X.toarray(), indicator, trees=TREE).fingerprint())
    assert len(prints) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_save_load_and_pickle(loss: str, tmp_path: Path) -> None:
    X, Y = examples()
    model = PLT.fit(X, Y, trees=TREE, loss=loss, cost=2.0, seed=5)
    model.save(tmp_path / "m.oplt")
    expected = model.predict_many(X, k=3)
    for other in (PLT.load(tmp_path / "m.oplt"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        assert other.settings == model.settings
        assert list(other.predict_many(X, k=3)) == list(expected)
        assert other.tree == TREE
    assert model.settings["loss"] == loss
    assert model.settings["cost"] == 2.0
    assert "cost=2.0" in repr(model)


def test_pruning_drops_small_weights_only() -> None:
    X, Y = examples()
    whole = PLT.fit(X, Y, trees=TREE, prune=0.0)
    pruned = PLT.fit(X, Y, trees=TREE, prune=0.3)
    assert 0 < pruned.n_cells < whole.n_cells
    for node in range(TREE.n_nodes):
        weights = learnt_weights(whole, X, node)
        np.testing.assert_array_equal(learnt_weights(pruned, X, node), np.where(np.abs(weights) < 0.3, 0, weights))


def test_it_cannot_be_updated_but_its_tree_can_go_on(tmp_path: Path) -> None:
    X, Y = examples()
    model = PLT.fit(X, Y, trees=TREE)
    model.save(tmp_path / "m")
    for fitted in (model, PLT.load(tmp_path / "m"), PLT.load(tmp_path / "m", verify=False)):
        assert not hasattr(fitted, "learn_one")
        assert not hasattr(fitted, "learn_many")
        assert fitted.fingerprint() == model.fingerprint()
        assert fitted.n_features == N_FEATURES
    with pytest.raises(ModelFormatError, match=r"m: a batch-trained model cannot be updated\. Open it with PLT\.load"):
        OnlinePLT.load(tmp_path / "m")
    online = OnlinePLT.from_tree(model.tree)
    online.learn_many(X, Y)
    assert online.n_examples == N_ROWS


def test_several_trees_are_those_of_several_seeds_and_their_means() -> None:
    X, Y = examples()
    model = PLT.fit(X, Y, trees=3, seed=5, prune=0.0)
    alone = [PLT.fit(X, Y, seed=seed, prune=0.0) for seed in (5, 6, 7)]
    given = PLT.fit(X, Y, trees=[one.tree for one in alone], seed=5, prune=0.0)
    assert given.fingerprint() == model.fingerprint()
    answers = [dict(one.predict_one({3: 1.0, 7: 1.0}, k=N_LABELS)) for one in alone]
    for label, probability in model.predict_one({3: 1.0, 7: 1.0}, k=N_LABELS):
        assert probability == pytest.approx(sum(answer[label] for answer in answers) / 3, abs=1e-6)


def test_trees_that_do_not_fit_are_refused() -> None:
    X, Y = examples()
    other = LabelTree.from_nested([*range(N_LABELS - 1), "x"])
    with pytest.raises(InvalidInputError, match="same labels"):
        PLT.fit(X, Y, trees=[TREE, other])
    for wrong in ([], [TREE, 3]):
        with pytest.raises(InvalidInputError, match="trees must be"):
            PLT.fit(X, Y, trees=wrong)
    for number in (0, 2.5, None):
        with pytest.raises(InvalidParameterError, match="trees"):
            PLT.fit(X, Y, trees=number)
    with pytest.raises(TypeError, match=r"PLT\.fit.*snapshot"):
        PLT()


def test_without_a_tree_labels_are_clustered() -> None:
    X, Y = examples()
    model = PLT.fit(X, Y, seed=3)
    assert model.fingerprint() == PLT.fit(X, Y, trees=kmeans(X, Y, seed=3), seed=3).fingerprint()


def test_the_logistic_loss_has_a_cost_of_its_own() -> None:
    X, Y = examples()
    assert [PLT.fit(X, Y, loss=loss).settings["cost"] for loss in LOSSES] == [1.0, 10.0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e6])
def test_extreme_values_keep_everything_finite(loss: str, cost: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.choice([0.0, 1e12, -1e12, 1e-30, 1.0], (60, 5))
    Y = [[int(rng.integers(N_LABELS))] for _ in range(60)]
    weights = np.resize([1.0, 1e-6, LARGEST_WEIGHT], 60)
    model = PLT.fit(
        X, Y, weights=weights, trees=TREE, loss=loss, cost=cost, normalize=False, prune=0.0, max_iterations=200
    )
    assert all(np.isfinite(learnt_weights(model, sp.csr_array(X), node)).all() for node in range(TREE.n_nodes))
    scores = model.predict_many(X, k=N_LABELS).scores
    assert len(scores) == 60 * N_LABELS
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("tree", [TREE, 1])
def test_no_examples_are_refused(tree: LabelTree | int) -> None:
    with pytest.raises(InvalidInputError, match="X has no rows"):
        PLT.fit([], [], trees=tree)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"trees": LabelTree.from_nested([0, 1])},
            InvalidInputError,
            "row 1 has the label 2, which is not in the tree",
        ),
        ({"trees": [[0]]}, InvalidInputError, "trees must be a number, a LabelTree"),
        ({"Y": [[0]]}, InvalidInputError, "X has 2 rows but Y has 1"),
        ({"weights": [1]}, InvalidInputError, "weights must be 2 numbers"),
        ({"weights": [1, 0]}, InvalidInputError, r"the weight must be a number above 0 and at most 1e\+06, got 0.0"),
        (
            {"X": np.array([[np.nan], [1]])},
            InvalidInputError,
            r"row 0 of X: the value of feature 0 must be finite and at most 1e\+12 in size",
        ),
        ({"loss": "hinge"}, InvalidParameterError, "loss must be one of 'squared-hinge', 'logistic', got 'hinge'"),
        ({"loss": 2}, InvalidParameterError, "loss must be a string"),
        ({"cost": 0}, InvalidParameterError, "cost must be above 0 and at most 1e6, got 0"),
        ({"cost": float("nan")}, InvalidParameterError, "cost must be"),
        ({"tolerance": 0}, InvalidParameterError, "tolerance must be between 1e-9 and 1"),
        ({"max_iterations": 0}, InvalidParameterError, "max_iterations must be at least 1"),
        ({"prune": -0.1}, InvalidParameterError, "prune must be between 0 and 1"),
        ({"normalize": 1}, InvalidParameterError, "normalize must be True or False"),
        ({"threads": 0}, InvalidParameterError, "threads must be at least 1"),
    ],
)
def test_a_bad_call_is_refused(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"X": np.ones((2, 1)), "Y": [[0], [1, 2]], "trees": LabelTree.from_nested([0, 1, 2])}
    with pytest.raises(error, match=message):
        PLT.fit(**{**arguments, **changes})


def test_examples_without_any_label_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="none of the 2 examples has a label"):
        PLT.fit([{"a": 1}] * 2, [[], []])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("least_labels", [0, 1])  # with 0, the root's own classifier takes long, too
def test_an_interrupted_training_ends_inside_a_node(
    loss: str, threads: int, least_labels: int, soon_ctrl_c: Callable[[], None]
) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 100), density=0.2, rng=rng, format="csr")
    Y = [list(range(rng.integers(least_labels, 3))) for _ in range(2000)]
    tree = LabelTree.from_nested([0, 1])
    soon_ctrl_c()
    with pytest.raises(KeyboardInterrupt):  # otherwise it would take days
        PLT.fit(
            X,
            Y,
            trees=tree,
            loss=loss,
            cost=1e6,
            tolerance=1e-9,
            max_iterations=2**31,
            normalize=False,
            threads=threads,
        )


def test_a_copy_of_what_never_changes_is_itself() -> None:
    model = PLT.fit([{"a": 1}, {"b": 1}], ["x", "y"])
    assert copy.copy(model) is model
    assert copy.deepcopy([model])[0] is model


def snapshot() -> PLT:
    model = OnlinePLT(arity=2, max_leaves=50, label_memory=0, trees=2)
    model.learn_many(*examples(unlabelled=True))
    return model.snapshot()


MODELS: dict[str, Callable[[], PLT]] = {
    "online": snapshot,
    "squared-hinge": lambda: PLT.fit(*examples(), trees=TREE),
    "logistic": lambda: PLT.fit(*examples(), trees=TREE, loss="logistic"),
}


@pytest.fixture(params=MODELS)
def whole(request: pytest.FixtureRequest) -> PLT:
    return MODELS[request.param]()


def all_probabilities(model: PLT) -> Matrix:
    """Return those of all labels, by row and label."""
    found = np.zeros((N_ROWS, N_LABELS))
    for row, labels in enumerate(model.predict_many(examples()[0], k=N_LABELS)):
        for label, probability in labels:
            found[row, int(label)] = probability
    return found


def test_for_prediction_changes_no_answer(whole: PLT) -> None:
    small = whole.for_prediction()
    np.testing.assert_array_equal(all_probabilities(small), all_probabilities(whole))
    assert small.for_prediction().fingerprint() == small.fingerprint()


def test_half_precision_changes_sizes_much_and_answers_little(whole: PLT, tmp_path: Path) -> None:
    single, half = whole.for_prediction(), whole.for_prediction(half=True)
    assert half.n_cells == single.n_cells
    assert half.memory_bytes < single.memory_bytes
    single.save(tmp_path / "single")
    half.save(tmp_path / "half")
    # Names, masks and tables are the same: half saves 2 bytes for each weight, minus padding of rows.
    saved = (tmp_path / "single").stat().st_size - (tmp_path / "half").stat().st_size
    assert saved > single.n_cells
    # The relative error of each weight is at most 1/2048, and the scores of these examples are below 5.
    np.testing.assert_allclose(all_probabilities(half), all_probabilities(single), rtol=0, atol=0.005)
    assert half.fingerprint() != single.fingerprint()


def test_half_precision_rounds_to_the_nearest() -> None:
    X, Y = examples()
    single = PLT.fit(X, Y, trees=TREE, prune=0.0)
    half = single.for_prediction(half=True)
    for node in range(TREE.n_nodes):
        expected = learnt_weights(single, X, node).astype(np.float16)
        np.testing.assert_array_equal(learnt_weights(half, X, node), expected)


def test_a_model_in_half_precision_is_saved_loaded_and_pickled(whole: PLT, tmp_path: Path) -> None:
    half = whole.for_prediction(half=True, prune=0.01)
    half.save(tmp_path / "m.oplt")
    expected = all_probabilities(half)
    loaded = [PLT.load(tmp_path / "m.oplt", verify=verify) for verify in (True, False)]
    for other in (*loaded, pickle.loads(pickle.dumps(half))):
        assert other.fingerprint() == half.fingerprint()
        np.testing.assert_array_equal(all_probabilities(other), expected)
        other.save(tmp_path / "again.oplt")
        assert (tmp_path / "again.oplt").read_bytes() == (tmp_path / "m.oplt").read_bytes()
    with pytest.raises(ModelFormatError, match="PLT.load"):
        OnlinePLT.load(tmp_path / "m.oplt")


@pytest.mark.parametrize("again", [False, True])
def test_a_model_in_half_precision_stays_so(whole: PLT, again: bool) -> None:  # noqa: FBT001 (a test)
    half = whole.for_prediction(half=True)
    assert half.for_prediction(half=again).fingerprint() == half.fingerprint()
    assert half.for_prediction(half=again, prune=0.3).n_cells < half.n_cells
    pruned = whole.for_prediction(prune=0.3)
    assert pruned.for_prediction(half=True).fingerprint() == whole.for_prediction(prune=0.3, half=True).fingerprint()


def test_bad_arguments_of_for_prediction_are_refused() -> None:
    model = snapshot()
    with pytest.raises(InvalidParameterError, match="prune must be between 0 and 1"):
        model.for_prediction(prune=2)
    with pytest.raises(InvalidParameterError, match="half must be True or False, got 1"):
        model.for_prediction(half=cast("bool", 1))


def test_who_wants_to_update_it_is_told_how() -> None:
    model: Any = PLT.fit([{"a": 1}, {"b": 1}], ["x", "y"])
    assert not hasattr(model, "learn_one")
    with pytest.raises(AttributeError, match="no attribute 'learn_many': it cannot be updated. Use OnlinePLT"):
        model.learn_many([{"a": 1}], ["x"])
    with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
        _ = model.nonsense


def test_threads_can_be_changed() -> None:
    model = PLT.fit([{"a": 1}, {"b": 1}], ["x", "y"])
    model.threads = 2
    assert model.threads == 2
    with pytest.raises(InvalidParameterError, match="threads"):
        model.threads = 0
