# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The tree over HTTP, and one label in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from oplt import OnlinePLT
from oplt.browsing import Browser
from oplt.service.folder import prepare_folder
from oplt.service.served_model import ServedModel
from tests.service.processes import serving
from tests.service.running import learn_all, new_folder, served, stream, until


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def change(http: httpx.Client, **operation: Any) -> None:
    assert http.post("/v1/labels", json=operation).json()["applied"]


def test_the_tree_can_be_walked(tmp_path: Path) -> None:
    with served(new_folder(tmp_path)) as model, serving({"tags": model}) as http:
        learn_all(model, stream(800))
        root = http.get("/v1/tree").json()
        assert root == http.get("/v1/models/tags/tree", params={"tree": 0, "node": 0}).json()
        assert (root["n_trees"], root["tree"], root["node"], root["parent"], root["label"]) == (1, 0, 0, None, None)
        assert root["n_labels"] == model.model.n_labels
        labels, nodes = [], [0]
        for node in nodes:  # grows while it is walked through
            view = http.get("/v1/tree", params={"node": node}).json()
            assert view["path"][-1]["node"] == node
            assert view["n_children"] == len(view["children"])
            labels += [view["label"]] if view["label"] is not None else []
            nodes += [child["node"] for child in view["children"]]
            assert sum(child["n_labels"] for child in view["children"]) == view["n_labels"] - (
                view["label"] is not None
            )
        assert sorted(labels) == sorted(model.model.labels)
        page = http.get("/v1/tree", params={"offset": 1, "limit": 2}).json()
        assert page["children"] == root["children"][1:3]
        assert page["n_children"] == root["n_children"]


def test_one_label(tmp_path: Path) -> None:
    with served(new_folder(tmp_path, texts=True)) as model, serving({"tags": model}) as http:
        examples = [("the cat purrs", "cat"), ("the dog barks", "dog"), ("the cow moos", "cow")]
        many = [{"text": text, "labels": [label]} for text, label in examples * 3]
        position = http.post("/v1/learn", json={"examples": many}).json()["position"]
        model.when_learned(position).result(60)
        change(http, kind="hide", label="dog")
        change(http, kind="rename", label="dog", other="hound")
        change(http, kind="add", label="bee", text="it hums")
        found = http.get("/v1/labels/one", params={"label": "dog"}).json()
        assert found["label"] == "hound"
        assert found["aliases"] == ["dog"]
        assert found["hidden"]
        assert (found["n_examples"], found["first"], found["last"]) == (3, 1, 7)
        assert {name for name, _ in found["words"]} >= {"dog", "barks"}
        assert all(strength > 0 for _, strength in found["words"])
        assert {name for name, _ in found["against"]} >= {"cat", "cow"}
        assert [(one["kind"], one["other"], one["n_examples"]) for one in found["operations"]] == [
            ("hide", None, 9),
            ("rename", "hound", 9),
        ]
        ((tree, nodes),) = [(one["tree"], one["nodes"]) for one in found["path"]]
        leaf = http.get("/v1/tree", params={"tree": tree, "node": nodes[-1]}).json()
        assert leaf["label"] == "hound"
        assert [step["node"] for step in leaf["path"]] == nodes
        assert leaf["path"][-1]["title"] == "hound"
        assert leaf["words"] == found["words"]
        new = http.get("/v1/labels/one", params={"label": "bee"}).json()
        assert (new["path"], new["words"], new["n_examples"], new["first"]) == ([], [], 0, None)
        change(http, kind="remove", label="cow")
        assert error_of(http.get("/v1/labels/one", params={"label": "cow"})) == (404, "no-such-label")
        assert {child["label"] for child in http.get("/v1/tree").json()["children"]} == {"cat", "hound"}


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    model = OnlinePLT(trees=2)
    model.learn_many([{3: 1.0}, {4: 1.0}], [7, 8])
    model.save(tmp_path / "numbers.oplt")
    with served(prepare_folder(tmp_path / "numbers.oplt")) as one, serving({"tags": one}) as http:
        found = http.get("/v1/labels/one", params={"label": "7"}).json()
        assert found["label"] == 7
        assert [path["tree"] for path in found["path"]] == [0, 1]
        assert found["words"][0][0] == 3
        assert http.get("/v1/tree", params={"tree": 1}).json()["n_trees"] == 2
        assert error_of(http.get("/v1/tree", params={"tree": 2})) == (404, "no-such-node")


def test_an_empty_model(tmp_path: Path) -> None:
    with served(new_folder(tmp_path)) as model, serving({"tags": model}) as http:
        root = http.get("/v1/tree").json()
        assert (root["n_labels"], root["n_children"], root["children"], root["words"]) == (0, 0, [], [])
        assert error_of(http.get("/v1/tree", params={"node": 5})) == (404, "no-such-node")
        assert error_of(http.get("/v1/labels/one", params={"label": "x"})) == (404, "no-such-label")
        assert error_of(http.get("/v1/labels/one")) == (400, "request-not-valid")


def test_answers_follow_the_model(tmp_path: Path) -> None:
    """What is kept between requests never shows a tree of before, also after a rollback."""
    examples = stream(300)
    with served(new_folder(tmp_path)) as model, serving({"tags": model}) as http:

        def expect_the_present() -> None:
            view, browser = http.get("/v1/tree").json(), Browser(model.model)
            assert view["n_labels"] == model.model.n_labels
            assert [child["node"] for child in view["children"]] == [child.node for child in browser.node().children]

        learn_all(model, examples[:100])
        expect_the_present()
        snapshot = http.post("/v1/snapshots").json()["position"]
        learn_all(model, examples[100:])
        expect_the_present()
        assert http.post(f"/v1/snapshots/{snapshot}/rollback").json()["applied"]
        until(lambda: model.model.n_examples == 100)
        expect_the_present()


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", "a/b?c#d", "\u202eevil", "x" * 500])
def test_hostile_names(tmp_path: Path, label: str) -> None:
    with served(new_folder(tmp_path, texts=True)) as model, serving({"tags": model}) as http:
        answer = http.post("/v1/learn", json={"text": "one word", "labels": [label, "other"]})
        wait_for(model, answer.json()["position"])
        assert http.get("/v1/labels/one", params={"label": label}).json()["label"] == label
        root = http.get("/v1/tree")
        assert root.headers["content-type"] == "application/json"
        assert {child["label"] for child in root.json()["children"]} == {label, "other"}


def wait_for(model: ServedModel, position: int) -> None:
    model.when_learned(position).result(60)
