# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The memory of this process in bytes, as reported by Linux; empty on systems without /proc."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STATUS = Path("/proc/self/status")
ROLLUP = Path("/proc/self/smaps_rollup")
CLEAR = Path("/proc/self/clear_refs")
INTERVAL = 0.001  # seconds between two readings of RssAnon, whose peak Linux does not record


def status() -> dict[str, int]:
    """VmRSS, its peak VmHWM, and the parts of VmRSS that are private (RssAnon) and in mapped files (RssFile)."""
    return _fields(STATUS)


def rollup() -> dict[str, int]:
    """Pss, in which a page shared by n processes counts 1/n, and Private, the pages of this process alone."""
    found = _fields(ROLLUP)
    return {"Pss": found["Pss"], "Private": found["Private_Clean"] + found["Private_Dirty"]} if found else {}


def _fields(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    parts = (line.split() for line in path.read_text().splitlines())
    return {part[0].rstrip(":"): 1024 * int(part[1]) for part in parts if len(part) == 3 and part[2] == "kB"}


def settle() -> None:
    """Return freed memory to the system and reset the peak to the current value, as far as permitted."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):  # the peak then counts from the start of the process
        CLEAR.write_text("5")


@contextmanager
def watching() -> Iterator[dict[str, int]]:
    """Fill the yielded dict at the end: status before, status after, and the peaks in between."""
    settle()
    found: dict[str, int] = {}
    before = status()
    if not before:
        yield found
        return
    stop, peak = threading.Event(), [before["RssAnon"]]

    def watch() -> None:
        while not stop.wait(INTERVAL):
            peak[0] = max(peak[0], status()["RssAnon"])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()
    after = status()
    found |= {f"{name} before": before[name] for name in ("VmRSS", "RssAnon", "RssFile")}
    found |= {name: after[name] for name in ("VmRSS", "RssAnon", "RssFile", "VmHWM")}
    found["RssAnon peak"] = max(peak[0], after["RssAnon"])
