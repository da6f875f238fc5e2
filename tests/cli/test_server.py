# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What `oplt predict --server` and `oplt learn --server` refuse before they ask a server, and the keys of examples."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest

from oplt import files
from oplt.cli._server import Keys
from oplt.files import Batch
from tests.cli.running import refused, run

URL = "http://127.0.0.1:1"  # nothing listens there


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["predict", "--server", URL, "--beam", 3], "--beam cannot be combined with --server: the server chooses"),
        (["predict", "--server", URL, "--threads", 2], "--threads cannot be combined with --server"),
        (["predict", "--server", URL, "--threshold", "tuned"], "--threshold tuned cannot be combined with --server"),
        (["predict", "--server", URL, "-k", 1001], "a server predicts at most 1,000 labels per example, got 1001"),
        (["predict", "--server", URL, "a", "b"], "one DATA is passed and no MODEL, got a and b"),
        (["predict", "--server", "localhost:8000"], "Did you mean http://localhost:8000?"),
        (["predict", "--server", "ftp://host"], "--server must be the address of a server"),
        (["predict", "--server", "http://host/v2"], "--server must be the address of a server"),
        (["predict", "m.oplt", "--token-file", "t"], "--token-file needs --server"),
        (["learn", "m.oplt", "a", "--key", "x"], "--key needs --server"),
        (["learn", "--server", URL, "a", "--out", "m"], "--out cannot be combined with --server: the server keeps the"),
        (["learn", "--server", URL, "a", "--wait", 3], "--wait cannot be combined with --server"),
        (["learn", "--server", URL, "a", "--checkpoint", 3], "--checkpoint cannot be combined with --server"),
        (["learn", "--server", URL, "a", "--force"], "--force cannot be combined with --server"),
    ],
)
def test_refused(words: list[object], says: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"text": "a", "labels": []}\n')
    at = [tmp_path / word if word == "a" and words[0] == "learn" else word for word in words]
    assert says in refused(*at, code=2, given="")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["predict"], "MODEL"),
        (["learn"], "MODEL"),
        (["learn", "m.oplt"], "DATA..."),
        (["learn", "--server", URL], "DATA..."),
    ],
)
def test_missing_arguments(words: list[object], missing: str) -> None:
    assert f"Missing argument '{missing}'." in run(*words, code=2).stderr


@pytest.mark.parametrize("command", ["predict", "learn"])
def test_a_model_is_not_data(command: str, model: Path) -> None:
    said = refused(command, "--server", URL, model, code=2)
    assert f"{model} is a model, but with --server only DATA is passed" in said


@pytest.mark.parametrize("command", ["predict", "learn"])
def test_no_server(command: str, texts: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        said = refused(command, "--server", url, texts)
    assert said.startswith(f"{url}/v1: the server does not answer")
    assert said.endswith("Check the address, and whether the server runs.")


def batch(texts: list[str], source: str, first: int = 1) -> Batch:
    numbers = np.arange(first, first + len(texts))
    return Batch(texts, [["x"]] * len(texts), None, numbers, source)


def test_keys_depend_on_the_file_up_to_the_line() -> None:
    whole = list(Keys(None, is_repeatable=True).of(batch(["a", "b", "b"], "d/f.jsonl")))
    assert len(set(whole)) == 3
    in_parts = Keys(None, is_repeatable=True)
    assert [*in_parts.of(batch(["a"], "f.jsonl")), *in_parts.of(batch(["b", "b", "c"], "f.jsonl", 2))][:3] == whole
    other = list(Keys(None, is_repeatable=True).of(batch(["A", "b", "b"], "f.jsonl")))
    assert not set(other) & set(whole)
    assert not set(Keys(None, is_repeatable=True).of(batch(["a"], "g.jsonl"))) & set(whole)
    assert not set(Keys("again", is_repeatable=True).of(batch(["a", "b"], "f.jsonl"))) & set(whole)
    twice = Keys(None, is_repeatable=True)
    assert list(twice.of(batch(["a"], "f.jsonl"))) != list(twice.of(batch(["a"], "f.jsonl")))


def test_keys_of_standard_input_are_new_in_each_run() -> None:
    first, second = (list(Keys(None, is_repeatable=False).of(batch(["a"], "standard input"))) for _ in range(2))
    assert first != second


def test_keys_of_a_matrix(features: Path) -> None:
    (found,) = files.read(features)
    keys = list(Keys(None, is_repeatable=True).of(found))
    assert len(set(keys)) == len(found)
