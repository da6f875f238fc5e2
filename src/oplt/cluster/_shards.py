# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The shards as the router sees them: actors that may die at any time, and messages that get there nevertheless."""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, RaySystemError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from oplt import __version__
from oplt.cluster._parts import Source
from oplt.cluster._shard import Question, ShardActor
from oplt.errors import OpltError
from oplt.params import Settings

__all__ = ["Shards", "expect_ray"]

_log = logging.getLogger(__name__)

_MOST_WAITING = 3 << 14  # bytes of messages that wait for others: a call takes as long as learning ten examples
_MOST_TOGETHER = 3 << 15  # bytes in a call; Ray puts arguments of 100 KB into its object store, which takes longer
_MOST_BEHIND_QUESTIONS = 1 << 13  # bytes of messages that wait behind questions, so that answers come in time
_MOST_REPEATED = 1 << 20  # bytes of messages that a shard gets in one call when it is started again
# Calls in flight for each shard: enough to keep it busy while the router's label memory learns a batch.
_MOST_CALLS = 12
_MOST_DEATHS = 10  # of a shard, one after the other, without an answer


def expect_ray() -> None:
    """Refuse to start a cluster by accident: Ray would make one that listens on all interfaces."""
    if not ray.is_initialized():
        raise OpltError(
            "ray-not-running",
            "this process is not connected to a Ray cluster",
            hint='Start one with "ray start --head" and the settings of docs/howto/cluster.md, which keep others out;'
            ' then call ray.init(address="auto").',
        )


class _Sent(NamedTuple):
    """A call that has not been answered."""

    reference: Any
    last_question: int  # the highest number of a question in this call or before


@dataclass
class _Shard:
    """What the router knows about a shard."""

    number: int
    sources: list[Source]  # where its subtrees are on disk
    actor: Any = None
    n_covered: int = 0  # messages that the files include
    log: list[bytes] = field(default_factory=list)  # the messages after those
    n_sent: int = 0  # of all messages
    n_bytes_waiting: int = 0
    in_flight: deque[_Sent] = field(default_factory=deque)
    questions: dict[int, Question] = field(default_factory=dict)  # that have not been answered, by number
    unsent: list[Question] = field(default_factory=list)  # of these
    n_asked: int = 0  # the highest number of a question that has been sent
    answers: dict[int, bytes] = field(default_factory=dict)  # that have not been fetched
    mapped: set[str] = field(default_factory=set)  # files that the actor has opened

    @property
    def positions(self) -> set[int]:
        """The subtrees of the shard."""
        return {position for one in self.sources for position in one.positions}

    @property
    def n_messages(self) -> int:
        """The number of the last message."""
        return self.n_covered + len(self.log)

    def ask(self, question: Question) -> None:
        """Let a question wait, behind all messages so far."""
        self.questions[question.number] = question
        self.unsent.append(question)

    def begin_again(self) -> None:
        """Send everything again that is not in the files, or that has not been answered."""
        self.in_flight.clear()
        self.unsent = list(self.questions.values())
        self.n_sent, self.n_bytes_waiting = self.n_covered, 0

    def send(self) -> None:
        """Send what waits."""
        if self.n_sent < self.n_messages or self.unsent:
            first, messages, questions = self.take_waiting()
            if questions:
                self.n_asked = questions[-1].number
            self.in_flight.append(_Sent(self.actor.take.remote(first, messages, questions), self.n_asked))

    def take_waiting(self) -> tuple[int, list[bytes], list[Question]]:
        """Return the number of the first unsent message, all of these, and all unsent questions; they count as sent."""
        first = self.n_sent + 1
        waiting = self.log[self.n_sent - self.n_covered :]
        questions, self.unsent = self.unsent, []
        self.n_sent += len(waiting)
        self.n_bytes_waiting = 0
        return first, waiting, questions

    def receive(self, answers: dict[int, bytes]) -> None:
        """Keep answers until they are fetched."""
        for number, answer in answers.items():
            del self.questions[number]
            self.answers[number] = answer

    def receive_all(self) -> None:
        """Wait until everything that was sent has been learned or answered; raises if the shard has died."""
        while self.in_flight:
            self.receive(ray.get(self.in_flight[0].reference))
            self.in_flight.popleft()


class Shards:
    """The shards of a model.

    A shard that dies is started again from its files and gets all messages since, so callers do not notice.

    Parameters
    ----------
    settings, threads, folder
        As for `ShardActor`.
    sources
        By shard: where its subtrees are.
    """

    def __init__(self, settings: Settings, threads: int, folder: Path, sources: list[list[Source]]) -> None:
        self._arguments = (asdict(settings), threads, str(folder))
        self.n_rounds = 0  # in which answers were waited for
        self.n_asked = 0  # questions
        self.n_restarts = 0
        self._shards = [_Shard(number, own) for number, own in enumerate(sources)]
        self._start_all(self._shards)

    @property
    def sources(self) -> list[list[Source]]:
        """By shard: where its subtrees are."""
        return [shard.sources for shard in self._shards]

    @property
    def shard_of(self) -> list[int]:
        """By subtree: the number of its shard."""
        places = {position: number for number, shard in enumerate(self._shards) for position in shard.positions}
        return [places[position] for position in range(len(places))]

    @property
    def mapped_files(self) -> set[str]:
        """The files that shards have opened, and may still read."""
        return {file for shard in self._shards for file in shard.mapped}

    def learn(self, number: int, message: bytes) -> None:
        """Send a message to a shard, now or together with later ones."""
        shard = self._shards[number]
        if shard.n_bytes_waiting and shard.n_bytes_waiting + len(message) > _MOST_TOGETHER:
            self._send(shard)
        shard.log.append(message)
        shard.n_bytes_waiting += len(message)
        if shard.n_bytes_waiting >= (_MOST_BEHIND_QUESTIONS if shard.unsent else _MOST_WAITING):
            self._send(shard)

    def ask(self, number: int, query: bytes) -> int:
        """Send a query to a shard, together with messages. Returns a number by which to fetch the answer."""
        self.n_asked += 1
        self._shards[number].ask(Question(self.n_asked, self._shards[number].n_messages, query))
        return self.n_asked

    def fetch(self, due: list[tuple[int, int]]) -> list[bytes]:
        """Return the answers to questions, given by shard and number. All that was asked before is answered, too."""
        missing: dict[int, int] = {}  # by shard: the highest number of a question without an answer
        for shard, number in due:
            if number not in self._shards[shard].answers:
                missing[shard] = max(number, missing.get(shard, 0))
        if missing:
            self.n_rounds += 1
            self._wait({shard: missing[shard] for shard in sorted(missing)})
        return [self._shards[shard].answers.pop(number) for shard, number in due]

    def facts(self) -> list[dict[str, Any]]:
        """Describe each shard, after all messages."""
        return self._ask([(shard, partial(self._call, method="facts")) for shard in self._shards])

    def sizes(self) -> dict[int, int]:
        """Return the size of each subtree, by position."""
        found = self._ask([(shard, partial(self._call, method="sizes")) for shard in self._shards])
        return {position: n for one in found for position, n in one.items()}

    def save(self, files: list[str]) -> None:
        """Write each shard to a file, all at the same time. From then on, shards start from these files."""
        self._ask([(shard, partial(self._save, file=file)) for shard, file in zip(self._shards, files, strict=True)])
        for shard, file in zip(self._shards, files, strict=True):
            shard.sources = [Source(file, sorted(shard.positions))]
            shard.log, shard.n_covered = [], shard.n_sent

    def move(self, sources: list[list[Source]]) -> None:
        """Distribute the subtrees anew, perhaps to more shards or fewer. The files must include all messages."""
        for shard in self._shards[len(sources) :]:
            ray.kill(shard.actor)
        self._shards = self._shards[: len(sources)]
        for shard, own in zip(self._shards, sources, strict=False):
            before = shard.positions
            shard.sources = own
            shard.mapped |= {one.file for one in own}
            added = [Source(one.file, [p for p in one.positions if p not in before]) for one in own]
            away = sorted(before - shard.positions)
            try:
                ray.get(self._call(shard, "move", (away, [one for one in added if one.positions])))
            except RayTaskError:
                raise
            except RayError as error:
                self._restart(shard, error)
        n_before = len(self._shards)
        new = [_Shard(number, own) for number, own in enumerate(sources[n_before:], n_before)]
        self._shards += new
        self._start_all(new)

    def close(self) -> None:
        """End the actors."""
        for shard in self._shards:
            with suppress(RayError, RaySystemError):  # the connection to Ray may have ended
                ray.kill(shard.actor)

    # Calls, and what happens if a shard dies

    def _send(self, shard: _Shard) -> None:
        """Send what waits, unless too many calls are in flight: then wait for the first of them before."""
        if len(shard.in_flight) >= _MOST_CALLS:
            try:
                shard.receive(ray.get(shard.in_flight.popleft().reference))
            except RayTaskError:
                raise
            except RayError as error:
                self._restart(shard, error)  # with all messages
        shard.send()

    def _call(self, shard: _Shard, method: str, arguments: tuple[Any, ...] = ()) -> Any:
        """Call a method after all messages."""
        shard.send()
        return getattr(shard.actor, method).remote(*arguments)

    def _save(self, shard: _Shard, file: str) -> Any:
        return self._call(shard, "save", (file, shard.n_messages))

    def _ask(self, calls: list[tuple[_Shard, Callable[[_Shard], Any]]]) -> list[Any]:
        """Make calls at the same time, and return the results. A call is repeated if the shard dies."""
        references = [call(shard) for shard, call in calls]
        try:
            answers: list[Any] = ray.get(references)  # all together, because each call of `get` takes a while
            for shard, _ in calls:
                shard.receive_all()
        except RayTaskError:
            raise
        except RayError:
            return [self._answer(*call, reference) for call, reference in zip(calls, references, strict=True)]
        return answers

    def _answer(self, shard: _Shard, call: Callable[[_Shard], Any], reference: Any) -> Any:
        """Wait for the result of a call. If the shard has died, start it again and repeat the call."""
        for attempt in range(1, _MOST_DEATHS + 1):
            try:
                shard.receive_all()
                return ray.get(reference)
            except RayTaskError:
                raise
            except RayError as error:
                if attempt == _MOST_DEATHS:
                    raise _keeps_dying(attempt, error) from error
                self._restart(shard, error)
                reference = call(shard)
        return None

    def _wait(self, missing: dict[int, int]) -> None:
        """Wait for answers, by shard up to a question, but not for what was sent behind."""
        calls = []
        for shard, number in ((self._shards[shard], number) for shard, number in missing.items()):
            if shard.unsent and shard.unsent[0].number <= number:
                shard.send()
            n = 1 + sum(one.last_question < number for one in shard.in_flight)
            calls += [(shard, one.reference) for one in itertools.islice(shard.in_flight, n)]
        try:
            answers = ray.get([reference for _, reference in calls])  # together: each call of `get` takes a while
        except RayTaskError:
            raise
        except RayError:
            for number in missing:
                self._finish_one(self._shards[number])
            return
        for (shard, _), found in zip(calls, answers, strict=True):
            shard.receive(found)
            shard.in_flight.popleft()

    def _finish_one(self, shard: _Shard) -> None:
        try:
            shard.receive_all()
        except RayTaskError:
            raise
        except RayError as error:
            self._restart(shard, error)  # it has answered everything then

    def _restart(self, shard: _Shard, error: Exception) -> None:
        reason = str(error).partition("\n")[0]
        _log.warning("%s: shard %d has died and is started again: %s", self._arguments[2], shard.number, reason)
        self.n_restarts += 1
        with suppress(RayError):
            ray.kill(shard.actor)
        self._start(shard)

    def _start_all(self, shards: list[_Shard]) -> None:
        """Start shards that have no messages yet, all at the same time."""
        references = [self._begin(shard) for shard in shards]
        try:
            ray.get(references)
        except RayError:
            for shard in shards:
                self._start(shard)

    def _start(self, shard: _Shard) -> None:
        """Start a shard from its files and the messages since, and wait until it has learned them."""
        for attempt in range(1, _MOST_DEATHS + 1):
            try:
                ray.get(self._begin(shard, attempt))
                for part in _parts(*shard.take_waiting()):
                    shard.receive(ray.get(shard.actor.take.remote(*part)))
            except RayTaskError as error:
                if isinstance(error.cause, OpltError):  # a damaged file, which the error names
                    raise error.cause from error
                raise OpltError(
                    "shard-not-started",
                    f"shard {shard.number} could not be started",
                    where=self._arguments[2],
                    got=str(error.cause),
                    hint="All machines must see the folder of the model under the same path, and have the same oplt.",
                ) from error
            except RayError as error:
                if attempt == _MOST_DEATHS:
                    raise _keeps_dying(attempt, error) from error
            else:
                return

    def _make_actor(self, place_number: int) -> Any:
        """Start a process. Machines take turns, by the number of the place."""
        alive: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
        nodes = sorted(node["NodeID"] for node in alive if node["Alive"])
        # Not soft: Ray would then put a shard anywhere whenever it knows too little about the machine at that moment.
        place = NodeAffinitySchedulingStrategy(nodes[place_number % len(nodes)], soft=False)
        # A shard needs memory above all, and shares processors with whatever else the cluster does.
        actors = ray.remote(ShardActor).options(
            num_cpus=0, max_concurrency=1, max_restarts=0, scheduling_strategy=place
        )
        return actors.remote(*self._arguments)

    def _begin(self, shard: _Shard, attempt: int = 1) -> Any:
        """Let a shard open its files. Each attempt is made on another machine."""
        shard.begin_again()
        shard.mapped = {one.file for one in shard.sources}
        shard.actor = self._make_actor(shard.number + attempt - 1)
        return shard.actor.open.remote(shard.sources, shard.n_covered, __version__)


def _keeps_dying(n: int, error: Exception) -> OpltError:
    return OpltError(
        "shard-keeps-dying",
        f"a shard died {n} times, one after the other",
        got=str(error),
        hint="Its machine may have too little memory, or lack oplt; use more shards, or larger machines.",
    )


def _parts(
    first: int, messages: list[bytes], questions: list[Question]
) -> Iterator[tuple[int, list[bytes], list[Question]]]:
    """Cut messages into parts that are sent together, each with the number of its first message and its questions."""
    begin, n_bytes = 0, 0
    for end, message in enumerate(messages, 1):
        n_bytes += len(message)
        if n_bytes >= _MOST_REPEATED or end == len(messages):
            before = [one for one in questions if one.after < first + end]
            questions = questions[len(before) :]
            yield first + begin, messages[begin:end], before
            begin, n_bytes = end, 0
    if questions:  # there are no messages
        yield first, [], questions
