# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Topics of Kafka, by librdkafka. A position is an offset in one partition.

The order of messages in different partitions is not determined, so two readers of several partitions would learn in
different orders, and their models would differ. Therefore a model learns from one partition. Offsets may have gaps,
where there are no messages. Of the last message that was read, a digest is kept: after a restart, the message at this
offset must be the same one, unless it was removed by then. If it is another one, or if the partition ends before it,
the topic counts as created again, and can only be read from its first message.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from oplt.streams._address import Address
from oplt.streams._interface import START, Message, Output, StreamError, UnreachableError, lost_between, messages_lost

__all__ = ["KafkaSink", "KafkaSource", "make_sink", "make_source"]

_TIMEOUT = 10.0  # seconds
_SLICE = 0.2  # seconds between two looks at the clock
_QUIET = {"log_level": 0, "socket.timeout.ms": 10_000}  # errors are raised, not printed
_OWN = ("partition", "group")  # the options that are not librdkafka's
_GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE)
_FATAL = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
)
_BAD_SETTING = "an option after the question mark is no setting of librdkafka, or has a wrong value"


def make_source(address: Address) -> KafkaSource:
    """Make a source."""
    return KafkaSource(address)


def make_sink(address: Address) -> KafkaSink:
    """Make a sink."""
    return KafkaSink(address)


def _settings(address: Address) -> dict[str, Any]:
    address.expect_folders(0)
    if address.login:
        raise StreamError(
            "stream-address-not-valid",
            "a Kafka address has no user name",
            where=address.shown,
            hint="Add settings of librdkafka: ?security.protocol=SASL_SSL&sasl.username=...&sasl.password=...",
        )
    given = {name: value for name, value in address.options.items() if name not in _OWN}
    return {"bootstrap.servers": address.host, **_QUIET, **given}


@contextmanager
def _telling(address: Address) -> Iterator[None]:
    """Translate the errors of the client."""
    try:
        yield
    except KafkaException as error:
        raise _in_words(error.args[0], address) from None
    except (TypeError, ValueError) as error:
        raise StreamError("stream-address-not-valid", _BAD_SETTING, where=address.shown, got=str(error)) from None


def _in_words(error: Any, address: Address) -> StreamError:
    code = error.code() if isinstance(error, KafkaError) else None
    if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION):
        return StreamError(
            "stream-not-found",
            f"there is no topic called {address.name!r}, or it lacks the partition",
            where=address.shown,
            hint="Create it, with one partition.",
        )
    if code == KafkaError._INVALID_ARG:
        return StreamError("stream-address-not-valid", _BAD_SETTING, where=address.shown, got=error.str())
    if code in _FATAL:
        return StreamError("stream-refused", "the broker refuses a request", where=address.shown, got=error.str())
    return UnreachableError(
        "stream-unreachable",
        "the broker does not answer",
        where=address.shown,
        got=error.str() if isinstance(error, KafkaError) else str(error),
        hint="Check that it runs, and its host and port.",
    )


def _partition(address: Address) -> int | None:
    given = address.options.get("partition")
    if given is not None and not given.isdecimal():
        raise StreamError(
            "stream-address-not-valid", "partition must be a number", where=address.shown, got=repr(given)
        )
    return None if given is None else int(given)


def _partitions(metadata: Any, address: Address) -> list[int]:
    """Return the partitions of the topic, among which is the chosen one, if there is any."""
    topic = metadata.topics[address.name]
    if topic.error is not None:
        raise KafkaException(topic.error)
    partition = _partition(address)
    if partition is not None and partition not in topic.partitions:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
    return sorted(topic.partitions)


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=12).hexdigest()


class KafkaSource:
    """One partition of a topic.

    The option ``partition`` chooses it; without the option, the topic must have a single one. With the option
    ``group``, offsets are committed for a consumer group of this name, so that tools show the lag. All other options
    are settings of librdkafka.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._settings = _settings(address)
        self._partition = _partition(address)
        self.name = f"kafka {address.name}/{self._partition or 0}"
        self._consumer: Any = None
        self._held: list[Any] = []  # a message that was read to find out whether it is the expected one
        self._next = 0
        self._is_ended = False  # the last answer was the end of the partition
        self._error: Any = None
        self._skip_lost = False

    def open(self, position: str, proof: str, *, skip_lost: bool = False) -> None:
        """Connect, and continue after a position."""
        self._skip_lost = skip_lost
        self.close()
        self._held, self._error = [], None
        settings = {
            "fetch.wait.max.ms": 100,  # other requests wait behind a fetch
            **self._settings,
            "group.id": self._address.options.get("group", "oplt"),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "error_cb": self._note_error,
        }
        with _telling(self._address):
            self._consumer = Consumer(settings)
            self._expect_partition()
            first, end = self._ends()
        self._next = first if position == START else int(position) + 1
        if first < self._next <= end:
            self._expect_same(self._next - 1, proof)
        else:
            self._find_next(first, end)

    def _find_next(self, first: int, end: int) -> None:
        """Go to the next message, if it is still between the first one and the end."""
        if self._next < first:
            self._lose(lost_between(self._next, first - 1))
        elif self._next > end:
            what = f"the topic ends before {end:,}, but the model has learned up to {self._next - 1:,}"
            self._lose(f"{what}: it was created again, or restored to an older state")
        else:
            self._seek(self._next)

    def _note_error(self, error: Any) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, *_FATAL):
            self._error = error

    def _expect_partition(self) -> None:
        partitions = _partitions(self._metadata(), self._address)
        if self._partition is None and len(partitions) != 1:
            raise StreamError(
                "stream-not-ordered",
                f"the topic has {len(partitions)} partitions, between which the order of messages is not determined",
                where=self._address.shown,
                hint="Choose one for each model, with ?partition=0, or use a topic with a single partition.",
            )

    def _metadata(self) -> Any:
        """Ask for the partitions. A broker that is not there is noticed by the callback, long before the time is up."""
        deadline = time.monotonic() + _TIMEOUT
        while True:
            try:
                return self._consumer.list_topics(self._address.name, timeout=1.0)
            except KafkaException:
                self._consumer.poll(0)
                if self._error is not None:
                    raise _in_words(self._error, self._address) from None
                if time.monotonic() >= deadline:
                    raise

    @property
    def _place(self) -> Any:
        return TopicPartition(self._address.name, self._partition or 0)

    def _ends(self) -> tuple[int, int]:
        found: tuple[int, int] | None = self._consumer.get_watermark_offsets(self._place, timeout=_TIMEOUT)
        if found is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return found

    def _is_at_end(self) -> bool:
        with _telling(self._address):
            _, known = self._consumer.get_watermark_offsets(self._place, cached=True)
            # Asking takes a while: a broker answers a connection's requests in order, and a fetch waits for messages.
            return known <= self._next and self._ends()[1] <= self._next

    def _seek(self, offset: int) -> None:
        self._next, self._is_ended = offset, False
        with _telling(self._address):
            self._consumer.assign([TopicPartition(self._address.name, self._partition or 0, offset)])

    def _expect_same(self, last: int, proof: str) -> None:
        """Check that the message at the position is the one that was read before, and go on after it."""
        self._seek(last)
        found = self._poll(_TIMEOUT, until_end=True)
        if found is None:
            return
        if found.offset() != last:  # the one at the position was removed by compaction
            self._held = [found]
        elif _digest(found.value() or b"") != proof:
            self._lose(f"message {last:,} is not the one that the model has learned from: the topic was created again")
        else:
            self._next = last + 1

    def read(self, limit: int, wait: float) -> Sequence[Message]:
        """Read the next messages."""
        found, self._held = self._held, []
        if not found:
            if not wait and self._is_at_end():
                return []
            first = self._poll(wait or _TIMEOUT, until_end=not wait)
            if first is None:
                return []
            found = [first]
        with _telling(self._address):
            found += self._consumer.consume(limit - 1, timeout=0) if limit > 1 else []
        return [self._message(one) for one in found if self._is_message(one)]

    def _poll(self, wait: float, *, until_end: bool) -> Any:
        """Return the next message; None if none comes in time, or, with `until_end`, if there is none."""
        deadline = time.monotonic() + wait
        while True:
            with _telling(self._address):
                found = self._consumer.poll(max(0.0, min(_SLICE, deadline - time.monotonic())))
            if found is not None and self._is_message(found):
                return found
            if until_end and self._is_ended:
                return None
            if self._error is not None:
                raise _in_words(self._error, self._address)
            if time.monotonic() >= deadline:
                if until_end:
                    raise _in_words(KafkaError(KafkaError._TIMED_OUT), self._address)
                return None

    def _is_message(self, one: Any) -> bool:
        """Check for a message, instead of the end of the partition or an error, which is raised."""
        error = one.error()
        self._is_ended = error is not None and error.code() == KafkaError._PARTITION_EOF
        if self._is_ended:
            self._next = one.offset()  # there may be no messages at the last offsets
        elif error is not None and error.code() in _GONE:
            with _telling(self._address):
                first, end = self._ends()
            self._find_next(first, end)
        elif error is not None:
            raise _in_words(error, self._address)
        return error is None

    def _message(self, one: Any) -> Message:
        self._next = one.offset() + 1
        body = one.value() or b""
        return Message(str(one.offset()), body, _digest(body))

    def _lose(self, what: str) -> None:
        """Raise an error, or go on with the first message."""
        if not self._skip_lost:
            raise messages_lost(what, self._address.shown)
        with _telling(self._address):
            first = self._ends()[0]
        self._seek(first)

    def note_saved(self, position: str) -> None:
        """Commit the offset for the consumer group, if there is one."""
        if "group" in self._address.options and self._consumer is not None:
            place = TopicPartition(self._address.name, self._partition or 0, int(position) + 1)
            with suppress(KafkaException):
                self._consumer.commit(offsets=[place], asynchronous=True)

    def close(self) -> None:
        """Disconnect."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


class KafkaSink:
    """Publishes to a topic, at least once.

    The key of a Kafka message is the key of the output. After a crash, an output may be there twice, with the same key
    and the same content. The option ``partition`` chooses a partition; without it, the key does.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._producer: Any = None
        self._errors: list[Any] = []
        partition = _partition(address)
        self._fixed = {} if partition is None else {"partition": partition}

    def check(self) -> None:
        """Check that the topic exists, and the partition."""
        with _telling(self._address):
            self._connect()
            _partitions(self._producer.list_topics(self._address.name, timeout=_TIMEOUT), self._address)

    def _connect(self) -> None:
        if self._producer is None:
            own = {"enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": int(_TIMEOUT * 1000)}
            self._producer = Producer({**_settings(self._address), **own})

    def publish(self, outputs: Sequence[Output]) -> None:
        """Publish messages."""
        self._errors.clear()
        with _telling(self._address):
            self._connect()
            for output in outputs:
                self._produce(output)
            left = self._producer.flush(_TIMEOUT + 1)
        if left or self._errors:
            self.close()
            error = self._errors[0] if self._errors else KafkaError(KafkaError._TIMED_OUT)
            raise _in_words(error, self._address)

    def _produce(self, output: Output) -> None:
        while True:
            try:
                self._producer.produce(
                    self._address.name, output.body, key=output.key.encode(), on_delivery=self._answered, **self._fixed
                )
            except BufferError:  # the queue is full
                self._producer.poll(_SLICE)
            else:
                return

    def _answered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._errors.append(error)

    def close(self) -> None:
        """Disconnect."""
        if self._producer is not None:
            self._producer.purge()
            self._producer = None
