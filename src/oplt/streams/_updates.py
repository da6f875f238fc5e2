# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How messages change the model: what is learned, predicted, kept waiting and refused. It knows no broker and no file.

Which messages are learned in one call depends on when they arrive; what is learned does not, since `learn_many` equals
a loop of `learn_one`. Predictions for messages are made when all messages before them are learned, and none after them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.files._examples import Example
from oplt.files._json import object_of
from oplt.model import OnlinePLT
from oplt.persistence import SavedModel
from oplt.stream_state import CUTOFFS
from oplt.streams._interface import Message, Output, StreamError
from oplt.streams._ledger import Ledger
from oplt.streams._messages import Parsed, Parser, dead_letter, prediction

__all__ = ["StoppedError", "Updates"]

# The first `_ALL_TRIED` messages, and later the first `_TRIED` of every `_OF_EACH`, are predicted before they are
# learned: enough to estimate the precision, for a part of the time. Which ones depends only on their place.
_ALL_TRIED = 2048
_TRIED, _OF_EACH = 128, 2048


class StoppedError(Exception):
    """A message was refused, and there is no place for dead letters. Everything before it is learned."""

    def __init__(self, error: InvalidInputError) -> None:
        super().__init__(error)
        self.error = error


class _Task(NamedTuple):
    message: Message
    example: Example
    predicted: list[Label] | None = None  # before it is learned


class Updates:
    """Applies messages to a model, and keeps the ledger.

    Parameters
    ----------
    model, ledger, parser
        The model, where it stands, and how its messages are read.
    is_strict
        Stop at a message that is not valid.
    predicts_all
        Predict all inputs, for publishing.
    """

    def __init__(
        self, model: OnlinePLT, ledger: Ledger, parser: Parser, *, is_strict: bool, predicts_all: bool
    ) -> None:
        self.dead_letters: list[Output] = []
        self.predictions: list[Output] = []
        self._is_whole = True  # model and ledger agree
        self._model = model
        self._ledger = ledger
        self._parser = parser
        self._is_strict = is_strict
        self._predicts_all = predicts_all
        self._source = ledger.source
        self._tasks: list[_Task] = []  # to learn next
        self._turn = threading.RLock()  # whoever saves the model waits until it agrees with the ledger
        model._paired = self._paired

    def _paired(self, take: Callable[[], SavedModel]) -> SavedModel:
        """Pair what is saved with the position. After an interruption within a batch, they do not belong together."""
        with self._turn:
            self._expect_whole()
            return replace(take(), stream=self._ledger.state())

    def _expect_whole(self) -> None:
        if not self._is_whole:
            raise StreamError(
                "model-partly-updated",
                "a batch of messages was interrupted, so the model does not agree with its position any more",
                where=self._source,
                hint="Load the model again: the file has the last state that was saved.",
            )

    def release(self) -> None:
        """Leave the model with its last position, if they belong together."""
        with self._turn:
            if self._is_whole:
                self._model._stream = self._ledger.state()  # first, because other threads may save the model
                self._model._paired = None

    def take(self, messages: Sequence[Message]) -> None:
        """Apply messages, in order."""
        with self._turn:
            self._expect_whole()
            self._is_whole = False
            try:
                for message in messages:
                    self._take(message)
                self._learn_tasks()
            except StoppedError:
                self._tasks.clear()
                self._is_whole = True
                raise
            self._is_whole = True

    def _take(self, message: Message) -> None:
        try:
            parsed = self._parser.parse(message.body)
            if not parsed.has_labels:
                self._ask(message, parsed)
            elif parsed.has_input:
                self._take_example(message, parsed)
            else:
                self._take_labels(message, parsed)
        except InvalidInputError as error:
            self._learn_tasks()
            self._refuse(message, error)

    def _take_example(self, message: Message, parsed: Parsed) -> None:
        example = self._parser.example(parsed.fields)
        place = self._ledger.n_messages + len(self._tasks)
        if self._predicts_all or place < _ALL_TRIED or place % _OF_EACH < _TRIED:
            self._learn_tasks()
            self._tasks.append(_Task(message, example, self._predict(message, parsed, example.x)))
        else:
            self._tasks.append(_Task(message, example))

    def _ask(self, message: Message, parsed: Parsed) -> None:
        """Predict labels for an input whose labels are not known yet."""
        x = self._parser.x(parsed.fields)
        assert parsed.id is not None  # noqa: S101 (checked by the parser)
        self._learn_tasks()
        self._ledger.expect_new(parsed.id)
        self._ledger.wait(parsed.id, message, self._predict(message, parsed, x))
        self._ledger.advance(message)

    def _take_labels(self, message: Message, parsed: Parsed) -> None:
        """Learn from an earlier input, whose labels have come."""
        assert parsed.id is not None  # noqa: S101 (checked by the parser)
        self._learn_tasks()
        waiting = self._ledger.waiting(parsed.id)
        fields = object_of(waiting.message.encode()) or {}
        example = self._parser.example({**fields, **parsed.fields})
        self._learn([_Task(message, example, waiting.predicted)])
        self._ledger.settle(parsed.id)

    def _predict(self, message: Message, parsed: Parsed, x: object) -> list[Label]:
        found = self._model.predict_one(x, k=max(CUTOFFS))  # type: ignore[arg-type]  # it was parsed for this model
        if self._predicts_all:
            self.predictions.append(prediction(self._source, message, parsed.id, found))
        return [label for label, _ in found]

    def _learn_tasks(self) -> None:
        tasks, self._tasks = self._tasks, []
        if not tasks:
            return
        try:
            self._learn(tasks)
        except InvalidInputError:  # one of them cannot be learned, so none was
            for task in tasks:
                self._learn_or_refuse(task)

    def _learn_or_refuse(self, task: _Task) -> None:
        try:
            self._learn([task])
        except InvalidInputError as error:
            self._refuse(task.message, error)

    def _learn(self, tasks: Sequence[_Task]) -> None:
        examples = [task.example for task in tasks]
        if len(examples) == 1:
            self._model.learn_one(examples[0].x, examples[0].labels, weight=examples[0].weight)
        else:
            weights = [one.weight for one in examples]
            is_weighted = any(weight != 1 for weight in weights)
            X, Y = [one.x for one in examples], [one.labels for one in examples]  # noqa: N806 (matrices)
            self._model.learn_many(X, Y, weights=weights if is_weighted else None)
        for task in tasks:
            self._ledger.advance(task.message, learned=1)
            if task.predicted is not None:
                self._ledger.score(task.predicted, task.example.labels)

    def _refuse(self, message: Message, error: InvalidInputError) -> None:
        if self._is_strict:
            raise StoppedError(error.at(f"{self._source}, message {message.position}"))
        self.dead_letters.append(dead_letter(self._source, message, error))
        self._ledger.advance(message, refused=1)
