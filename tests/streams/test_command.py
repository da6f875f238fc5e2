# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt learn MODEL --from URL`, with a journal as the stream."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from oplt import InvalidParameterError, MissingPackageError, OnlinePLT
from oplt.streams import open_sink, open_source
from tests.cli.running import refused, run, start
from tests.streams.brokers import JournalFiles
from tests.streams.examples import bodies, body, empty, learned


@pytest.fixture
def journals(tmp_path: Path) -> JournalFiles:
    made = JournalFiles(tmp_path)
    made.add("in", bodies(0, 100))
    return made


def test_it_learns_to_the_end_and_says_where_it_is(journals: JournalFiles, tmp_path: Path) -> None:
    path = tmp_path / "m.oplt"
    words = ["learn", path, "--from", journals.url("in"), "--until-end"]
    result = run(*words, "--new", "features", "--json")
    values = json.loads(result.stdout)
    assert values["fingerprint"] == learned(100).fingerprint()
    assert (values["learnt"], values["stream"]["position"]) == (100, "100")
    assert "Saved at message 100: 100 messages, 100 learned; progressive P@1 " in result.stderr
    assert "Learned 100 examples, 100 in all. Saved in" in result.stderr
    journals.add("in", bodies(100, 150))
    assert json.loads(run(*words, "--new", "features", "--json").stdout)["learnt"] == 50
    assert json.loads(run(*words, "--json").stdout)["learnt"] == 0


def test_inspect_shows_the_stream(journals: JournalFiles, tmp_path: Path) -> None:
    path = empty(tmp_path)
    run("learn", path, "--from", journals.url("in"), "--until-end")
    run("learn", path, "-", given=body(features={"a": 1}, labels=["x"]))
    shown = run("inspect", path).stdout
    assert ", up to message 100\n" in shown
    assert "100: 100 learned, 1 example learned otherwise\n" in shown
    assert " predictions)\n" in shown
    values = json.loads(run("inspect", path, "--json").stdout)["stream"]
    assert (values["position"], values["n_learned"], values["n_waiting"]) == ("100", 100, 0)


def test_bad_messages(journals: JournalFiles, tmp_path: Path) -> None:
    path = empty(tmp_path)
    journals.add("in", [b"no"])
    words = ["learn", path, "--from", journals.url("in"), "--until-end", "--quiet"]
    error = refused(*words)
    assert "message 101: not JSON: a value is missing in column 1" in error
    assert OnlinePLT.load(path).n_examples == 100
    run(*words, "--dead-letters", journals.url("dead"))
    assert json.loads(journals.read("dead")[0])["position"] == "101"


def test_predictions_are_published(journals: JournalFiles, tmp_path: Path) -> None:
    path = empty(tmp_path)
    run("learn", path, "--from", journals.url("in"), "--publish", journals.url("out"), "--until-end")
    assert len(journals.read("out")) == 100


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_model_is_saved(signum: int, journals: JournalFiles, tmp_path: Path) -> None:
    path = empty(tmp_path)
    command = start("learn", path, "--from", journals.url("in"), "--checkpoint", "0.01")
    assert command.stderr is not None
    assert b"Saved at message" in command.stderr.readline()
    journals.add("in", bodies(100, 150))
    command.send_signal(signum)
    _, shown = command.communicate(timeout=60)
    assert command.returncode == 128 + signum, shown
    model = OnlinePLT.load(path)
    assert model.n_examples in (100, 150)
    assert model.fingerprint() == learned(model.n_examples).fingerprint()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--until-end"], "--until-end needs --from: it is for streams only"),
        (["--from", "journal:in", "more.jsonl"], "--from cannot be combined with DATA: more.jsonl"),
        (["--from", "journal:in", "--skip", "3"], "--skip cannot be combined with --from: the position in the model"),
        (["--from", "journal:in", "--out", "b.oplt"], "--out cannot be combined with --from: the model is updated in"),
        (["--from", "journal:in", "--server", "http://h"], "--server cannot be combined with --from"),
        (["--from", "redis://h"], "redis://h: it has no name of a stream. Pass redis://HOST/STREAM"),
        (["--from", "in.jsonl"], "in.jsonl: it has no scheme. Pass"),
        (["--from", "rabbit://me:secret@h/s"], "rabbit://…@h/s: there is no kind of stream called 'rabbit'"),
        (["--from", "journal:none"], "journal:none: there is no such journal. Pass the folder of a served model"),
        (["--from", "nats://h/S?subject=a"], "nats://h/S: nats streams have no option 'subject'. They have no options"),
    ],
)
def test_wrong_usage(words: list[str], message: str, tmp_path: Path) -> None:
    path = empty(tmp_path)
    if "--from" not in words:
        words = ["data.jsonl", *words]
    assert message in refused("learn", path, *words, code=2)


@pytest.mark.parametrize("address", ["redis:/x/tickets", "redis://127.0.0.1:1/tickets"])
def test_a_failed_start_leaves_no_file(address: str, tmp_path: Path) -> None:
    path = tmp_path / "new.oplt"
    refused("learn", path, "--from", address, "--new", "text", code=2 if address == "redis:/x/tickets" else 1)
    assert not path.exists()


def test_new_must_agree_with_the_model(journals: JournalFiles, tmp_path: Path) -> None:
    path, stream = empty(tmp_path), journals.url("in")
    assert "takes features, but --new text" in refused("learn", path, "--from", stream, "--new", "text")
    run("learn", path, "--from", stream, "--new", "features", "--until-end")


def test_fields_of_a_redis_entry() -> None:
    source = open_source("redis://localhost/tickets")
    found = source._message(b"1-0", {b"text": b"Heap overflow", b"labels": b"kernel"})
    assert json.loads(found.body) == {"text": "Heap overflow", "labels": "kernel"}
    assert source._message(b"2-0", {b"message": b"{}", b"more": b"1"}).body == b"{}"


def test_a_model_that_does_not_exist(tmp_path: Path) -> None:
    assert "Add --new text" in refused("learn", tmp_path / "m.oplt", "--from", "journal:in")


def test_another_stream(journals: JournalFiles, tmp_path: Path) -> None:
    path = empty(tmp_path)
    journals.add("other", bodies(100, 120))
    run("learn", path, "--from", journals.url("in"), "--until-end")
    words = ["learn", path, "--from", journals.url("other"), "--until-end"]
    assert "pass --other-stream" in refused(*words)
    run(*words, "--other-stream")
    assert OnlinePLT.load(path).fingerprint() == learned(120).fingerprint()


@pytest.mark.parametrize(("scheme", "package"), [("redis", "redis"), ("nats", "nats"), ("kafka", "confluent_kafka")])
def test_a_missing_package_is_named(scheme: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"oplt.streams._{scheme}", raising=False)
    with pytest.raises(MissingPackageError) as caught:
        open_source(f"{scheme}://h/s")
    assert caught.value.hint == f"Run: pip install 'oplt[{scheme}]'"


def test_the_journal_of_a_server_is_a_source_but_no_sink(tmp_path: Path) -> None:
    from oplt.service.examples import Example, encode
    from oplt.service.journal import Journal, NewRecord

    folder = tmp_path / "m.oplt.served"
    (folder / "snapshots").mkdir(parents=True)
    journal = Journal(folder / "journal.sqlite")
    contents = [
        Example(text="Heap overflow", labels=["a"]),
        Example(text="No", features={"f": 2.0}, labels=["b"], weight=3),
        Example(text="No", features=[("f", 2.0), (7, 1.0)], labels=["c"]),
    ]
    journal.append([NewRecord("learn", encode(one)) for one in contents]).result()
    path = empty(tmp_path, features="text")
    words = ["learn", path, "--from", f"journal:{folder}", "--until-end"]
    run(*words)
    twin = OnlinePLT(features="text")
    twin.learn_one("Heap overflow", ["a"])
    twin.learn_one({"text": "No", "f": 2.0}, ["b"], weight=3)
    twin.learn_one({"text": "No", "f": 2.0, 7: 1.0}, ["c"])
    assert OnlinePLT.load(path).fingerprint() == twin.fingerprint()
    journal.append([NewRecord("rollback", b"1")]).result()
    assert "record 4: the record is of the kind 'rollback'" in refused(*words, "--quiet")
    late = empty(tmp_path, "late.oplt", features="text")
    assert "record 4: " in refused("learn", late, *words[2:], "--quiet")
    assert OnlinePLT.load(late).n_examples == 0  # nothing that was undone
    with pytest.raises(InvalidParameterError, match="only be written by the server"):
        open_sink(f"journal:{folder / 'journal.sqlite'}")
    journal.trim(4).result()
    other = empty(tmp_path, "other.oplt", features="text")
    run("learn", other, "--from", f"journal:{folder}", "--until-end", code=1)
    journal.close()


def test_records_that_a_server_has_removed(tmp_path: Path) -> None:
    from oplt.service.journal import Journal, NewRecord

    path, file = empty(tmp_path), tmp_path / "j.sqlite"
    journal = Journal(file)
    journal.append([NewRecord("learn", one) for one in bodies(0, 10)]).result()
    words = ["learn", path, "--from", f"journal:{file}", "--until-end", "--quiet"]
    run(*words)
    journal.append([NewRecord("learn", one) for one in bodies(10, 20)]).result()
    journal.trim(15).result()
    assert "the records after 10 were removed before they were learned" in refused(*words)
    run(*words, "--skip-lost")
    assert OnlinePLT.load(path).n_examples == 16
    journal.close()


def test_a_journal_that_was_restored_from_an_older_copy(journals: JournalFiles, tmp_path: Path) -> None:
    path, file = empty(tmp_path), tmp_path / "in.sqlite"
    copy = file.read_bytes()
    journals.add("in", bodies(100, 150))
    words = ["learn", path, "--from", journals.url("in"), "--until-end", "--quiet"]
    run(*words)
    file.write_bytes(copy)
    assert "the journal ends with record 100, but the model has learned up to 150" in refused(*words)
