# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Files that are nearly in a format: what is read as intended, and the errors for the rest."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oplt import PLT, InvalidInputError, InvalidParameterError, OnlinePLT, OpltWarning, files, tree
from oplt.datasets import load_xmlc


def read(data: str, format: str, **columns: Any) -> files.Batch:  # noqa: A002
    (batch,) = files.read(io.BytesIO(data.encode()), format=format, columns=files.Columns(**columns))
    return batch


def error_of(data: str, format: str | None, **columns: Any) -> InvalidInputError:  # noqa: A002
    with pytest.raises(InvalidInputError) as caught:
        list(files.read(io.BytesIO(data.encode()), format=format, columns=files.Columns(**columns)))
    return caught.value


# --- Labels -----------------------------------------------------------------------------------------------------------


def test_a_text_of_several_labels_in_json_is_refused() -> None:
    error = error_of('{"text": "x", "labels": "a;b"}\n', "jsonl")
    assert error.code == "labels-not-valid"
    assert 'Write a list, such as ["a", "b"]' in str(error)
    assert read('{"text": "x", "label": "a;b"}\n{"text": "x", "labels": ["a;b"]}\n', "jsonl").Y == [["a;b"], ["a;b"]]
    assert read('{"text": "x", "labels": "Smith, John"}\n', "jsonl").Y == [["Smith, John"]]


def test_a_row_of_an_indicator_in_json_is_refused() -> None:
    assert error_of('{"text": "x", "labels": [1, 0, 0]}\n', "jsonl").code == "indicator-as-list"
    assert read('{"text": "x", "labels": [1, 0]}\n', "jsonl").Y == [[1, 0]]


@pytest.mark.parametrize("labels", ["['cat', 'dog']", '[""cat""]'])
def test_a_list_in_a_cell_is_refused(labels: str) -> None:
    error = error_of(f'text,labels\nx,"{labels}"\n', "csv")
    assert error.code == "labels-not-valid"
    assert "looks like a Python list" in error.what
    assert error_of(json.dumps({"text": "x", "labels": "['cat']"}) + "\n", "jsonl").code == "labels-not-valid"


@pytest.mark.parametrize("cells", [["cat|dog", "bird|cat"], ["cat", "cat|dog", "dog|bird"]])
def test_cells_with_another_separator_are_told(cells: list[str]) -> None:
    table = "text,labels\n" + "".join(f"x,{cell}\n" for cell in cells)
    with pytest.warns(OpltWarning, match=r"pass Columns\(separator='\|'\)"):
        assert [[cell] for cell in cells] == read(table, "csv").Y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [cell.split("|") for cell in cells] == read(table, "csv", separator="|").Y


def test_cells_with_bars_in_names_are_not_told() -> None:
    cells = ["a;b", "x|y", "z|y", "a|y"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("text,labels\n" + "".join(f"x,{cell}\n" for cell in cells), "csv")
        read('text,labels\nx,"Smith, John"\nx,"Miller, Mary"\n', "csv")


# --- Names of columns -------------------------------------------------------------------------------------------------


def test_names_of_columns_are_found_in_any_case() -> None:
    assert read("Text,LABELS\nx,a;b\n", "csv").Y == [["a", "b"]]
    batch = read('{"Text": "x", "Label": "a", "Weight": 2}\n', "jsonl")
    assert (batch.X, batch.Y, batch.weights.tolist()) == (["x"], [["a"]], [2.0])
    (batch,) = files.read(io.BytesIO(b"Text,Label\nx,a\n"))
    assert batch.X == ["x"]


def test_a_name_as_it_is_written_comes_first() -> None:
    assert read("Text,text,labels,Label\nno,yes,a,b\n", "csv").X == ["yes"]
    error = error_of("Text,TEXT,labels\nx,y,a\n", "csv")
    assert error.code == "column-missing"
    assert "Did you mean" in str(error)


def test_names_of_parquet_are_found_in_any_case(tmp_path: Path) -> None:
    pd.DataFrame({"Text": ["x"], "Labels": [["a"]]}).to_parquet(tmp_path / "x.parquet")
    (batch,) = files.read(tmp_path / "x.parquet")
    assert (batch.X, batch.Y) == (["x"], [["a"]])


def test_what_is_missing_is_told_with_what_there_is() -> None:
    error = error_of('{"txet": "x", "labels": ["a"]}\n', "jsonl")
    assert error.got == "the fields 'txet', 'labels'"
    assert error.hint is not None
    assert error.hint.startswith("Did you mean 'txet'?")
    assert "Did you mean 'lables'?" in str(error_of('{"text": "x", "lables": ["a"]}\n', "jsonl"))
    assert "Did you mean 'txt'?" in str(error_of("txt,labels\nx,a\n", "csv"))


def test_a_table_without_a_header_is_told() -> None:
    error = error_of("It purrs,cat\nIt barks,dog\n", "csv")
    assert error.code == "column-missing"
    assert "put a header above it" in str(error)
    assert "'It purrs', 'cat'" in str(error)


# --- LIBSVM -----------------------------------------------------------------------------------------------------------


def test_labels_of_libsvm_may_have_a_sign_or_a_point() -> None:
    text = "+1 1:0.5 3:1\n-1 2:1\n1.0 1:1\n-1.0 1:2 # comment\n3 1:1\n"
    (batch,) = files.read(io.BytesIO(text.encode()))
    assert batch.Y == [[1], [-1], [1], [-1], [3]]
    assert batch.X.toarray()[0].tolist() == [0, 0.5, 0, 1]
    assert batch.numbers.tolist() == [1, 2, 3, 4, 5]
    model = OnlinePLT()
    model.learn_many(batch.X, batch.Y)
    assert model.n_labels == 3


def test_a_target_of_a_regression_is_no_label() -> None:
    error = error_of("0.5 1:1\n", "xmlc")
    assert error.code == "not-xmlc"
    assert "whole number" in str(error)
    assert error.where == "the stream, line 1"
    reader = files.read(io.BytesIO(b"+1 1:1\n0.5 1:1\n-1 2:x\n-1 2:1\n"), format="xmlc", on_error="skip")
    (batch,) = reader
    assert (batch.Y, batch.numbers.tolist(), reader.skipped.count) == ([[1], [-1]], [1, 4], 2)


# --- Embeddings -------------------------------------------------------------------------------------------------------


def test_features_may_be_a_list_of_numbers() -> None:
    batch = read('{"features": [0.5, 0, -1], "label": "a"}\n', "jsonl")
    assert batch.X == [{0: 0.5, 2: -1}]
    assert error_of('{"features": [0.5, "x"], "label": "a"}\n', "jsonl").code == "row-not-a-mapping"


def test_columns_may_be_lists_of_numbers(tmp_path: Path) -> None:
    line = json.dumps({"v": [0.5, 1.5], "n": 2, "label": "a"})
    expected = [{"v[0]": 0.5, "v[1]": 1.5, "n": 2}]
    assert expected == read(line + "\n", "jsonl", features=["v", "n"]).X
    assert expected == read('v,n,label\n"[0.5, 1.5]",2,a\n', "csv", features=["v", "n"]).X
    pd.DataFrame({"v": [np.array([0.5, 1.5])], "n": [2], "label": ["a"]}).to_parquet(tmp_path / "x.parquet")
    (batch,) = files.read(tmp_path / "x.parquet", columns=files.Columns(features=["v", "n"]))
    assert expected == batch.X
    frame, own = OnlinePLT(), OnlinePLT()
    frame.learn_many(pd.DataFrame({"v": [[0.5, 1.5]], "n": [2]}), ["a"])
    own.learn_many(batch.X, batch.Y)
    assert frame.fingerprint() == own.fingerprint()


def test_a_list_that_is_the_features_column_of_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"features": [[0.5, 0.0, 1.5]], "label": ["a"]}).to_parquet(tmp_path / "x.parquet")
    (batch,) = files.read(tmp_path / "x.parquet")
    assert batch.X == [{0: 0.5, 2: 1.5}]


# --- Texts and more ---------------------------------------------------------------------------------------------------

TABLE = "title,year,source,labels\nOn trees,0.5,web,a;b\nOn cats,,mail,c\n"
BOTH = [{"text": "On trees", "year": 0.5, "source=web": 1.0}, {"text": "On cats", "source=mail": 1.0}]


def test_a_text_and_columns_make_one_example() -> None:
    batch = read(TABLE, "csv", text="title", features=["year", "source"])
    assert batch.X == BOTH
    assert batch.kind == "text"
    lines = '{"title": "On trees", "year": 0.5, "source": "web", "labels": ["a"]}\n'
    assert BOTH[:1] == read(lines, "jsonl", text="title", features=["year", "source"]).X


def test_without_a_text_columns_are_numbers() -> None:
    assert error_of(TABLE, "csv", text=None, features=["year", "source"]).code == "value-not-a-number"


def test_texts_with_columns_are_written_as_json_only() -> None:
    target = io.BytesIO()
    assert files.write([(BOTH[0], ["a"])], target, format="jsonl") == 1
    assert json.loads(target.getvalue()) == {**BOTH[0], "labels": ["a"]}
    for format in ("csv", "vw", "xmlc", "fasttext"):  # noqa: A001
        with pytest.raises(InvalidInputError, match="only JSONL can hold"):
            files.write([(BOTH[0], ["a"])], io.BytesIO(), format=format)


# --- Plain lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["\n", "\n\n", "  \n"])
def test_an_empty_line_is_a_text(text: str) -> None:
    batch = read(text, "text", labels=None)
    assert text.removesuffix("\n").split("\n") == batch.X


def test_a_name_in_another_case_is_kept_as_it_is_asked_for(tmp_path: Path) -> None:
    columns = files.Columns(keep=("Text", "text"))
    both = [{"Text": "a b", "text": "a b"}]
    for content in (b'{"Text": "a b", "Labels": ["x"]}\n', b"Text,Labels\na b,x\n"):
        (batch,) = files.read(io.BytesIO(content), columns=columns)
        assert (batch.X, batch.Y, batch.kept) == (["a b"], [["x"]], both)
    pq.write_table(pa.table({"Text": ["a b"], "Labels": [["x"]]}), tmp_path / "t.parquet")
    (batch,) = files.read(tmp_path / "t.parquet", columns=columns)
    assert (batch.X, batch.Y, batch.kept) == (["a b"], [["x"]], both)


@pytest.mark.parametrize("label", ["+1", "1.0", "1.", "1"])
def test_load_xmlc_takes_labels_of_libsvm(tmp_path: Path, label: str) -> None:
    path = tmp_path / "x.svm"
    path.write_text(f"{label} 1:0.5\n0 2:1\n{label},2 1:1\n")
    _, Y = load_xmlc(path)
    assert Y.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 1]]


def test_load_xmlc_says_what_reads_negative_labels(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("+1 1:0.5\n-1 2:1\n")
    with pytest.raises(InvalidInputError, match=r"line 2: label '-1' is not a .*oplt.files.read\(path") as caught:
        load_xmlc(path)
    assert caught.value.hint
    (batch,) = files.read(path, format="xmlc")
    assert batch.Y == [[1], [-1]]


def test_an_empty_path_is_not_the_present_folder() -> None:
    model = OnlinePLT()
    calls: list[Callable[[str], object]] = [files.read, load_xmlc, OnlinePLT.load, PLT.load, model.save, tree.load]
    for call in calls:
        with pytest.raises(InvalidParameterError, match="path must be the name of a file, got ''"):
            call("")
