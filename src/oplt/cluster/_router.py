# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The router of a sharded model: its top, its shards, and the folder from which all of it can be restored.

One thread uses a router. If a method raises an error that the user has not caused, the router must be closed; the
folder then has everything that was noted in its journal.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import Event
from typing import Any

import msgspec

from oplt import _core
from oplt.cluster._folder import ModelFolder
from oplt.cluster._parts import Source, joined, read_top, subtrees_of, write_subtrees
from oplt.cluster._placing import balanced
from oplt.cluster._records import decode_examples
from oplt.cluster._shards import Shards
from oplt.errors import InvalidInputError
from oplt.labels import LabelOperation
from oplt.model import OnlinePLT
from oplt.persistence import SavedModel, write
from oplt.predictions import Predictions, concatenated
from oplt.service.journal import NewRecord
from oplt.validation import NamedRows, Texts

__all__ = ["Router"]

_log = logging.getLogger(__name__)

_MOST_NOTED = 512 << 20  # bytes in the journal before all parts are written; the messages to shards take about as much
# Examples before the model is cut. The ranking observes half of the first examples, and fewer later; each of them needs
# an answer of the shards before the next example can be learned.
_CUT_AFTER = 32_768
_PREDICTED_TOGETHER = 4096  # rows; a prediction can be stopped after as many


class Router:
    """A model, first whole and then cut, and what it needs to be restored.

    Parameters
    ----------
    model
        The whole model, or its top.
    folder
        Its folder.
    n_shards
        Number of shards.
    position
        That of the last record of the journal that the model includes.
    """

    def __init__(self, model: OnlinePLT, folder: ModelFolder, n_shards: int, position: int = 0) -> None:
        self.model = model
        self.n_shards = n_shards
        self.shards: Shards | None = None
        self._folder = folder
        self._position = position
        self._n_noted = 0  # bytes in the journal after the last checkpoint

    @property
    def folder(self) -> str:
        """The path of the folder."""
        return str(self._folder.path)

    def restore(self) -> None:
        """Start the shards from their files, and repeat what the journal has beyond them."""
        manifest = self._folder.manifest
        if manifest is not None and manifest.sources:
            self._connect(manifest.sources)
        while records := self._folder.journal.read(self._position, 16):
            for record in records:
                assert record.content is not None  # noqa: S101 (nothing is erased from this journal)
                self._position = record.position
                if record.kind == "learn":
                    self._learn_noted(record.content)
                else:
                    with suppress(InvalidInputError):  # it was impossible then, too
                        self._change_noted(record.content)

    def learn(self, content: bytes) -> None:
        """Learn examples, as `encode_examples` has written them."""
        self._note("learn", content)
        self._learn_noted(content)

    def change_labels(self, content: bytes) -> int:
        """Perform operations on labels, in JSON."""
        self._note("labels", content)
        return self._change_noted(content)

    def _note(self, kind: str, content: bytes) -> None:
        """Append a record to the journal: from then on, the model will have done what it says, whatever happens."""
        self._position = self._folder.journal.append([NewRecord(kind, content)]).result()[0]

    def _learn_noted(self, content: bytes) -> None:
        x, indptr, names, weights = decode_examples(content)
        self.model._core.learn(x, indptr, names, weights, self.model.threads)
        self._n_noted += len(content)
        if self._n_noted > _MOST_NOTED:
            self.checkpoint()
        if self.shards is None and self.model.n_examples >= _CUT_AFTER and _core.can_cut(self.model._core):
            self.cut()

    def _change_noted(self, content: bytes) -> int:
        return self.model._change_labels([LabelOperation.from_dict(one) for one in msgspec.json.decode(content)])

    def predict(self, rows: NamedRows | Texts, question: Any, stop: Event) -> Predictions:
        """Predict. Shards are asked by one thread. If it is stopped, some rows are missing."""
        threads = self.model.threads if self.shards is None else 1
        ends = range(_PREDICTED_TOGETHER, len(rows) + _PREDICTED_TOGETHER, _PREDICTED_TOGETHER)
        found = [self.model._predict(rows.chunk(0, min(len(rows), _PREDICTED_TOGETHER)), question, threads)]
        for end in ends[1:]:
            if stop.is_set():
                break
            part = rows.chunk(end - _PREDICTED_TOGETHER, min(len(rows), end))
            found.append(self.model._predict(part, question, threads))
        return concatenated(found)

    def cut(self) -> None:
        """Cut the model into shards."""
        subtrees = _core.cut(self.model._core)
        placed = balanced(subtrees.sizes, self.n_shards)
        self._warn_if_empty(len(subtrees.n_labels))
        top, files = self._folder.next_files(self.n_shards)
        for file, positions in zip(files, placed, strict=True):
            write_subtrees(subtrees.chosen(positions), self.model._settings, self._folder.path / file)
        self._commit(top, [[Source(file, own)] for file, own in zip(files, placed, strict=True)])
        self._connect([[Source(file, own)] for file, own in zip(files, placed, strict=True)])

    def _warn_if_empty(self, n_subtrees: int) -> None:
        if self.n_shards > n_subtrees:
            _log.warning(
                "%s: %d of %d shards are empty, because the root of the tree has %d children, and a shard has at least"
                " one of them. Use fewer shards, or create the model with a larger arity.",
                self.folder,
                self.n_shards - n_subtrees,
                self.n_shards,
                n_subtrees,
            )

    def _connect(self, sources: list[list[Source]]) -> None:
        self.shards = Shards(self.model._settings, self.model.threads, self._folder.path, sources)
        self._route(self.shards)

    def _route(self, shards: Shards) -> None:
        _core.route(self.model._core, shards.shard_of, shards.learn, shards.ask, shards.fetch)

    def checkpoint(self) -> None:
        """Write all parts to the folder."""
        top, files = self._folder.next_files(self.n_shards)
        if self.shards is not None:
            self.shards.save(files)
        self._commit(top, [] if self.shards is None else self.shards.sources)

    def _commit(self, top: str, sources: list[list[Source]]) -> None:
        write(self.model._saved(), self._folder.path / top)
        in_use = set() if self.shards is None else self.shards.mapped_files
        self._folder.commit(top, sources, self.n_shards, self._position, in_use)
        self._n_noted = 0

    def rebalance(self, n_shards: int) -> None:
        """Distribute the subtrees anew."""
        self.checkpoint()
        self.n_shards = n_shards
        if self.shards is None:
            return
        file_of = {p: one.file for own in self.shards.sources for one in own for p in one.positions}
        sources = []
        self._warn_if_empty(len(file_of))
        for positions in balanced(self.shards.sizes(), n_shards):
            files = sorted({file_of[position] for position in positions})
            sources.append([Source(file, [p for p in positions if file_of[p] == file]) for file in files])
        self._folder.assign(sources)  # before shards change: a restart then continues with the new distribution
        self.shards.move(sources)
        self._route(self.shards)

    def whole(self) -> SavedModel:
        """Put the parts together. They stay in their files, so this takes little memory."""
        self.checkpoint()
        manifest = self._folder.manifest
        assert manifest is not None  # noqa: S101 (it was written just now)
        top = read_top(self._folder.path / manifest.top)
        parts = [subtrees_of(own, self._folder.path, self.model._settings) for own in manifest.sources]
        return joined(top, [one for own in parts for one in own]) if parts else top

    def close(self) -> None:
        """End the shards, and release the folder."""
        try:
            if self.shards is not None:
                self.shards.close()
        finally:
            self._folder.close()
