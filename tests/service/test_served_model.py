# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A served model equals one that learned the same examples in one process, whatever happened in between."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from oplt import OnlinePLT
from oplt.errors import InvalidInputError, ModelFormatError
from oplt.labels import LabelOperation
from oplt.service.errors import BusyError, JournalError, NotFoundError, RefusedError
from oplt.service.examples import Example, decode
from oplt.service.folder import prepare_folder, start_empty
from oplt.service.served_model import ServedModel
from tests.service.running import PATIENCE, learn_all, new_folder, served, stream, twin_of, until

EXAMPLES = stream(1500)


def test_it_learns_in_order_and_answers_after_a_restart(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    with served(folder) as model:
        assert learn_all(model, EXAMPLES[:700]) == list(range(1, 701))
        assert model.model.fingerprint() == twin_of(EXAMPLES[:700]).fingerprint()
    with served(folder) as model:
        assert (model.learned, model.is_ready) == (700, True)
        learn_all(model, EXAMPLES[700:])
        assert model.model.fingerprint() == twin_of(EXAMPLES).fingerprint()
        assert [info.position for info in model.snapshots.list()] == [0, 700]


@pytest.mark.parametrize("restart", [False, True])
def test_rolling_back_returns_to_the_snapshot_and_is_replayed(tmp_path: Path, *, restart: bool) -> None:
    folder = new_folder(tmp_path)
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, EXAMPLES[:300])
        model.snapshot().result(PATIENCE)
        learn_all(model, EXAMPLES[300:600])
        (position,) = model.roll_back(300).result(PATIENCE)
        assert position == 601
        model.learner.when_learned(position).result(PATIENCE)
        assert model.model.fingerprint() == twin_of(EXAMPLES[:300]).fingerprint()
        learn_all(model, EXAMPLES[600:900])
        until(lambda: model.snapshots.at(601))
    if restart:  # without the snapshots that would make it easy
        for name in (300, 601):
            (folder / "snapshots" / f"{name:016d}.oplt").unlink()
    expected = twin_of(EXAMPLES[:300] + EXAMPLES[600:900]).fingerprint()
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == expected
        with pytest.raises(NotFoundError):
            model.roll_back(17)


def test_forgetting_erases_the_example_everywhere(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    secret = Example(features={"secret-feature": 1.0}, labels=["secret-label"])
    with served(folder) as model:
        learn_all(model, [*EXAMPLES[:200], secret, *EXAMPLES[200:300]])
        model.snapshot().result(PATIENCE)
        learn_all(model, EXAMPLES[300:400])
        (position,) = model.forget([201, 5]).result(PATIENCE)
        learn_all(model, EXAMPLES[400:500])
        expected = twin_of(EXAMPLES[:4] + EXAMPLES[5:500]).fingerprint()
        assert model.model.fingerprint() == expected
        assert model.learner.refusal(position) is None
        until(lambda: model.snapshots.at(301) is None, "the snapshot with the secret is removed")
    for path in [folder / "journal.sqlite", *(folder / "snapshots").glob("*")]:
        assert b"secret-label" not in path.read_bytes()
    with served(folder) as model:
        assert model.model.fingerprint() == expected
        with pytest.raises(NotFoundError):
            model.forget([10_000])


@pytest.mark.parametrize("keep", [(), (0,), (0, 203)])
def test_forgetting_erases_operations_on_labels_that_nothing_else_has(tmp_path: Path, keep: tuple[int, ...]) -> None:
    folder = new_folder(tmp_path)
    secret = Example(features={"a": 1.0}, labels=["secret-label"])
    known = EXAMPLES[0].labels[0]
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, [*EXAMPLES[:200], secret])
        model.change_labels(LabelOperation("hide", "secret-label")).result(PATIENCE)
        model.change_labels(LabelOperation("rename", "secret-label", "secret-name")).result(PATIENCE)
        until(lambda: model.learned == 203)
        model.snapshot().result(PATIENCE)
        model.change_labels(LabelOperation("add", "described", features={"b": 0.1})).result(PATIENCE)
        model.change_labels(LabelOperation("hide", str(known))).result(PATIENCE)
        learn_all(model, EXAMPLES[200:300])
        remove = model.snapshots.remove
        if keep:
            model.snapshots.remove = lambda _: None  # type: ignore[method-assign] # as if it were killed before
        model.forget([201]).result(PATIENCE)
        learn_all(model, EXAMPLES[300:400])
        until(lambda: model.snapshots.at(306) is not None)
        if not keep:
            until(lambda: model.snapshots.at(203) is None, "the snapshot with the secret is removed")
        kinds = [(record.kind, record.content is None) for record in model.journal.read(200, 5)]
        assert kinds == [("learn", True), ("labels", True), ("labels", True), ("labels", False), ("labels", False)]
        expected = model.model.fingerprint()
    twin = twin_of(EXAMPLES[:200])
    twin.labels.add("described", features={"b": 0.1})
    twin.labels.hide(known)
    assert twin_of(EXAMPLES[200:400], twin).fingerprint() == expected
    for info in model.snapshots.list():
        if keep and info.position not in keep:
            remove(info)
    if not keep:
        for path in (path for path in folder.rglob("*") if path.is_file()):
            assert b"secret" not in path.read_bytes(), path
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == expected
        assert "secret-name" not in model.model.labels


@pytest.mark.parametrize("keep", [(), (0,), (0, 301)])
def test_forgetting_is_replayed_from_any_snapshot(tmp_path: Path, keep: tuple[int, ...]) -> None:
    """Whether a snapshot from before the request, with the example in it, is left or not."""
    folder = new_folder(tmp_path)
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, EXAMPLES[:300])
        model.snapshot().result(PATIENCE)
        model.snapshots.remove = lambda _: None  # type: ignore[method-assign] # as if it were killed before
        model.forget([7, 100]).result(PATIENCE)
        learn_all(model, EXAMPLES[300:400])
        model.forget([8, 350]).result(PATIENCE)
        learn_all(model, EXAMPLES[400:500])
        until(lambda: model.snapshots.at(402) is not None)
    for info in model.snapshots.list():
        if keep and info.position not in (*keep, 300):
            (folder / "snapshots" / f"{info.position:016d}.oplt").unlink()
    left = [one for i, one in enumerate(EXAMPLES[:500], 1) if i not in (7, 100, 8, 349)]
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.n_examples == len(left)
        assert model.model.fingerprint() == twin_of(left).fingerprint()


@pytest.mark.parametrize("keep", [(0,), (0, 301), (0, 301, 405)])
def test_operations_on_labels_are_replayed_from_any_snapshot(tmp_path: Path, keep: tuple[int, ...]) -> None:
    folder = new_folder(tmp_path)
    first, second, third = sorted({label for one in EXAMPLES[:100] for label in one.labels})[:3]
    passing = Example(features={"a": 1.0}, labels=["passing"])
    operations = [
        LabelOperation("merge", first, second),
        LabelOperation("rename", third, "passing"),  # refused, because there is another label of that name
        LabelOperation("add", "passing"),  # has no effect
        LabelOperation("hide", "nowhere"),  # refused
    ]
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, [*EXAMPLES[:300], passing])
        model.snapshot().result(PATIENCE)
        positions = [model.change_labels(one).result(PATIENCE)[0] for one in operations]
        learn_all(model, EXAMPLES[301:400])
        assert [model.learner.refusal(one) is None for one in positions] == [True, False, True, False]
        model.snapshots.remove = lambda _: None  # type: ignore[method-assign] # as if it were killed before
        model.forget([301]).result(PATIENCE)  # without this example, all but the last would be possible
        until(lambda: model.learned == model.journal.last)
        expected = model.model.fingerprint()
        assert [one.kind for one in model.model.labels.operations] == ["merge"]
        until(lambda: model.snapshots.at(405) is not None)
    for info in model.snapshots.list():
        if info.position not in keep:
            (folder / "snapshots" / f"{info.position:016d}.oplt").unlink()
    twin = twin_of(EXAMPLES[:300])
    twin.labels.merge(first, into=second)
    assert twin_of(EXAMPLES[301:400], twin).fingerprint() == expected
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == expected


def test_a_model_without_history_refuses_to_forget(tmp_path: Path) -> None:
    path = tmp_path / "model.oplt"
    OnlinePLT(history=0).save(path)
    with served(prepare_folder(path)) as model:
        learn_all(model, EXAMPLES[:10])
        with pytest.raises(RefusedError) as refused:
            model.forget([1])
        assert refused.value.code == "no-history"


def test_a_bad_example_changes_nothing(tmp_path: Path) -> None:
    with served(new_folder(tmp_path)) as model:
        good = EXAMPLES[0]
        for bad in (
            Example(features={"a": float("nan")}, labels=["x"]),
            Example(features={"a": 1.0}, labels=[""]),
            Example(features={"a": 1.0}, labels=["x"], weight=-1),
            Example(features={"": 1.0}, labels=["x"]),
            Example(features=[("a", 1.0), ("a", 2.0)], labels=["x"]),
            Example(text="a text", labels=["x"]),
            Example(labels=["x"]),
        ):
            with pytest.raises(InvalidInputError):
                model.learn([good, bad])
        assert model.journal.last == 0
        learn_all(model, [Example(features=[("a", 1.0), (7, 2.0)], labels=[1, "x"]), Example(features={}, labels=[])])
        assert model.model.n_examples == 2


def test_texts_may_have_features(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, texts=True)
    with served(folder) as model:
        learn_all(
            model,
            [
                Example(text="heap overflow", labels=["memory"]),
                Example(text="script injection", features={"severity": 2.0}, labels=["web"], weight=0.5),
            ],
        )
        twin = OnlinePLT(features="text")
        twin.learn_one("heap overflow", ["memory"])
        twin.learn_one({"text": "script injection", "severity": 2.0}, ["web"], weight=0.5)
        assert model.model.fingerprint() == twin.fingerprint()
        with pytest.raises(InvalidInputError):
            model.learn([Example(features={"a": 1.0}, labels=["x"])])


def test_learning_never_depends_on_the_state_of_the_model(tmp_path: Path) -> None:
    """Names of features that the library takes for a mistake are learned, so that a replay never fails."""
    numbers = [Example(features=[(i, 1.0), (i + 1, 1.0)], labels=[f"l{i}"]) for i in range(20)]
    strings = [Example(features={str(i): 1.0, str(i + 1): 1.0}, labels=[f"l{i}"]) for i in range(20)]
    folder = new_folder(tmp_path)
    with served(folder, snapshot_at_end=False) as model:
        learn_all(model, numbers + strings)
        expected = model.model.fingerprint()
    with served(folder) as model:
        until(lambda: model.is_ready)
        assert model.model.fingerprint() == expected


def test_readers_do_not_wait_for_a_long_call(tmp_path: Path) -> None:
    with served(new_folder(tmp_path)) as model:
        model.learner.state()
        learn_all(model, EXAMPLES[:50])
        until(lambda: model.learner._view[0] is not None)
        view, position = model.learner._view
        model.learner._call_began = time.monotonic() - 10  # as if the learner were in a call that takes seconds
        assert model.learner.state() == (view, position)
        assert model.learner.state(at_least=position + 1)[0] is model.model
        model.learner._call_began = None
        assert model.learner.state() == (model.model, 50)


def test_a_full_queue_refuses_more(tmp_path: Path) -> None:
    with served(new_folder(tmp_path), max_pending=100) as model, model.learner._turn:  # the learner waits for its turn
        model.learn(EXAMPLES[:90]).result(PATIENCE)
        with pytest.raises(BusyError) as busy:
            model.learn(EXAMPLES[90:110])
        assert busy.value.code == "queue-full"
    assert model.model.n_examples in range(91)


def test_many_clients_and_readers_at_once(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    parts = [stream(200, seed=seed, key=f"client-{seed}") for seed in range(6)]
    stop = threading.Event()
    errors: list[BaseException] = []

    def read(model: ServedModel) -> None:
        try:
            while not stop.is_set():
                current, position = model.learner.state()
                assert current.predict_many([one.features for one in EXAMPLES[:5]]).n_examples >= position
        except BaseException as error:  # noqa: BLE001 (raised below)
            errors.append(error)

    with served(folder, snapshot_records=200) as model:
        reader = threading.Thread(target=read, args=[model])
        reader.start()
        senders = [threading.Thread(target=learn_all, args=[model, part, 7]) for part in parts]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        stop.set()
        reader.join()
        assert not errors
        records = model.journal.read(0, 5000)
        assert len(records) == 1200
        assert len({record.key for record in records}) == 1200
        twin = twin_of([decode(record.content or b"") for record in records])
        assert model.model.fingerprint() == twin.fingerprint()


def test_progressive_precision_rises(tmp_path: Path) -> None:
    with served(new_folder(tmp_path), progressive_share=1.0) as model:
        learn_all(model, EXAMPLES, batch=20)
        latest = model.monitor.latest()
        assert latest is not None
        assert 0 < latest.p5 <= latest.p1 <= 1
        assert latest.n <= 2000


def test_one_process_per_folder(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    with served(folder), pytest.raises(JournalError) as refused:
        ServedModel(folder)
    assert refused.value.code == "folder-in-use"


def test_a_replaced_model_file_is_not_ignored(tmp_path: Path) -> None:
    path = tmp_path / "model.oplt"
    twin_of(EXAMPLES[:10]).save(path)
    folder = prepare_folder(path)
    assert prepare_folder(path) == prepare_folder(folder) == folder
    with served(folder) as model:
        assert model.model.n_examples == 10
        learn_all(model, EXAMPLES[10:20])
        assert model.model.fingerprint() == twin_of(EXAMPLES[:20]).fingerprint()
    twin_of(EXAMPLES[:11]).save(path)
    with pytest.raises(RefusedError) as refused:
        prepare_folder(path)
    assert refused.value.code == "model-replaced"
    path.unlink()
    assert prepare_folder(path) == folder
    with pytest.raises(FileNotFoundError):
        prepare_folder(tmp_path / "none.oplt")
    with pytest.raises(ModelFormatError):
        prepare_folder(tmp_path)


def test_a_model_file_that_is_created_beside_the_folder_of_a_new_model_is_not_ignored(tmp_path: Path) -> None:
    path = tmp_path / "model.oplt"
    folder = start_empty(path, texts=False)
    assert prepare_folder(path) == start_empty(path, texts=False) == folder
    twin_of(EXAMPLES[:10]).save(path)
    with pytest.raises(
        RefusedError, match="was created after oplt serve --new had created model.oplt.served"
    ) as refused:
        prepare_folder(path)
    assert refused.value.code == "model-replaced"


def test_a_position_that_is_never_learned_ends_with_the_server(tmp_path: Path) -> None:
    with served(new_folder(tmp_path)) as model:
        waiting = model.learner.when_learned(5)
    with pytest.raises(Exception, match="shutting down"):
        waiting.result(PATIENCE)
