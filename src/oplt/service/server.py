# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A running server: the application on uvicorn, from start to a graceful end."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from oplt.errors import InvalidParameterError
from oplt.service.app import make_app
from oplt.service.served_model import ServedModel
from oplt.service.tokens import Tokens

__all__ = ["Address", "expect_tokens", "is_loopback", "listen", "run"]

_log = logging.getLogger(__name__)
_GRACE = 20  # seconds for requests that are being answered when the server is asked to stop
_MOST_REQUESTS = 1000  # at the same time; more are answered 503
_BACKLOG = 2048  # connections that wait to be accepted


@dataclass(frozen=True)
class Address:
    """Where the server listens. A port of 0 takes any free one."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None

    def url(self, port: int) -> str:
        """Return the address for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.certificate is None else 'https'}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Check whether only this machine can connect."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def expect_tokens(address: Address, tokens: Tokens | None) -> None:
    """Raise an error if others could connect to the address without a token."""
    if tokens is None and not is_loopback(address.host):
        raise InvalidParameterError(
            "tokens-missing",
            "without tokens, the server listens only on the loopback address",
            got=address.host,
            hint="Create tokens with oplt token FILE NAME, and pass --tokens FILE.",
        )


def run(
    served: Mapping[str, ServedModel],
    address: Address,
    listening: socket.socket,
    *,
    tokens: Tokens | None = None,
    on_start: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT: then stop accepting, finish requests, write snapshots and return.

    Parameters
    ----------
    served
        The models by name, which are closed at the end.
    address, listening
        Where to listen, and the socket that `listen` has made for it, which the caller closes.
    tokens
        Who may do what; required unless the address is the loopback one.
    on_start
        Called with the URL just before the server starts to answer.
    """
    expect_tokens(address, tokens)
    app = make_app(served, tokens=tokens)
    _avoid_pauses()
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_REQUESTS,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GRACE,
    )
    on_start(address.url(listening.getsockname()[1]))
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again at the end
        with suppress(ValueError):  # not in the main thread
            signal.signal(number, lambda *_: None)
    try:
        _Server(config, served).run(sockets=[listening])
    finally:
        for model in served.values():
            model.close()


def _avoid_pauses() -> None:
    """Let requests not wait for other threads, or for the collector of cycles, longer than a prediction takes.

    Almost nothing here forms cycles, but a full collection visits all modules and takes more than 0.1 s.
    """
    sys.setswitchinterval(0.0005)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def listen(address: Address) -> socket.socket:
    """Bind the address and listen. Clients can connect now, and are answered when the models are loaded."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InvalidParameterError(
            "address-not-available",
            "the server cannot listen at this address",
            got=f"{address.host}:{address.port} ({error.strerror or error})",
            hint="Choose another --port, or stop the program that uses it.",
        ) from None
    listening.set_inheritable(False)
    return listening


class _Server(uvicorn.Server):
    """Ends requests that wait for records, as those of followers do, when it is asked to stop."""

    def __init__(self, config: uvicorn.Config, served: Mapping[str, ServedModel]) -> None:
        super().__init__(config)
        self._served = served

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for model in self._served.values():
            model.journal.release_readers()
        await super().shutdown(sockets)
