# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Streams of Redis and Valkey. No consumer group is needed: a position is the id of an entry.

An entry is trimmed away without a trace, except in the counts of the stream. Let `added` be the number of entries that
were ever added, `length` the number of those that are left, and `n` the number of entries that were gone at the start
plus those that were read since. If the first entry that is left follows the position, everything that was read is gone,
so ``added - length`` must be exactly `n`: more means that unread entries are gone, and less that the stream is another
one of the same name. If it does not follow the position, entries after the position can only have been deleted one by
one, of which the stream keeps the greatest id. Counts and entries are read in one transaction, so nothing can get lost
in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from oplt.streams._address import Address
from oplt.streams._interface import START, Message, Output, StreamError, UnreachableError, messages_lost
from oplt.wording import number_of

__all__ = ["RedisSink", "RedisSource", "make_sink", "make_source"]

_TIMEOUT = 10.0  # seconds
_FIELD = b"message"
_BEGIN = "0-0"


def make_source(address: Address) -> RedisSource:
    """Make a source."""
    return RedisSource(address)


def make_sink(address: Address) -> RedisSink:
    """Make a sink."""
    return RedisSink(address)


def _database(address: Address) -> int:
    address.expect_folders(1)
    given = address.folders[0] if address.folders else "0"
    if not given.isdecimal():
        raise StreamError(
            "stream-address-not-valid",
            "the part before the name of the stream must be the number of a database",
            where=address.shown,
            got=repr(given),
            hint="Pass redis://HOST/DATABASE/STREAM; in a name, write %2F for a slash.",
        )
    return int(given)


def _connect(address: Address) -> Any:
    address.expect_options("group")
    is_safe = address.scheme in ("rediss", "valkeys")
    url = f"{'rediss' if is_safe else 'redis'}://{address.login}{address.host}/{_database(address)}"
    try:
        return redis.Redis.from_url(
            url,
            protocol=2,  # the form of answers differs between protocols
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
            retry=Retry(NoBackoff(), 0),  # the caller tries again
        )
    except ValueError as error:
        raise StreamError(
            "stream-address-not-valid", "the address cannot be read", where=address.shown, got=str(error)
        ) from None


@contextmanager
def _telling(address: Address) -> Iterator[None]:
    """Translate the errors of the client."""
    try:
        yield
    except redis.AuthenticationError as error:
        raise StreamError(
            "stream-refused",
            "the server refuses the login",
            where=address.shown,
            got=str(error),
            hint="Pass redis://USER:PASSWORD@HOST/STREAM.",
        ) from None
    except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, OSError) as error:
        raise UnreachableError(
            "stream-unreachable",
            "the server does not answer",
            where=address.shown,
            got=str(error).rstrip(".") or type(error).__name__,
            hint="Check that it runs, and its host and port.",
        ) from None
    except redis.ResponseError as error:
        raise StreamError(
            "stream-refused", "the server refuses a command", where=address.shown, got=str(error)
        ) from None


def _number(entry: str) -> tuple[int, int]:
    """Make ids comparable."""
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence or 0)


def _body(values: dict[bytes, bytes]) -> bytes:
    """Return the body of an entry: one field, or a JSON object of all fields, whose values are strings."""
    if _FIELD in values:
        return values[_FIELD]
    if len(values) == 1:
        return next(iter(values.values()))
    return json.dumps(
        {name.decode(errors="replace"): one.decode(errors="replace") for name, one in values.items()}
    ).encode()


class RedisSource:
    """A stream of Redis 7 or later, or of Valkey.

    The body of a message is the field ``message`` of an entry, its only field, or an object of its fields. With the
    option ``group``, the server is told how far the model has come, as the position of a consumer group of this name.
    """

    def __init__(self, address: Address) -> None:
        self.name = f"redis {_database(address)}/{address.name}"
        self._address = address
        self._client = _connect(address)
        self._position = _BEGIN
        self._n: int | None = None  # entries that were gone at the start, plus those that were read since
        self._deleted = _BEGIN  # the greatest id of a deleted entry that is known and accepted
        self._skip_lost = False

    def open(self, position: str, proof: str, *, skip_lost: bool = False) -> None:
        """Connect, and continue after a position."""
        self._skip_lost = skip_lost
        self._position, self._n, self._deleted = _BEGIN, None, _BEGIN
        if position != START:
            n, _, deleted = proof.partition(" ")
            self._position, self._n, self._deleted = position, int(n), deleted
        self._read_now(1, keep=False)

    def read(self, limit: int, wait: float) -> Sequence[Message]:
        """Read the next messages."""
        found = self._read_now(limit)
        if found or not wait:
            return found
        with _telling(self._address):
            self._client.xread({self._address.name: self._position}, count=1, block=max(1, int(wait * 1000)))
        return self._read_now(limit)

    def _read_now(self, limit: int, *, keep: bool = True) -> list[Message]:
        with _telling(self._address):
            both = self._client.pipeline(transaction=True)
            both.xinfo_stream(self._address.name)
            both.xread({self._address.name: self._position}, count=limit)
            info, found = both.execute(raise_on_error=False)
            for answer in (info, found):
                if isinstance(answer, Exception) and "no such key" not in str(answer):
                    raise answer
        self._check({} if isinstance(info, Exception) else info)
        return [self._message(*entry) for entry in (found[0][1] if found else [])] if keep else []

    def _message(self, entry: bytes, values: dict[bytes, bytes]) -> Message:
        self._position = entry.decode()
        self._n = (self._n or 0) + 1
        return Message(self._position, _body(values), f"{self._n} {self._deleted}")

    def _check(self, info: dict[str, Any]) -> None:
        """Raise an error if messages after the position are gone. `info` is empty if there is no such stream."""
        if info and "entries-added" not in info:
            raise StreamError(
                "stream-refused",
                "the server is older than Redis 7, which does not say how many messages were removed",
                where=self._address.shown,
                hint="Use Redis 7 or later, or Valkey.",
            )
        n_gone = info["entries-added"] - info["length"] if info else 0
        deleted = info["max-deleted-entry-id"].decode() if info else _BEGIN
        if self._n is None:  # a new reader starts with whatever is left
            if not info:
                self._refuse_missing()
            self._n, self._deleted = n_gone, deleted
            return
        first = info["first-entry"][0].decode() if info and info["first-entry"] else None
        if first is None or _number(first) > _number(self._position):
            if n_gone > self._n:
                n_lost = number_of(n_gone - self._n, "message")
                what = f"the stream has lost {n_lost} after {self._position}, before the model could learn"
                self._lose(what, n_gone, deleted)
            elif n_gone < self._n:
                self._lose(f"the stream was deleted and created again after {self._position}", n_gone, deleted)
        elif info["entries-added"] < self._n:
            self._lose(f"the stream was restored to a state before {self._position}", n_gone, deleted)
        elif _number(deleted) > _number(self._position) and deleted != self._deleted:
            self._lose(f"message {deleted} was deleted before it was learned", self._n, deleted)

    def _refuse_missing(self) -> NoReturn:
        name = self._address.name
        raise StreamError(
            "stream-not-found",
            f"there is no stream called {name!r} in database {_database(self._address)}",
            where=self._address.shown,
            hint=f"Check both. To create an empty stream, run: XGROUP CREATE {name} oplt $ MKSTREAM",
        )

    def _lose(self, what: str, n_gone: int, deleted: str) -> None:
        if not self._skip_lost:
            raise messages_lost(what, self._address.shown)
        self._n, self._deleted = n_gone, deleted

    def note_saved(self, position: str) -> None:
        """Set the position of the consumer group, if there is one."""
        group = self._address.options.get("group")
        if group is None:
            return
        with suppress(redis.RedisError, OSError):
            try:
                self._client.xgroup_setid(self._address.name, group, position)
            except redis.ResponseError:  # there is no such group yet
                self._client.xgroup_create(self._address.name, group, position)

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


class RedisSink:
    """Publishes to a stream that nobody else writes to.

    The id of an entry is made from the position of the message that it is about, so that the server itself refuses a
    repetition: each output is there once.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client = _connect(address)

    def check(self) -> None:
        """Check that the server takes messages."""
        with _telling(self._address):
            self._client.xlen(self._address.name)  # refused if it is something other than a stream
            try:
                self._client.xadd(self._address.name, {_FIELD: b""}, id=_BEGIN)
            except redis.ResponseError as error:  # no entry can have this id, but all else is checked before it
                if "must be greater" not in str(error):
                    raise

    def publish(self, outputs: Sequence[Output]) -> None:
        """Publish messages."""
        with _telling(self._address):
            pipeline = self._client.pipeline(transaction=False)
            for output in outputs:
                pipeline.xadd(self._address.name, {_FIELD: output.body}, id=_entry_id(output.position))
            answers = pipeline.execute(raise_on_error=False)
            for output, answer in zip(outputs, answers, strict=True):
                if isinstance(answer, redis.ResponseError) and "equal or smaller" in str(answer):
                    self._expect_same(output)
                elif isinstance(answer, Exception):
                    raise answer

    def _expect_same(self, output: Output) -> None:
        entry = _entry_id(output.position)
        found = self._client.xrange(self._address.name, entry, entry)
        if found[0][1].get(_FIELD) != output.body if found else not self._has_removed(entry):
            self._refuse(output)

    def _has_removed(self, entry: str) -> bool:
        """Check whether an output was removed since it was published, by trimming or by deleting it."""
        info = self._client.xinfo_stream(self._address.name)
        first, last = info["first-entry"], info["last-entry"]
        if last is None:
            return True
        is_before = _number(entry) < _number(first[0].decode())
        is_deleted = _number(entry) <= _number(info["max-deleted-entry-id"].decode())
        return (is_before or is_deleted) and _is_output(*last)

    def _refuse(self, output: Output) -> NoReturn:
        raise StreamError(
            "sink-used-otherwise",
            f"the output about message {output.position} cannot be added: the stream has other messages already",
            where=self._address.shown,
            hint="Publish to a stream that nothing else is written to.",
        )

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def _is_output(entry: bytes, values: dict[bytes, bytes]) -> bool:
    """Check whether an entry was published by a sink: it is about the message from which its id is made."""
    try:
        return _entry_id(json.loads(values[_FIELD])["position"]) == entry.decode()
    except (ValueError, LookupError, TypeError):
        return False


def _entry_id(position: str) -> str:
    """Make the id of an entry from a position, which is such an id or a number from 0."""
    return position if "-" in position else f"{int(position) + 1}-0"
