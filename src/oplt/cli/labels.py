# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt labels`: list the labels of a model, and change them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from oplt._typing import Label
from oplt.cli._console import WrongDataError, WrongUsageError, print_json, quiet_option, say
from oplt.cli._names import labels_of, new_labels
from oplt.cli._options import Command, force_option
from oplt.cli._rebuilding import out_option, rebuild
from oplt.cli._served import note_if_served
from oplt.errors import InvalidInputError
from oplt.labels import LabelInfo, Labels, OnlineLabels
from oplt.model import OnlinePLT
from oplt.plt import PLT
from oplt.wording import number_of, on_one_line, width

__all__ = ["command"]

_SORTS: dict[str, Callable[[LabelInfo], Any]] = {
    "examples": lambda info: -info.n_examples,
    "first": lambda info: -1 if info.first is None else info.first,
    "last": lambda info: -1 if info.last is None else info.last,
    "name": lambda info: str(info.label),
}
_DONE = {
    "add": "Added {}",
    "rename": "Renamed {}",
    "hide": "Hid {}",
    "unhide": "Unhid {}",
    "remove": "Removed {}",
    "merge": "Merged {}",
    "apply": "Performed {}",
}
_ACTIONS = ("list", *_DONE, "log")

# The options of each action.
_OPTIONS = {
    "list": ("--unseen", "--hidden", "--top", "--sort", "--json"),
    "add": ("--text",),
    "hide": ("--unseen",),
    "remove": ("--unseen",),
    "merge": ("--into",),
    "log": ("--json",),
}


@click.command("labels", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("action", metavar="[ACTION]", type=click.Choice(_ACTIONS), default="list")
@click.argument("names", metavar="[LABEL]...", nargs=-1)
@click.option("--text", metavar="TEXT", help="add: a description of the label, for a model of texts.")
@click.option("--into", metavar="LABEL", help="merge: the label that the others become a part of.")
@click.option(
    "--unseen",
    metavar="N",
    type=click.IntRange(min=0),
    help="list, hide, remove: the labels without an example among the latest N.",
)
@click.option("--hidden", is_flag=True, help="list: only hidden labels.")
@click.option("--top", metavar="N", type=click.IntRange(min=0), help="list: only the first N labels.")
@click.option(
    "--sort",
    type=click.Choice(list(_SORTS)),
    help="list: most examples first, by first or last example, or by name.  [default: examples]",
)
@click.option("--json", "as_json", is_flag=True, help="list, log: print one JSON object per line.")
@out_option
@force_option
@quiet_option
def command(
    model_path: Path,
    action: str,
    names: tuple[str, ...],
    text: str | None,
    into: str | None,
    unseen: int | None,
    hidden: bool,
    top: int | None,
    sort: str | None,
    as_json: bool,
    out: Path | None,
    force: bool,
) -> None:
    """List the labels of a model, or change them.

    \b
      oplt labels tags.oplt --top 20
      oplt labels tags.oplt add acme:router --text "ACME router firmware"
      oplt labels tags.oplt rename linux linux:kernel
      oplt labels tags.oplt hide --unseen 100000
      oplt labels tags.oplt merge colour colours --into color
      oplt labels tags.oplt remove - < obsolete.txt
      oplt labels tags.oplt log --json > changes.jsonl
      oplt labels other.oplt apply changes.jsonl

    Without an ACTION, labels are listed with their number of examples and the numbers of their first and last example,
    counted from 0. A label that is added with a description can be predicted before its first example. After a rename,
    the old name still leads to the label. Hidden labels are learned but not predicted; removed ones are ignored from
    now on, which cannot be undone. The names of merged labels lead to the other one. A dash (-) reads labels from
    standard input, one per line. log shows all changes so far, and apply performs changes that log --json has written;
    a line such as {"kind": "add", "label": "router", "features": {"acme": 1}} describes a label by features.
    """
    given = {"--text": text, "--into": into, "--unseen": unseen, "--top": top, "--sort": sort}
    _check(action, names, {**given, "--hidden": hidden or None, "--json": as_json or None, "--out": out})
    if action in _DONE:
        rebuild(_change(action, names, text, into, unseen), model_path, out, force=force, threads=1, as_json=False)
        return
    if not as_json:
        note_if_served(model_path)
    labels = PLT.load(model_path).labels
    if action == "log":
        rows: Sequence[Any] = [operation.to_dict() for operation in labels.operations]
    else:
        rows = _listed(labels, names, unseen, hidden=hidden, sort=sort or "examples")[:top]
    if as_json:
        for row in rows:
            print_json(row if isinstance(row, dict) else row.to_dict())
    elif action == "log":
        for row in rows:
            say(_logged(row))
    else:
        _show(rows)


def _check(action: str, names: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse options and numbers of labels that do not belong to the action."""
    allowed = (*_OPTIONS.get(action, ()), *(["--out"] if action in _DONE else []))
    for option, value in options.items():
        if value is not None and option not in allowed:
            msg = f"{option} has no effect with {action}"
            raise WrongUsageError(msg)
    if action == "log" and names:
        msg = f"log shows the changes of all labels, got the label {names[0]!r}"
        raise WrongUsageError(msg)
    if action == "apply" and len(names) != 1:
        msg = f"apply needs one file, got {len(names)}"
        raise WrongUsageError(msg)
    if action == "merge" and options["--into"] is None:
        msg = "merge needs --into LABEL"
        raise WrongUsageError(msg)
    if action == "rename" and len(names) != 2:
        msg = f"rename needs the label and its new name, got {number_of(len(names), 'label')}"
        raise WrongUsageError(msg)
    if action == "add" and options["--text"] is not None and len(names) != 1:
        msg = f"--text describes one label, got {number_of(len(names), 'label')}"
        raise WrongUsageError(msg)
    if action in _DONE and not names and options["--unseen"] is None:
        msg = f"{action} needs a label"
        raise WrongUsageError(msg)
    if names and options["--unseen"] is not None:
        msg = "pass labels or --unseen, not both"
        raise WrongUsageError(msg)


def _change(
    action: str, names: tuple[str, ...], text: str | None, into: str | None, unseen: int | None
) -> Callable[[OnlinePLT], str]:
    def change(model: OnlinePLT) -> str:
        known = model.labels
        if action == "apply":
            return _DONE[action].format(number_of(_apply(known, names[0]), "change"))
        labels = labels_of(names, known) if unseen is None else _unseen(known, unseen, action)
        if action == "rename":
            known.rename(labels[0], new_labels(names[1:], known)[0])
            del labels[1]
        elif action == "merge":
            known.merge(new_labels(labels, known), into=known.called(str(into)))
        elif action == "add":
            for label in new_labels(labels, known):
                known.add(label, text=text)
        else:
            getattr(known, action)(labels)
        return _DONE[action].format(number_of(len(labels), "label"))

    return change


def _apply(known: OnlineLabels, path: str) -> int:
    """Perform the operations in a file of JSON lines. Returns the number of those that have had an effect."""
    with click.open_file(path, encoding="utf-8") as file:
        return sum(_applied(known, line, f"{path}, line {number}") for number, line in enumerate(file, 1))


def _applied(known: OnlineLabels, line: str, where: str) -> bool:
    try:
        return known.apply(json.loads(line))
    except InvalidInputError as error:
        raise error.at(where) from None
    except ValueError:
        msg = f"{where}: the line is not a JSON object. oplt labels MODEL log --json writes such lines."
        raise WrongDataError(msg) from None


def _unseen(known: OnlineLabels, n: int, action: str) -> list[Label]:
    """Return the labels to remove, or to hide, without those that are hidden already."""
    hidden = {info.label for info in known.table() if info.hidden and action == "hide"}
    return [label for label in known.unseen(n) if label not in hidden]


def _listed(labels: Labels, names: tuple[str, ...], unseen: int | None, *, hidden: bool, sort: str) -> list[LabelInfo]:
    rows = [labels.info(label) for label in labels_of(names, labels)] if names else labels.table()
    if unseen is not None:
        old = set(labels.unseen(unseen))
        rows = [row for row in rows if row.label in old]
    return sorted((row for row in rows if row.hidden or not hidden), key=_SORTS[sort])


def _show(rows: Sequence[LabelInfo]) -> None:
    cells = [["label", "examples", "first", "last", ""]]
    for row in rows:
        also = f"also {', '.join(map(on_one_line, row.aliases))}" if row.aliases else ""
        numbers = ["-" if number is None else f"{number:,}" for number in (row.n_examples, row.first, row.last)]
        notes = "; ".join(filter(None, ["hidden" if row.hidden else "", also]))
        cells.append([on_one_line(row.label), *numbers, notes])
    widths = [max(width(row[column]) for row in cells) for column in range(4)]
    for name, *columns, notes in cells:
        shown = "  ".join(number.rjust(wide) for number, wide in zip(columns, widths[1:], strict=True))
        say(f"{name}{' ' * (widths[0] - width(name))}  {shown}  {notes}".rstrip())


def _logged(operation: dict[str, Any]) -> str:
    before = f"before example {operation['n_examples']:,}"
    words = [on_one_line(operation["label"])]
    if "other" in operation:
        words += ["into" if operation["kind"] == "merge" else "to", on_one_line(operation["other"])]
    text = f": {on_one_line(operation['text'])}" if "text" in operation else ""
    return f"{operation['kind']} {' '.join(words)} ({before}){text}"
