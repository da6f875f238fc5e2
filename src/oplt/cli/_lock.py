# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""One command at a time updates a model: what two of them learnt could not be put together.

The lock is one of the system (`flock`) on the file `FILE.lock`. It ends with the process, however that ends, so a file
that was left behind never blocks anybody. It keeps out other commands, not programs that call `save`.
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
        The model that will be replaced.
    wait
        Seconds to wait for another command; then, or at once, it is an error that it has not ended.
    """
    path = beside(target.resolve(), ".lock")  # through links: another name of a file is the same file
    handle = _acquired(path, target, time.monotonic() + wait)
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                path.unlink()  # while it is locked: whoever waits for it sees that it is gone, and makes a new one
            os.close(handle)


def _acquired(path: Path, target: Path, deadline: float) -> int | None:
    """Lock; None where it is not possible, which is told."""
    if os.name != "posix":
        return None
    is_told = False
    while True:
        try:
            handle = _opened(path)
        except OSError as error:
            _tell_there_is_none(target, error)
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _owner(handle)
            os.close(handle)
            if error.errno not in _BUSY:
                _tell_there_is_none(target, error)
                return None
            if time.monotonic() >= deadline:
                raise WrongDataError(_busy(target, owner)) from None
            if not is_told:
                note(f"{target} is being updated by {owner}; waiting until it has finished. Ctrl-C stops.")
                is_told = True
            time.sleep(_POLL)
        else:
            if _is_still(path, handle):
                _sign(handle)
                return handle
            os.close(handle)  # who had it before has removed it meanwhile


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:  # another user's, which can be locked all the same
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


def _tell_there_is_none(target: Path, error: OSError) -> None:
    note(f"{target} cannot be locked ({error.strerror}): take care that no other command updates it meanwhile.")


def _busy(target: Path, owner: str) -> str:
    return f"{target} is being updated by {owner}. Try again when it has finished; nothing was learnt"
