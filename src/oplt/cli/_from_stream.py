# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt learn MODEL --from URL`: learn from a stream of Redis, NATS or Kafka, or from a journal."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from oplt.cli._console import WrongDataError, WrongUsageError, note, print_json
from oplt.cli._learning import Interrupted, exit_if_unusable, interruptible
from oplt.cli._lock import locked
from oplt.cli._options import DataOptions, Option, check_target, is_given, refuse_with
from oplt.cli._served import check_served
from oplt.model import OnlinePLT
from oplt.wording import number_of

if TYPE_CHECKING:
    from oplt.streams import StreamLearner

__all__ = ["StreamOptions", "learn_from_stream", "refuse_without_stream", "stream_options"]

_SECTION = "Streams"
_EVERY = 30.0  # seconds between two saves
_URL = "redis://HOST/STREAM, nats://HOST/STREAM, kafka://HOST/TOPIC or journal:FILE"


@dataclass(frozen=True)
class StreamOptions:
    """The options of `stream_options`."""

    source: str | None = None
    new: str | None = None
    dead_letters: str | None = None
    publish: str | None = None
    window: int | None = None
    until_end: bool = False
    other_stream: bool = False
    skip_lost: bool = False


def _option(*names: str, **kwargs: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=Option, section=_SECTION, **kwargs)


_OPTIONS = [
    _option(
        "--from",
        "source",
        metavar="URL",
        help=f"Learn from this stream, without DATA: {_URL}. The position is saved in MODEL, so each message is learned"
        " exactly once, whatever crashes.",
    ),
    _option(
        "--new",
        type=click.Choice(["text", "features"]),
        help="If MODEL does not exist, start with an empty model of texts or of features.",
    ),
    _option("--dead-letters", metavar="URL", help="Publish invalid messages to this stream, with the reason."),
    _option("--publish", metavar="URL", help="Publish predictions to this stream: the top five labels of each input."),
    _option(
        "--window",
        metavar="N",
        type=click.IntRange(min=0),
        help="Keep up to N messages, of 64 MiB in all, that wait for their labels.  [default: 10000]",
    ),
    _option("--until-end", is_flag=True, help="Stop when the stream has no further message."),
    _option(
        "--other-stream", is_flag=True, help="Accept that the model has learned from another stream before this one."
    ),
    _option("--skip-lost", is_flag=True, help="If unread messages were removed from the stream, continue after them."),
]


def stream_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for streams to a command, which receives them as one object, `streams`."""

    @wraps(function)
    def packed(*args: Any, **kwargs: Any) -> Any:
        own = {field.name: kwargs.pop(field.name) for field in fields(StreamOptions)}
        return function(*args, streams=StreamOptions(**own), **kwargs)

    decorated: Callable[..., Any] = packed
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def refuse_without_stream() -> None:
    """Refuse options that have no effect without --from."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if given not in (None, False) and getattr(parameter, "section", "") == _SECTION:
            raise WrongUsageError(f"{max(parameter.opts, key=len)} needs --from: it is for streams only")


def learn_from_stream(
    path: Path,
    options: StreamOptions,
    data: DataOptions,
    *,
    every: float,
    wait: float | None,
    threads: int,
    as_json: bool,
) -> None:
    """Learn until the end, or until the command is interrupted."""
    own = "the model is updated in place, with its position in the stream"
    refuse_with(
        "--from",
        server="the server keeps its own model",
        out=own,
        force=own,
        skip="the position in the model says where to begin",
        format="messages are JSON objects",
        separator="labels are lists of JSON",
        key="it is for servers",
        token_file="it is for servers",  # noqa: S106 (no password)
    )
    check_target(path, force=True, is_model=True)
    check_served(path, path, source=options.source)
    with interruptible(), locked(path, wait=math.inf if wait is None else wait):
        is_new = _start_if_new(path, options.new)
        try:
            opened = _learner(path, options, data, every if is_given("checkpoint") else _EVERY, threads)
        except BaseException:
            if is_new:
                path.unlink(missing_ok=True)
            raise
        with opened as learner:
            _expect_kind(learner.model, path, options.new)
            n_before = learner.model.n_examples
            with _stopping(learner) as signals:
                learner.run(until_end=options.until_end)
            _report(learner, path, n_before, as_json=as_json)
            if signals:
                raise click.exceptions.Exit(128 + signals[0])
            exit_if_unusable(learner.model, learner.state.n_refused)


def _start_if_new(path: Path, new: str | None) -> bool:
    """Write an empty model if there is none. Returns whether it did."""
    if path.exists():
        return False
    if new is None:
        raise WrongDataError(
            f"{path}: there is no such file. Add --new text, or --new features, to start with an empty model."
        )
    OnlinePLT(features="text" if new == "text" else None).save(path)
    return True


def _expect_kind(model: OnlinePLT, path: Path, new: str | None) -> None:
    """Refuse --new if the model that exists is of the other kind."""
    own = "features" if model.settings["features"] is None else "text"
    if new not in (None, own):
        raise WrongDataError(f"{path}: the model exists and takes {own}, but --new {new} was given. Leave --new out.")


def _learner(path: Path, options: StreamOptions, data: DataOptions, every: float, threads: int) -> StreamLearner:
    from oplt.streams import StreamLearner

    window = {} if options.window is None else {"window": options.window}
    assert options.source is not None  # noqa: S101 (the caller has checked)
    return StreamLearner(
        path,
        options.source,
        dead_letters=options.dead_letters,
        publish=options.publish,
        every=every,
        on_error="skip" if data.on_error == "skip" else "stop",
        columns=data.columns(),
        other_stream=options.other_stream,
        skip_lost=options.skip_lost,
        threads=threads,
        tell=note,
        **window,
    )


@contextmanager
def _stopping(learner: StreamLearner) -> Iterator[list[int]]:
    """Let the first Ctrl-C or SIGTERM end the run after the current batch, and the second one end it immediately."""
    seen: list[int] = []

    def interrupt(signum: int, _: FrameType | None) -> None:
        seen.append(signum)
        learner.stop()
        if len(seen) > 1:
            raise Interrupted(signum)

    both = (signal.SIGINT, signal.SIGTERM)
    heeded = [which for which in both if signal.getsignal(which) is not signal.SIG_IGN]  # background jobs ignore them
    before = {which: signal.signal(which, interrupt) for which in heeded}
    try:
        yield seen
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def _report(learner: StreamLearner, path: Path, n_before: int, *, as_json: bool) -> None:
    model, state = learner.model, learner.state
    n_learned = model.n_examples - n_before
    note(f"Learned {number_of(n_learned, 'example')}, {model.n_examples:,} in all. Saved in {path}.")
    if as_json:
        values = {"model": str(path), "examples": model.n_examples, "learnt": model.n_examples - n_before}
        print_json({**values, "stream": state.summary(), "fingerprint": model.fingerprint()})
