# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Addresses of streams: ``redis://HOST/STREAM``, ``nats://HOST/STREAM``, ``kafka://HOST/TOPIC``, ``journal:FILE``."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from oplt.errors import InvalidParameterError, MissingPackageError
from oplt.streams._interface import Sink, Source

__all__ = ["Address", "open_sink", "open_source"]

# By scheme: the module, the package that it imports, and the extra that installs it.
_BROKERS = {
    "redis": ("_redis", "redis", "redis"),
    "rediss": ("_redis", "redis", "redis"),
    "valkey": ("_redis", "redis", "redis"),
    "valkeys": ("_redis", "redis", "redis"),
    "nats": ("_nats", "nats", "nats"),
    "kafka": ("_kafka", "confluent_kafka", "kafka"),
    "journal": ("_journal", None, None),
}
_PORTS = {"_redis": 6379, "_nats": 4222, "_kafka": 9092}  # where a broker listens unless the address says otherwise
_HINT = (
    "Pass redis://HOST/STREAM, nats://HOST/STREAM, kafka://HOST/TOPIC, or journal:FILE; in a name, write %2F for a"
    " slash."
)


@dataclass(frozen=True)
class Address:
    """The parts of an address.

    Attributes
    ----------
    scheme
        Which kind of stream it is.
    login
        User name and password, if there are any: ``user:password@``.
    host
        Host and port; several for Kafka, separated by commas.
    folders
        The parts of the path before the name.
    name
        The name of the stream: the last part of the path.
    options
        What follows the question mark.

    Examples
    --------
    >>> address = Address.parse("redis://localhost:6379/2/tickets?group=oplt")
    >>> address.host, address.folders, address.name, address.options
    ('localhost:6379', ('2',), 'tickets', {'group': 'oplt'})
    """

    scheme: str
    login: str
    host: str
    folders: tuple[str, ...]
    name: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse an address."""
        try:
            parts = urlsplit(text)
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        except ValueError as error:
            raise _refused(text, f"the address cannot be read: {error}") from None
        if parts.fragment:
            raise _refused(text, "the sign # has no meaning here; in a name, write %23")
        if parts.scheme not in _BROKERS:
            what = f"there is no kind of stream called {parts.scheme!r}" if parts.scheme else "it has no scheme"
            raise _refused(text, what)
        if parts.scheme == "journal":
            return cls("journal", "", "", (), unquote(parts.netloc + parts.path), options)
        login, at, host = parts.netloc.rpartition("@")
        if "@" in parts.path:
            raise _refused(text, "the path has the sign @; in a password, write %2F for a slash, in a name %40 for @")
        *folders, name = [unquote(part) for part in parts.path.split("/")[1:]] or [""]
        if not host or not name:
            raise _refused(text, f"it has no {'host' if not host else 'name of a stream'}")
        return cls(parts.scheme, login + at, host, tuple(folders), name, options)

    def expect_options(self, *known: str) -> None:
        """Refuse options that the kind of stream does not have."""
        for name in self.options:
            if name not in known:
                raise InvalidParameterError(
                    "stream-address-not-valid",
                    f"{self.scheme} streams have no option {name!r}",
                    where=self.shown,
                    hint=f"The options are: {', '.join(known)}." if known else "They have no options.",
                )

    def expect_folders(self, most: int) -> None:
        """Refuse a path that has too many parts."""
        if len(self.folders) > most:
            raise _refused(self.shown, "the path has too many parts")

    @property
    def shown(self) -> str:
        """The address without password and options, for messages."""
        if self.scheme == "journal":
            return f"journal:{self.name}"
        return f"{self.scheme}://{'/'.join([self.host, *self.folders, self.name])}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What the address names: equal for two ways of writing the same address.

        Examples
        --------
        >>> Address.parse("redis://localhost/a").identity == Address.parse("rediss://localhost:6379/0/a").identity
        True
        """
        module, _, _ = _BROKERS[self.scheme]
        if self.scheme == "journal":
            return (module, os.path.realpath(self.name))
        port = _PORTS[module]
        hosts = sorted(
            {host if re.search(r":\d+$", host) else f"{host}:{port}" for host in self.host.lower().split(",")}
        )
        folders = [str(int(one)) if one.isdecimal() else one for one in self.folders]
        if module == "_redis" and not folders:
            folders = ["0"]  # the number of the database
        return (module, *hosts, *folders, self.name)


def _refused(text: str, what: str) -> InvalidParameterError:
    visible = re.split("[?#]", text)[0]  # no passwords in messages: neither in options nor in front of the host
    login, _, rest = visible.rpartition("@")
    shown = f"{login.partition('://')[0]}://…@{rest}" if login else visible
    return InvalidParameterError("stream-address-not-valid", what, where=shown or "the stream's address", hint=_HINT)


def open_source(address: str) -> Source:
    """Make the source of messages that an address names. It connects when it is opened.

    Parameters
    ----------
    address
        Such as ``redis://localhost/tickets``; docs/howto/streams.md describes all kinds.

    Raises
    ------
    InvalidParameterError
        If it is not the address of a stream.
    MissingPackageError
        If the package for this kind of stream is not installed.

    Examples
    --------
    >>> open_source("nats://localhost:4222/TICKETS").name
    'nats TICKETS'
    """
    source: Source = _made(address, "make_source")
    return source


def open_sink(address: str) -> Sink:
    """Connect to a stream that messages are published to.

    Parameters
    ----------
    address
        As for `open_source`.
    """
    sink: Sink = _made(address, "make_sink")
    return sink


def _made(text: str, function: str) -> Any:
    address = Address.parse(text)
    module, package, extra = _BROKERS[address.scheme]
    try:
        found = importlib.import_module(f"oplt.streams.{module}")
    except ModuleNotFoundError as error:
        if package is None or (error.name or "").partition(".")[0] != package:
            raise
        raise MissingPackageError(
            "package-missing",
            f"{address.scheme} streams need the package {package.replace('_', '-')}",
            hint=f"Run: pip install 'oplt[{extra}]'",
        ) from None
    return getattr(found, function)(address)
