# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a stream is: a source of messages in a fixed order, and a sink that messages are published to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from oplt.errors import OpltError

__all__ = [
    "START",
    "Message",
    "Output",
    "Sink",
    "Source",
    "StreamError",
    "UnreachableError",
    "lost_between",
    "messages_lost",
]

START = ""  # the position before the first message


class StreamError(OpltError, RuntimeError):
    """A stream cannot be used, or has lost messages."""


class UnreachableError(StreamError):
    """The broker does not answer at present. It is asked again later."""


def messages_lost(what: str, where: str) -> StreamError:
    """Make the error that a source raises if it cannot continue after the position."""
    hint = "Restore the stream, or pass --skip-lost (skip_lost=True) to continue with the next message."
    return StreamError("stream-messages-lost", what, where=where, hint=hint)


def lost_between(first: int, last: int) -> str:
    """Say that numbered messages are gone, for `messages_lost`."""
    which = f"message {first:,}" if first == last else f"messages {first:,} to {last:,}"
    return f"the stream has lost {which}, before the model could learn"


class Message(NamedTuple):
    """A message of a stream.

    Attributes
    ----------
    position
        Identifies the message in its stream: the entry id of Redis, the sequence number of NATS, the offset of Kafka.
    body
        The content: one JSON object.
    proof
        What the source needs, beside the position, to notice that messages were lost.
    """

    position: str
    body: bytes
    proof: str = ""


class Output(NamedTuple):
    """A message to publish.

    Attributes
    ----------
    position
        The position, in the source, of the message that it is about. Positions ascend.
    body
        The content.
    key
        Identifies the output: a second one with the same key is a repetition after a crash.
    """

    position: str
    body: bytes
    key: str


class Source(Protocol):
    """Messages in an order that is the same for every reader and in every run.

    Attributes
    ----------
    name
        Names the stream, without address and password: this is saved with the model.
    """

    name: str

    def open(self, position: str, proof: str, *, skip_lost: bool = False) -> None:
        """Connect, and continue after a message that `read` has returned, or at the beginning (`START`).

        It can be called again, after an error. With `skip_lost`, messages that are gone are skipped.

        Raises
        ------
        UnreachableError
            If the broker does not answer.
        StreamError
            If messages after the position are gone, or if it is not the same stream any more.
        """

    def read(self, limit: int, wait: float) -> Sequence[Message]:
        """Read up to `limit` messages that follow those that were read before.

        If there are none, wait up to `wait` seconds for one. With ``wait=0``, an empty result means that the stream has
        no further message at present. Raises what `open` raises.
        """

    def note_saved(self, position: str) -> None:
        """Tell the broker how far the model file has come, for people who watch the broker. Errors are ignored."""

    def close(self) -> None:
        """Disconnect."""


class Sink(Protocol):
    """A stream that messages are published to."""

    def check(self) -> None:
        """Find out, before there is a message to publish, whether messages can be published. It publishes none.

        Raises what `publish` raises.
        """

    def publish(self, outputs: Sequence[Output]) -> None:
        """Publish messages in order, and return when the broker has acknowledged all of them.

        Raises
        ------
        UnreachableError
            If the broker does not answer. Some of the messages may have been published: publish all of them again.
        StreamError
            If they cannot be published.
        """

    def close(self) -> None:
        """Disconnect."""
