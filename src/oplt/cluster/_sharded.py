# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The sharded model as users see it: what it checks, and which thread does the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from oplt import _core, persistence
from oplt._typing import FloatArray, Label, LabelRows, Labels, Row, Rows
from oplt.checks import count, path_of, refuse
from oplt.cluster._folder import ModelFolder
from oplt.cluster._parts import read_top
from oplt.cluster._records import encode_examples
from oplt.cluster._router import Router
from oplt.cluster._shards import expect_ray
from oplt.errors import BrokenModelError, InvalidInputError, InvalidParameterError
from oplt.labels import LabelOperation, OnlineLabels
from oplt.model import OnlinePLT
from oplt.params import Settings, check_setting_names
from oplt.predictions import Predictions
from oplt.thresholds import Thresholds
from oplt.validation import NamedLabels, NamedRows, Texts, as_labels, as_labels_of_one, as_weight, as_weights

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["ShardedPLT"]

_T = TypeVar("_T")
_Threshold = float | Literal["tuned"] | Thresholds | None

_CHUNK = 8192  # examples in a record of the journal; Ctrl-C takes effect after one
_CUTTABLE = ("best-greedy", "cpet", "fixed")


class ShardedPLT:
    """An `OnlinePLT` whose tree is distributed over the machines of a Ray cluster.

    This process is the router: it has the names, the root's classifiers, and the label memory. It sends each example to
    the shards in whose subtrees it has labels, and asks them when it predicts. Everything it answers, and the model
    that `save` writes, is bit for bit that of one `OnlinePLT` that learns the same examples.

    The model starts in one piece. It is cut into shards after 32,768 examples, or later, when the children of the root
    are final. With a `history`, it stays in one piece until the history ends, because the tree is regrown until then.

    A shard that dies is started again, and no example is lost. If this process dies, `open` continues with the last
    example that `learn_many` has accepted.

    Parameters
    ----------
    shards
        Number of shards.
    folder
        An empty folder for the parts of the model, which all machines of the cluster see under the same path.
    threads
        Number of threads of the router, and of each shard. It has no effect on results.
    **settings
        As for `OnlinePLT`, but with ``history=0`` unless it is given. The policy must be best-greedy or cpet; there can
        be only one tree, and no `max_memory`.

    Notes
    -----
    Thread safety: calls wait for each other. Ray must have been connected by ``ray.init()``.
    """

    def __init__(self, shards: int = 2, *, folder: str | os.PathLike[str], threads: int = 1, **settings: Any) -> None:
        check_setting_names("ShardedPLT", settings)
        if settings.get("policy") == "fixed":
            raise InvalidParameterError(
                "not-shardable",
                "a new model cannot have policy='fixed', which never extends the tree",
                hint="Create the model by OnlinePLT.from_tree, and distribute it by ShardedPLT.from_model.",
            )
        model = OnlinePLT(**{"history": 0, **settings}, threads=threads)
        _expect_cuttable(model._settings)
        self._begin(model, shards, folder, Router.checkpoint)

    @classmethod
    def from_model(cls, model: OnlinePLT, shards: int = 2, *, folder: str | os.PathLike[str]) -> Self:
        """Distribute an existing model, which stays as it is.

        Parameters
        ----------
        model
            The model, as `OnlinePLT.load` opens it from a file. Its tree must have grown far enough, and its history
            must have ended.
        shards, folder
            As for `ShardedPLT`.
        """
        if not isinstance(model, OnlinePLT):
            refuse("model", "an OnlinePLT", model, hint="To distribute a model file, pass OnlinePLT.load(file).")
        own = OnlinePLT._learning(model._saved(), model.threads)
        _expect_cuttable(own._settings)
        _expect_grown(own)  # before the folder is made
        sharded = cls.__new__(cls)
        sharded._begin(own, shards, folder, Router.cut)
        return sharded

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, threads: int = 1) -> Self:
        """Continue with the model in a folder, whose process has ended or crashed.

        Parameters
        ----------
        folder
            The folder of a sharded model.
        threads
            As for `ShardedPLT`.
        """
        expect_ray()
        opened = cls.__new__(cls)
        own = ModelFolder(_folder_of(folder), is_new=False)
        try:
            manifest = own.manifest
            assert manifest is not None  # noqa: S101 (it was read just now)
            top = OnlinePLT._learning(read_top(own.path / manifest.top), threads)
        except BaseException:
            own.close()
            raise
        opened._use(Router(top, own, manifest.n_shards, manifest.position), Router.restore)
        return opened

    def _begin(
        self, model: OnlinePLT, shards: int, folder: str | os.PathLike[str], begin: Callable[[Router], None]
    ) -> None:
        n_shards = count("shards", shards)
        expect_ray()
        self._use(Router(model, ModelFolder(_folder_of(folder), is_new=True), n_shards), begin)

    def _use(self, router: Router, begin: Callable[[Router], None]) -> None:
        self._router = router
        self._model = router.model
        self._ended: str | None = None  # why the model cannot be used any more
        self._is_closed = False
        # One thread uses the model. So calls wait for each other, and Ctrl-C, which Python raises in the main thread,
        # cannot interrupt an update half-way.
        self._thread = ThreadPoolExecutor(1, "oplt-router")
        try:
            self._run(partial(begin, router))
        except BaseException:
            self.close()
            raise

    def _run(self, work: Callable[[], _T], stop: Event | None = None) -> _T:
        if self._ended is not None:
            first = "Continue" if self._is_closed else "Remove the cause, call close(), and continue"
            folder = self._router.folder
            raise BrokenModelError(
                "model-broken", self._ended, where=folder, hint=f"{first} with ShardedPLT.open({folder!r})."
            )
        future = self._thread.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            if stop is not None:
                stop.set()
            future.exception()  # waits
            raise
        except (InvalidInputError, InvalidParameterError):  # the user's; nothing has changed
            raise
        except BaseException as error:
            first_line = str(error).partition("\n")[0]
            self._ended = (
                f"an earlier error ({type(error).__name__}: {first_line}) has ended the use of this object;"
                " the folder has all examples of the calls that returned"
            )
            raise

    # Learning

    def learn_one(self, x: Row | str, labels: Labels, *, weight: float = 1.0) -> None:
        """Learn from one example, as `OnlinePLT.learn_one`. Many at a time are much faster: see `learn_many`."""
        weights = np.array([as_weight(weight)], dtype=np.float32)
        self._learn(self._model._as_row(x), as_labels_of_one(labels), weights)

    def learn_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from many examples, as `OnlinePLT.learn_many`.

        When it returns, the examples are on disk and have been sent to the shards, which may still be learning them. If
        it is interrupted (Ctrl-C), the model has learned the first of them; `n_examples` counts them.
        """
        rows = self._model._as_rows(X)
        self._learn(rows, as_labels(Y, len(rows)), as_weights(weights, len(rows)))

    def _learn(self, rows: NamedRows | Texts, labels: NamedLabels, weights: FloatArray | None) -> None:
        self._model._doubts.look_at(labels.names)
        self._model._note_kind(rows)
        for begin in range(0, len(rows), _CHUNK):
            end = min(begin + _CHUNK, len(rows))
            w = None if weights is None else weights[begin:end]
            content = encode_examples(rows.chunk(begin, end), labels.chunk(begin, end), w)
            self._run(partial(self._router.learn, content))

    @property
    def labels(self) -> OnlineLabels:
        """The labels of the model, and operations on them, as `OnlinePLT.labels`."""
        return OnlineLabels(self._model._state, self._change_labels)

    def _change_labels(self, operations: list[LabelOperation]) -> int:
        plain = [LabelOperation.from_dict(one.to_dict()).to_dict() for one in operations]  # checks them, too
        return self._run(partial(self._router.change_labels, msgspec.json.encode(plain)))

    # Prediction

    def predict_one(
        self,
        x: Row | str,
        k: int | None = None,
        *,
        threshold: _Threshold = None,
        beam: int | None = None,
        allow: Iterable[Label] | None = None,
        deny: Iterable[Label] | None = None,
    ) -> list[tuple[Label, float]]:
        """Predict the labels of one example, as `OnlinePLT.predict_one`."""
        question = self._model._question(k, threshold, beam, allow, deny)
        row = self._model._as_row(x)
        return self._run(lambda: self._router.predict(row, question, Event()))[0]

    def predict_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        k: int | None = None,
        *,
        threshold: _Threshold = None,
        beam: int | None = None,
        allow: Iterable[Label] | None = None,
        deny: Iterable[Label] | None = None,
    ) -> Predictions:
        """Predict the labels of many examples, as `OnlinePLT.predict_many`. Ctrl-C takes effect after 4,096 rows."""
        question = self._model._question(k, threshold, beam, allow, deny)
        rows = self._model._as_rows(X)
        stop = Event()
        return self._run(lambda: self._router.predict(rows, question, stop), stop)

    @property
    def thresholds(self) -> Thresholds | None:
        """The thresholds that ``threshold="tuned"`` uses, as `OnlinePLT.thresholds`. Setting them writes all parts."""
        return self._model.thresholds

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds | None) -> None:
        self._model.thresholds = thresholds
        self.checkpoint()

    # Parts

    @property
    def is_cut(self) -> bool:
        """Whether the model has been cut into shards."""
        return self._router.shards is not None

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return self._router.n_shards

    def checkpoint(self) -> None:
        """Write all parts to the folder, so that a restart has less to repeat. Learning pauses meanwhile.

        The model does this by itself from time to time.
        """
        self._run(self._router.checkpoint)

    def rebalance(self, shards: int | None = None) -> None:
        """Distribute the subtrees anew, by their present sizes. The model stays the same, to the bit.

        Parameters
        ----------
        shards
            The new number of shards, larger or smaller than before. If not given, it does not change.
        """
        n_shards = self.n_shards if shards is None else count("shards", shards)
        self._run(partial(self._router.rebalance, n_shards))

    def shard_facts(self) -> list[dict[str, Any]]:
        """Describe each shard: its process, its node, and the labels and bytes of memory of each of its subtrees."""
        shards = self._router.shards
        return [] if shards is None else self._run(shards.facts)

    # The whole

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one ordinary file, which `OnlinePLT.load` and `PLT.load` open."""
        target = path_of(path)
        persistence.write(self._run(self._router.whole), target)

    def fingerprint(self) -> str:
        """Return a digest of the whole state: that of an `OnlinePLT` that has learned the same examples."""
        return persistence.fingerprint(self._run(self._router.whole))

    @property
    def n_examples(self) -> int:
        """Number of examples learned so far."""
        return self._model.n_examples

    @property
    def n_labels(self) -> int:
        """Number of labels, without those that have been removed or merged into others."""
        return self._model.n_labels

    @property
    def n_features(self) -> int:
        """Number of features seen so far; for texts, the number of terms that are kept."""
        return self._model.n_features

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the model."""
        return self._model.settings

    def close(self) -> None:
        """End the shards and release the folder. `open` continues where the model stopped."""
        self._ended = self._ended or "the model has been closed"
        self._is_closed = True
        self._thread.shutdown()
        self._router.close()

    def __reduce__(self) -> NoReturn:
        msg = "a ShardedPLT cannot be copied or pickled: its parts are in other processes. Use save() instead."
        raise TypeError(msg)

    if not TYPE_CHECKING:  # type checkers would believe that it has any attribute

        def __getattr__(self, name: str) -> NoReturn:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            if not name.startswith("_") and hasattr(OnlinePLT, name):
                msg += f". {name} needs the model in one piece: save() it, and open the file by OnlinePLT.load"
            raise AttributeError(msg, name=name, obj=self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = "closed" if self._is_closed else f"{self.n_shards} shards" if self.is_cut else "not cut yet"
        return f"<{type(self).__name__} in {Path(self._router.folder)}, {parts}: {self._model!r}>"


def _folder_of(given: Any) -> Path:
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        refuse("folder", "the path of a folder", given)
    return Path(given)


def _expect_grown(model: OnlinePLT) -> None:
    """Refuse a model whose root does not have its final children."""
    if _core.can_cut(model._core):
        return
    history = model.settings["history"]
    if 0 < model.n_examples <= history:
        reason = f"its history, of up to {history:,} examples, has not ended, and the tree is regrown until then"
        hint = "Create the model with history=0, or let it learn more examples in one process."
    else:
        reason = "the root of its tree does not have all its children yet"
        hint = "Let it learn more labels in one process, or start with ShardedPLT(folder=...)."
    raise InvalidInputError(
        "not-shardable",
        f"the model cannot be distributed yet, after {model.n_examples:,} examples with {model.n_labels:,} labels:"
        f" {reason}",
        hint=hint,
    )


def _expect_cuttable(settings: Settings) -> None:
    """Refuse settings by which what happens in one part of the tree depends on the others."""
    if settings.policy not in _CUTTABLE:
        raise InvalidParameterError(
            "not-shardable",
            f"a model can be distributed if its policy is {', '.join(_CUTTABLE[:-1])} or {_CUTTABLE[-1]}",
            got=f"policy={settings.policy!r}",
            hint="Choose one of these, or use OnlinePLT.",
        )
    if settings.trees > 1:
        raise InvalidParameterError(
            "not-shardable",
            "a model can be distributed if it has one tree",
            got=f"trees={settings.trees}",
            hint="Pass trees=1, or use OnlinePLT.",
        )
    if settings.max_memory is not None:
        raise InvalidParameterError(
            "not-shardable",
            "a model can be distributed if it has no memory limit, which would depend on all shards",
            got=f"max_memory={settings.max_memory}",
            hint="Use more shards instead.",
        )
