# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What operations on labels mean: a slow and obvious version.

A label is an object. A name leads to a label; that of a removed label leads to None.
"""

from __future__ import annotations

from typing import Any

from oplt.labels import LabelOperation

Name = str | int


class Label:
    """A label. If it was merged into another one, that is its successor."""

    def __init__(self, number: int, name: Name) -> None:
        self.number = number
        self.name = name
        self.is_hidden = False
        self.is_removed = False
        self.successor: Label | None = None

    def present(self) -> Label | None:
        if self.successor is not None:
            return self.successor.present()
        return None if self.is_removed else self


class LabelNames:
    """The names of labels, in order of arrival."""

    def __init__(self) -> None:
        self.by_name: dict[Name, Label] = {}
        self.all: list[Label] = []

    def of_example(self, names: list[Name]) -> list[Label]:
        """Return the labels of an example. New names are added in sorted order."""
        new = {name for name in names if name not in self.by_name}
        for name in sorted(new, key=_order):
            self._add(name)
        found = {self.by_name[name].present() for name in names}
        return [label for label in self.all if label in found]

    def _add(self, name: Name) -> None:
        label = Label(len(self.all), name)
        self.all.append(label)
        self.by_name[name] = label

    def apply(self, operation: LabelOperation) -> None:
        """Perform an operation that is possible."""
        if operation.label not in self.by_name:
            if operation.kind == "merge":
                self.by_name[operation.label] = self._present(operation.other)
            else:
                self._add(operation.label)
            return
        label = self._present(operation.label)
        if operation.kind == "rename":
            assert operation.other is not None
            self.by_name.setdefault(operation.other, label)
            label.name = operation.other
        elif operation.kind in ("hide", "unhide"):
            label.is_hidden = operation.kind == "hide"
        elif operation.kind == "remove":
            label.is_removed = True
        elif operation.kind == "merge":
            label.successor = self._present(operation.other)

    def _present(self, name: Any) -> Label:
        label = self.by_name[name].present()
        assert label is not None
        return label


def _order(name: Name) -> tuple[bool, Any]:
    return (True, name.encode()) if isinstance(name, str) else (False, name)
