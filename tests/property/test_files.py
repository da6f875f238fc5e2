# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Written examples are read back unchanged; invalid lines are counted."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oplt import files
from oplt.datasets import load_xmlc

Example = tuple[Any, list[Any], float]

# A byte order mark at the beginning of a file is not part of its text.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff")
texts = st.text(characters, max_size=20)
names = st.text(characters, min_size=1, max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1)
values = st.floats(-1e11, 1e11) | st.integers(-1000, 1000)
weights = st.one_of(st.just(1.0), st.floats(0.125, 1000, width=32))
words = st.text(characters.filter(lambda c: c not in " \t\v\f\r\n\0|:,"), min_size=1, max_size=8)
vw_names = words.filter(lambda w: not re.fullmatch(r"-?[0-9]+", w) and not w.startswith("'")) | st.integers(
    -(10**17), 10**17
)
indices = st.integers(0, 2**31 - 1)


def lists(labels: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(labels, max_size=4)


def written(examples: list[Example], format_: str, batch: int) -> list[Example]:
    target = io.BytesIO()
    assert files.write(examples, target, format=format_) == len(examples)
    if not examples:
        return []
    read = list(files.read(io.BytesIO(target.getvalue()), format=format_, batch=batch))
    assert all(len(part) <= batch for part in read)
    return [example for part in read for example in part]


def streams(x: st.SearchStrategy[Any], labels: Any, weight: Any = weights) -> st.SearchStrategy[list[Example]]:
    return st.lists(st.tuples(x, lists(labels), weight), max_size=8)


batches = st.integers(1, 5)


@given(streams(texts, names | numbers), batches)
def test_texts_in_json(examples: list[Example], batch: int) -> None:
    assert written(examples, "jsonl", batch) == examples


@given(streams(st.dictionaries(names | numbers, values, max_size=5), names | numbers), batches)
def test_features_in_json(examples: list[Example], batch: int) -> None:
    assert written(examples, "jsonl", batch) == examples


@given(
    streams(texts, names.map(lambda n: n.replace(";", "").strip()).filter(bool)),
    batches,
    st.sampled_from(["csv", "tsv"]),
)
def test_tables(examples: list[Example], batch: int, format_: str) -> None:
    assert written(examples, format_, batch) == examples


@given(streams(texts, words, st.just(1.0)), batches)
def test_fasttext(examples: list[Example], batch: int) -> None:
    plain = [(re.sub(r"\r\n|\r|\n", " ", x).strip(" \t\v\f\r\n\0"), labels, weight) for x, labels, weight in examples]
    kept = [example for example in plain if example[0] or example[1]]
    assert written(kept, "fasttext", batch) == kept


@given(streams(st.dictionaries(vw_names, values, max_size=5), vw_names), batches)
def test_vowpal_wabbit(examples: list[Example], batch: int) -> None:
    kept = [(x, labels, weight if labels else 1.0) for x, labels, weight in examples]
    assert written(kept, "vw", batch) == kept


@given(streams(st.dictionaries(indices, st.floats(-1e6, 1e6, width=32), max_size=5), indices, st.just(1.0)), batches)
def test_xmlc(examples: list[Example], batch: int) -> None:
    def exact(stream: list[Example]) -> list[Any]:
        return [({name: np.float32(x[name]) for name in sorted(x)}, sorted(set(labels))) for x, labels, _ in stream]

    assert exact(written(examples, "xmlc", batch)) == exact(examples)


lines = st.lists(
    st.sampled_from(["1,2 3:0.5 4:1", "", " ", " 7:1", "#", "5 # c", "2:1", "1:1 # c", "\r", "x", "1 2:"]), max_size=12
)


@given(lines, batches)
def test_xmlc_in_pieces_is_xmlc_as_a_whole(tmp_path_factory: Any, given_lines: list[str], batch: int) -> None:
    good = ["9 1:1", *(line for line in given_lines if line not in ("x", "1 2:"))]
    path = tmp_path_factory.mktemp("xmlc") / "train.txt"
    path.write_text("\n".join(good), newline="")
    X, Y = load_xmlc(path)
    parts = list(files.read(path, format="xmlc", batch=batch))
    found = [(x, labels) for part in parts for x, labels, _ in part]
    assert len(found) == X.shape[0]
    for i, (x, labels) in enumerate(found):
        assert x == dict(zip(X[[i]].indices.tolist(), X[[i]].data.tolist(), strict=True))
        assert labels == Y[[i]].indices.tolist()


GOOD_AND_BAD = {
    "jsonl": ('{"text": "a", "label": "x"}', ["{", "[]", '{"text": "a"}', '{"text": 1, "label": "x"}', "\udcff"]),
    "csv": ("a,x,", ["a", "a,b,c,d", '"a"b,c,d', '"a,b,', "a,b,x", "\udcff,a,"]),
    "fasttext": ("__label__x a", ["__label__ b", "\udcff"]),
    "vw": ("1 | a", ["1", "1| a", "1 | a:b", "1,,2 | a", "\udcff | a"]),
    "xmlc": ("1 2:1", ["x", "1 2:", "1 2", "\udcff"]),
}


@given(st.sampled_from(sorted(GOOD_AND_BAD)), st.data(), batches)
def test_every_bad_line_is_counted(format_: str, data: st.DataObject, batch: int) -> None:
    good, bad = GOOD_AND_BAD[format_]
    given_lines = data.draw(st.lists(st.sampled_from([good, *bad]), min_size=1, max_size=30))
    head = ["text,labels,weight"] if format_ == "csv" else []
    content = "\n".join([*head, *given_lines]).encode(errors="surrogateescape")
    reader = files.read(io.BytesIO(content), format=format_, on_error="skip", batch=batch)
    numbers = [number for part in reader for number in part.numbers.tolist()]
    assert numbers == [i for i, line in enumerate([*head, *given_lines], 1) if line == good]
    assert reader.n_examples == len(numbers)
    assert reader.skipped.count == len(given_lines) - len(numbers)
    assert len(reader.skipped.errors) == min(reader.skipped.count, 10)
