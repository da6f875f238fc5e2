# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Processes `oplt serve` on the loopback address, for the scripts of this folder."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx


class Server:
    """A process `oplt serve` with these arguments, on any free port."""

    def __init__(self, *arguments: object, log: Path) -> None:
        command = [sys.executable, "-m", "oplt", "serve", *map(str, arguments), "--port", "0"]
        with log.open("ab") as file:
            begin = file.tell()
            self._began = time.perf_counter()
            self.process = subprocess.Popen(command, stdout=file, stderr=file)
        while True:
            found = re.findall(r"Serving .* at (http\S+)", log.read_bytes()[begin:].decode(errors="replace"))
            if found:
                break
            if self.process.poll() is not None:
                raise SystemExit(log.read_bytes()[begin:].decode(errors="replace"))
            time.sleep(0.01)
        self.url = found[0]

    def seconds_to_ready(self) -> float:
        """Wait until the server is ready; returns the seconds since its start."""
        while True:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return time.perf_counter() - self._began
            except httpx.TransportError:
                pass
            time.sleep(0.005)

    def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ask it to end."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            raise SystemExit("the server did not end with 0")
