# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a consumer does with messages, on streams in memory."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from oplt import InvalidInputError, InvalidParameterError, ModelFormatError, OnlinePLT, persistence
from oplt.files import Columns
from oplt.persistence import SavedModel
from oplt.stream_state import StreamState, Waiting
from oplt.streams import Message, StreamError, StreamLearner, UnreachableError, open_source
from tests.streams.examples import ListSink, ListSource, bodies, body, empty, examples, learned


def run(path: Path, source: ListSource, **options: Any) -> OnlinePLT:
    with StreamLearner(path, source, **options) as learner:
        learner.run(until_end=True)
    return OnlinePLT.load(path)


def test_batches_do_not_matter(tmp_path: Path) -> None:
    class Slow(ListSource):
        def read(self, limit: int, wait: float) -> list[Message]:
            return super().read(min(limit, 7), wait)

    models = [
        run(empty(tmp_path, f"{n}.oplt"), source) for n, source in enumerate((ListSource(bodies()), Slow(bodies())))
    ]
    assert models[0].fingerprint() == models[1].fingerprint() == learned().fingerprint()
    assert models[0].stream == models[1].stream  # precision included


def test_publishing_changes_neither_the_model_nor_the_precision(tmp_path: Path) -> None:
    sink = ListSink()
    quiet, loud = (
        run(empty(tmp_path, name), ListSource(bodies()), publish=publish)
        for name, publish in (("1.oplt", None), ("2.oplt", sink))
    )
    assert quiet.fingerprint() == loud.fingerprint()
    assert quiet.stream == loud.stream
    assert len(sink.outputs) == 600


def test_a_prediction_comes_from_the_model_before_the_message(tmp_path: Path) -> None:
    sink = ListSink()
    run(empty(tmp_path), ListSource(bodies()), publish=sink)
    twin = OnlinePLT()
    for (x, labels), found in zip(examples(), sink.values, strict=True):
        assert list(zip(found["labels"], found["probabilities"], strict=True)) == twin.predict_one(x, k=5)
        twin.learn_one(x, labels)


def test_progressive_precision_is_that_of_the_predictions(tmp_path: Path) -> None:
    sink = ListSink()
    model = run(empty(tmp_path), ListSource(bodies()), publish=sink)
    assert model.stream is not None
    hits = sum(
        found["labels"][:1] == [label]
        for found, (_, labels) in zip(sink.values, examples(), strict=True)
        for label in labels
    )
    assert model.stream.precision(1) == pytest.approx(hits / 600)
    assert model.stream.n_scored == 600


def test_it_stops_at_a_bad_message_and_continues_when_told_to(tmp_path: Path) -> None:
    path, source = empty(tmp_path), ListSource([*bodies(0, 5), b"no", *bodies(5, 9)])
    for _ in range(2):  # it stays as it is
        with pytest.raises(InvalidInputError, match="list, message 6: not JSON"):
            run(path, source)
        model = OnlinePLT.load(path)
        assert model.fingerprint() == learned(5).fingerprint()
        assert model.stream is not None
        assert (model.stream.position, model.stream.n_scored) == ("5", 5)
    model = run(path, source, on_error="skip")
    assert model.fingerprint() == learned(9).fingerprint()
    assert model.stream is not None
    assert (model.stream.n_messages, model.stream.n_refused, model.stream.n_scored) == (10, 1, 9)


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"", "not-json"),
        (b"[]", "not-json"),
        (b'{"text": "a", "labels": ["x"]}', "model-takes-others"),
        (b'{"features": {"a": 1}}', "labels-missing"),
        (b'{"labels": ["x"]}', "text-missing"),
        (b'{"id": 1}', "text-missing"),
        (b'{"id": true, "features": {"a": 1}}', "id-not-valid"),
        (b'{"id": 1, "labels": ["x"]}', "id-unknown"),
        (b'{"features": {"a": 1}, "labels": ["x"], "weight": -1}', "weight-out-of-range"),
        (b'{"features": {"a": 1}, "labels": [""]}', "name-not-valid"),
        (b'{"features": {"a": 1e300}, "labels": ["x"]}', "value-out-of-range"),
    ],
)
def test_bad_messages(bad: bytes, code: str, tmp_path: Path) -> None:
    sink = ListSink()
    model = run(empty(tmp_path), ListSource([*bodies(0, 3), bad, *bodies(3, 6)]), dead_letters=sink)
    assert model.fingerprint() == learned(6).fingerprint()
    (letter,) = sink.values
    assert (letter["code"], letter["position"], letter["stream"]) == (code, "4", "list")
    assert letter["message"] == bad.decode()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (body(features={"a": 1}), "there are no labels, and no 'id' by which they could come later, got the fields 'f"),
        (body(labels=["x"]), "there is no input, and no 'id' of an earlier message that the labels are for"),
        (body(Body="A", Tags=["x"]), "there is neither 'labels' nor 'label', got the fields 'Body', 'Tags'"),
    ],
)
def test_a_missing_id_is_named(bad: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run(empty(tmp_path), ListSource([bad]))


def test_a_single_message_is_counted_in_the_singular(tmp_path: Path) -> None:
    told: list[str] = []
    run(empty(tmp_path), ListSource(bodies(0, 1)), tell=told.append)
    assert told[0].startswith("Saved at message 1: 1 message, 1 learned;")
    assert told[0].endswith("(1 prediction).")


def test_labels_may_come_later(tmp_path: Path) -> None:
    path, sink = empty(tmp_path), ListSink()
    late = [body(id=n, features=x) for n, (x, _) in enumerate(examples()[:10])]
    given = [body(id=n, labels=labels) for n, (_, labels) in enumerate(examples()[:10])]
    source = ListSource([*late[:6], given[2], given[0]])
    run(path, source)
    source.contents += [*late[6:], *given[3:], given[1], given[1]]
    model = run(path, source, dead_letters=sink)
    twin = OnlinePLT()
    for n in [2, 0, *range(3, 10), 1]:
        twin.learn_one(*examples()[n])
    assert model.fingerprint() == twin.fingerprint()
    assert model.stream is not None
    assert (model.stream.n_learned, model.stream.n_scored, model.stream.waiting) == (10, 10, ())
    assert [one["code"] for one in sink.values] == ["id-unknown"]


def test_the_window_is_bounded_and_saved(tmp_path: Path) -> None:
    path, sink = empty(tmp_path), ListSink()
    source = ListSource([body(id=n, features={"a": float(n + 1)}) for n in range(6)])
    model = run(path, source, window=4)
    assert model.stream is not None
    assert (len(model.stream.waiting), model.stream.n_expired) == (4, 2)
    source.contents += [body(id=n, labels=["x"]) for n in (1, 2)]
    assert run(path, source, window=4, dead_letters=sink).n_examples == 1
    assert [one["position"] for one in sink.values] == ["7"]


def test_the_bytes_of_the_window_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, told = empty(tmp_path, features="text"), list[str]()
    contents = [body(id=n, text="é" * 100) for n in range(5)]
    monkeypatch.setattr("oplt.streams._ledger._MOST_BYTES", 3 * len(contents[0]))
    source = ListSource([*contents, body(id=3, labels=["x"]), body(id=5, text="e" * 100)])
    model = run(path, source, tell=told.append)
    assert model.stream is not None
    assert [json.loads(one.message)["id"] for one in model.stream.waiting] == [2, 4, 5]
    assert "7 messages, 1 learned, 2 without labels in time" in told[-1]
    source.contents.append(body(id=6, text="e" * 3000))  # too long to wait at all
    model = run(path, source)
    assert model.stream is not None
    assert (model.stream.waiting, model.stream.n_expired) == ((), 6)


def test_an_id_may_wait_once(tmp_path: Path) -> None:
    sink = ListSink()
    contents = [body(id="a", features={"a": 1.0}), body(id="a", features={"b": 1.0}), body(id="a", labels=["x"])]
    model = run(empty(tmp_path), ListSource(contents), dead_letters=sink)
    assert [one["code"] for one in sink.values] == ["id-twice"]
    twin = OnlinePLT()
    twin.learn_one({"a": 1.0}, ["x"])
    assert model.fingerprint() == twin.fingerprint()


def test_bad_labels_leave_the_message_waiting(tmp_path: Path) -> None:
    contents = [body(id="a", features={"a": 1.0}), body(id="a", labels=[3.5]), body(id="a", labels=["x"], weight=2)]
    model = run(empty(tmp_path), ListSource(contents), dead_letters=ListSink())
    twin = OnlinePLT()
    twin.learn_one({"a": 1.0}, ["x"], weight=2)
    assert model.fingerprint() == twin.fingerprint()


def test_texts_other_names_and_features_beside_a_text(tmp_path: Path) -> None:
    contents = [body(Body="An overflow", tags=["a"]), body(Body="Passwords", tags="b")]
    columns = Columns(text="Body", labels="tags")
    model = run(empty(tmp_path, features="text"), ListSource(contents), columns=columns)
    assert model.n_labels == 2
    both = run(
        empty(tmp_path, "2.oplt", features="text"),
        ListSource([body(text="An overflow", features={"team": 1.0}, labels=["a"])]),
    )
    twin = OnlinePLT(features="text")
    twin.learn_one({"text": "An overflow", "team": 1.0}, ["a"])
    assert both.fingerprint() == twin.fingerprint()


def test_a_broker_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    class Flaky(ListSource):
        n_calls = 0

        def read(self, limit: int, wait: float) -> list[Message]:
            self.n_calls += 1
            if self.n_calls % 2 == 0:
                raise UnreachableError("stream-unreachable", "the server does not answer", where="list")
            return super().read(min(limit, 100), wait)

    told: list[str] = []
    sink = ListSink(UnreachableError("stream-unreachable", "the server does not answer", where="out"))
    model = run(empty(tmp_path), Flaky(bodies()), publish=sink, tell=told.append)
    assert model.fingerprint() == learned().fingerprint()
    assert len(sink.outputs) == 600
    assert told[0] == "out: the server does not answer. Waiting for it."
    assert "list: the server does not answer. Waiting for it." in told


def test_nothing_is_saved_before_its_outputs_are_published(tmp_path: Path) -> None:
    path, sink = empty(tmp_path), ListSink(*[StreamError("stream-refused", "no", where="out")] * 2)
    with pytest.raises(StreamError, match="out: no"):
        run(path, ListSource(bodies(0, 10)), publish=sink)
    assert OnlinePLT.load(path).n_examples == 0
    assert run(path, ListSource(bodies(0, 10)), publish=sink).n_examples == 10
    assert len(sink.outputs) == 10


def test_snapshots_and_saves_of_other_threads_have_the_right_position(tmp_path: Path) -> None:
    source = ListSource(bodies() * 4)
    with StreamLearner(empty(tmp_path), source, on_error="skip") as learner:
        thread = threading.Thread(target=learner.run, kwargs={"until_end": True})
        thread.start()
        copies = []
        while thread.is_alive():
            copies.append(learner.model.snapshot())
        thread.join()
    for copy in copies:
        assert copy.stream is not None
        assert copy.stream.n_messages == copy.n_examples
    copies[len(copies) // 2].save(tmp_path / "copy.oplt")
    assert run(tmp_path / "copy.oplt", source).fingerprint() == learner.model.fingerprint()


def test_saves_are_regular_and_the_source_is_told(tmp_path: Path) -> None:
    class Endless(ListSource):
        def read(self, limit: int, wait: float) -> list[Message]:
            found = super().read(min(limit, 10), wait)
            if not found:
                learner.stop()
            return found

    source = Endless(bodies())
    with StreamLearner(empty(tmp_path), source, every=1e-9) as learner:
        learner.run()
    assert len(source.saved) > 1
    assert source.saved[-1] == "600"


def test_a_failed_save_is_told_and_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(ListSource):
        def read(self, limit: int, wait: float) -> list[Message]:
            return super().read(min(limit, 100), wait)

    def write(model: SavedModel, target: Path) -> None:
        monkeypatch.undo()
        raise OSError(28, "No space left on device", str(target), model)

    path, told = empty(tmp_path), list[str]()
    monkeypatch.setattr(persistence, "write", write)
    model = run(path, Slow(bodies()), every=1e-9, tell=told.append)
    assert told[0] == f"{path} could not be saved: No space left on device. Next attempt in 1e-09 s."
    assert model.fingerprint() == learned().fingerprint()


def test_an_interruption_within_a_batch_cannot_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = empty(tmp_path)
    with StreamLearner(path, ListSource(bodies(0, 10))) as learner:
        monkeypatch.setattr(learner.model, "learn_one", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            learner.run(until_end=True)
        with pytest.raises(StreamError) as caught:
            learner.save()
    with pytest.raises(StreamError):
        learner.model.save(tmp_path / "other.oplt")
    assert caught.value.code == "model-partly-updated"
    assert run(path, ListSource(bodies(0, 10))).fingerprint() == learned(10).fingerprint()


@pytest.mark.parametrize(
    "address",
    [
        "kafkas://h/t?sasl.password=secret",
        "kafka://h/t?sasl.password=secret#x",
        "kafka://h/t?sasl.password=se@secret#x",
        "redis://user:pa/secret@host/s",
        "redis://user:secret@host",
    ],
)
def test_no_password_is_shown(address: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        open_source(address)
    assert "secret" not in str(caught.value)


def test_run_can_be_called_again_after_a_bad_message(tmp_path: Path) -> None:
    source = ListSource([*bodies(0, 5), b"no", *bodies(5, 9)])
    with StreamLearner(empty(tmp_path), source) as learner:
        for _ in range(3):  # none of the messages that were read with it is passed over
            with pytest.raises(InvalidInputError, match="list, message 6: not JSON"):
                learner.run(until_end=True)
            assert (learner.model.n_examples, learner.state.position) == (5, "5")


def test_a_long_dead_letter_is_cut(tmp_path: Path) -> None:
    letters = ListSink()
    run(empty(tmp_path), ListSource([b"{" + "é".encode() * 200_000, b"\xff" * 200_000]), dead_letters=letters)
    assert [one["message_bytes"] for one in letters.values] == [400_001, 200_000]
    assert max(len(one.body) for one in letters.outputs) < 150_000


@pytest.mark.parametrize("options", [{"on_error": "raise"}, {"window": -1}])
def test_options_are_checked(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        StreamLearner(empty(tmp_path), ListSource([]), **options)


@pytest.mark.parametrize(
    "streams",
    [
        {"source": "nats://h/A", "dead_letters": "redis://h/a", "publish": "redis://h/a"},
        {"source": "redis://h/a?group=x", "publish": "redis://user:password@h/a"},
        {"source": "kafka://h/a", "dead_letters": "kafka://h/a"},
        {"source": "kafka://g,h/a", "dead_letters": "kafka://h:9092,g/a"},
        {"source": "redis://h/a", "publish": "redis://h/0/a"},
        {"source": "redis://h/00/a", "publish": "valkeys://H:6379/a"},
        {"source": "journal:a.sqlite", "publish": "journal:./a.sqlite"},
    ],
)
def test_a_stream_has_one_role(streams: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="need different streams") as caught:
        StreamLearner(empty(tmp_path), **streams)  # type: ignore[arg-type]
    assert "password" not in str(caught.value)


@pytest.mark.parametrize("change", [{"position": "x", "proof": "proof"}, {"waiting": (Waiting("{}", []),)}])
def test_a_position_that_is_not_valid(change: dict[str, Any], tmp_path: Path) -> None:
    path = empty(tmp_path)
    model = OnlinePLT.load(path)
    model._stream = StreamState("list", **{"position": "1", "proof": "proof", **change})
    model.save(path)
    with pytest.raises(ModelFormatError) as caught:
        run(path, ListSource(bodies(0, 5)))
    assert caught.value.code == "model-damaged"
