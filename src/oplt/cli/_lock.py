# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A lock that lets only one command at a time update a model, because two sets of updates cannot be merged.

It is a system lock (`flock`) on the file `FILE.lock`. The system releases it when the process ends, however that
happens, so a stale lock file does no harm. It does not stop Python programs that call `save`.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oplt.cli._console import WrongDataError, note
from oplt.cli._options import beside

if os.name == "posix":
    import fcntl

__all__ = ["locked"]

_POLL = 0.1  # seconds
_BUSY = (errno.EWOULDBLOCK, errno.EACCES)


@contextmanager
def locked(target: Path, *, wait: float = 0) -> Iterator[None]:
    """Keep other commands from updating a model.

    Parameters
    ----------
    target
        The model that will be overwritten.
    wait
        Seconds to wait for another command to finish; after that, raise an error.
    """
    path = beside(target.resolve(), ".lock")  # links to a file share its lock
    handle = _acquired(path, target, time.monotonic() + wait)
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                path.unlink()  # while it is locked: waiting commands notice that it is gone and create a new one
            os.close(handle)


def _acquired(path: Path, target: Path, deadline: float) -> int | None:
    """Acquire the lock; if the file system has no locks, print a note and return None."""
    if os.name != "posix":
        return None
    is_shown = False
    while True:
        try:
            handle = _opened(path)
        except OSError as error:
            _warn_of_no_lock(target, error)
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _owner(handle)
            os.close(handle)
            if error.errno not in _BUSY:
                _warn_of_no_lock(target, error)
                return None
            if time.monotonic() >= deadline:
                raise WrongDataError(_busy(target, owner)) from None
            if not is_shown:
                note(f"{target} is being updated by {owner}; waiting for it to finish. Press Ctrl-C to stop.")
                is_shown = True
            time.sleep(_POLL)
        else:
            if _is_still(path, handle):
                _sign(handle)
                return handle
            os.close(handle)  # its previous owner has removed it in the meantime


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:  # another user's file, which can still be locked
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _sign(handle: int) -> None:
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)


def _owner(handle: int) -> str:
    words = os.pread(handle, 512, 0).decode(errors="replace").split()
    if len(words) != 2 or not words[0].isdecimal():
        return "another oplt command"
    there = "" if words[1] == socket.gethostname() else f" on {words[1]}"
    return f"another oplt command (process {words[0]}{there})"


def _warn_of_no_lock(target: Path, error: OSError) -> None:
    note(f"{target} cannot be locked ({error.strerror}): make sure that no other command updates it at the same time.")


def _busy(target: Path, owner: str) -> str:
    return f"{target} is being updated by {owner}. Nothing was learned; try again when that command has finished"
