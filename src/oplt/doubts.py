# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Detection of likely mistakes in labels: several labels in one name, one label in two types, or a missing value.

Each warns once.

A name with a comma may be a single name ("Smith, John"), so a warning needs evidence: the pieces of such names are
labels themselves, or they recombine as the items of lists do, sometimes first, sometimes last.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt.errors import OpltWarning
from oplt.validation import NamedRows, listed, twin
from oplt.wording import briefly, number_of

__all__ = ["LabelDoubts", "looks_like_list", "warn"]

SEPARATORS = ("|", ";", ",")

_MISSING = {"NaN", "nan", "None", "null", "N/A"}  # what programs write if there is no value

_MOST = 4096  # maximum number of labels that are examined in one call, and that are remembered
_LONGEST = 200  # characters of a label; longer labels cost too much to examine
_MOST_SEEN = 1 << 16  # labels that are remembered as examined
_FEW = 64  # number of labels that are cheap to examine
_FEWEST = 6  # labels needed to recognize a pattern whose pieces are not labels themselves
_FIRST = 32  # single examples whose labels are examined immediately
_MOST_BETWEEN = 1024  # single examples between two checks of the model's new labels
_LARGE = 20  # the value of a feature beside a text of norm 1

Known = Callable[[list[Any]], list[bool]]
LabelsSince = Callable[[int, int], tuple[int, list[Any]]]


def warn(code: str, what: str, hint: str) -> None:
    """Issue a warning at the line that called the library."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "oplt":
        frame, level = frame.f_back, level + 1
    warnings.warn(OpltWarning(code, what, hint), stacklevel=level)


def looks_like_list(name: Any) -> bool:
    """Check whether a string is a written list, such as "['cat', 'dog']", "[1, 2]" or "[cat, dog]".

    Examples
    --------
    >>> looks_like_list("['cat', 'dog']"), looks_like_list("[1, 2]"), looks_like_list("[sic]"), looks_like_list("[1]")
    (True, True, False, False)
    """
    if not isinstance(name, str) or not 2 <= len(name) <= _LONGEST or name[0] not in "[({" or name[-1] not in "])}":
        return False
    if name[0] == "[" and "," in name:
        return True
    try:
        found = ast.literal_eval(name)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    holds = isinstance(found, (list, tuple, set)) and len(found) > 0
    return holds and all(isinstance(one, str) for one in found)


class LabelDoubts:
    """Watches the labels of a model for likely mistakes, and warns once of each kind.

    Parameters
    ----------
    known
        Returns, for each of some names, whether it is a label of the model.
    since
        Returns the number of labels of the model, and the names of those from a given number on, up to a limit.
    """

    def __init__(self, known: Known, since: LabelsSince = lambda _begin, _most: (0, [])) -> None:
        self._known = known
        self._since = since
        self._told: set[str] = set()
        self._kinds: set[bool] = set()  # of labels: strings or not
        self._joined: dict[str, dict[str, list[str]]] = {separator: {} for separator in SEPARATORS}
        self._next_judged = dict.fromkeys(SEPARATORS, 1)  # joined labels that make it worth judging them again
        self._n_plain = 0
        self._seen: set[Any] = set()  # most labels recur, and need not be examined again
        self._n_seen = 0
        self._next_look = 1  # checks that need all labels run when their number has doubled, so they cost little
        self._n_labels = 0  # number of labels of the model at the last check of new ones

    def note(self, labels: Any, n_singles: int) -> int:
        """Examine the labels of the first single examples; later, from time to time, all new labels of the model.

        Between these checks, an example costs nothing, and nothing of it is kept.

        Parameters
        ----------
        labels
            The labels of an example passed to `learn_one`.
        n_singles
            Number of such examples so far, including this one.

        Returns
        -------
        The value of `n_singles` at which to check again.
        """
        if n_singles > _FIRST:
            self._n_labels, new = self._since(self._n_labels, _MOST)
            self.look_at(new)
            return n_singles + min(n_singles, _MOST_BETWEEN)
        # Iterating over other types may raise, although the example has already been learned.
        names = labels if type(labels) in (list, tuple, set) else [labels]
        self.look_at([name for name in names if isinstance(name, (str, int))])
        if n_singles == _FIRST:
            self._n_labels, _ = self._since(0, 0)
        return n_singles + 1

    def look_at(self, names: list[Any] | npt.NDArray[np.int32]) -> None:
        """Examine the labels of some examples."""
        given = names[:_MOST].tolist() if isinstance(names, np.ndarray) else names
        distinct = [name for name in dict.fromkeys(given) if name not in self._seen][:_MOST]
        if not distinct:
            return
        if len(self._seen) > _MOST_SEEN:
            self._seen.clear()
        self._seen.update(distinct)
        kinds = {issubclass(kind, str) for kind in set(map(type, distinct))}
        texts = [name for name in distinct if isinstance(name, str)] if False in kinds else distinct
        self._n_seen += len(distinct)
        is_due = self._n_seen >= self._next_look or self._n_seen <= _FEW
        self._kinds |= kinds
        if len(self._kinds) > 1:
            self._look_at_types(distinct)
        if texts:
            self._look_at_missing(texts)
            self._look_at_lists(texts)
            self._look_at_separators(texts, is_due=is_due)
        if is_due:
            self._next_look = 2 * self._n_seen

    def look_at_further(self, rows: NamedRows) -> None:
        """Examine the further features of texts, which are added to words whose norm is 1."""
        large = np.flatnonzero(np.abs(rows.values) > _LARGE)
        if len(large):
            (name,) = listed(rows.names[large[0] : large[0] + 1])
            self._tell(
                "feature-outweighs-text",
                f"the feature {name!r} has the value {rows.values[large[0]]:g}, but all words of a text together have"
                " norm 1, so they hardly matter",
                "Scale it to about 1, or pass it as a string to make each value a category.",
            )

    def _tell(self, code: str, what: str, hint: str, key: str | None = None) -> None:
        if (key or code) not in self._told:
            self._told.add(key or code)
            warn(code, what, hint)

    def _look_at_types(self, names: list[Any]) -> None:
        """Warn if a label occurs as both an integer and a string, such as 1 and "1"."""
        if "labels-of-two-types" in self._told:
            return
        may_be = [name for name in names if not isinstance(name, str) or name[-1:].isdecimal()]  # most have no twin
        twins = {other: name for name in may_be if (other := twin(name)) is not None}
        if not twins:
            return
        here = set(map(_typed, names))
        candidates = list(twins)
        found = [other for other in candidates if _typed(other) in here] or [
            other for other, is_known in zip(candidates, self._known(candidates), strict=True) if is_known
        ]
        if found:
            number, text = sorted((found[0], twins[found[0]]), key=lambda name: isinstance(name, str))
            self._tell(
                "labels-of-two-types",
                f"both {number!r} and {text!r} are labels: an integer and a string are different labels",
                "Convert all labels to one type.",
            )

    def _look_at_missing(self, texts: list[str]) -> None:
        found = next((text for text in texts if text in _MISSING), None)
        if found is not None:
            self._tell(
                "label-is-missing-value",
                f"the label {found!r} looks like a missing value, but is treated as a label",
                "If it means that there is no label, remove it: an example without labels has the labels [].",
            )

    def _look_at_lists(self, texts: list[str]) -> None:
        if "label-is-a-list" in self._told:
            return
        found = next((text for text in _with_any(texts, "[({") if looks_like_list(text)), None)
        if found is not None:
            self._tell(
                "label-is-a-list",
                f"the label {briefly(found)} looks like a list in a string, but is treated as one label",
                "Parse such strings first, with ast.literal_eval.",
            )

    def _look_at_separators(self, texts: list[str], *, is_due: bool) -> None:
        joined = _with_any(texts, SEPARATORS)
        self._n_plain += len(texts) - len(joined)
        short = [text for text in joined if len(text) <= _LONGEST and not looks_like_list(text)]
        for separator, kept in self._joined.items():
            if separator in self._told:
                continue
            for text in short:
                if separator in text and len(kept) < _MOST:
                    pieces = [piece.strip() for piece in text.split(separator)]
                    if all(pieces):
                        kept[text] = pieces
            if kept and (is_due or len(kept) >= self._next_judged[separator]):
                self._judge(separator, kept, set(texts))
                self._next_judged[separator] = 2 * len(kept)

    def _judge(self, separator: str, joined: dict[str, list[str]], here: set[str]) -> None:
        pieces = list(dict.fromkeys(piece for parts in joined.values() for piece in parts))
        known = dict(zip(pieces, self._known(pieces), strict=True))
        split = [text for text, parts in joined.items() if all(known[piece] or piece in here for piece in parts)]
        if 2 * len(split) >= len(joined) and (len(split) > 2 or len(split) == len(joined)):
            why = f"{number_of(len(split), 'label')} with {separator!r} could be split into other labels"
        elif len(joined) >= max(_FEWEST, min(4 * self._n_plain, len(pieces))) and _recombine(list(joined.values())):
            split = list(joined)
            why = f"{number_of(len(joined), 'label')} with {separator!r} share their parts"
        else:
            return
        self._tell(
            "labels-joined",
            f"{why}, such as {briefly(split[0])}; each is treated as one label",
            f"If several labels are meant, pass lists: label.split({separator!r}); for files, separator={separator!r}.",
            separator,
        )


def _with_any(texts: list[str], characters: Iterable[str]) -> list[str]:
    """Select the texts that contain one of the characters. The usual case, that none does, is fast."""
    together = "\n".join(texts)
    wanted = [character for character in characters if character in together]
    return [text for text in texts if any(character in text for character in wanted)] if wanted else []


def _typed(name: Any) -> tuple[bool, Any]:
    """Make a key that distinguishes 1 from "1", but not from numpy.int64(1)."""
    return isinstance(name, str), name


def _recombine(rows: list[list[str]]) -> bool:
    """Tell lists from names: most recurring pieces occur both first and later, and lengths vary or repeat.

    In "Smith, John", a family name is always first; in taxonomy paths, each piece stays on its level.
    """
    times = Counter(piece for row in rows for piece in set(row))
    first = {row[0] for row in rows}
    later = {piece for row in rows for piece in row[1:]}
    again = [piece for piece, n in times.items() if n > 1]
    mobile = [piece for piece in again if piece in first and piece in later]
    return len(again) >= 3 and 2 * len(again) >= len(times) and 2 * len(mobile) >= len(again)
