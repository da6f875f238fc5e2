# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Bad input gets a typed error that says what is wrong, and changes nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from oplt import InvalidInputError, InvalidParameterError, LabelTree, OnlinePLT

Call = Callable[[OnlinePLT], Any]


def trained() -> OnlinePLT:
    model = OnlinePLT()
    model.learn_many([{"a": 1.0, 7: 2.0}, {"b": 1.0}], [["x", "y"], [3]])
    return model


def csr(data: list[float], indices: list[int], indptr: list[int], shape: tuple[int, int]) -> sp.csr_array:
    """Make a matrix from arrays that SciPy would reject, but does not check when they are assigned afterwards."""
    matrix = sp.csr_array((np.ones(len(data)), np.zeros(len(data), int), indptr), shape)
    matrix.data = np.array(data)
    matrix.indices = np.array(indices)
    return matrix


def broken_csc() -> sp.csc_array:
    matrix = sp.csc_array(np.eye(2))
    matrix.indices = np.array([0, 1_000_000])
    return matrix


def short_csr() -> sp.csr_array:
    matrix = sp.csr_array(np.eye(2))
    matrix.data = matrix.data[:1]
    return matrix


BAD_CALLS: dict[str, tuple[Call, str]] = {
    "NaN value": (
        lambda m: m.learn_one({"a": float("nan")}, "x"),
        r"the value of feature 'a' must be finite and at most 1e\+12 in size, got nan",
    ),
    "infinite value": (
        lambda m: m.learn_one({"a": -float("inf")}, "x"),
        r"the value of feature 'a' must be finite and at most 1e\+12 in size, got -inf",
    ),
    "huge value": (lambda m: m.learn_one({"a": 1e300}, "x"), r"at most 1e\+12"),
    "value that is no number": (
        lambda m: m.learn_one({"a": "1"}, "x"),
        r"the value of feature 'a' must be a number, got '1'",
    ),
    "value None": (
        lambda m: m.learn_many([{}, {"a": None}], ["x", "y"]),
        r"row 1 of X: the value of feature 'a' must be a number, got None",
    ),
    "masked values": (
        lambda m: m.learn_many(np.ma.masked_equal([[1.0, 2.0]], 2.0), ["x"]),
        r"X has masked values. Fill them in; if they mean absent features, use X.filled\(0\).",
    ),
    "too large in a matrix": (
        lambda m: m.learn_many(np.array([[0.0, 1e13]]), ["x"]),
        r"row 0 of X: the value of feature 1 must be finite and at most 1e\+12 in size, got 1e\+13",
    ),
    "NaN in a matrix": (
        lambda m: m.learn_many(np.array([[1.0, 2.0], [0.0, np.nan]]), ["x", "y"]),
        r"row 1 of X: the value of feature 1 must be finite and at most 1e\+12 in size, got nan",
    ),
    "negative column": (
        lambda m: m.learn_many(csr([1.0, 1.0], [0, -2], [0, 1, 2], (2, 3)), ["x", "y"]),
        "row 1 of X: a column index must be from 0 to 2, got -2",
    ),
    "column too large": (
        lambda m: m.learn_many(csr([1.0, 1.0], [0, 3], [0, 1, 2], (2, 3)), ["x", "y"]),
        "row 1 of X: a column index must be from 0 to 2, got 3",
    ),
    "1-D array": (lambda m: m.learn_many(np.ones(3), ["x"]), r"1 dimension"),
    "array of objects": (lambda m: m.learn_many(np.array([[None]]), ["x"]), r"matrix of numbers"),
    "more labels than rows": (lambda m: m.learn_many([{"a": 1}], ["x", "y"]), r"X has 1 rows but Y has 2"),
    "more rows than labels": (
        lambda m: m.learn_many(sp.csr_array(np.ones((3, 2))), [["x"]]),
        r"X has 3 rows but Y has 1",
    ),
    "one row where many belong": (
        lambda m: m.learn_many({"a": 1.0}, ["x"]),
        "got one dict. Use learn_one or predict_one",
    ),
    "row that is no mapping": (lambda m: m.learn_many([["a"]], ["x"]), r"row 0 of X must be a mapping"),
    "label None": (
        lambda m: m.learn_many([{"a": 1}, {"a": 1}], ["x", None]),
        r"row 1 of Y: label 0 must be a non-empty string or an integer, got None. Pass",
    ),
    "label that is a list": (
        lambda m: m.learn_one({"a": 1}, ["x", ["y"]]),
        r"label 1 must be a non-empty string or an integer, got \['y'\]",
    ),
    "label that is a float": (lambda m: m.learn_one({"a": 1}, 2.0), r"label 0 must be a non-empty string.*got 2.0"),
    "label that is a bool": (
        lambda m: m.learn_one({"a": 1}, [True]),
        r"label 0 must be a non-empty string or an integer, got True",
    ),
    "label that is bytes": (lambda m: m.learn_one({"a": 1}, b"x"), r"label 0 must be a non-empty string.*got b'x'"),
    "empty label": (
        lambda m: m.learn_one({"a": 1}, [""]),
        r"label 0 must be a non-empty string.*got an empty string. Pass",
    ),
    "label beyond 64 bits": (lambda m: m.learn_one({"a": 1}, [2**63]), r"more than 64 bits"),
    "label with a lone surrogate": (lambda m: m.learn_one({"a": 1}, ["\ud800"]), r"not valid Unicode"),
    "string for many labels": (lambda m: m.learn_many([{"a": 1}], "x"), r"Y must hold the labels of many rows"),
    "feature None": (
        lambda m: m.learn_one({"new": 1, None: 1}, "x"),
        r"feature 1 must be a non-empty string or an integer, got None",
    ),
    "feature that is a float": (
        lambda m: m.learn_one({1.5: 1}, "x"),
        r"feature 0 must be a non-empty string or an integer, got 1.5",
    ),
    "indicator with NaN": (
        lambda m: m.learn_many([{"a": 1}], np.array([[np.nan]])),
        r"row 0, column 0 of Y: .* got nan",
    ),
    "value beyond float": (
        lambda m: m.learn_one({"a": 10**400}, "x"),
        r"the value of feature 'a' must be finite and at most 1e\+12 in size, got 1000.* \(too large for a float\)",
    ),
    "indicator with -1": (
        lambda m: m.learn_many(sp.eye_array(2), np.array([[1, -1], [-1, 1]])),
        "row 0, column 1 of Y: a matrix of labels must contain only 0 and 1, got -1",
    ),
    "column of class numbers": (lambda m: m.learn_many(sp.eye_array(2), np.array([[3], [5]])), r"1-D array"),
    "0-d label": (
        lambda m: m.learn_one({"a": 1}, np.array(None)),
        r"label 0 must be a non-empty string.*got array\(None",
    ),
    "0-d Y": (lambda m: m.learn_many([{"a": 1}], np.array(3)), r"Y must hold the labels of many rows"),
    "broken CSC": (lambda m: m.learn_many(broken_csc(), ["x", "y"]), r"X is not a valid sparse matrix"),
    "CSR with too little data": (lambda m: m.learn_many(short_csr(), ["x", "y"]), r"X is not a valid"),
    "array of other columns": (
        lambda m: m.learn_one(np.ones(3), "x"),
        "X has 3 columns, but the largest feature number of the model is 7",
    ),
    "matrix for learn_one": (
        lambda m: m.learn_one(np.ones((1, 2)), "x"),
        "x must be a mapping from feature names to values.* Use learn_many or predict_many",
    ),
    "matrix row for predict_one": (lambda m: m.predict_one(sp.csr_array([[1.0]])), r"x must be a mapping"),
    "weight None": (
        lambda m: m.learn_one({"a": 1}, "x", weight=None),
        r"the weight must be a number above 0.*got None",
    ),
    "weight that is text": (
        lambda m: m.learn_one({"a": 1}, "x", weight="2"),
        r"the weight must be a number above 0.*got '2'",
    ),
    "weight 0": (
        lambda m: m.learn_one({"a": 1}, "x", weight=0),
        r"the weight must be a number above 0 and at most 1e\+06, got 0",
    ),
    "weight NaN": (
        lambda m: m.learn_one({"a": 1}, "x", weight=float("nan")),
        r"the weight must be a number above 0 and at most 1e\+06, got nan",
    ),
    "too few weights": (lambda m: m.learn_many([{"a": 1}] * 2, ["x", "y"], weights=[1]), r"2 numbers"),
    "k = 0": (lambda m: m.predict_one({"a": 1}, k=0), r"k must be at least 1, got 0"),
    "k = -1": (lambda m: m.predict_many([{"a": 1}], k=-1), r"k must be"),
    "k = 1.5": (lambda m: m.predict_one({"a": 1}, k=1.5), r"k must be an integer, got 1.5"),
    "beam = 0": (lambda m: m.predict_one({"a": 1}, beam=0), r"beam must be at least 1"),
    "threshold = 2": (lambda m: m.predict_one({"a": 1}, threshold=2), r"threshold must be between 0 and 1, got 2"),
    "threshold NaN": (lambda m: m.predict_one({"a": 1}, threshold=float("nan")), r"threshold must be"),
    "predict NaN": (
        lambda m: m.predict_one({"a": float("nan")}),
        r"the value of feature 'a' must be finite and at most 1e\+12 in size, got nan",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_a_bad_call_is_refused_and_changes_nothing(call: Call, message: str) -> None:
    model = trained()
    before = model.fingerprint()
    with pytest.raises((InvalidInputError, InvalidParameterError), match=message):
        call(model)
    assert model.fingerprint() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arity": 5, "max_leaves": 4}, r"arity must be at most max_leaves \(4\).*got 5"),
        ({"arity": 1}, "arity must be at least 2, got 1"),
        ({"arity": -2}, "arity must be at least 2, got -2"),
        ({"arity": True}, "arity must be an integer, got True"),
        ({"arity": 2.5}, "arity must be an integer, got 2.5"),
        ({"policy": "best"}, r"policy must be one of 'best-greedy', 'random'.*got 'best'"),
        ({"policy": None}, "policy must be a string"),
        (
            {"policy": "fixed"},
            "policy 'fixed' never extends the tree, so an empty tree would stay empty: start from a tree with from",
        ),
        ({"alpha": 1.1}, "alpha must be between 0 and 1, got 1.1"),
        ({"alpha": -0.1}, "alpha must be between 0 and 1"),
        ({"alpha": float("nan")}, "alpha must be between 0 and 1, got nan"),
        ({"alpha": "0.5"}, "alpha must be a number, got '0.5'"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
        ({"adagrad_eps": 0}, "adagrad_eps must be above 0"),
        ({"gate": 0.5}, "gate must be at least 0 and below 0.5"),
        ({"bias": "yes"}, "bias must be True or False"),
        ({"bias": np.array([1, 0])}, "bias must be True or False"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": 2**64}, "seed must be at most"),
        ({"threads": 0}, "threads must be at least 1"),
    ],
)
def test_a_bad_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        OnlinePLT(**settings)


@pytest.mark.parametrize(
    ("method", "args"),
    [("from_tree", [LabelTree.from_nested(["a", "b"])]), ("warm_start", [[{"x": 1.0}], ["a"]]), ("paper", [])],
)
def test_a_misspelt_setting_is_named_with_what_is_meant(method: str, args: list[Any]) -> None:
    make = getattr(OnlinePLT, method)
    with pytest.raises(TypeError, match=rf"^OnlinePLT\.{method} has no setting 'aritty': did you mean 'arity'\?$"):
        make(*args, aritty=2)
    with pytest.raises(TypeError, match="has no setting 'qqq': the settings are policy, alpha, .*, threads$"):
        make(*args, qqq=2)


@pytest.mark.parametrize(
    ("parents", "labels", "message"),
    [
        ([-1, 0, 0], [None, "a", "a"], "node 2: the label 'a' is already the label of node 1"),
        ([-1, 0, 0], [None, 3, np.int64(3)], "node 2: the label 3 is already the label of node 1"),
        ([-1, 0, 0], [None, "a", None], "node 2: the node has neither children nor a label"),
        ([-1, 0, 0], ["r", "a", "b"], "node 0: the node has the label 'r' and children, but only leaves have labels"),
        ([-1, 0, 3, 2], [None, "a", None, None], "node 2: the node is not below the root: its parents form a cycle"),
        ([-1, 0, 2], [None, "a", None], "node 2: the node is not below the root: its parents form a cycle"),
        ([-1, 0], [None, 1.5], "node 1: the label must be a non-empty string or an integer, got 1.5"),
        ([-1, 0], 5, "labels of a tree must be a list, with None for internal nodes, got 5"),
        ([-1], "x", "labels of a tree must be a list, with None for internal nodes, got 'x'"),
        ([[-1], [0, 1]], [None, "a"], "list of integers"),
        ([-1, 0], [None, "a", "b"], "2 parents but 3 labels"),
        ([-1, 5], [None, "a"], "node 1: the parent must be a node, 0 to 1; only node 0 is a root, got 5"),
        ([-1, -1], [None, "a"], "node 1: the parent must be a node, 0 to 1; only node 0 is a root, got -1"),
        ([0, 0], [None, "a"], "node 0: the parent must be -1, as it is the root, got 0"),
        ([-1, 0.0], [None, "a"], "list of integers"),
        ([], [], "a non-empty list of integers"),
        ([-1, 0, 0], [None, "a", ["b"]], r"node 2: the label must be a non-empty string or an integer, got \['b'\]"),
    ],
)
def test_a_bad_tree_is_refused(parents: list[int], labels: list[Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        LabelTree(parents, labels)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # errors of worker processes are pickled


def test_a_list_that_holds_itself_or_is_held_twice_is_refused() -> None:
    endless: list[Any] = ["a"]
    endless.append(endless)
    shared = ["b", "c"]
    for nested in (endless, ["a", shared, [shared]]):
        with pytest.raises(
            InvalidInputError,
            match=r"nested holds the list \[.*\] more than once, but each node has one parent",
        ):
            LabelTree.from_nested(nested)


@pytest.mark.parametrize("nested", [5, "abc", None])
def test_a_tree_of_something_else_than_lists_is_refused(nested: Any) -> None:
    with pytest.raises(InvalidInputError, match="nested must be a list"):
        LabelTree.from_nested(nested)


def test_something_else_than_a_tree_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="LabelTree.from_nested"):
        OnlinePLT.from_tree([["a"], ["b"]])  # type: ignore[arg-type]


def test_an_empty_model_answers_with_nothing() -> None:
    model = OnlinePLT()
    assert model.predict_one({"a": 1.0}) == []
    found = model.predict_many(np.ones((2, 3)))
    assert (len(found), list(found), found.indptr.tolist()) == (2, [[], []], [0, 0, 0])
    assert model.predict_many([]).indptr.tolist() == [0]
