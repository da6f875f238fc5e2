# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A disk that is full or fails: a clear error, nothing acknowledged is lost, and learning resumes when it works again.

The system calls of a server process are made to fail by a small library in C, which a compiler is needed for.
"""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from oplt.service.examples import decode
from oplt.service.journal import Journal
from tests.service.processes import is_ready, process
from tests.service.running import stream, twin_of, until

COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="needs Linux and a C compiler"),
    pytest.mark.skipif(ctypes.util.find_library("sqlite3") is None, reason="SQLite is not a shared library"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).with_name("faults.c")
    command = [str(COMPILER), "-shared", "-fPIC", "-O1", "-o", str(path), str(source), "-ldl"]
    subprocess.run(command, check=True)  # noqa: S603 (our own source)
    return path


@pytest.mark.parametrize(("fault", "durability"), [("f", "full"), ("w", "full"), ("w", "os"), ("f", "second")])
def test_a_failing_disk(tmp_path: Path, library: Path, fault: str, durability: str) -> None:
    examples = stream(60)
    switch = tmp_path / "fault"
    environment = {"LD_PRELOAD": str(library), "OPLT_FAULT": str(switch)}
    acknowledged: dict[int, str] = {}

    def send(http: httpx.Client, begin: int, end: int) -> int:
        part = examples[begin:end]
        sent = [{"features": one.features, "labels": one.labels, "key": f"k{begin + i}"} for i, one in enumerate(part)]
        answer = http.post("/v1/learn", json={"examples": sent})
        if answer.status_code == 200:
            acknowledged.update(zip(answer.json()["positions"], [one["key"] for one in sent], strict=True))
        else:
            assert answer.json()["error"]["code"] == "journal-not-writable"
        return answer.status_code

    arguments = [tmp_path / "m.oplt", "--new", "features", "--durability", durability]
    with (
        process(*arguments, log=tmp_path / "log", environment=environment) as server,
        httpx.Client(base_url=server.url, timeout=120) as http,
    ):
        assert send(http, 0, 20) == 200
        switch.write_text(fault)
        if durability == "second":  # noticed by the next flush
            send(http, 20, 25)
            until(lambda: not is_ready(server.url), "the failure")
        else:
            assert send(http, 20, 30) == 503
        assert not is_ready(server.url)
        assert send(http, 30, 40) == 503  # refused as long as it fails
        assert http.post("/v1/predict", json={"features": examples[0].features}).status_code == 200
        n_before = len(acknowledged)
        switch.unlink()
        until(lambda: send(http, 20, 60) == 200, "recovery")
        assert is_ready(server.url)
        assert len(acknowledged) >= n_before
        server.kill()
    journal = Journal(tmp_path / "m.oplt.served" / "journal.sqlite")
    records = journal.read(0)
    journal.close()
    keys = {record.position: record.key for record in records}
    assert {position: keys[position] for position in acknowledged} == acknowledged
    assert sorted(str(key) for key in keys.values()) == sorted({f"k{i}" for i in range(60)})
    twin = twin_of([decode(record.content or b"") for record in records])
    with process(tmp_path / "m.oplt.served", log=tmp_path / "log") as server:
        until(lambda: is_ready(server.url), "recovery")
        found = httpx.get(f"{server.url}/v1/model", params={"fingerprint": True}, timeout=120).json()
        assert found["fingerprint"] == twin.fingerprint()
