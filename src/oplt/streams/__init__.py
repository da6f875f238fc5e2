# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Learning from the streams of Redis, Valkey, NATS JetStream and Kafka, each message exactly once.

The position in the stream is saved inside the model file, in the same atomic write as the model. After a crash,
learning continues from there, so the file always equals a model that has learned the messages up to its position, each
once and in order. A broker's own acknowledgements and offsets do not matter for this.
"""

from oplt.stream_state import StreamState
from oplt.streams._address import open_sink, open_source
from oplt.streams._interface import Message, Output, Sink, Source, StreamError, UnreachableError
from oplt.streams._learner import StreamLearner

__all__ = [
    "Message",
    "Output",
    "Sink",
    "Source",
    "StreamError",
    "StreamLearner",
    "StreamState",
    "UnreachableError",
    "open_sink",
    "open_source",
]
