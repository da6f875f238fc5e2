# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The consumer of a stream: it reads messages, lets the model learn them, and saves it together with the position."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal, TypeVar

from oplt.checks import count, path_of, refuse
from oplt.errors import InvalidInputError, InvalidParameterError, ModelFormatError, OpltError
from oplt.files import Columns
from oplt.model import OnlinePLT
from oplt.stream_state import StreamState
from oplt.streams._address import Address, open_sink, open_source
from oplt.streams._interface import START, Sink, Source, StreamError, UnreachableError
from oplt.streams._ledger import Ledger
from oplt.streams._messages import Parser
from oplt.streams._updates import StoppedError, Updates
from oplt.wording import briefly, number_of

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["StreamLearner"]

_log = logging.getLogger(__name__)
_BATCH = 512  # messages that are read together
_WAIT = 0.5  # seconds that one request waits for messages; `stop` takes effect after at most this time
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between attempts to reach a broker
_SLICE = 0.1  # seconds

_Result = TypeVar("_Result")


class StreamLearner:
    """Learns from a stream, each message exactly once, and keeps the position in the model file.

    Every message is one JSON object: an example ``{"text": ..., "labels": [...]}``, with ``features`` instead of the
    text for models that take features; or a question ``{"id": ..., "text": ...}``, whose labels may come later, as
    ``{"id": ..., "labels": [...]}``.

    The model is `model`, from which other threads may predict and take snapshots at any time. Only this object should
    update it.

    Parameters
    ----------
    path
        The model file. It is read, and replaced whenever the model is saved.
    source
        The stream: an address such as ``redis://localhost/tickets``, or a `Source`.
    dead_letters
        An address or a `Sink` to which messages are published that are not valid, with the reason.
    publish
        An address or a `Sink` to which the five most probable labels of each input are published, as predicted before
        the model learns from it. Each input is then predicted and learned by itself, which takes longer.
    window
        Number of messages that can wait for their labels. If there are more, or more than 64 MiB of them, the oldest
        ones are dropped. `StreamState.n_expired` counts them.
    every
        Seconds between two saves; 0: save only at the end.
    on_error
        What to do on a message that is not valid if there are no `dead_letters`: ``"stop"`` raises its error, once
        all messages before it are learned and saved; ``"skip"`` only counts it.
    columns
        The names of the fields of a message, as for `oplt.files.read`.
    other_stream
        Allow a model that has learned from another stream to learn from this one, from its first message on.
    skip_lost
        If the stream has lost messages before they could be learned, continue with the next one. Otherwise, this is an
        error.
    threads
        As for `OnlinePLT`.
    tell
        Called with sentences about connections and saves. By default, they are logged.

    Notes
    -----
    A model at the same position has learned the same messages in the same order, so two consumers of one stream have
    equal models at equal positions, if `window` and `columns` are the same.

    Outputs are published before the position behind them is saved, so none is lost. After a crash, some are published
    again. Redis, Valkey, journals and, within its duplicate window, NATS drop the repetitions; with Kafka, readers
    can recognize them by their key.

    Examples
    --------
    A journal file is a stream that needs no server:

    >>> import tempfile, pathlib
    >>> from oplt import OnlinePLT
    >>> from oplt.streams import Output, open_sink
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> stream = f"journal:{folder}/tickets.sqlite"
    >>> sink = open_sink(stream)
    >>> sink.publish([Output("1", b'{"text": "Heap overflow in the kernel", "labels": ["memory"]}', "ticket 1")])
    >>> sink.close()
    >>> OnlinePLT(features="text").save(folder / "tags.oplt")
    >>> with StreamLearner(folder / "tags.oplt", stream) as learner:
    ...     learner.run(until_end=True)
    >>> model = OnlinePLT.load(folder / "tags.oplt")
    >>> model.n_examples, model.stream.position
    (1, '1')
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        source: str | Source,
        *,
        dead_letters: str | Sink | None = None,
        publish: str | Sink | None = None,
        window: int = 10_000,
        every: float = 30.0,
        on_error: Literal["stop", "skip"] = "stop",
        columns: Columns | None = None,
        other_stream: bool = False,
        skip_lost: bool = False,
        threads: int = 1,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self.path = path_of(path)
        self._every = every
        self._tell = tell or _log.info
        self._warn = tell or _log.warning
        self._skip_lost = skip_lost
        self._is_stopping = False
        self._has_run = False
        self._saving: Future[None] | None = None
        self._last_save = time.monotonic()
        if on_error not in ("stop", "skip"):
            refuse("on_error", "'stop' or 'skip'", on_error)
        window = count("window", window, least=0)
        _expect_different(source, dead_letters, publish)
        self.model = OnlinePLT.load(self.path, threads=threads)
        with ExitStack() as opened:
            self._source = open_source(source) if isinstance(source, str) else source
            opened.callback(self._source.close)
            state = self._beginning(other_stream=other_stream)
            self._sinks = [open_sink(one) if isinstance(one, str) else one for one in (dead_letters, publish)]
            for sink in filter(None, self._sinks):
                opened.callback(sink.close)
                sink.check()
            self._open_source(state)
            self._opened = opened.pop_all()  # close them at the end, not here
        self._n_saved = state.n_messages
        self._updates = Updates(
            self.model,
            Ledger(state, window),
            Parser(columns or Columns(), texts=self.model.settings["features"] is not None),
            is_strict=dead_letters is None and on_error == "stop",
            predicts_all=publish is not None,
        )

    def _beginning(self, *, other_stream: bool) -> StreamState:
        state, name = self.model.stream, self._source.name
        if state is None:
            return StreamState(name, START)
        if state.source == name:
            return state
        if not other_stream:
            raise InvalidInputError(
                "stream-of-another-name",
                f"the model has learned from the stream {state.source!r}, up to message {state.position}, but this is"
                f" {name!r}",
                where=str(self.path),
                hint="To continue with this stream, from its first message, pass --other-stream (other_stream=True).",
            )
        return StreamState(name, START)

    def _open_source(self, state: StreamState) -> None:
        try:
            self._source.open(state.position, state.proof, skip_lost=self._skip_lost)
        except ValueError as error:
            if isinstance(error, OpltError):
                raise
            raise ModelFormatError(
                "model-damaged",
                "the position in the stream is not valid",
                where=str(self.path),
                got=briefly(state.position),
                hint="Restore a copy of the file.",
            ) from None

    @property
    def state(self) -> StreamState:
        """The position in the stream and what was counted so far, precision included."""
        state = self.model.stream
        assert state is not None  # noqa: S101 (our own invariant)
        return state

    def run(self, *, until_end: bool = False) -> None:
        """Learn from the stream until `stop` is called, then save.

        If a broker does not answer any more, it is asked again, without limit. If a message or the source is the cause
        of an error, the model has been saved as it was before. `run` can be called again.

        Parameters
        ----------
        until_end
            Also stop when the stream has no further message.
        """
        if self._has_run:  # after an error, the source may stand behind messages that were read and not learned
            self._patiently(lambda: self._open_source(self.state))
        self._has_run = True
        try:
            while not self._is_stopping:
                messages = self._patiently(lambda: self._source.read(_BATCH, 0 if until_end else _WAIT), reopen=True)
                if not messages and until_end:
                    break
                self._updates.take(messages or ())
                if not self._patiently(self._deliver):
                    break
                self._save_if_due()
        except StoppedError as stopped:
            self.save()
            raise stopped.error from None
        except StreamError:
            self.save()
            raise
        self.save()

    def stop(self) -> None:
        """Let `run` return soon. It can be called from a signal handler or another thread."""
        self._is_stopping = True

    def _patiently(self, work: Callable[[], _Result], *, reopen: bool = False) -> _Result | None:
        """Try until a broker answers; None if `stop` was called meanwhile."""
        pause, missed = _FIRST_PAUSE, None
        while True:
            try:
                if reopen and missed is not None:
                    self._open_source(self.state)
                result = work()
            except UnreachableError as error:
                if missed is None:
                    self._warn(f"{error.with_hint(None)}. Waiting for it.")
                missed = error.where
                if reopen:  # otherwise, outputs that are not published yet must not be left behind
                    self._save_if_due()
                self._sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                if self._is_stopping:
                    return None
            else:
                if missed is not None:
                    self._warn(f"{missed}: connected again.")
                return result

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._is_stopping and time.monotonic() < end:
            time.sleep(_SLICE)

    def _deliver(self) -> bool:
        """Publish what there is to publish. Returns True, for `_patiently`."""
        for sink, outputs in zip(self._sinks, (self._updates.dead_letters, self._updates.predictions), strict=True):
            if sink is not None and outputs:
                sink.publish(list(outputs))
            outputs.clear()
        return True

    # Saving

    def save(self) -> None:
        """Save the model, and the position with it."""
        self._finish_saving()
        state = self.state
        self._deliver()
        if state.n_messages != self._n_saved:
            self.model.save(self.path)
            self._note_saved(state)

    def _save_if_due(self) -> None:
        if self._saving is not None and self._saving.done():
            self._finish_saving()
        is_due = self._every and time.monotonic() - self._last_save >= self._every
        if not is_due or self._saving is not None:
            return
        self._last_save = time.monotonic()
        taken = self.model.snapshot()
        state = taken.stream
        if state is not None and state.n_messages != self._n_saved:
            self._saved_state = state
            self._saving = taken.save(self.path, wait=False)

    def _finish_saving(self) -> None:
        """Wait for a save in the background. If it failed, the next one may succeed."""
        saving, self._saving = self._saving, None
        if saving is None:
            return
        try:
            saving.result()
        except OSError as error:
            self._warn(f"{self.path} could not be saved: {error.strerror}. Next attempt in {self._every:g} s.")
        else:
            self._note_saved(self._saved_state)

    def _note_saved(self, state: StreamState) -> None:
        self._n_saved = state.n_messages
        self._source.note_saved(state.position)
        self._tell(_in_words(state))

    def close(self) -> None:
        """Disconnect. What was learned since the last save is not saved: `run` saves at its end."""
        if self._saving is not None:
            self._finish_saving()
        self._updates.release()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _expect_different(*streams: str | Source | Sink | None) -> None:
    """Refuse a stream with two roles: predictions would be taken for labels, and dead letters for messages."""
    addresses = [Address.parse(one) for one in streams if isinstance(one, str)]
    if len({one.identity for one in addresses}) < len(addresses):
        raise InvalidParameterError(
            "parameters-conflict",
            "messages, dead letters and predictions need different streams",
            got=", ".join(one.shown for one in addresses),
        )


def _in_words(state: StreamState) -> str:
    precision = ""
    if state.n_scored:
        values = ", ".join(f"P@{k} {state.precision(k):.3f}" for k in (1, 3, 5))
        precision = f"; progressive {values} ({number_of(state.n_scored, 'prediction')})"
    n_messages = number_of(state.n_messages, "message")
    refused = f", {state.n_refused:,} refused" if state.n_refused else ""
    expired = f", {state.n_expired:,} without labels in time" if state.n_expired else ""
    return f"Saved at message {state.position}: {n_messages}, {state.n_learned:,} learned{refused}{expired}{precision}."
