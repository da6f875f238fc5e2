# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A request must arrive in time; everything else may take as long as it takes."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oplt.service.errors import BusyError
from oplt.service.served_model import ServedModel
from tests.service.processes import serving
from tests.service.running import PATIENCE, new_folder, served


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ServedModel]:
    with served(new_folder(tmp_path, texts=True)) as one:
        yield one


def test_a_slow_request_ends(model: ServedModel) -> None:
    with (
        serving({"tags": model}, timeout=0.3) as http,
        socket.create_connection(("127.0.0.1", http.base_url.port or 0)) as own,
    ):
        own.sendall(
            b"POST /v1/learn HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: 50\r\n\r\n{"
        )
        own.settimeout(PATIENCE)
        assert own.recv(100).startswith(b"HTTP/1.1 408")


def test_a_request_that_trickles_in_ends(model: ServedModel) -> None:
    with (
        serving({"tags": model}, timeout=0.5) as http,
        socket.create_connection(("127.0.0.1", http.base_url.port or 0)) as own,
    ):
        own.sendall(
            b"POST /v1/learn HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: 5000\r\n\r\n{"
        )
        own.settimeout(0.1)
        answer = b""
        for _ in range(PATIENCE * 10):
            try:
                answer = own.recv(100)
                break
            except TimeoutError:
                own.sendall(b" ")
        assert answer.startswith(b"HTTP/1.1 408")


def test_only_the_arrival_of_a_request_is_limited(model: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an answer that takes long nor a stream that has to wait because the server is busy is a slow request."""
    fingerprint, learn = model.fingerprint, model.learn
    is_busy_until = time.monotonic() + 0.8

    def slow() -> tuple[int, str]:
        time.sleep(0.6)
        return fingerprint()

    def busy(*arguments: Any, **options: Any) -> Any:
        if time.monotonic() < is_busy_until:
            raise BusyError("queue-full", "many examples wait to be learned")
        return learn(*arguments, **options)

    monkeypatch.setattr(model, "fingerprint", slow)
    monkeypatch.setattr(model, "learn", busy)
    line = b'{"text": "a", "labels": ["b"]}\n'

    def lines() -> Iterator[bytes]:
        yield line * 500
        yield line

    with serving({"tags": model}, timeout=0.3) as http:
        ndjson = {"content-type": "application/x-ndjson"}
        answer = http.post("/v1/learn/stream", content=lines(), headers=ndjson)
        assert (answer.status_code, answer.json()["n_examples"]) == (200, 501)
        assert http.get("/v1/model", params={"fingerprint": True}).status_code == 200
