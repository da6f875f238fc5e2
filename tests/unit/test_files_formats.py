# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The content of each format, and the errors for invalid lines."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oplt import InvalidInputError, InvalidParameterError, MissingPackageError, OnlinePLT, files
from oplt.datasets import load_xmlc
from oplt.files import _table
from oplt.files._table import cells


def examples(text: str, **options: Any) -> list[tuple[Any, ...]]:
    return list(files.read(io.BytesIO(text.encode()), **options).examples())


def refused(text: str, **options: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        examples(text, **options)
    return str(caught.value)


def test_json_lines() -> None:
    lines = [
        '{"text": "Heap überlauf", "labels": ["kernel", 7], "id": 3}',
        '{"label": "one", "weight": 2.5, "text": ""}',
        '{"text": "\\u00e9", "labels": []}',
    ]
    found = examples("\n".join(lines))
    assert found == [("Heap überlauf", ["kernel", 7], 1.0), ("", ["one"], 2.5), ("é", [], 1.0)]


def test_json_lines_of_features() -> None:
    text = '{"features": {"a": 1, "b": -0.5}, "label": 3}\n{"features": [[7, 2], ["7", true]], "labels": "x"}\n'
    assert examples(text) == [({"a": 1, "b": -0.5}, [3], 1.0), ({7: 2, "7": 1}, ["x"], 1.0)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text" "a"}', "not JSON: a colon is missing in column 9"),
        ("[1, 2]", 'an example must be an object, such as {"text": "...", "labels": ["..."]}, got [1, 2]'),
        (
            '{"text": "a"}',
            "there is neither 'labels' nor 'label', got the fields 'text'. To read no labels, pass",
        ),
        (
            '{"labels": []}',
            "there is neither 'text' nor 'features', got the fields 'labels'. Pass the name of the field",
        ),
        ('{"text": null, "labels": []}', "'text' must be a text, got None"),
        (
            '{"text": "a", "features": {}, "labels": []}',
            "the example has both a text and features. Choose one by passing",
        ),
        ('{"text": "a", "labels": null}', "label 0 must be a non-empty string or an integer, got None. Pass []"),
        ('{"text": "a", "label": 1.5}', "label 0 must be a non-empty string or an integer, got 1.5"),
        ('{"text": "a", "labels": ["b", ""]}', "label 1 must be a non-empty string or an integer, got an empty string"),
        ('{"text": "a", "labels": [true]}', "label 0 must be a non-empty string or an integer, got True"),
        ('{"text": "a", "labels": [], "weight": 0}', "the weight must be a number above 0 and at most"),
        ('{"text": "a", "labels": [], "weight": null}', "the weight must be a number above 0 and at most"),
        ('{"text": "a", "labels": [], "weight": true}', "the weight must be a number above 0 and at most"),
        (f'{{"text": "a", "labels": [], "weight": 1{"0" * 400}}}', "the weight must be a number above 0 and at most"),
        (
            '{"features": {"b": NaN}, "labels": []}',
            "the value of feature 'b' must be finite and at most 1e+12 in size, got nan",
        ),
        (
            '{"features": {"a": 1, "b": 1e40}, "labels": []}',
            "the value of feature 'b' must be finite and at most 1e+12 in size, got 1e+40",
        ),
        ('{"features": {"b": "1"}, "labels": []}', "the value of feature 'b' must be a number, got '1'"),
        (
            '{"features": {"": 1}, "labels": []}',
            "feature 0 must be a non-empty string or an integer, got an empty string",
        ),
        ('{"features": ["a", "b"], "labels": []}', "features must be an object of names and values, pairs"),
        ('{"features": [["a", 1], ["a", 2]], "labels": []}', "a feature occurs twice"),
        ('{"features": [[[], 1]], "labels": []}', "feature 0 must be a non-empty string or an integer, got []"),
        ('{"features": {"a": 1, "b": 2, "a": 3}, "labels": []}', "line 2: the name 'a' occurs twice in one object"),
        ('{"text": "a", "labels": ["x"], "labels": ["y"]}', "line 2: the name 'labels' occurs twice in one object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_wrong_line_of_json(line: str, reason: str) -> None:
    message = refused(f"\n{line}\n", format="jsonl")
    assert message.startswith("the stream, line 2: ")
    assert reason in message


def test_a_file_holds_texts_or_features() -> None:
    text = '{"text": "a", "labels": []}\n\n{"features": {}, "labels": []}\n'
    assert refused(text) == "the stream, line 3: the example has features, but that in line 1 has a text"


def test_fields_can_be_called_otherwise() -> None:
    columns = files.Columns(text=["title", "body"], labels="topics", weight="n")
    line = '{"title": "On", "body": "trees", "topics": ["a"], "n": 2, "text": "no", "weight": "no"}'
    assert examples(line, columns=columns) == [("On trees", ["a"], 2.0)]
    numbers = files.Columns(text=None, features=["a", "b"], labels=None)
    line = '{"a": 1.5, "b": null, "text": "no", "features": {"c": 1}, "labels": "no"}'
    assert examples(line, columns=numbers) == [({"a": 1.5}, [], 1.0)]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"text": None, "features": None}, "text and features are both None"),
        ({"separator": ""}, "separator must not be empty"),
        ({"features": ["height", "weight"]}, "'weight' is used both as the weight and as a text or a feature"),
        ({"text": ["a", "b"], "weight": "b"}, "'b' is used both as the weight and as a text or a feature"),
    ],
)
def test_columns_that_make_no_sense(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidParameterError, match=reason):
        files.Columns(**wrong)


def test_a_feature_may_be_called_weight() -> None:
    columns = files.Columns(features=["weight"], weight=None)
    assert examples("weight,label\n4,cat\n,dog\n", columns=columns) == [
        ({"weight": 4.0}, ["cat"], 1.0),
        ({}, ["dog"], 1.0),
    ]


TABLE = """text,id,labels,weight
"He said ""no"", then
left",1,a; b c ,
5" disk,2,,0.5

plain,3,d,1
"""


def test_csv() -> None:
    batch = next(files.read(io.BytesIO(TABLE.encode())))
    assert batch.X == ['He said "no", then\nleft', '5" disk', "plain"]
    assert batch.Y == [["a", "b c"], [], ["d"]]
    assert batch.weights is not None
    assert batch.weights.tolist() == [1.0, 0.5, 1.0]
    assert batch.numbers.tolist() == [2, 4, 6]


def test_csv_with_windows_ends_of_lines() -> None:
    assert examples('text,label\r\n"a\r\nb",x\r\nc,y') == [("a\r\nb", ["x"], 1.0), ("c", ["y"], 1.0)]


def test_csv_may_be_divided_by_semicolons() -> None:
    table = 'text;labels;weight\n"a; b, c";"x;y";2\nd, e;z;\n'
    expected = [("a; b, c", ["x", "y"], 2.0), ("d, e", ["z"], 1.0)]
    assert examples(table) == examples(table, format="csv") == expected
    assert examples('"text";"labels, too"\na;b\n', columns=files.Columns(labels="labels, too"))[0][1] == ["b"]
    assert examples("text,a;b,labels\nc,d,x;y\n") == [("c", ["x", "y"], 1.0)]  # the comma takes precedence


def test_plain_lines() -> None:
    columns = files.Columns(labels=None)
    found = examples("it purrs \r\n\n__label__x\n\n", format="text", columns=columns)
    assert [x for x, _, _ in found] == ["it purrs ", "", "__label__x", ""]
    assert "the stream: plain text has no labels. Pass labels=None" in refused("it purrs\n", format="text")


def test_tsv_may_have_empty_cells() -> None:
    assert examples("labels\ttext\n\t\na;b\tx, y\n") == [("", [], 1.0), ("x, y", ["a", "b"], 1.0)]


def test_columns_of_numbers() -> None:
    columns = files.Columns(features=["width", "height"], labels="kind")
    text = "kind,width,height,name\ncat,1.5,,x\ndog,-2,1e3,y\n"
    assert examples(text, columns=columns) == [
        ({"width": 1.5}, ["cat"], 1.0),
        ({"width": -2.0, "height": 1000.0}, ["dog"], 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Text,b\n1,2\n", "there is neither 'labels' nor 'label', got the columns 'Text', 'b' (delimited by ',')"),
        ("a,b\n1,2\n", "the stream, line 1: there is no column 'text', got the columns 'a', 'b' (delimited by ',')"),
        ("text,b\n1,2\n", "there is neither 'labels' nor 'label', got the columns 'text', 'b' (delimited by ',')"),
        (
            "text,label,text\n",
            "the column 'text' occurs twice, got the columns 'text', 'label', 'text' (delimited by ',')",
        ),
    ],
)
def test_a_table_that_lacks_columns(text: str, reason: str) -> None:
    assert reason in refused(text, format="csv")
    assert reason in refused(text, format="csv", on_error="skip")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,b,c", "line 3: the row has 3 cells, but the table has 2 columns. Quote cells that contain the"),
        ('"a"b,c', "the stream, line 3: a delimiter must follow a quoted cell, got 'b,c'"),
        ('"a,c', "line 3: a quote is opened and never closed: '\"a,c"),
        (
            "a,x;;y",
            "the stream, line 3: the cell has a separator ';' without a label before or after it, got 'x;;y'. Remove"
            " the separator. A row without labels has an empty cell.",
        ),
    ],
)
def test_a_wrong_row_of_a_table(row: str, reason: str) -> None:
    text = f"text,labels\ngood,x\n{row}\nbetter,y\n"
    assert reason in refused(text)
    reader = files.read(io.BytesIO(text.encode()), on_error="skip")
    assert list(reader.examples()) == [("good", ["x"], 1.0), ("better", ["y"], 1.0)]
    assert reader.skipped.count == 1
    assert reason in str(reader.skipped.errors[0])


def test_a_column_called_label_holds_one_label() -> None:
    assert examples("text,label\na,x;y\n") == [("a", ["x;y"], 1.0)]
    assert "the stream, line 2: the label is empty. If rows may have no label" in refused("text,label\na,\n")


@pytest.mark.parametrize("cell", ["x", "1_000", "1,5"])
def test_a_cell_that_is_no_number(cell: str) -> None:
    columns = files.Columns(features=["a"])
    assert f"'a' must be a number, got '{cell}'" in refused(f'a,label\n"{cell}",x\n', columns=columns, format="csv")


def test_many_open_quotes_are_each_skipped() -> None:
    text = "text,labels\n" + '"a,x\n' * 2000 + "b,y\n"
    reader = files.read(io.BytesIO(text.encode()), on_error="skip")
    assert list(reader.examples()) == [("b", ["y"], 1.0)]
    assert reader.skipped.count == 2000


def test_a_quoted_cell_may_have_many_lines_with_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear time: a cell is split when its end has been read, not at every quote before."""
    divided: list[str] = []
    monkeypatch.setattr(_table, "cells", lambda text, delimiter: divided.append(text) or cells(text, delimiter))
    cell = 'he said ""yes"",\n""""\n' * 500
    assert examples(f'text,labels\n"{cell}","a"\n"b","c\n"\n') == [
        (cell.replace('""', '"'), ["a"], 1.0),
        ("b", ["c"], 1.0),
    ]
    assert len([row for row in divided if row != "text,labels\n"]) == 4  # each row without its end and with it


def test_fasttext_lines() -> None:
    text = "__label__a __label__b:c  some  text\n\nno label\nbehind __label__d it\r\n__label__e\n"
    assert examples(text) == [
        ("some  text", ["a", "b:c"], 1.0),
        ("no label", [], 1.0),
        ("behind it", ["d"], 1.0),
        ("", ["e"], 1.0),
    ]
    assert refused("__label__a b\n__label__ c\n") == (
        "the stream, line 2: a label is empty: nothing follows '__label__'"
    )


def test_vowpal_wabbit_lines() -> None:
    text = "1,2 | a:0.5 b 7:2\n3 2.5 'tag|ns:2 a:3 b |x y\n| a a:2\n-1 1 |\nred 0.5 t| 007 u:v:1\n"
    assert examples(text) == [
        ({"a": 0.5, "b": 1.0, 7: 2.0}, [1, 2], 1.0),
        ({"ns^a": 6.0, "ns^b": 2.0, "x^y": 1.0}, [3], 2.5),
        ({"a": 3.0}, [], 1.0),
        ({}, [-1], 1.0),
        ({"007": 1.0, "u:v": 1.0}, ["red"], 0.5),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 a b", "the line has no '|' between labels and features"),
        ("1| a", "the stream, line 3: '1' is a tag, because it touches the '|'"),
        ("1 2 3 | a", "only labels and a weight may precede the '|', got '1 2 3'"),
        ("1,,2 | a", "the stream, line 3: the labels have a superfluous comma. Labels are written 1,2."),
        ("1:0.5 | a", "the stream, line 3: labels with costs, such as '1:0.5', are not supported"),
        ("2:-1:0.3 | a", "the stream, line 3: labels with costs, such as '2:-1:0.3', are not supported"),
        ("1 x | a", "the weight must be a number above 0"),
        ("1 0 | a", "the weight must be a number above 0"),
        ("1 | a:x", "a feature must be written as name or name:value, where the value is a number, got 'a:x'"),
        ("1 | :1", "a feature must be written as name or name:value, where the value is a number, got ':1'"),
        ("1 | a:inf", "the value of feature 'a' must be finite and at most 1e+12 in size, got inf"),
    ],
)
def test_a_wrong_line_of_vowpal_wabbit(line: str, reason: str) -> None:
    message = refused(f"1 | a\n\n{line}\n", format="vw")
    assert message.startswith("the stream, line 3: ")
    assert reason in message


XMLC = "# by hand\n5 10 9\n0,2 1:0.5 3:-2e-1\n\n 4:1\n# between\n2:1 9:.25#last\r\n8 3:1 3:2\n\n\n"


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_xmlc_lines_are_those_that_load_xmlc_reads(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "train.txt"
    path.write_text(XMLC, newline="")
    X, Y = load_xmlc(path)
    batches = list(files.read(path, batch=batch))
    assert [len(b) for b in batches] == ([1] * 5 if batch == 1 else [2, 2, 1] if batch == 2 else [5])
    assert [row for b in batches for row in b.X.toarray().tolist()] == X.toarray().tolist()
    assert [row for b in batches for row in b.Y.toarray().tolist()] == Y.toarray().tolist()
    assert [number for b in batches for number in b.numbers.tolist()] == [3, 4, 5, 7, 8]
    assert batches[0].where(0) == f"{path}, line 3"


def test_xmlc_without_a_header() -> None:
    (batch,) = files.read(io.BytesIO(b"\n1 7:1\n\n3 2:1\n\n\n"))
    assert (batch.X.shape, batch.Y.shape) == ((4, 8), (4, 4))
    assert [labels for _, labels, _ in batch] == [[], [1], [], [3]]


def test_empty_lines_at_the_end_of_xmlc_count_if_the_header_says_so() -> None:
    assert len(examples("3 2 2\n1 1:1\n\n\n\n")) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2 5 3\n1 1:1\n", "the stream: the header says 2 examples, but the file has 1. Is the file truncated?"),
        ("1 5 3\n1 1:1\n1 1:1\n", "the stream: the header says 1 example, but the file has 2"),
        (
            "2 5 3\n1 1:1\n3 1:1\n",
            "the stream, line 3: label '3' is too large: the largest allowed is 2, as the header",
        ),
        ("1 1:1\n1 1:\n", "the stream, line 2: feature '1:' has no value"),
        ("1 3000000000 3\n1 1:1\n", "the header must declare at most 2147483648 features and labels, got 3000000000"),
    ],
)
def test_xmlc_that_is_wrong(text: str, reason: str) -> None:
    assert reason in refused(text, format="libsvm")


def test_lines_of_xmlc_are_skipped_and_still_count_for_the_header() -> None:
    reader = files.read(io.BytesIO(b"4 5 3\n1 1:1\n7 1:1\n2 4:1\n2 x:1\n"), on_error="skip", batch=3)
    assert [batch.numbers.tolist() for batch in reader] == [[2, 4]]
    assert reader.skipped.count == 2
    assert str(reader.skipped.errors[1]).startswith(
        "the stream, line 5: feature 'x:1': its index is not a non-negative integer"
    )


def test_values_of_xmlc_that_no_model_takes_are_bad() -> None:
    text = "1 1:1\n2 1:1 3:-1e13 4:1e30\n3 1:2\n"
    assert (
        refused(text)
        == "the stream, line 2: the value of feature 3 must be finite and at most 1e+12 in size, got -1e+13"
    )
    assert examples(text, on_error="skip") == [({1: 1.0}, [1], 1.0), ({1: 2.0}, [3], 1.0)]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = {"text": ["a", "b", None, "d"], "labels": [["x"], [], ["y"], None], "weight": [1.0, 2.0, 1.0, 1.0]}
    pq.write_table(pa.table(table), path, row_group_size=2)
    with pytest.raises(InvalidInputError, match="a.parquet, row 3: 'text' must be a text, got None"):
        list(files.read(path))
    reader = files.read(path, on_error="skip", batch=1)
    batches = list(reader)
    assert [(batch.X, batch.Y) for batch in batches] == [(["a"], [["x"]]), (["b"], [[]])]
    assert batches[1].where(0) == f"{path}, row 2"
    assert str(reader.skipped).startswith("2 rows skipped:\n")


def test_parquet_of_features(tmp_path: Path) -> None:
    path = tmp_path / "a.pq"
    maps = pa.array([[("a", 1.0)], []], type=pa.map_(pa.string(), pa.float32()))
    structs = pa.array([{"a": 1.0, "b": None}, {"a": None, "b": 2.0}])
    pq.write_table(pa.table({"m": maps, "s": structs, "n": [1, None], "label": [1, 2]}), path)

    def rows(features: Any) -> list[Any]:
        return [x for x, _, _ in files.read(path, columns=files.Columns(features=features)).examples()]

    assert rows("m") == [{"a": 1.0}, {}]
    assert rows("s") == [{"a": 1.0}, {"b": 2.0}]
    assert rows(["n"]) == [{"n": 1}, {}]


def test_parquet_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInputError, match="a.parquet: the file is not a Parquet file, or it is damaged"):
        list(files.read(path))
    pq.write_table(pa.table({"text": ["a"], "label": ["x"]}), path)
    path.write_bytes(path.read_bytes().replace(b"text", b"te\xff\xff"))
    with pytest.raises(InvalidInputError, match="a.parquet: the file is not a Parquet file, or it is damaged"):
        list(files.read(path))
    with pytest.raises(InvalidInputError, match="the stream: the data is a stream or compressed"):
        list(files.read(io.BytesIO(path.read_bytes())))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match="Parquet files need the package pyarrow"):
        list(files.read(path))


def test_a_file_that_is_parquet_only_by_its_name(tmp_path: Path) -> None:
    for name, content in {"a.parquet.gz": gzip.compress(b"PAR1 and so on"), "a.pq": b"some text\n"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError, match=f"{name}: the name suggests a Parquet file, but"):
            files.read(tmp_path / name)


@pytest.mark.parametrize(
    ("names", "columns", "reason"),
    [
        (
            ["body", "label"],
            files.Columns(),
            "there is no column 'text' nor 'features', got the columns 'body', 'label'",
        ),
        (
            ["a", "label"],
            files.Columns(features=["a", "b"]),
            "there is no column 'text' nor 'b', got the columns 'a', 'label'",
        ),
        (
            ["text", "text", "label"],
            files.Columns(),
            "the column 'text' occurs twice, got the columns 'text', 'text', 'label'",
        ),
        (["text"], files.Columns(), "a.parquet: there is neither 'labels' nor 'label', got the columns 'text'"),
    ],
)
def test_parquet_that_lacks_columns(tmp_path: Path, names: list[str], columns: files.Columns, reason: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([pa.array(["x"])] * len(names), names=names), path)
    for on_error in ("raise", "skip"):
        with pytest.raises(InvalidInputError, match=reason):
            list(files.read(path, columns=columns, on_error=on_error))


def test_what_is_read_can_be_learnt() -> None:
    model, same = OnlinePLT(), OnlinePLT()
    for batch in files.read(io.BytesIO(b"1 0.5 | a:2 7\n2,3 | b\n")):
        model.learn_many(batch.X, batch.Y, weights=batch.weights)
    same.learn_one({"a": 2, 7: 1}, 1, weight=0.5)
    same.learn_one({"b": 1}, [2, 3])
    assert model.fingerprint() == same.fingerprint()
