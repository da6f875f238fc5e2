# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt predict --server` and `oplt learn --server` do with a server what they do with a model file."""

from __future__ import annotations

import gzip
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from oplt import OnlinePLT
from oplt.cli import _server
from oplt.service.folder import prepare_folder
from oplt.service.served_model import ServedModel
from oplt.service.settings import ServingSettings
from oplt.service.tokens import Tokens, add_token
from tests.cli.running import at_a_terminal, json_lines, learnt, refused, run, start, write_features, write_texts
from tests.service.processes import serving
from tests.service.running import PATIENCE, new_folder, served, until


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.jsonl", 300)


@pytest.fixture
def saved(tmp_path: Path, texts: Path) -> Path:
    path = tmp_path / "tags.oplt"
    learnt([texts], features="text").save(path)
    return path


@pytest.fixture
def url(saved: Path) -> Iterator[str]:
    """Serve the model that is also in a file."""
    with served(prepare_folder(saved)) as model, serving({"tags": model}) as http:
        yield str(http.base_url)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[ServedModel]:
    with served(new_folder(tmp_path, texts=True)) as model:
        yield model


@pytest.fixture
def empty_url(empty: ServedModel) -> Iterator[str]:
    with serving({"first": empty}) as http:
        yield str(http.base_url)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-k", 3, "--to", "csv"),
        ("--threshold", 0.1, "--keep", "text"),
        ("--keep", "text", "--to", "csv", "--to-separator", "|"),
        ("--on-error", "skip", "--to", "tsv"),
    ],
)
def test_the_same_predictions(url: str, saved: Path, texts: Path, options: tuple[object, ...]) -> None:
    assert run("predict", "--server", url, texts, *options).stdout == run("predict", saved, texts, *options).stdout


def test_ways_to_name_the_model(url: str, saved: Path, texts: Path, tmp_path: Path) -> None:
    expected = run("predict", saved, texts).stdout
    for address in (f"{url}/", f"{url}/v1", f"{url}/v1/models/tags", f"{url}/v1/models/tags/"):
        assert run("predict", "--server", address, texts).stdout == expected
    run("predict", "--server", url, texts, "--out", tmp_path / "out.jsonl.gz")
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode() == expected
    said = refused("predict", "--server", f"{url}/v1/models/parts", texts)
    assert said == "the server has no model of this name. GET /v1/models lists the names."


def test_standard_input(url: str, saved: Path) -> None:
    given = "one text\nanother text\n"
    found = run("predict", "--server", url, "--format", "text", given=given).stdout
    assert found == run("predict", saved, "--format", "text", given=given).stdout
    assert len(json_lines(found)) == 2
    assert run("predict", "--server", url, "-", given="").stdout == ""


def test_only_and_none_of_these_labels(url: str, saved: Path, texts: Path, tmp_path: Path) -> None:
    label = OnlinePLT.load(saved).labels[1]
    (tmp_path / "list.txt").write_text(f"{label}\nunknown\n")
    for option in ("--allow", "--deny"):
        options = (texts, option, tmp_path / "list.txt", "-k", 3)
        assert run("predict", "--server", url, *options).stdout == run("predict", saved, *options).stdout


def test_features_and_labels_that_are_numbers(tmp_path: Path) -> None:
    data = write_features(tmp_path / "features.xmlc")
    learnt([data]).save(tmp_path / "m.oplt")
    (tmp_path / "list.txt").write_text("2\n3\n")
    with served(new_folder(tmp_path / "served_")) as model, serving({"m": model}) as http:
        url = str(http.base_url)
        done = json.loads(run("learn", "--server", url, data, "--json").stdout)
        assert (done["sent"], done["known"], done["position"], done["left_out"]) == (60, 0, 60, 0)
        model.learner.when_learned(60).result(PATIENCE)
        assert model.model.fingerprint() == learnt([data]).fingerprint()
        for options in ((), ("--allow", tmp_path / "list.txt")):
            expected = run("predict", tmp_path / "m.oplt", data, *options).stdout
            assert run("predict", "--server", url, data, *options).stdout == expected
        said = refused("predict", "--server", url, "--format", "text", given="a text\n")
        assert said == f"standard input, line 1: this is a text, but the model {url} takes features"


def test_the_same_model(empty: ServedModel, empty_url: str, texts: Path) -> None:
    found = run("learn", "--server", empty_url, texts)
    assert found.stderr.startswith(f"{empty_url} has accepted 300 examples in ")
    empty.learner.when_learned(300).result(PATIENCE)
    assert empty.model.fingerprint() == learnt([texts], features="text").fingerprint()


def test_a_command_that_is_repeated_learns_nothing_twice(empty: ServedModel, empty_url: str, texts: Path) -> None:
    lines = texts.read_text().splitlines(keepends=True)
    texts.write_text("".join(lines[:200]))
    run("learn", "--server", empty_url, texts)
    texts.write_text("".join(lines))  # it has grown
    again = run("learn", "--server", empty_url, texts, "--json")
    assert json.loads(again.stdout)["known"] == 200
    assert "200 of them it had before, which are not learned again." in again.stderr
    empty.learner.when_learned(300).result(PATIENCE)
    assert empty.journal.last == 300
    assert empty.model.fingerprint() == learnt([texts], features="text").fingerprint()
    assert json.loads(run("learn", "--server", empty_url, texts, "--json", "--key", "2").stdout)["known"] == 0
    assert empty.journal.last == 600


def test_standard_input_counts_each_time(empty: ServedModel, empty_url: str) -> None:
    line = '{"text": "a heap", "labels": ["memory"]}\n'
    for _ in range(2):
        run("learn", "--server", empty_url, "-", given=line)
    assert empty.journal.last == 2
    for _ in range(2):
        run("learn", "--server", empty_url, "-", "--key", "mine", given=line)
    assert empty.journal.last == 3


def test_an_interrupted_command(empty: ServedModel, empty_url: str, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "many.jsonl", 6000)
    empty.settings = ServingSettings(max_pending=1000)
    with empty.learner._turn:  # nothing is learned, so the server soon refuses more
        process = start("learn", "--server", empty_url, data)
        until(lambda: empty.journal.last > 0)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"which the server keeps. To send the rest, run the same command again." in said
    assert empty.journal.last < 6000
    run("learn", "--server", empty_url, data)
    empty.learner.when_learned(6000).result(PATIENCE)
    assert empty.journal.last == 6000
    assert empty.model.fingerprint() == learnt([data], features="text").fingerprint()


def test_live_input_is_sent_as_it_arrives(empty: ServedModel, empty_url: str) -> None:
    process = start("learn", "--server", empty_url, "-")
    assert process.stdin is not None
    for n in (1, 2):
        process.stdin.write(b'{"text": "a heap", "labels": ["memory"]}\n')
        process.stdin.flush()
        until(lambda: empty.journal.last == n)  # noqa: B023
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_invalid_lines(empty: ServedModel, empty_url: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "a", "labels": ["x"]}\n{"text"\n{"text": "b", "labels": ["y"]}\n')
    assert f"{path}, line 2" in refused("learn", "--server", empty_url, path)
    found = run("learn", "--server", empty_url, path, "--on-error", "skip", "--json")
    assert json.loads(found.stdout)["left_out"] == 1
    assert empty.journal.last == 2
    path.write_text('{"text": "a \\ud800", "labels": ["x"]}\n')
    assert "unpaired surrogate" in refused("learn", "--server", empty_url, path)


def test_examples_of_the_wrong_kind(empty_url: str, tmp_path: Path) -> None:
    data = write_features(tmp_path / "features.xmlc")
    for command in ("learn", "predict"):
        said = refused(command, "--server", empty_url, data)
        assert said == f"{data}, line 2: this is a row of features, but the model {empty_url} takes texts"


def test_tokens(tmp_path: Path, empty: ServedModel, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens.json"
    tokens = {scope: add_token(path, scope, [scope]) for scope in ("predict", "learn")}
    for scope, token in tokens.items():
        (tmp_path / scope).write_text(f"{token}\n")
    with serving({"first": empty}, tokens=Tokens(path)) as http:
        url = str(http.base_url)
        said = refused("predict", "--server", url, texts)
        assert said == "the server requires a valid token. Set the variable OPLT_TOKEN, or pass --token-file."
        said = refused("learn", "--server", url, texts, "--token-file", tmp_path / "predict")
        assert said.startswith("the token 'predict' does not allow this")
        assert said.endswith("The command needs a token with the scope predict or learn; see oplt token.")
        assert empty.journal.last == 0
        run("learn", "--server", url, texts, "--token-file", tmp_path / "learn")
        assert empty.journal.last == 300
        assert "does not allow this" in refused("predict", "--server", url, texts, "--token-file", tmp_path / "learn")
        monkeypatch.setenv("OPLT_TOKEN", tokens["predict"])
        assert len(json_lines(run("predict", "--server", url, texts).stdout)) == 300


def test_a_busy_server_is_waited_for(tmp_path: Path, texts: Path) -> None:
    with (
        served(new_folder(tmp_path, texts=True), max_pending=10) as model,
        serving({"m": model}) as http,
    ):
        run("learn", "--server", str(http.base_url), texts)
        assert model.journal.last == 300


def test_a_server_that_stays_busy(
    empty: ServedModel, empty_url: str, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "_PATIENCE", 1)
    empty.settings = ServingSettings(max_pending=1)
    with empty.learner._turn:  # nothing can be learned meanwhile
        httpx.post(f"{empty_url}/v1/learn", json={"text": "a", "labels": ["b"]})
        said = refused("learn", "--server", empty_url, texts)
    assert "wait to be learned" in said
    assert said.endswith("if it sends files, what the server has accepted is not learned twice.")


def test_a_follower_does_not_learn(
    empty: ServedModel, empty_url: str, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "_PATIENCE", 0)
    empty.leader = "http://127.0.0.1:9"
    said = refused("learn", "--server", empty_url, texts)
    assert said == "this server follows another one and does not learn by itself. Pass the address of its leader."
    empty.leader = None


def test_at_a_terminal(url: str, tmp_path: Path) -> None:
    code, seen = at_a_terminal("predict", "--server", url, "-k", 1, typed=b"a text\n\x04")
    assert code == 0
    assert "Type one text per line" in seen
    assert '"labels"' in seen
    many = write_texts(tmp_path / "many.jsonl", 3000, seed=5)
    code, seen = at_a_terminal("learn", "--server", url, many)
    assert code == 0
    assert "Sending" in seen


def test_serving_what_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "tags.oplt"
    said = refused("serve", missing)
    assert said.endswith("there is no such file. Add --new text, or --new features, to start with an empty model.")
    said = refused("serve", missing, "--new", "text", "--host", "0.0.0.0", code=2)  # noqa: S104 (refused)
    assert "without tokens, the server listens only on the loopback address" in said
    assert list(tmp_path.iterdir()) == []
