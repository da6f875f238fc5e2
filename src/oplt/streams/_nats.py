# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Streams of NATS JetStream. A position is the sequence number of a message in its stream.

Sequence numbers have no gaps, unless messages were removed. A stream that was created again under the same name has
another time of creation.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import nats
from nats.errors import ConnectionClosedError
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from oplt.streams._address import Address
from oplt.streams._interface import START, Message, Output, StreamError, UnreachableError, lost_between, messages_lost

__all__ = ["NatsSink", "NatsSource", "make_sink", "make_source"]

_TIMEOUT = 10.0  # seconds
_TOGETHER = 256  # messages that are published before the first one must be acknowledged
_IDLE = 600.0  # seconds after which the server removes a consumer that does not ask for messages

_PASSING = (408, 409, 503)  # the server is starting or stopping, or a cluster has no leader at present

_Result = TypeVar("_Result")


def make_source(address: Address) -> NatsSource:
    """Make a source."""
    return NatsSource(address)


def make_sink(address: Address) -> NatsSink:
    """Make a sink."""
    return NatsSink(address)


@contextmanager
def _telling(address: Address) -> Iterator[None]:
    """Translate the errors of the client."""
    try:
        yield
    except NotFoundError:
        raise StreamError(
            "stream-not-found",
            f"there is no stream called {address.name!r}",
            where=address.shown,
            hint=f"Create it, for example with: nats stream add {address.name}",
        ) from None
    except APIError as error:
        if isinstance(error, ServiceUnavailableError) or error.code in _PASSING:
            raise _unreachable(address, error) from None
        raise StreamError(
            "stream-refused", "the server refuses a request", where=address.shown, got=str(error)
        ) from None
    except (NatsError, OSError, asyncio.TimeoutError, TimeoutError) as error:
        if "authorization" in str(error).lower():
            raise StreamError(
                "stream-refused",
                "the server refuses the login",
                where=address.shown,
                hint="Pass nats://USER:PASSWORD@HOST/STREAM.",
            ) from None
        raise _unreachable(address, error) from None


def _unreachable(address: Address, error: Exception) -> UnreachableError:
    return UnreachableError(
        "stream-unreachable",
        "the server does not answer",
        where=address.shown,
        got=str(error).rstrip(".") or type(error).__name__,
        hint="Check that it runs with JetStream, and its host and port.",
    )


class _Connection:
    """A connection whose event loop runs in a thread of its own, so that it also answers while the model learns."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="oplt-nats", daemon=True)
        self._thread.start()
        self._client: Any = None
        self._lost = asyncio.Event()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine and wait for its result."""
        with _telling(self._address):
            return asyncio.run_coroutine_threadsafe(self._unless_lost(work), self._loop).result()

    async def _unless_lost(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Give up when the connection is lost. The client itself would wait for an answer until the time is up."""
        if not self._is_connected:
            self._lost.clear()
        task, lost = asyncio.ensure_future(work), asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({task, lost}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise ConnectionClosedError
        finally:
            lost.cancel()
            task.cancel()
            # A client that is cancelled may raise an error of its own, which asyncio would print.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def jetstream(self) -> Any:
        """Connect if necessary. A connection that was lost is not repaired: the caller starts again."""
        if not self._is_connected:
            await self._disconnect()
            server = f"nats://{self._address.login}{self._address.host}"
            self._client = await nats.connect(
                server,
                allow_reconnect=False,
                connect_timeout=_TIMEOUT,
                reconnect_time_wait=0.1,
                max_reconnect_attempts=1,
                error_cb=_ignore,
                closed_cb=self._note_lost,
            )
        return self._client.jetstream(timeout=_TIMEOUT)

    @property
    def _is_connected(self) -> bool:
        return self._client is not None and bool(self._client.is_connected)

    async def _note_lost(self) -> None:
        if self._client is not None:  # otherwise, it is closed on purpose
            self._lost.set()

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(NatsError, OSError, asyncio.TimeoutError):  # a server that was killed may not let it end
                await asyncio.wait_for(client.close(), _TIMEOUT)

    def disconnect(self) -> None:
        """Close the connection. It can be used again."""
        asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop).result()

    def close(self) -> None:
        """Close the connection and end the thread."""
        self.disconnect()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _ignore(_: Exception) -> None:
    """Let no error be printed: calls raise it."""


class NatsSource:
    """All messages of a JetStream stream, in the order of their sequence numbers."""

    def __init__(self, address: Address) -> None:
        address.expect_options()
        address.expect_folders(0)
        self.name = f"nats {address.name}"
        self._address = address
        self._connection = _Connection(address)
        self._consumer: Any = None
        self._position: int | None = None  # None: the beginning
        self._created = ""
        self._skip_lost = False

    def open(self, position: str, proof: str, *, skip_lost: bool = False) -> None:
        """Connect, and continue after a position."""
        self._skip_lost = skip_lost
        self._position = None if position == START else int(position)
        self._created = proof
        self._connection.disconnect()
        self._consumer = None
        self._connection.run(self._last())

    def read(self, limit: int, wait: float) -> Sequence[Message]:
        """Read the next messages."""
        return self._connection.run(self._read(limit, wait))

    async def _read(self, limit: int, wait: float) -> list[Message]:
        left = await self._last() - (self._position or 0)
        if left <= 0 and not wait:
            return []
        consumer = await self._subscribed()
        try:
            found = await consumer.fetch(min(limit, max(left, 1)), timeout=_TIMEOUT if left > 0 else wait)
        except (asyncio.TimeoutError, TimeoutError):
            if left > 0:  # there are messages, but they do not come
                raise
            return []
        messages: list[Message] = []
        for one in found:
            if messages and one.metadata.sequence.stream != (self._position or 0) + 1:
                self._consumer = None  # the next call starts here, and says what is missing
                break
            messages.append(self._message(one))
        return messages

    async def _last(self) -> int:
        """Return the last sequence number, and check that nothing is gone."""
        jetstream = await self._connection.jetstream()
        info = await jetstream.stream_info(self._address.name)
        self._expect_kept(info.config)
        created = str(info.created)
        if self._created and created != self._created:
            self._lose(f"the stream was deleted and created again, at {created}", info.state.first_seq - 1)
        self._created = created
        if self._position is None:
            self._position = max(info.state.first_seq - 1, 0)
        first = info.state.first_seq
        last = int(info.state.last_seq)
        if first > self._position + 1:
            self._lose(lost_between(self._position + 1, first - 1), first - 1)
        if last < self._position:
            self._lose(f"the stream ends at {last:,}, but the model has learned up to {self._position:,}", last)
        if self._position < last and info.state.messages < last - first + 1 and not await self._has_next():
            self._lose(lost_between(self._position + 1, last), last)
        return last

    async def _has_next(self) -> bool:
        """Check whether there is a message after the position. The last ones may have been deleted one by one."""
        jetstream = await self._connection.jetstream()
        try:
            await jetstream.get_msg(self._address.name, seq=(self._position or 0) + 1, subject=">", next=True)
        except NotFoundError:
            return False
        return True

    def _expect_kept(self, config: Any) -> None:
        if config.retention not in (None, RetentionPolicy.LIMITS):
            raise StreamError(
                "stream-not-kept",
                "the stream removes messages once its consumers have acknowledged them, whether or not the model has"
                " learned them",
                where=self._address.shown,
                got=f"the retention policy {config.retention}",
                hint="Use a stream with the retention policy 'limits', which is the default.",
            )

    async def _subscribed(self) -> Any:
        """Make a consumer that the server forgets with the connection. Nothing is acknowledged through it."""
        if self._consumer is None:
            jetstream = await self._connection.jetstream()
            config = ConsumerConfig(
                ack_policy=AckPolicy.NONE,
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=(self._position or 0) + 1,
                inactive_threshold=_IDLE,
            )
            self._consumer = await jetstream.pull_subscribe("", stream=self._address.name, config=config)
        return self._consumer

    def _message(self, one: Any) -> Message:
        sequence = int(one.metadata.sequence.stream)
        expected = (self._position or 0) + 1
        if sequence != expected:
            self._lose(lost_between(expected, sequence - 1), sequence - 1)
        self._position = sequence
        return Message(str(sequence), one.data, self._created)

    def _lose(self, what: str, position: int) -> None:
        if not self._skip_lost:
            raise messages_lost(what, self._address.shown)
        self._position = max(position, 0)

    def note_saved(self, position: str) -> None:
        """Do nothing: JetStream has no position that a reader could set."""

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


class NatsSink:
    """Publishes to a subject of a JetStream stream.

    The key of an output is its ``Nats-Msg-Id``, so that the server drops repetitions within the duplicate window of the
    stream (two minutes, unless the stream has another one). The option ``subject`` chooses the subject; without it, the
    stream must have a single one.
    """

    def __init__(self, address: Address) -> None:
        address.expect_options("subject")
        address.expect_folders(0)
        self._address = address
        self._connection = _Connection(address)
        self._subject = address.options.get("subject")

    def check(self) -> None:
        """Check that the stream exists and has the subject."""
        self._connection.run(self._check())

    async def _check(self) -> None:
        jetstream = await self._connection.jetstream()
        info = await jetstream.stream_info(self._address.name)
        subject = await self._found_subject()
        try:
            found = await jetstream.find_stream_name_by_subject(subject)
        except NotFoundError:
            found = None
        if found != self._address.name:
            raise StreamError(
                "stream-address-not-valid",
                f"the stream has the subjects {', '.join(info.config.subjects or [])}, but not {subject}",
                where=self._address.shown,
                hint="Add ?subject=NAME to the address, with a subject of the stream.",
            )

    def publish(self, outputs: Sequence[Output]) -> None:
        """Publish messages."""
        for begin in range(0, len(outputs), _TOGETHER):
            self._connection.run(self._publish(outputs[begin : begin + _TOGETHER]))

    async def _publish(self, outputs: Sequence[Output]) -> None:
        jetstream, subject = await self._connection.jetstream(), await self._found_subject()
        sent = [
            jetstream.publish(
                subject, one.body, stream=self._address.name, headers={"Nats-Msg-Id": one.key}, timeout=_TIMEOUT
            )
            for one in outputs
        ]
        for answer in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer

    async def _found_subject(self) -> str:
        if self._subject is None:
            jetstream = await self._connection.jetstream()
            info = await jetstream.stream_info(self._address.name)
            self._subject = self._only(info.config.subjects or [])
        return self._subject

    def _only(self, subjects: Sequence[str]) -> str:
        if len(subjects) != 1 or "*" in subjects[0] or ">" in subjects[0]:
            raise StreamError(
                "stream-address-not-valid",
                f"the stream has the subjects {', '.join(subjects)}, but the address does not say which one to use",
                where=self._address.shown,
                hint="Add ?subject=NAME to the address.",
            )
        return subjects[0]

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
