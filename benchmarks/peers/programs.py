# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Run a system that is a program of its own, and measure its process.

In Linux, the peak memory of a program includes that of the process that started it, at that time. So a worker
imports nothing large before it runs a program.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finished:
    """The result of a run of a program."""

    output: str
    cpu_s: float
    peak_mb: float
    seen: dict[str, float]  # when each marker first appeared in its standard error


def run(command: Sequence[object], markers: Sequence[str] = ()) -> Finished:
    """Run a program to its end; raise if it fails."""
    seen: dict[str, float] = {}
    with tempfile.TemporaryFile("w+") as out:
        with subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.PIPE) as process:
            log = ""
            while chunk := os.read(process.stderr.fileno(), 1 << 16):
                log += chunk.decode(errors="replace")
                seen |= {marker: time.perf_counter() for marker in markers if marker in log and marker not in seen}
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read()
    if process.returncode:
        msg = f"{command[0]} ended with {process.returncode}: {(log or output)[-500:]}"
        raise RuntimeError(msg)
    return Finished(output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, seen)
