# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What enters the journal can be learned: the quick check of an example never accepts what the thorough one refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oplt.errors import InvalidInputError
from oplt.service import examples as module
from oplt.service.examples import Example, as_rows, check

NAMES = st.one_of(st.text(max_size=3), st.integers(-(2**65), 2**65), st.sampled_from([0, 1, "", "\x00", "a" * 70_000]))
VALUES = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1e38, 1e39, 1e300]))
FEATURES = st.one_of(st.none(), st.dictionaries(st.text(max_size=3), VALUES), st.lists(st.tuples(NAMES, VALUES)))
EXAMPLES = st.builds(
    Example,
    text=st.one_of(st.none(), st.text(), st.just("\ud800")),
    features=FEATURES,
    labels=st.lists(NAMES, max_size=4),
    weight=VALUES,
)


def refused_by(call: Any, one: Example, *, texts: bool) -> str | None:
    try:
        call([one], texts=texts)
    except InvalidInputError as error:
        return error.code
    return None


@given(one=EXAMPLES, texts=st.booleans())
@example(one=Example(features={"a": 1.0}, labels=[0, 1, 1]), texts=False)
@example(one=Example(features={"a": 1.0}, labels=["x"], weight=0.0), texts=False)
def test_the_quick_check_refuses_the_same(one: Example, *, texts: bool) -> None:
    assert refused_by(check, one, texts=texts) == refused_by(as_rows, one, texts=texts)


def test_an_ordinary_example_is_not_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "as_rows", lambda *_, **__: pytest.fail("the thorough check ran"))
    check([Example(features={"a": 1.0}, labels=["x", 7])], texts=False)
    check([Example("Heap overflow", labels=[])], texts=True)
    monkeypatch.undo()
    with pytest.raises(InvalidInputError, match="not finite|nan"):
        check([Example(features={"a": float("nan")}, labels=["x"])], texts=False)
