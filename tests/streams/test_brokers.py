# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""With each broker: messages are learned once and in order, and what is published is there."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import pytest

from oplt import InvalidInputError, OnlinePLT
from oplt.streams import Output, StreamError, StreamLearner, UnreachableError, open_sink, open_source
from tests.streams.brokers import Broker, KafkaBroker, NatsBroker, RedisBroker
from tests.streams.examples import ListSource, bodies, body, empty, learned


@pytest.fixture
def stream(broker: Broker) -> str:
    """Make a new, empty stream."""
    name = f"s{uuid.uuid4().hex[:12]}"
    broker.create(name)
    return name


def run(path: Path, url: str, **options: object) -> OnlinePLT:
    with StreamLearner(path, url, **options) as learner:  # type: ignore[arg-type]
        learner.run(until_end=True)
    return OnlinePLT.load(path)


def test_the_model_equals_one_that_learned_otherwise(broker: Broker, stream: str, tmp_path: Path) -> None:
    broker.add(stream, bodies())
    model = run(empty(tmp_path), broker.url(stream))
    assert model.fingerprint() == learned().fingerprint()
    assert model.stream is not None
    assert model.stream.n_messages == model.stream.n_learned == 600


def test_it_continues_where_the_file_was_saved(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    for begin, end in [(0, 250), (250, 251), (251, 600)]:
        broker.add(stream, bodies(begin, end))
        assert run(path, broker.url(stream)).fingerprint() == learned(end).fingerprint()
    assert run(path, broker.url(stream)).n_examples == 600


def test_two_consumers_are_replicas(broker: Broker, stream: str, tmp_path: Path) -> None:
    broker.add(stream, bodies(0, 300))
    one, other = empty(tmp_path, "1.oplt"), empty(tmp_path, "2.oplt")
    run(one, broker.url(stream))
    broker.add(stream, bodies(300, 600))
    models = [run(path, broker.url(stream)) for path in (one, other)]
    positions = {model.stream.position for model in models if model.stream}
    assert len(positions) == 1
    assert models[0].fingerprint() == models[1].fingerprint() == learned().fingerprint()


def test_bad_messages_go_to_the_dead_letters_with_the_reason(broker: Broker, stream: str, tmp_path: Path) -> None:
    dead = f"{stream}dead"
    broker.create(dead)
    broker.add(stream, [*bodies(0, 5), b"{", b"\xff", body(features={"a": "b"}, labels=["x"]), *bodies(5, 9)])
    model = run(empty(tmp_path), broker.url(stream), dead_letters=broker.url(dead))
    assert model.fingerprint() == learned(9).fingerprint()
    found = [json.loads(one) for one in broker.read(dead)]
    assert [one["code"] for one in found] == ["not-json", "not-utf-8", "value-not-a-number"]
    assert found[0]["message"] == "{"
    assert found[1]["message_base64"] == "/w=="
    assert "column 1" in found[0]["reason"]
    assert len({one["position"] for one in found}) == 3


def test_predictions_are_published_and_labels_may_come_later(broker: Broker, stream: str, tmp_path: Path) -> None:
    out = f"{stream}out"
    broker.create(out)
    broker.add(stream, [*bodies(0, 50), body(id="q", features={"1": 1.0})])
    path = empty(tmp_path)
    before = run(path, broker.url(stream), publish=broker.url(out))
    assert before.n_examples == 50
    found = [json.loads(one) for one in broker.read(out)]
    assert len(found) == 51
    assert found[-1]["id"] == "q"
    assert before.predict_one({"1": 1.0}, k=5) == list(
        zip(found[-1]["labels"], found[-1]["probabilities"], strict=True)
    )
    broker.add(stream, [body(id="q", labels=["late"])])
    after = run(path, broker.url(stream))
    before.learn_one({"1": 1.0}, ["late"])
    assert after.fingerprint() == before.fingerprint()


def test_a_repetition_after_a_crash_is_dropped_or_recognizable(broker: Broker, stream: str) -> None:
    sink = open_sink(broker.url(stream))
    outputs = [Output(str(n), b"%d" % n, f"s/{n}") for n in range(5)]
    sink.publish(outputs[:3])
    sink.publish(outputs)
    sink.close()
    found = broker.read(stream)
    n_repeated = 3 if isinstance(broker, KafkaBroker) else 0
    assert len(found) == 5 + n_repeated
    assert list(dict.fromkeys(found)) == [b"0", b"1", b"2", b"3", b"4"]


def remove(broker: Broker, stream: str, n: int) -> None:
    """Remove the first messages."""
    if isinstance(broker, RedisBroker):
        broker.client().xtrim(stream, maxlen=broker.client().xlen(stream) - n, approximate=False)
    elif isinstance(broker, NatsBroker):
        first = broker.call(lambda jetstream: jetstream.stream_info(stream)).state.first_seq
        broker.call(lambda jetstream: jetstream.purge_stream(stream, seq=first + n))


@pytest.mark.parametrize("broker", ["redis", "nats"], indirect=True)
def test_messages_that_were_removed_before_they_were_learned_are_an_error(
    broker: Broker, stream: str, tmp_path: Path
) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 100))
    run(path, broker.url(stream))
    broker.add(stream, bodies(100, 200))
    remove(broker, stream, 100)  # what was learned: nothing is lost
    broker.add(stream, bodies(200, 300))
    with StreamLearner(path, broker.url(stream)) as learner:
        remove(broker, stream, 1)
        with pytest.raises(StreamError) as caught:
            learner.run(until_end=True)
    assert caught.value.code == "stream-messages-lost"
    assert OnlinePLT.load(path).n_examples == 100
    model = run(path, broker.url(stream), skip_lost=True)
    assert model.n_examples == 299
    assert run(path, broker.url(stream)).n_examples == 299


@pytest.mark.parametrize("broker", ["redis", "nats"], indirect=True)
def test_removing_what_was_learned_does_no_harm(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 100))
    run(path, broker.url(stream))
    broker.add(stream, bodies(100, 200))
    remove(broker, stream, 100)
    assert run(path, broker.url(stream)).fingerprint() == learned(200).fingerprint()


@pytest.mark.parametrize("broker", ["redis", "nats"], indirect=True)
def test_a_single_deleted_message_is_an_error(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    run(path, broker.url(stream))
    broker.add(stream, bodies(10, 20))
    if isinstance(broker, RedisBroker):
        broker.client().xdel(stream, broker.client().xrange(stream)[15][0])
    elif isinstance(broker, NatsBroker):
        broker.call(lambda jetstream: jetstream.delete_msg(stream, 16))
    with pytest.raises(StreamError, match="has lost message 16,|deleted"):
        run(path, broker.url(stream))
    assert run(path, broker.url(stream), skip_lost=True).n_examples == 19


@pytest.mark.parametrize("broker", ["redis", "nats"], indirect=True)
def test_deleted_messages_at_the_end_are_an_error(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    run(path, broker.url(stream))
    broker.add(stream, bodies(10, 12))
    if isinstance(broker, RedisBroker):
        broker.client().xdel(stream, *[one for one, _ in broker.client().xrange(stream)[10:]])
    elif isinstance(broker, NatsBroker):
        for sequence in (11, 12):
            broker.call(lambda jetstream, n=sequence: jetstream.delete_msg(stream, n))  # type: ignore[misc]
    with pytest.raises(StreamError, match="has lost messages 11 to 12,|deleted"):
        run(path, broker.url(stream))
    with StreamLearner(path, broker.url(stream), skip_lost=True) as learner:
        learner.run(until_end=True)
        broker.add(stream, bodies(10, 15))
        learner.run(until_end=True)
        assert learner.model.fingerprint() == learned(15).fingerprint()


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
@pytest.mark.parametrize("retention", ["interest", "workqueue"])
def test_a_nats_stream_that_removes_messages(broker: Broker, retention: str) -> None:
    assert isinstance(broker, NatsBroker)
    name = f"s{uuid.uuid4().hex[:12]}"
    broker.call(lambda jetstream: jetstream.add_stream(name=name, subjects=[name], retention=retention))
    source = open_source(broker.url(name))
    with pytest.raises(StreamError, match=f"got the retention policy {retention}") as caught:
        source.open("", "")
    source.close()
    assert caught.value.code == "stream-not-kept"


@pytest.mark.parametrize("broker", ["redis", "nats"], indirect=True)
def test_a_stream_that_was_made_anew_is_an_error(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    run(path, broker.url(stream))
    if isinstance(broker, RedisBroker):
        broker.client().delete(stream)
    elif isinstance(broker, NatsBroker):
        broker.call(lambda jetstream: jetstream.delete_stream(stream))
        broker.create(stream)
    broker.add(stream, bodies(0, 30))
    with pytest.raises(StreamError, match="created again"):
        run(path, broker.url(stream))


def test_another_stream_is_refused_unless_it_is_wanted(broker: Broker, stream: str, tmp_path: Path) -> None:
    path, other = empty(tmp_path), f"{stream}other"
    broker.create(other)
    broker.add(stream, bodies(0, 10))
    broker.add(other, bodies(10, 20))
    run(path, broker.url(stream))
    with pytest.raises(InvalidInputError) as caught:
        run(path, broker.url(other))
    assert caught.value.code == "stream-of-another-name"
    assert run(path, broker.url(other), other_stream=True).fingerprint() == learned(20).fingerprint()
    assert run(path, broker.url(other), other_stream=True).n_examples == 20


@pytest.mark.parametrize("scheme", ["redis", "nats", "kafka"])
def test_a_broker_that_is_not_there(scheme: str) -> None:
    source = open_source(f"{scheme}://127.0.0.1:1/stream")
    with pytest.raises(UnreachableError) as caught:
        source.open("", "")
    source.close()
    assert caught.value.where == f"{scheme}://127.0.0.1:1/stream"


def test_sinks_are_checked_at_the_start_without_publishing(broker: Broker, stream: str, tmp_path: Path) -> None:
    out = f"{stream}out"
    broker.create(out)
    broker.add(stream, bodies(0, 3))
    for n in range(2):
        run(empty(tmp_path, f"{n}.oplt"), broker.url(stream), dead_letters=broker.url(out))
    assert broker.read(out) == []


@pytest.mark.parametrize("scheme", ["redis", "nats", "kafka"])
def test_a_sink_that_is_not_there(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("confluent_kafka" if scheme == "kafka" else scheme)
    monkeypatch.setattr(f"oplt.streams._{scheme}._TIMEOUT", 1.0)
    url = f"{scheme}://127.0.0.1:1/stream"
    with pytest.raises(UnreachableError, match=url):
        StreamLearner(empty(tmp_path), ListSource(bodies(0, 1)), dead_letters=url)


@pytest.mark.parametrize(
    ("broker", "name", "code"),
    [
        ("redis", "string", "stream-refused"),
        ("nats", "none", "stream-not-found"),
        ("nats", "STREAM?subject=other", "stream-address-not-valid"),
        ("kafka", "STREAM?partition=7", "stream-not-found"),
    ],
    indirect=["broker"],
)
def test_a_sink_that_cannot_be_written(broker: Broker, stream: str, name: str, code: str) -> None:
    if isinstance(broker, RedisBroker):
        broker.client().set("string", "not a stream")
    sink = open_sink(broker.url("").partition("?")[0] + name.replace("STREAM", stream))
    with pytest.raises(StreamError) as caught:
        sink.check()
    sink.close()
    assert caught.value.code == code


@pytest.mark.parametrize("broker", ["redis"], indirect=True)
def test_a_user_who_may_not_publish(broker: Broker, stream: str) -> None:
    assert isinstance(broker, RedisBroker)
    broker.client().execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection")
    sink = open_sink(broker.url(stream).replace("//", "//reader:secret@"))
    with pytest.raises(StreamError, match="refuses a command.*xadd"):
        sink.check()
    sink.close()


@pytest.mark.parametrize("broker", ["kafka"], indirect=True)
def test_a_topic_with_several_partitions_needs_a_choice(broker: Broker, stream: str) -> None:
    assert isinstance(broker, KafkaBroker)
    for options, code in [("", "stream-not-ordered"), ("?partition=7", "stream-not-found")]:
        source = open_source(broker.url(stream).partition("?")[0] + options)
        with pytest.raises(StreamError) as caught:
            source.open("", "")
        source.close()
        assert caught.value.code == code


def test_a_setting_that_librdkafka_does_not_know() -> None:
    source = open_source("kafka://127.0.0.1:1/stream?grop=oplt")
    with pytest.raises(StreamError, match='no setting of librdkafka.*got No such configuration property: "grop"'):
        source.open("", "")


@pytest.mark.parametrize("broker", ["kafka"], indirect=True)
def test_another_message_at_the_offset_is_noticed(broker: Broker, stream: str, tmp_path: Path) -> None:
    assert isinstance(broker, KafkaBroker)
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    run(path, broker.url(stream))
    other = KafkaBroker(tmp_path)
    other.start()
    try:
        other.add(stream, bodies(1, 20))
        with pytest.raises(StreamError, match="message 9 is not the one"):
            run(path, other.url(stream))
    finally:
        other.kill()


@pytest.mark.parametrize("broker", ["kafka"], indirect=True)
def test_a_topic_that_ends_before_the_position(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    run(path, broker.url(stream))
    other = KafkaBroker(tmp_path)
    other.start()
    try:
        other.add(stream, bodies(10, 15))
        with pytest.raises(StreamError, match="the topic ends before 5, but the model has learned up to 9: it was cr"):
            run(path, other.url(stream))
        assert run(path, other.url(stream), skip_lost=True).fingerprint() == learned(15).fingerprint()
        other.add(stream, bodies(15, 20))
        assert run(path, other.url(stream)).fingerprint() == learned(20).fingerprint()
    finally:
        other.kill()


def fill(broker: Broker, stream: str) -> None:
    """Add eight messages, so many bytes that the mock broker, which keeps 5 MB, removes the first ones."""
    broker.add(stream, [body(features={"a": 1.0}, labels=["x"], more="x" * 900_000) for _ in range(8)])


@pytest.mark.parametrize("broker", ["kafka"], indirect=True)
def test_messages_that_kafka_removed_before_the_start(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    run(path, broker.url(stream))
    fill(broker, stream)
    with pytest.raises(StreamError, match="has lost message"):
        StreamLearner(path, broker.url(stream))
    assert 10 < run(path, broker.url(stream), skip_lost=True).n_examples < 18


@pytest.mark.parametrize("broker", ["kafka"], indirect=True)
def test_messages_that_kafka_removes_while_they_are_read(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 10))
    url = f"{broker.url(stream)}&queued.max.messages.kbytes=1"  # so that no more than these are read in advance
    learners = [StreamLearner(path, url, skip_lost=skip, every=0) for skip in (False, True)]
    time.sleep(0.5)
    fill(broker, stream)
    with learners[1] as learner:
        learner.run(until_end=True)
        assert learner.state.position == "17"
        assert learner.state.n_learned < 18
    with learners[0] as learner, pytest.raises(StreamError, match="has lost message"):
        learner.run(until_end=True)


@pytest.mark.parametrize("broker", ["redis", "kafka"], indirect=True)
def test_the_broker_is_told_the_position_if_a_group_is_named(broker: Broker, stream: str, tmp_path: Path) -> None:
    broker.add(stream, bodies(0, 10))
    url = broker.url(stream)
    if isinstance(broker, RedisBroker):
        model = run(empty(tmp_path), f"{url}?group=oplt")
        (group,) = broker.client().xinfo_groups(stream)
        assert model.stream is not None
        assert group["last-delivered-id"].decode() == model.stream.position
    elif isinstance(broker, KafkaBroker):
        from confluent_kafka import Consumer, TopicPartition

        run(empty(tmp_path), f"{url}&group=watched")
        consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "watched", "log_level": 0})
        assert consumer.committed([TopicPartition(stream, 0)], timeout=10)[0].offset == 10
        consumer.close()


@pytest.mark.parametrize("broker", ["redis"], indirect=True)
def test_a_sink_of_redis_must_not_have_messages_of_others(broker: Broker, stream: str) -> None:
    assert isinstance(broker, RedisBroker)
    broker.add(stream, [b"of somebody else"])
    sink = open_sink(broker.url(stream))
    with pytest.raises(StreamError, match="has other messages"):
        sink.publish([Output("5", b"5", "s/5")])
    sink.close()


def outputs(begin: int, end: int) -> list[Output]:
    return [Output(str(n), body(position=str(n)), f"s/{n}") for n in range(begin, end)]


@pytest.mark.parametrize("broker", ["redis"], indirect=True)
def test_outputs_that_were_removed_are_not_published_again(broker: Broker, stream: str) -> None:
    assert isinstance(broker, RedisBroker)
    sink = open_sink(broker.url(stream))
    sink.publish(outputs(0, 5))
    broker.client().xtrim(stream, maxlen=3, approximate=False)
    broker.client().xdel(stream, "4-0")
    sink.publish(outputs(0, 6))
    assert [json.loads(one)["position"] for one in broker.read(stream)] == ["2", "4", "5"]
    broker.client().xtrim(stream, maxlen=0)
    sink.publish(outputs(3, 7))
    assert [json.loads(one)["position"] for one in broker.read(stream)] == ["6"]
    broker.add(stream, [b"of somebody else"])
    with pytest.raises(StreamError, match="has other messages"):
        sink.publish(outputs(4, 5))
    sink.close()


@pytest.mark.parametrize("broker", ["redis"], indirect=True)
def test_a_redis_stream_that_does_not_exist(broker: Broker, stream: str, tmp_path: Path) -> None:
    broker.add(stream, bodies(0, 3))
    for name in (f"{stream}x", f"1/{stream}"):
        with pytest.raises(StreamError, match="there is no stream called") as caught:
            run(empty(tmp_path), broker.url(name))
        assert caught.value.code == "stream-not-found"


@pytest.mark.parametrize("broker", ["redis"], indirect=True)
def test_the_database_is_part_of_the_name(broker: Broker, stream: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    broker.add(stream, bodies(0, 3))
    assert run(path, broker.url(f"0/{stream}")).n_examples == 3
    assert run(path, broker.url(stream)).n_examples == 3
    with pytest.raises(InvalidInputError, match=f"'redis 0/{stream}'.*'redis 1/{stream}'"):
        run(path, broker.url(f"1/{stream}"))
    with pytest.raises(StreamError, match="must be the number of a database, got 'one'"):
        open_source(broker.url(f"one/{stream}"))
