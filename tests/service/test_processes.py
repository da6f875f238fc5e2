# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt serve` as a process: killed at random moments, stopped, followed, promoted."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from oplt import OnlinePLT
from oplt.client import Client
from oplt.service.examples import decode
from oplt.service.journal import Journal
from tests.service.processes import Process, is_ready, process
from tests.service.running import PATIENCE, stream, twin_of, until

N_KILLS = 10


def test_learn_stop_and_start_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    examples = stream(300)
    pairs = [(one.features, one.labels) for one in examples]
    with process(tmp_path / "m.oplt", "--new", "features", log=log) as server, Client(server.url) as client:
        client.learn_many(pairs[:200], batch=50)
        assert server.stop() == 0
    assert (tmp_path / "m.oplt.served" / "snapshots" / f"{200:016d}.oplt").exists()
    with process(tmp_path / "m.oplt.served", log=log) as server, Client(server.url) as client:
        position = client.learn_many(pairs[200:])
        client.predict_one(pairs[0][0], read_after=position)
        assert client.model(fingerprint=True)["fingerprint"] == twin_of(examples).fingerprint()
    assert "Traceback" not in log.read_text()


class Load:
    """A client that learns without pause, and notes what was acknowledged."""

    def __init__(self, name: int) -> None:
        self.examples = stream(4000, seed=name, key=f"client-{name}")
        self.n_acknowledged = 0
        self.positions: dict[int, str] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, url: str) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=[url])
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self, url: str) -> None:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            while not self._stop.is_set() and self.n_acknowledged < len(self.examples):
                part = self.examples[self.n_acknowledged : self.n_acknowledged + 7]
                sent = [{"features": one.features, "labels": one.labels, "key": one.key} for one in part]
                try:
                    answer = http.post("/v1/learn", json={"examples": sent})
                    http.post("/v1/predict", json={"features": part[0].features, "k": 3})
                except httpx.TransportError:
                    return
                if answer.status_code == 200:
                    self.positions.update(zip(answer.json()["positions"], [str(one.key) for one in part], strict=True))
                    self.n_acknowledged += len(part)


@pytest.mark.slow
def test_nothing_is_lost_in_kills(tmp_path: Path) -> None:
    """Kill the server under load: learning, predictions and snapshots at once."""
    rng = random.Random(7)  # noqa: S311 (no secret)
    log, folder = tmp_path / "log", tmp_path / "m.oplt.served"
    loads = [Load(name) for name in range(3)]
    for _ in range(N_KILLS):
        server = Process(tmp_path / "m.oplt", "--new", "features", "--snapshot-records", "100", log=log)
        before = sum(load.n_acknowledged for load in loads)
        for load in loads:
            load.start(server.url)
        until(lambda n=before: sum(load.n_acknowledged for load in loads) > n, "progress")  # type: ignore[misc]
        time.sleep(rng.random() * 0.3)
        server.kill()
        for load in loads:
            load.stop()
    journal = Journal(folder / "journal.sqlite")
    records = journal.read(0, 100_000)
    journal.close()
    keys = {record.position: record.key for record in records}
    assert len(set(keys.values())) == len(keys)  # nothing is there twice
    for load in loads:
        assert {position: keys[position] for position in load.positions} == load.positions
    twin = twin_of([decode(record.content or b"") for record in records])
    with process(folder, log=log) as server, Client(server.url) as client:
        until(lambda: is_ready(server.url), "recovery")
        assert client.model(fingerprint=True)["fingerprint"] == twin.fingerprint()
        assert server.stop() == 0


def test_a_follower_equals_its_leader_and_takes_its_place(tmp_path: Path) -> None:
    log = tmp_path / "log"
    examples = stream(1000)
    pairs = [(one.features, one.labels) for one in examples]
    with process(tmp_path / "m.oplt", "--new", "features", log=log) as leader, Client(leader.url) as client:
        client.learn_many(pairs[:300])
        client.request("POST", "/snapshots")
        client.learn_many(pairs[300:400])
        arguments = [tmp_path / "copy.served", "--follow", leader.url]
        with process(*arguments, log=tmp_path / "log2") as follower, Client(follower.url, retries=0) as copy:
            client.learn_many(pairs[400:500], batch=20)
            client.request("POST", "/snapshots/300/rollback")
            client.request("POST", "/forget", json={"positions": [5, 17]})
            position = client.learn_many(pairs[500:700], batch=20)
            left = [one for i, one in enumerate(examples[:300], 1) if i not in (5, 17)] + examples[500:700]
            until(lambda: copy.model()["position"] == position, "the follower")
            expected = twin_of(left).fingerprint()
            assert client.model(fingerprint=True)["fingerprint"] == expected
            assert copy.model(fingerprint=True)["fingerprint"] == expected
            refused = httpx.post(f"{follower.url}/v1/learn", json={"features": {"a": 1.0}, "labels": ["x"]})
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "is-follower")
            assert "Send examples to its leader" in refused.text
            assert "retry-after" not in refused.headers
            follower.kill()
        client.learn_many(pairs[700:800], batch=20)
        with process(*arguments, log=tmp_path / "log2") as follower, Client(follower.url) as copy:
            position = client.learn_many(pairs[800:900], batch=20)
            until(lambda: copy.model()["position"] == position, "the follower after a crash")
            until(lambda: agreed(follower.url) >= position, "the comparison of fingerprints")
            leader.kill()
            command = [sys.executable, "-m", "oplt", "promote", follower.url]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 (our own command)
            assert copy.learn_many(pairs[900:]) == position + 100
            copy.predict_one(pairs[0][0], read_after=position + 100)
            assert copy.model(fingerprint=True)["fingerprint"] == twin_of(left + examples[700:]).fingerprint()
            assert follower.stop() == 0


def agreed(url: str) -> int:
    text = httpx.get(f"{url}/metrics").text
    return int(float(text.partition("\noplt_agreed_position{")[2].partition("} ")[2].partition("\n")[0]))


@pytest.mark.slow
def test_a_follower_that_differs_raises_an_alarm(tmp_path: Path) -> None:
    pairs = [(one.features, one.labels) for one in stream(300)]
    with (
        process(tmp_path / "m.oplt", "--new", "features", log=tmp_path / "log") as leader,
        Client(leader.url) as client,
    ):
        client.learn_many(pairs[:100])
        client.predict_one(pairs[0][0], read_after=100)
        client.request("POST", "/snapshots")
        arguments = [tmp_path / "copy.served", "--follow", leader.url]
        with process(*arguments, log=tmp_path / "log2") as follower:
            until(lambda: is_ready(follower.url))
            assert follower.stop() == 0
        with process(tmp_path / "copy.served", log=tmp_path / "log2") as astray, Client(astray.url) as copy:
            position = copy.learn_many(pairs[200:250])  # what the leader never sees
            copy.predict_one(pairs[0][0], read_after=position)
            assert astray.stop() == 0
        client.learn_many(pairs[100:200], batch=10)
        with process(*arguments, log=tmp_path / "log2") as follower:
            until(lambda: not is_ready(follower.url), "the alarm")
            assert 'oplt_diverged{model="copy"} 1.0' in httpx.get(f"{follower.url}/metrics").text
            assert "has diverged" in (tmp_path / "log2").read_text()


@pytest.mark.slow
def test_a_follower_that_was_away_for_too_long_says_what_to_do(tmp_path: Path) -> None:
    pairs = [(one.features, one.labels) for one in stream(400)]
    leading = [tmp_path / "m.oplt", "--new", "features", "--keep-journal", 10, "--keep-snapshots", 2]
    log = tmp_path / "log2"
    with process(*leading, log=tmp_path / "log") as leader, Client(leader.url) as client:
        following = [tmp_path / "copy.served", "--follow", leader.url]

        def learn(begin: int, end: int) -> None:
            client.predict_one(pairs[0][0], read_after=client.learn_many(pairs[begin:end]))
            client.request("POST", "/snapshots")

        learn(0, 100)
        with process(*following, log=log) as follower:
            until(lambda: is_ready(follower.url))
            assert follower.stop() == 0
        for begin in (100, 200, 300):
            learn(begin, begin + 100)
        until(lambda: client.request("GET", "/journal", after=399)["first"] > 101, "the retention rule")
        with (
            process(*following, log=log) as follower,
            Client(follower.url) as copy,
        ):
            until(lambda: not is_ready(follower.url), "the alarm")
            said = copy.model()["diverged"]
            assert "the leader no longer has the record after 100" in said
            assert "remove the folder of this follower to start anew" in said
            assert said in log.read_text()
            assert len(copy.predict_one(pairs[0][0])) == 5  # it still answers
            follower.stop()
        shutil.rmtree(tmp_path / "copy.served")
        with (
            process(*following, log=log) as follower,
            Client(follower.url) as copy,
        ):
            until(lambda: copy.model()["position"] == 400, "the follower")
            expected = client.model(fingerprint=True)["fingerprint"]
            assert copy.model(fingerprint=True)["fingerprint"] == expected


def test_tokens_are_required_beyond_the_loopback_address(tmp_path: Path) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "oplt", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603

    refused = run("serve", tmp_path / "m.oplt", "--new", "text", "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert (refused.returncode, "without tokens" in refused.stderr) == (2, True)
    token = run("token", tmp_path / "tokens.json", "desk", "--scope", "learn", "--scope", "predict").stdout.strip()
    taken = run("token", tmp_path / "tokens.json", "desk")
    assert (taken.returncode, "there is a token of this name" in taken.stderr) == (1, True)
    arguments = [tmp_path / "m.oplt", "--new", "text", "--tokens", tmp_path / "tokens.json"]
    with process(*arguments, log=tmp_path / "log") as server:
        with Client(server.url, token=token) as client:
            assert client.learn_one("a text", ["x"]) == 1
        assert httpx.post(f"{server.url}/v1/predict", json={"text": "a"}).status_code == 401
        run("token", tmp_path / "tokens.json", "desk", "--remove")
        assert httpx.get(f"{server.url}/v1/model", headers={"authorization": f"Bearer {token}"}).status_code == 401
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.oplt"], 1, "no such file"),
        (["."], 1, "does not hold a served model. Pass a file name, such as tags.oplt"),
        (["a.oplt", "b/a.oplt", "--new", "text"], 2, "two models are called 'a'"),
        (["a.oplt", "--tls-cert", os.devnull], 2, "belong together"),
        (["a.oplt", "b.oplt", "--follow", "http://127.0.0.1:9"], 2, "single MODEL"),
        (["a.oplt", "--follow", "http://127.0.0.1:9"], 1, "the leader cannot be followed"),
    ],
)
def test_what_cannot_be_served(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    command = [sys.executable, "-m", "oplt", "serve", *arguments]
    done = subprocess.run(  # noqa: S603 (our own command)
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=tmp_path
    )
    assert (done.returncode, message in done.stderr, "Traceback" in done.stderr) == (code, True, False), done.stderr


def test_a_server_that_cannot_listen_leaves_the_model_alone(tmp_path: Path) -> None:
    model = tmp_path / "m.oplt"
    OnlinePLT().save(model)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for arguments in ([model], [tmp_path / "new.oplt", "--new", "text"]):
            command = [sys.executable, "-m", "oplt", "serve", *map(str, arguments), "--port", str(port)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603
            assert "the server cannot listen at this address" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.oplt"]
