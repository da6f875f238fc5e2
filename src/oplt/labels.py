# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The labels that a model knows, and operations on them."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args, overload

import numpy as np
import numpy.typing as npt

from oplt import _core, frames
from oplt._typing import IdArray, Label
from oplt.checks import count
from oplt.errors import InvalidInputError
from oplt.validation import as_label_set, twin
from oplt.wording import briefly

__all__ = ["LabelInfo", "LabelOperation", "Labels", "OnlineLabels"]

_CHUNK = 4096  # names that are fetched in one call

Kind = Literal["add", "rename", "hide", "unhide", "remove", "merge"]


@dataclass(frozen=True)
class LabelInfo:
    """What a model knows of a label.

    Attributes
    ----------
    label
        Its name.
    n_examples
        Number of its examples.
    first, last
        The numbers of its first and its last example, counted from 0 over all examples; None if it has none.
    hidden
        Whether it is hidden, that is learned but not predicted.
    aliases
        Further names that lead to it.
    """

    label: Label
    n_examples: int
    first: int | None
    last: int | None
    hidden: bool
    aliases: tuple[Label, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class LabelOperation:
    """An operation on a label, as a model records it. `OnlineLabels.apply` performs it again.

    Attributes
    ----------
    kind
        ``"add"``, ``"rename"``, ``"hide"``, ``"unhide"``, ``"remove"`` or ``"merge"``.
    label
        The label.
    other
        ``"rename"``: the new name; ``"merge"``: the label that it becomes a part of; otherwise None.
    text, features
        ``"add"``: the description of the label; None if there is none.
    n_examples
        Number of examples that the model had learned before.
    """

    kind: Kind
    label: Label
    other: Label | None = None
    text: str | None = None
    features: Mapping[Any, float] | None = None
    n_examples: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON, without those that are None.

        Features are a list of pairs if some of their names are integers, because JSON would turn these into strings.

        Examples
        --------
        >>> LabelOperation("rename", "cat", "feline", n_examples=7).to_dict()
        {'kind': 'rename', 'label': 'cat', 'other': 'feline', 'n_examples': 7}
        """
        values = {name: getattr(self, name) for name in ("kind", "label", "other", "text", "features", "n_examples")}
        if self.features is not None and not all(isinstance(name, str) for name in self.features):
            values["features"] = [[name, value] for name, value in self.features.items()]
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> LabelOperation:
        """Convert back.

        Examples
        --------
        >>> LabelOperation.from_dict({"kind": "hide", "label": "cat"})
        LabelOperation(kind='hide', label='cat', other=None, text=None, features=None, n_examples=0)
        """
        try:
            operation = cls(**dict(given))
            if isinstance(operation.features, list):
                operation = replace(operation, features=dict(operation.features))
        except (TypeError, ValueError):
            raise _not_an_operation(given) from None
        needs_other = operation.kind in ("rename", "merge")
        is_described = operation.text is not None or operation.features is not None
        if (
            operation.kind not in get_args(Kind)
            or operation.label is None
            or needs_other != (operation.other is not None)
            or (is_described and operation.kind != "add")
        ):
            raise _not_an_operation(given)
        return operation


def _not_an_operation(given: Any) -> InvalidInputError:
    return InvalidInputError(
        "operation-not-valid",
        f"a label operation needs a kind ({', '.join(get_args(Kind))}) and a label, rename and merge also other; "
        "only add may have text or features",
        got=briefly(given),
    )


class Labels:
    """The labels of a model, in order of arrival, without those that have been removed or merged into others.

    It takes microseconds to create, whatever the number of labels, because names are fetched from the model on demand.
    `len`, `in`, iteration, indices and slices work as for a list; `in` takes constant time. The labels of an
    `OnlinePLT` are always the present ones; those of a `PLT` do not change.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> model = OnlinePLT()
    >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
    >>> labels = model.labels
    >>> labels
    <Labels: 'cat', 'dog'>
    >>> len(labels), labels[0], labels[-1:], "cow" in labels
    (2, 'cat', ['dog'], False)
    >>> labels.counts()
    {'cat': 1, 'dog': 2}
    >>> labels.info("dog")
    LabelInfo(label='dog', n_examples=2, first=1, last=2, hidden=False, aliases=())
    """

    def __init__(self, state: Callable[[], _core.ModelState]) -> None:
        self._state = state

    def __len__(self) -> int:
        return self._state().n_labels

    def __contains__(self, label: object) -> bool:
        return self._state().find_label(label) is not None

    def __iter__(self) -> Iterator[Label]:
        state = self._state()
        ids = state.present_labels()
        for begin in range(0, len(ids), _CHUNK):
            yield from state.label_names(ids[begin : begin + _CHUNK])

    @overload
    def __getitem__(self, place: int) -> Label: ...
    @overload
    def __getitem__(self, place: slice) -> list[Label]: ...
    def __getitem__(self, place: int | slice) -> Label | list[Label]:
        state = self._state()
        ids = state.present_labels()
        if isinstance(place, slice):
            return cast("list[Label]", state.label_names(np.ascontiguousarray(ids[place])))
        number = operator.index(place)
        if not -len(ids) <= number < len(ids):
            msg = f"label {number} of {len(ids)}"
            raise IndexError(msg)
        return cast("Label", state.label_names(ids[number % len(ids)][None])[0])

    def index(self, label: Label) -> int:
        """Return the position of a label in the order of arrival.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_one({"purrs": 1}, "cat")
        >>> model.labels.index("cat")
        0
        """
        state = self._state()
        return int(np.searchsorted(state.present_labels(), _id_of(state, label)))

    def counts(self) -> dict[Label, int]:
        """Return the number of examples of each label."""
        state = self._state()
        ids = state.present_labels()
        return dict(zip(state.label_names(ids), state.label_counts(ids)[0].tolist(), strict=True))

    def info(self, label: Label) -> LabelInfo:
        """Describe a label, which may be given by any of its names."""
        state = self._state()
        return _infos(state, np.array([_id_of(state, label)], dtype=np.uint32))[0]

    def table(self) -> list[LabelInfo]:
        """Describe all labels."""
        state = self._state()
        return _infos(state, state.present_labels())

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a frame with a row for each label, and the columns label, n_examples, first, last and hidden.

        In `first` and `last`, NaN means that the label has no examples.

        Parameters
        ----------
        backend
            The library of the frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``. It must be installed.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
        >>> print(model.labels.to_frame()[["label", "n_examples", "last"]])
          label  n_examples  last
        0   cat           1     0
        1   dog           2     2
        """
        state = self._state()
        ids = state.present_labels()
        n, first, last = (one.astype(np.int64) for one in state.label_counts(ids))
        if not n.all():
            first, last = (np.where(n > 0, one, np.nan) for one in (first, last))
        names = np.empty(len(ids), dtype=object)
        names[:] = state.label_names(ids)
        hidden = np.array(state.hidden_labels(ids), dtype=bool)
        return frames.make({"label": names, "n_examples": n, "first": first, "last": last, "hidden": hidden}, backend)

    def called(self, name: str) -> Label:
        """Return the label that a written name means: 7 or "7", whichever the model knows.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_one({"purrs": 1}, [7, "cat"])
        >>> model.labels.called("7"), model.labels.called("8")
        (7, '8')
        """
        other = twin(name)
        return other if other is not None and name not in self and other in self else name

    def read(self, path: str | os.PathLike[str]) -> list[Label]:
        """Read a set of labels that was saved as a text file, one label per line, for `allow` and `deny`, say.

        Labels that the model does not know are returned as well.
        """
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise InvalidInputError(
                "not-utf-8", "the file is not a text in UTF-8", where=str(path), hint="List one label per line."
            ) from None
        return [self.called(name) for name in filter(None, map(str.strip, lines))]

    def unseen(self, n: int) -> list[Label]:
        """Return the labels that occur in none of the latest `n` examples, but in earlier ones.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
        >>> model.labels.unseen(2)
        ['cat']
        """
        n = count("n", n, least=0)
        state = self._state()
        ids = state.present_labels()
        counts, _, last = state.label_counts(ids)
        is_old = (counts > 0) & (last.astype(np.int64) < state.n_examples - n)
        return cast("list[Label]", state.label_names(np.ascontiguousarray(ids[is_old])))

    @property
    def operations(self) -> list[LabelOperation]:
        """All operations on labels so far, which are saved with the model."""
        return [
            LabelOperation(cast("Kind", kind), label, other, text, features, n_examples)
            for kind, n_examples, label, other, text, features in self._state().label_operations()
        ]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"<Labels: {shown}{f' and {len(self) - 5} more' if len(self) > 5 else ''}>"


class OnlineLabels(Labels):
    """The labels of an `OnlinePLT`, and operations on them.

    A label can be added before its first example, renamed, hidden, removed, and merged into another one. No operation
    changes what the tree says about other labels. All are recorded, saved with the model, and repeated when examples
    are forgotten. A call that fails has no effect.

    Parameters
    ----------
    state
        Returns the present state of the model.
    change
        Performs operations on the model, all or none of them; returns how many have had an effect.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> model = OnlinePLT(features="text")
    >>> model.learn_many(["My cat purrs", "The dog barks"], ["cat", "dog"])
    >>> model.labels.add("cow", text="A cow moos")       # predicted before its first example
    >>> model.predict_one("It moos", k=1)[0][0]
    'cow'
    >>> model.labels.rename("cat", "feline")
    >>> model.labels.hide("dog")
    >>> list(model.labels), model.labels.info("feline").aliases
    (['feline', 'dog', 'cow'], ('cat',))
    >>> [label for label, probability in model.predict_one("The dog barks")]
    ['feline']
    """

    def __init__(self, state: Callable[[], _core.ModelState], change: Callable[[list[LabelOperation]], int]) -> None:
        super().__init__(state)
        self._change = change

    def add(
        self,
        label: Label,
        *,
        text: str | None = None,
        features: Mapping[Any, float] | npt.NDArray[Any] | None = None,
    ) -> None:
        """Make a label known before its first example, and describe it.

        A described label can be predicted before its first example, because its description becomes a part of the
        label memory. A label that is known already can be described as well. Without a description, the call only
        makes the name known; if it is known already, nothing happens, and nothing is recorded.

        Parameters
        ----------
        label
            The label.
        text
            What is known about it, if the model takes texts: its title or definition.
        features
            The same as features, or in addition to the text. If the model takes arrays, such as embeddings, an array
            with as many numbers.
        """
        given = cast("Mapping[Any, float] | None", features)  # an array is recorded by the numbers of its columns
        self._change([LabelOperation("add", label, text=text, features=given)])

    def rename(self, label: Label, new: Label) -> None:
        """Give a label another name. The old one still leads to it, in examples, too."""
        self._change([LabelOperation("rename", label, new)])

    def hide(self, labels: Label | Iterable[Label]) -> None:
        """Do not predict these labels any more. The model still learns them."""
        self._change_each("hide", labels)

    def unhide(self, labels: Label | Iterable[Label]) -> None:
        """Predict hidden labels again."""
        self._change_each("unhide", labels)

    def remove(self, labels: Label | Iterable[Label]) -> None:
        """Neither predict nor learn these labels any more.

        In further examples, they are ignored. This cannot be undone: to be able to do so, hide them. Their leaves
        stay in the tree until it is regrown.
        """
        self._change_each("remove", labels)

    def merge(self, labels: Label | Iterable[Label], *, into: Label) -> None:
        """Make labels a part of another one: from now on, their names lead to it, in examples, too.

        The label memory and the counts add up; an example that has both labels counts twice. The tree treats earlier
        examples as those of `into` when it is next regrown; call `OnlinePLT.regrow` to have that immediately. A name
        that is unknown becomes an alias of `into`.
        """
        self._change_each("merge", labels, into)

    def apply(self, operation: LabelOperation | Mapping[str, Any]) -> bool:
        """Perform an operation that was recorded by another model, or the same as a dictionary.

        Returns
        -------
        Whether it has had an effect: hiding a hidden label has none, and is not recorded.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model, other = OnlinePLT(), OnlinePLT()
        >>> for one in model, other:
        ...     one.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> model.labels.merge("cat", into="dog")
        >>> for operation in model.labels.operations:
        ...     other.labels.apply(operation.to_dict())
        True
        >>> model.fingerprint() == other.fingerprint()
        True
        """
        given = operation.to_dict() if isinstance(operation, LabelOperation) else operation
        return self._change([LabelOperation.from_dict(given)]) > 0

    def _change_each(self, kind: Kind, labels: Label | Iterable[Label], other: Label | None = None) -> None:
        self._change([LabelOperation(kind, label, other) for label in dict.fromkeys(as_label_set(labels, "labels"))])


def _id_of(state: _core.ModelState, label: Label) -> int:
    found = state.find_label(label)
    if found is None:
        raise InvalidInputError("unknown-label", f"the model knows no label {label!r}")
    return found


def _infos(state: _core.ModelState, ids: IdArray) -> list[LabelInfo]:
    aliases: dict[int, list[Label]] = {}
    for label, name in state.label_aliases():
        aliases.setdefault(label, []).append(name)
    columns = (state.label_names(ids), *(one.tolist() for one in state.label_counts(ids)), state.hidden_labels(ids))
    return [
        LabelInfo(name, n, first if n else None, last if n else None, hidden, tuple(aliases.get(label, ())))
        for label, name, n, first, last, hidden in zip(ids.tolist(), *columns, strict=True)
    ]
