# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Servers for the tests: in a thread of this process, or as the command `oplt serve`."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from oplt.service.app import make_app
from oplt.service.served_model import ServedModel
from tests.service.running import PATIENCE, until


@contextmanager
def serving(models: Mapping[str, ServedModel], **options: Any) -> Iterator[httpx.Client]:
    """Serve models in a thread; yields a client whose addresses are relative."""
    config = uvicorn.Config(make_app(models, **options), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=[[listening]])
        thread.start()
        try:
            until(lambda: server.started)
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                yield client
        finally:
            server.should_exit = True
            for model in models.values():
                model.journal.release_readers()
            thread.join()


class Process:
    """A process `oplt serve`."""

    def __init__(self, *arguments: object, environment: Mapping[str, str] | None = None, log: Path) -> None:
        self.log = log
        command = [sys.executable, "-m", "oplt", "serve", *map(str, arguments), "--port", "0"]
        with log.open("ab") as file:
            self._begin = file.tell()
            self._process = subprocess.Popen(  # noqa: S603 (our own command)
                command, stdout=file, stderr=file, env={**os.environ, **(environment or {})}
            )
        self.url = self._started()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _started(self) -> str:
        found: list[str] = []

        def has_started() -> bool:
            content = self.log.read_bytes()[self._begin :].decode(errors="replace")
            assert self._process.poll() is None, content
            found.extend(re.findall(r"Serving .* at (http\S+)", content))
            return bool(found)

        until(has_started, "the server")
        return found[0]

    def kill(self) -> None:
        """End it without warning."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def stop(self) -> int:
        """Ask it to end; returns the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)


@contextmanager
def process(*arguments: object, log: Path, **options: Any) -> Iterator[Process]:
    """Run a process, and make sure that it ends."""
    one = Process(*arguments, log=log, **options)
    try:
        yield one
    finally:
        if one._process.poll() is None:
            one.kill()


def is_ready(url: str) -> bool:
    """Check whether a server says that it is ready."""
    try:
        return httpx.get(f"{url}/readyz", timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False
