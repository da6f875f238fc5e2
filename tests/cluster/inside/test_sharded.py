# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A sharded model equals one process, to the bit, also when shards and the router are killed."""

from __future__ import annotations

import _thread
import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import (
    BrokenModelError,
    InvalidInputError,
    InvalidParameterError,
    ModelFormatError,
    OnlinePLT,
    OpltError,
)
from oplt.thresholds import Thresholds
from tests.local_shards import random_stream

pytestmark = pytest.mark.usefixtures("cluster")

N = 600
BATCH = 50
SETTINGS: dict[str, Any] = {"arity": 6, "max_leaves": 8}
TREE_ALONE = {**SETTINGS, "label_memory": 0}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut after a few examples."""
    monkeypatch.setattr("oplt.cluster._router._CUT_AFTER", 200)


def whole(settings: dict[str, Any], n: int = N, seed: int = 0) -> OnlinePLT:
    model = OnlinePLT(**{"history": 0, **settings})
    model.learn_many(*(part[:n] for part in random_stream(N, 200, seed)))
    return model


def learn(model: Any, begin: int = 0, end: int = N) -> None:
    X, Y = random_stream(N, 200)
    for first in range(begin, end, BATCH):
        last = min(first + BATCH, end)
        model.learn_many(X[first:last], Y[first:last])


def test_a_sharded_model_equals_one_process(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    expected = whole(SETTINGS)
    X, _ = random_stream(100, 200, seed=1)
    with ShardedPLT(2, folder=tmp_path / "sharded", **SETTINGS) as model:
        assert not model.is_cut
        learn(model)
        assert model.is_cut
        assert (model.n_examples, model.n_labels) == (expected.n_examples, expected.n_labels)
        assert list(model.predict_many(X, k=5)) == list(expected.predict_many(X, k=5))
        assert model.predict_one(X[0], threshold=0.1) == expected.predict_one(X[0], threshold=0.1)
        assert model.fingerprint() == expected.fingerprint()
        model.save(tmp_path / "one.oplt")
    assert OnlinePLT.load(tmp_path / "one.oplt").fingerprint() == expected.fingerprint()


def test_shards_are_on_both_nodes(tmp_path: Path) -> None:
    import ray

    from oplt.cluster import ShardedPLT

    with ShardedPLT(4, folder=tmp_path / "sharded", **TREE_ALONE) as model:
        learn(model)
        facts = model.shard_facts()
        assert {one["node"] for one in facts} == {one["NodeID"] for one in ray.nodes() if one["Alive"]}
        assert len({one["pid"] for one in facts}) == 4
        assert sum(sum(one["n_labels"].values()) for one in facts) == model.n_labels


def test_a_model_file_is_sharded_and_redistributed(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    expected = whole(TREE_ALONE)
    half = whole(TREE_ALONE, N // 2)
    before = half.fingerprint()
    with ShardedPLT.from_model(half, 2, folder=tmp_path / "sharded") as model:
        assert model.is_cut
        learn(model, N // 2, N // 2 + 100)
        for n_shards, end in ((3, N // 2 + 200), (1, N - 50), (None, N)):
            model.rebalance(n_shards)
            learn(model, model.n_examples, end)
        assert model.n_shards == 1
        assert model.fingerprint() == expected.fingerprint()
    assert half.fingerprint() == before


def test_a_killed_shard_comes_back(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    expected = whole(TREE_ALONE)
    X, _ = random_stream(100, 200, seed=1)
    with ShardedPLT(2, folder=tmp_path / "sharded", **TREE_ALONE) as model:
        learn(model, 0, 300)
        for end in range(350, N + 1, 50):
            os.kill(model.shard_facts()[end // 50 % 2]["pid"], signal.SIGKILL)
            learn(model, model.n_examples, end)
            if end == 400:
                model.checkpoint()
        assert model._router.shards is not None
        assert list(model.predict_many(X, k=3)) == list(expected.predict_many(X, k=3))
        assert model._router.shards.n_restarts >= 5
        assert model.fingerprint() == expected.fingerprint()


DRIVER = """
import json, sys
import ray
from oplt.cluster import ShardedPLT, _router
from tests.cluster.inside.test_sharded import N, TREE_ALONE, random_stream
folder, address, is_new = json.loads(sys.argv[1])
_router._CUT_AFTER = 200
ray.init(address=address, log_to_driver=False, logging_level="error")
model = ShardedPLT(2, folder=folder, **TREE_ALONE) if is_new else ShardedPLT.open(folder)
X, Y = random_stream(N, 200)
print(model.n_examples, flush=True)
while (n := model.n_examples) < N:
    model.learn_many(X[n:n + 10], Y[n:n + 10])
    print(model.n_examples, flush=True)
sys.stdin.readline()
"""


def test_a_killed_router_comes_back(cluster: Any, tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    folder = tmp_path / "sharded"
    for until in (100, 230, 400, N):
        argument = json.dumps([str(folder), cluster.address, until == 100])
        with subprocess.Popen(  # noqa: S603 (this test)
            [sys.executable, "-c", DRIVER, argument], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
        ) as driver:
            assert driver.stdout is not None
            reached = next((n for n in map(int, driver.stdout) if n >= until), None)
            driver.kill()
        assert reached is not None
    with ShardedPLT.open(folder) as model:
        assert model.is_cut
        assert model.n_examples == N
        assert model.fingerprint() == whole(TREE_ALONE).fingerprint()


def test_label_operations_survive_a_restart(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    expected = whole(TREE_ALONE)
    expected.labels.hide("l3")
    expected.labels.merge("l4", into="l5")
    with ShardedPLT(2, folder=tmp_path / "sharded", **TREE_ALONE) as model:
        learn(model)
        model.labels.hide("l3")
        with pytest.raises(OpltError):
            model.labels.hide("no such label")
        model.labels.merge("l4", into="l5")
    with ShardedPLT.open(tmp_path / "sharded") as model:
        assert "l4" not in list(model.labels)
        assert model.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("settings", [{"policy": "random"}, {"trees": 2}, {"max_memory": "1GB"}])
def test_what_cannot_be_distributed(tmp_path: Path, settings: dict[str, Any]) -> None:
    from oplt.cluster import ShardedPLT

    with pytest.raises(InvalidParameterError, match="can be distributed"):
        ShardedPLT(2, folder=tmp_path / "sharded", **settings)
    assert not (tmp_path / "sharded").exists()


def test_folders_are_checked(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    with pytest.raises(ModelFormatError, match="does not hold a sharded model"):
        ShardedPLT.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ModelFormatError, match="must be empty"):
        ShardedPLT(2, folder=tmp_path)
    with ShardedPLT(2, folder=tmp_path / "sharded"):
        with pytest.raises(OpltError, match="another process"):
            ShardedPLT.open(tmp_path / "sharded")
        with pytest.raises(ModelFormatError, match=r"ShardedPLT\.open"):
            ShardedPLT(2, folder=tmp_path / "sharded")


def test_an_error_changes_nothing(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    expected = whole(TREE_ALONE)
    with ShardedPLT(2, folder=tmp_path / "sharded", **TREE_ALONE) as model:
        learn(model)
        with pytest.raises(OpltError):
            model.learn_many([{"a": float("nan")}], ["l1"])
        with pytest.raises(OpltError):
            model.predict_many([{"a": 1.0}], k=-1)
        assert model.fingerprint() == expected.fingerprint()


def test_a_failed_checkpoint_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oplt.cluster import ShardedPLT, _router

    def fail(*_: Any) -> None:
        raise OSError(28, "no space left on device")

    folder = tmp_path / "sharded"
    model = ShardedPLT(2, folder=folder, **TREE_ALONE)
    learn(model, 0, 150)
    with monkeypatch.context() as broken:
        broken.setattr(_router, "write_subtrees", fail)
        with pytest.raises(OSError, match="no space"):
            learn(model, 150, 250)
    for use in (model.checkpoint, model.fingerprint, lambda: learn(model, 250, 300)):
        with pytest.raises(BrokenModelError, match=r"ShardedPLT\.open"):
            use()
    model.close()
    with ShardedPLT.open(folder) as again:
        assert 150 < again.n_examples <= 250
        assert again.is_cut
        learn(again, again.n_examples)
        assert again.fingerprint() == whole(TREE_ALONE).fingerprint()


def test_a_loaded_model_with_numpy_labels_and_texts(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    rows, Y = random_stream(N, 200)
    texts = [" ".join(row) for row in rows]
    numbers = [np.array([int(label[1:]) for label in labels], dtype=np.int64) for labels in Y]
    expected = OnlinePLT(features="text", history=0, **TREE_ALONE)
    expected.learn_many(texts[:400], numbers[:400])
    expected.save(tmp_path / "half.oplt")
    expected.learn_many(texts[400:], numbers[400:])
    with ShardedPLT.from_model(OnlinePLT.load(tmp_path / "half.oplt"), 3, folder=tmp_path / "sharded") as model:
        model.learn_many(texts[400:-1], numbers[400:-1])
        model.learn_one(texts[-1], numbers[-1].tolist())
        sizes = [sum(one["n_labels"].values()) for one in model.shard_facts()]
        assert max(sizes) < 2 * min(sizes)
        (tmp_path / "sharded" / "mine.oplt").write_text("keep this")
        assert model.fingerprint() == expected.fingerprint()
        assert (tmp_path / "sharded" / "mine.oplt").exists()
        model.thresholds = Thresholds(0.1)
        assert model.predict_one(texts[0], threshold="tuned") == expected.predict_one(texts[0], threshold=0.1)
    with pytest.raises(BrokenModelError, match="closed"):
        model.predict_one(texts[0])
    with ShardedPLT.open(tmp_path / "sharded") as model:
        assert model.thresholds == Thresholds(0.1)


def test_a_model_that_cannot_be_cut_yet(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    with pytest.raises(InvalidInputError, match="cannot be distributed yet"):
        ShardedPLT.from_model(OnlinePLT(), folder=tmp_path / "sharded")
    with pytest.raises(InvalidParameterError, match="one tree"):
        ShardedPLT.from_model(OnlinePLT(trees=2), folder=tmp_path / "sharded")
    assert not (tmp_path / "sharded").exists()
    with ShardedPLT(2, folder=tmp_path / "sharded") as model:
        assert not model.is_cut


def test_files_of_another_model_are_not_taken_over(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    folder = tmp_path / "sharded"
    with ShardedPLT(2, folder=folder, **TREE_ALONE) as model:
        learn(model, 0, 150)
    (folder / "manifest.json").rename(tmp_path / "manifest.json")
    with pytest.raises(ModelFormatError, match="must be empty"):  # its journal has examples
        ShardedPLT(2, folder=folder)
    (tmp_path / "manifest.json").rename(folder / "manifest.json")
    with ShardedPLT.open(folder) as model:
        learn(model, 150)
        assert model.fingerprint() == whole(TREE_ALONE).fingerprint()


def test_a_missing_journal_is_noticed(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    folder = tmp_path / "sharded"
    with ShardedPLT(2, folder=folder, **TREE_ALONE) as model:
        learn(model, 0, 150)
        model.checkpoint()
        learn(model, 150, 200)
    (folder / "journal.sqlite").unlink()
    for _ in range(2):
        with pytest.raises(OpltError, match=r"journal\.sqlite: the journal must have record 4, .* backup"):
            ShardedPLT.open(folder)


def test_damaged_and_missing_parts_are_named(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    folder = tmp_path / "sharded"
    with ShardedPLT(2, folder=folder, **TREE_ALONE) as model:
        learn(model, 0, 300)
    [part] = folder.glob("shard-1-*.oplt")
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    with pytest.raises(ModelFormatError, match=rf"{part.name}: .*damaged.* backup"):
        ShardedPLT.open(folder)
    part.unlink()
    with pytest.raises(OpltError, match=rf"shard 1 could not be started.*{part.name}"):
        ShardedPLT.open(folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ModelFormatError, match=r"the manifest is not valid.* backup"):
        ShardedPLT.open(folder)


def test_a_file_or_no_folder_is_reported(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    (tmp_path / "file").touch()
    for use in (ShardedPLT.open, lambda folder: ShardedPLT(2, folder=folder)):
        with pytest.raises(ModelFormatError, match=r"this is a file.*from_model"):
            use(tmp_path / "file")
    with pytest.raises(ModelFormatError, match="no such folder"):
        ShardedPLT.open(tmp_path / "nothing")


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    for folder in (None, 7, ""):
        with pytest.raises(InvalidParameterError, match="folder must be the path of a folder, got"):
            ShardedPLT(2, folder=folder)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"model must be an OnlinePLT, got 'm\.oplt'.*OnlinePLT\.load"):
        ShardedPLT.from_model("m.oplt", folder=tmp_path / "sharded")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"OnlinePLT\.from_tree.*ShardedPLT\.from_model"):
        ShardedPLT(2, folder=tmp_path / "sharded", policy="fixed")
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, ["l1"])
    with pytest.raises(InvalidInputError, match=r"after 1 examples with 1 labels: its history, of up to 1,000,000"):
        ShardedPLT.from_model(model, folder=tmp_path / "sharded")


def test_what_needs_the_model_in_one_piece_says_so(tmp_path: Path) -> None:
    from oplt.cluster import ShardedPLT

    with ShardedPLT(2, folder=tmp_path / "sharded") as model:
        with pytest.raises(AttributeError, match=r"no attribute 'explain'\..*save\(\)"):
            _ = model.explain  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
            _ = model.nothing  # type: ignore[attr-defined]
        for use in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"Use save\(\) instead"):
                use(model)
        with pytest.raises(ModelFormatError, match=r"ShardedPLT\.open"):
            OnlinePLT.load(tmp_path / "sharded")
    assert "closed" in repr(model)


def test_a_prediction_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oplt.cluster import ShardedPLT

    monkeypatch.setattr("oplt.cluster._router._PREDICTED_TOGETHER", 30)
    expected = whole(TREE_ALONE)
    X, _ = random_stream(100, 200, seed=1)
    with ShardedPLT(2, folder=tmp_path / "sharded", **TREE_ALONE) as model:
        learn(model)
        for n in (0, 1, 30, 100):
            assert list(model.predict_many(X[:n], k=3)) == list(expected.predict_many(X[:n], k=3))
        calls = []

        def interrupted(*arguments: Any) -> Any:
            calls.append(arguments)
            _thread.interrupt_main()
            time.sleep(0.2)  # Python interrupts the main thread meanwhile
            return type(model._model)._predict(model._model, *arguments)

        with monkeypatch.context() as slow:
            slow.setattr(model._model, "_predict", interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.predict_many(X, k=3)
        assert len(calls) == 1
        assert list(model.predict_many(X, k=3)) == list(expected.predict_many(X, k=3))


def test_empty_shards_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from oplt.cluster import ShardedPLT

    with ShardedPLT.from_model(whole(TREE_ALONE), 2, folder=tmp_path / "sharded") as model:
        assert not caplog.records
        model.rebalance(7)
        assert "1 of 7 shards are empty, because the root of the tree has 6 children" in caplog.text
        assert model.fingerprint() == whole(TREE_ALONE).fingerprint()
