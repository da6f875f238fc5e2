# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Commands do not silently change a model file that `oplt serve` has taken over, or answer without what it learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from oplt import OnlinePLT
from oplt.cli import _served
from oplt.service.examples import Example
from oplt.service.folder import SUFFIX, prepare_folder
from tests.cli.running import learnt, refused, run, write_texts
from tests.service.running import PATIENCE, learn_all, served


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.jsonl", 50)


@pytest.fixture
def model(tmp_path: Path, texts: Path) -> Path:
    """Serve a model, and correct it there."""
    path = tmp_path / "tags.oplt"
    learnt([texts], features="text", history=1000).save(path)
    with served(prepare_folder(path)) as running:
        learn_all(running, [Example(text="The badge reader is dead", labels=["building"])])
    return path


@pytest.fixture
def newest(model: Path) -> Path:
    return model.with_name("tags.oplt.served") / "snapshots" / f"{1:016d}.oplt"


def test_the_suffix_is_that_of_the_service() -> None:
    assert _served._SUFFIX == SUFFIX


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("learn MODEL DATA", "Send the examples to the server with oplt learn --server URL, or update a copy: pass "),
        ("learn MODEL --from redis://localhost/s", "Send the examples to the server with oplt learn --server URL, or "),
        ("labels MODEL add new", "Send the change to the server with POST /v1/labels, or update a copy: pass "),
        ("forget MODEL 3", "Use POST /v1/forget of the server, which forgets what it has learned, or update a copy: "),
        ("regrow MODEL", "Update a copy: pass "),
        ("tune MODEL DATA", "Update a copy: pass "),
        ("progressive DATA --from MODEL --model MODEL --force", "Update a copy: pass "),
    ],
)
def test_a_served_file_is_not_updated(words: str, instead: str, model: Path, newest: Path, texts: Path) -> None:
    before = model.read_bytes()
    given = [{"MODEL": str(model), "DATA": str(texts)}.get(word, word) for word in words.split()]
    error = refused(*given)
    assert error.startswith(f"{model}: oplt serve has taken over this model, and keeps what it has learned in ")
    assert f". {instead}" in error
    assert str(newest) in error
    assert model.read_bytes() == before


def test_what_the_newest_snapshot_lacks_is_said(model: Path, texts: Path) -> None:
    example = Example(text="The badge reader is dead", labels=["building"])
    told = "That snapshot lacks the last 2 records of the journal; to write a newer one, send POST /v1/snapshots to the"
    with served(prepare_folder(model), snapshot_at_end=False) as running:
        learn_all(running, [example, example])
        assert told in run("inspect", model).stderr
    assert told in run("inspect", model).stderr
    assert told in refused("learn", model, texts)
    with served(prepare_folder(model)) as running:
        running.learner.when_learned(3).result(PATIENCE)
    assert "lacks the last" not in run("inspect", model).stderr


def test_a_copy_is_updated_from_the_newest_snapshot(model: Path, newest: Path, texts: Path) -> None:
    copy = model.with_name("copy.oplt")
    result = run("learn", newest, texts, "--out", copy)
    assert "Note" not in result.stderr
    assert "building" in OnlinePLT.load(copy).labels


@pytest.mark.parametrize(
    "words",
    [
        "predict MODEL DATA",
        "evaluate MODEL DATA",
        "explain MODEL --text paper",
        "inspect MODEL",
        "labels MODEL",
        "tree MODEL",
        "progressive DATA --from MODEL",
        "learn MODEL DATA --out OTHER",
        "labels MODEL add new --out OTHER",
    ],
)
def test_a_note_says_what_the_file_lacks(words: str, model: Path, newest: Path, texts: Path, tmp_path: Path) -> None:
    names = {"MODEL": str(model), "DATA": str(texts), "OTHER": str(tmp_path / "other.oplt")}
    given = [names.get(word, word) for word in words.split()]
    told = f"Note: {model} was served, and what the server has learned since is in {model}.served, not in this"
    (line,) = [line for line in run(*given).stderr.splitlines() if line.startswith("Note")]
    assert line.startswith(told)
    assert line.endswith(f"the newest snapshot, {newest}.")
    assert ("--server" in line) == (given[0] == "predict")
    (tmp_path / "other.oplt").unlink(missing_ok=True)
    assert "Note" not in run(*given, "--quiet").stderr


@pytest.mark.parametrize("words", ["evaluate MODEL DATA", "explain MODEL --text x", "inspect MODEL", "labels MODEL"])
def test_json_has_no_note(words: str, model: Path, texts: Path) -> None:
    given = [{"MODEL": str(model), "DATA": str(texts)}.get(word, word) for word in words.split()]
    assert "Note" not in run(*given, "--json").stderr


def test_a_served_file_may_be_replaced(model: Path, texts: Path) -> None:
    told = f"Note: oplt serve {model} will not use the new file as long as the folder {model}.served exists"
    assert told in run("train", texts, "--model", model, "--force").stderr
    assert told in run("progressive", texts, "--model", model, "--force").stderr


def test_the_journal_of_the_server_brings_the_file_up_to_date(model: Path, newest: Path) -> None:
    run("learn", model, "--from", f"journal:{model}.served", "--until-end")
    assert OnlinePLT.load(model).fingerprint() == OnlinePLT.load(newest).fingerprint()


def test_a_folder_without_a_snapshot_is_left_from_a_start_that_failed(texts: Path, tmp_path: Path) -> None:
    path = tmp_path / "tags.oplt"
    learnt([texts], features="text").save(path)
    (tmp_path / "tags.oplt.served" / "snapshots").mkdir(parents=True)
    assert "Note" not in run("inspect", path).stderr
    run("learn", path, texts)
