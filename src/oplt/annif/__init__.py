# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A backend for Annif, the tool for automated subject indexing, that learns from every correction.

Annif knows its backends by a dictionary and has no plug-ins. Importing this module adds the backend ``oplt`` to that
dictionary; ``python -m oplt.annif`` is Annif's own command line after this import. It needs the package annif:
``pip install 'oplt[annif]'``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from oplt.checks import Bounds, Flag, Integer, Number
from oplt.declarations import Setting, declared
from oplt.errors import InvalidParameterError, MissingPackageError, OpltError
from oplt.model import OnlinePLT
from oplt.params import Settings, TextSettings
from oplt.text import TextFeatures
from oplt.wording import number_of

try:
    import annif
    import annif.backend
    from annif.backend.backend import AnnifLearningBackend
    from annif.exception import (
        ConfigurationException,
        NotInitializedException,
        NotSupportedException,
        OperationFailedException,
    )
    from annif.suggestion import SubjectSuggestion, SuggestionBatch
except ModuleNotFoundError as error:
    if error.name != "annif":
        raise
    raise MissingPackageError(
        "package-missing", "oplt.annif needs the package annif", hint="Run: pip install 'oplt[annif]'"
    ) from None

__all__ = ["OPLTBackend", "main"]

_CHUNK = 1024  # documents that are learned by one call

_FLAGS = {"1": True, "yes": True, "true": True, "on": True, "0": False, "no": False, "false": False, "off": False}


class OPLTBackend(AnnifLearningBackend):  # type: ignore[misc]  # Annif is not typed
    """An Annif backend: an `OnlinePLT` over texts, whose labels are the URIs of subjects.

    The settings of `OnlinePLT` and of `TextFeatures` are settings of the project, under the same names. If the project
    has an analyzer, the words are those of the analyzer; otherwise, oplt finds them by its own rules.
    """

    name = "oplt"
    MODEL_FILE = "model.oplt"

    _model: OnlinePLT | None = None

    @property
    def _path(self) -> Path:
        return Path(self.datadir) / self.MODEL_FILE

    def initialize(self, parallel: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 (Annif's signature)
        """Load the model, unless it is loaded."""
        if self._model is not None:
            return
        if not self._path.exists():
            msg = f"model {self._path} not found"
            raise NotInitializedException(msg, backend_id=self.backend_id)
        with self._reporting_errors():
            self._model = OnlinePLT.load(self._path)

    def _train(self, corpus: Any, params: Mapping[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            msg = "Training oplt project from cached data not supported; pass the documents."
            raise NotSupportedException(msg, project_id=self.project.project_id)
        with self._reporting_errors():
            text = TextFeatures(**_settings(TextSettings, params))
            settings = _settings(Settings, params)
            model = OnlinePLT(**settings, features=text, threads=jobs or os.cpu_count() or 1)
        self._learn_corpus(model, corpus)

    def _learn(self, corpus: Any, params: Mapping[str, Any]) -> None:  # noqa: ARG002 (Annif's signature)
        self.initialize()
        assert self._model is not None  # noqa: S101 (ours: it has just been loaded)
        self._learn_corpus(self._model, corpus)

    def _learn_corpus(self, model: OnlinePLT, corpus: Any) -> None:
        """Learn all documents, then save the model."""
        examples = _Examples(self, corpus)
        stream = iter(examples)
        with self._reporting_errors():
            while chunk := list(islice(stream, _CHUNK)):
                texts, labels = zip(*chunk, strict=True)
                model.learn_many(texts, labels)
            if not examples.n_used:
                msg = f"no document has a text and a subject of the vocabulary ({examples.n_skipped} read)"
                raise NotSupportedException(msg, project_id=self.project.project_id)
            model.save(self._path)
        self._model = model
        if examples.n_skipped:
            self.warning(f"skipped {number_of(examples.n_skipped, 'document')} without a text or a known subject")
        self.info(f"learned {number_of(examples.n_used, 'document')}; the model knows {model.n_labels:,} subjects")

    def _suggest_batch(self, documents: list[Any], params: Mapping[str, Any]) -> Any:
        assert self._model is not None  # noqa: S101 (Annif calls initialize before)
        limit = int(params["limit"])
        texts = [self._words(document.text) for document in documents]
        with self._reporting_errors():
            found = self._model.predict_many(texts, k=limit)
        subjects = self.project.subjects
        suggested = [
            [
                SubjectSuggestion(subject_id=subject_id, score=score)
                for uri, score in labels
                if (subject_id := subjects.by_uri(uri, warnings=False)) is not None  # None: no longer a subject
            ]
            if text
            else []
            for text, labels in zip(texts, found, strict=True)
        ]
        return SuggestionBatch.from_sequence(suggested, subjects, limit=limit)

    def _words(self, text: str) -> str:
        """Return the words of the project's analyzer, if it has one, or else the text."""
        if not self.project.analyzer_spec:
            return text.strip()
        return " ".join(self.project.analyzer.tokenize_words(text))

    @contextmanager
    def _reporting_errors(self) -> Iterator[None]:
        """Turn errors of oplt into errors of Annif, which its command line reports in one line."""
        try:
            yield
        except InvalidParameterError as error:
            raise ConfigurationException(str(error), project_id=self.project.project_id) from error
        except OpltError as error:
            raise OperationFailedException(str(error), project_id=self.project.project_id) from error


class _Examples:
    """The documents of a corpus as texts and URIs, without those that have no text or no subject."""

    def __init__(self, backend: OPLTBackend, corpus: Any) -> None:
        self._backend = backend
        self._corpus = corpus
        self.n_used = 0
        self.n_skipped = 0

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        subjects = self._backend.project.subjects
        for document in self._corpus.documents:
            text = self._backend._words(document.text)
            uris = [subjects[subject_id].uri for subject_id in document.subject_set]
            if text and uris:
                self.n_used += 1
                yield text, uris
            else:
                self.n_skipped += 1


def _settings(cls: type, params: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings that a class declares from the configuration of a project, whose values are texts."""
    return {
        one.name: _parsed(one, params[one.name])
        for one in declared(cls)
        if one.name in params and one.name != "features"
    }


def _parsed(setting: Setting, value: Any) -> Any:
    """Convert a text to the type of a setting. A text that cannot be converted is left to the check of the setting."""
    if not isinstance(value, str):  # a TOML file has types
        return value
    if value.lower() == "none":
        return None
    try:
        return _PARSERS.get(type(setting.check), str)(value)
    except (KeyError, ValueError):
        return value


def _flag(text: str) -> bool:
    return _FLAGS[text.lower()]


def _bounds(text: str) -> tuple[int, int]:
    least, _, most = text.partition(",")
    return int(least), int(most or least)


_PARSERS: dict[type, Callable[[str], Any]] = {Bounds: _bounds, Flag: _flag, Integer: int, Number: float}


def main() -> None:
    """Start Annif's command line."""
    from annif.cli import cli

    cli(prog_name="python -m oplt.annif")


def _backend() -> type[OPLTBackend]:
    return OPLTBackend


annif.backend._backend_fns[OPLTBackend.name] = _backend
