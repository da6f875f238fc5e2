# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Maliciously crafted input takes no more time and memory than other input of its size."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oplt import PLT, InvalidInputError, InvalidParameterError, ModelFormatError, OnlinePLT, OpltError, files
from tests.fuzz.model_files import arrays_of, file_of, with_array

_MASK = 2**64 - 1
_ODD = 0x9E3779B97F4A7C15
_INVERSE = pow(_ODD, -1, 2**64)


def seconds(run: Callable[[], object]) -> float:
    """Time something twice and return the shorter time, because the machine may be busy."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def colliding_numbers(n: int) -> list[int]:
    """Make integers whose public hashes have the same lower 32 bits (docs/format.md)."""
    numbers = []
    for upper in range(1, n + 1):
        hashed = upper << 34
        for _ in range(3):  # undo h ^ h >> 29
            hashed = (upper << 34) ^ (hashed >> 29)
        h = hashed * _INVERSE & _MASK
        h ^= h >> 32  # its own inverse
        numbers.append(h - 2**64 if h >= 2**63 else h)
    return numbers


def learnt(names: list[int]) -> OnlinePLT:
    model = OnlinePLT(label_memory=0)
    model.learn_many([dict.fromkeys(names[i::50], 1.0) for i in range(50)], [i % 3 for i in range(50)])
    return model


def test_chosen_names_cost_no_more_than_others() -> None:
    chosen = colliding_numbers(30_000)
    others = np.random.default_rng(1).integers(-(2**62), 2**62, 30_000).tolist()
    assert seconds(lambda: learnt(chosen)) < 3 * seconds(lambda: learnt(others)) + 0.2  # 80 times as long before


def test_a_model_with_chosen_names_is_saved_loaded_and_asked_like_others(tmp_path: Path) -> None:
    names = colliding_numbers(30_000)
    model = learnt(names)
    path = tmp_path / "m.oplt"
    assert seconds(lambda: model.save(path)) < 2
    for verify in (True, False):
        assert seconds(lambda verify=verify: PLT.load(path, verify=verify)) < 2  # type: ignore[misc]
    again = OnlinePLT.load(path)
    question = dict.fromkeys(names[::50], 1.0)
    assert again.predict_one(question) == model.predict_one(question)
    assert again.fingerprint() == model.fingerprint() == learnt(names).fingerprint()
    unknown = dict.fromkeys(colliding_numbers(60_000)[30_000:], 1.0)
    assert seconds(lambda: again.predict_one(unknown)) < 1
    more = [dict.fromkeys([*names[:5], -7], 1.0)]
    for either in (model, again):
        either.learn_many(more, [2])
    assert again.fingerprint() == model.fingerprint()


def test_a_repeated_field_is_found_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    fields = ", ".join(f'"k{i}": 1' for i in range(100_000))
    path.write_text(f'{{{fields}, "k99999": 2}}\n')
    begin = time.process_time()
    with files.read(path) as reader, pytest.raises(InvalidInputError, match="'k99999' occurs twice in one object"):
        list(reader)
    path = tmp_path / "a.csv"
    path.write_text(",".join(["text", "labels", *(f"k{i}" for i in range(100_000)), "k99999"]) + "\na,b\n")
    with files.read(path) as reader, pytest.raises(InvalidInputError, match="the column 'k99999' occurs twice"):
        list(reader)
    assert time.process_time() - begin < 5  # minutes before


_READ = """
import sys
from pathlib import Path
from oplt import OpltError, files
try:
    with files.read(sys.argv[1]) as reader:
        print(sum(len(batch) for batch in reader))
except OpltError as error:
    print(error.code)
print(int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) >> 10)  # MiB at most
"""


def repeated(value: str, n: int) -> pa.DictionaryArray:
    """Make a column that repeats one value and takes the memory of one."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([value]))


def huge_columns(kind: str) -> dict[str, object]:
    if kind == "cell":
        return {"text": repeated("a" * (70 << 20), 1), "labels": [["x"]]}
    if kind == "text":
        return {"text": repeated("a" * (20 << 20), 100), "labels": [["x"]] * 100}
    lists = pa.ListArray.from_arrays(pa.array(range(0, 361, 9), pa.int32()), repeated("c" * (20 << 20), 360))
    return {"text": ["a"] * 40, "labels": lists}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(("kind", "says"), [("cell", "line-too-long"), ("text", "100"), ("list", "line-too-long")])
def test_a_small_parquet_file_with_huge_cells_takes_little_memory(tmp_path: Path, kind: str, says: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(huge_columns(kind)), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    run = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, text=True, check=True)  # noqa: S603
    said, mebibytes = run.stdout.split()
    assert said == says
    assert int(mebibytes) < 500  # thousands before


class Index:
    """An integer with a side effect when its value is read."""

    def __init__(self, number: int, hook: Callable[[], object]) -> None:
        self.number, self.hook = number, hook

    def __index__(self) -> int:
        self.hook()
        return self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        return self is other


class Wrong:
    def __init__(self, hook: Callable[[], object], shown: str = "wrong") -> None:
        self.hook, self.shown = hook, shown

    def __repr__(self) -> str:
        self.hook()
        return self.shown


class Raising(list):  # type: ignore[type-arg]
    def __iter__(self) -> object:  # type: ignore[override]
        raise RuntimeError


def fragile() -> list[tuple[object, object]]:
    """Examples that change while they are read."""
    made: list[tuple[object, object]] = []
    x: dict[object, float] = {}
    x.update({Index(i, x.clear): 1.0 for i in range(50)})
    made.append((x, ["a"]))
    growing: dict[object, float] = {}

    def grow() -> None:
        for i in range(1000):
            growing[f"new {i}"] = 1.0

    growing.update({Index(i, grow): float(i) for i in range(1, 50)})
    made.append((growing, ["a"]))
    labels: list[object] = []
    labels += [*(str(i) * 100 for i in range(50)), Index(7, labels.clear), *(f"label {i}" for i in range(50))]
    made.append(({"a": 1.0}, labels))
    wrong: dict[object, object] = {"a": 1.0}
    wrong.update({"b": Wrong(wrong.clear), "c" * 100: 1.0})
    made.append((wrong, ["a"]))
    refused: list[object] = []
    refused += ["x" * 100, Wrong(refused.clear), "y" * 100]
    made.append(({"a": 1.0}, refused))
    made.append(({"a": 1.0}, [Wrong(lambda: None, "\ud800")]))
    made.append(({"a": 1.0}, Raising(["a"])))
    made.append(({Index(1, lambda: 1 / 0): 1.0}, ["a"]))
    emptied: dict[object, object] = {}
    emptied[Index(1, emptied.clear)] = bytes(50 << 20)  # so large that its memory is returned to the system
    made.append((emptied, ["a"]))
    return made


@pytest.mark.parametrize("number", range(len(fragile())))
def test_examples_that_change_while_they_are_read(number: int) -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, "b")
    calls: list[Callable[[object, object], object]] = [
        model.learn_one,
        lambda x, labels: model.learn_many([x, {"z": 1.0}], [labels, ["b"]]),
        lambda x, _: model.predict_one(x),
        lambda x, _: model.predict_many([x]),
        lambda x, labels: PLT.fit([x, {"z": 1.0}], [labels, ["b"]]),
    ]
    for call in calls:
        with suppress(OpltError, RuntimeError, ZeroDivisionError):
            call(*fragile()[number])
    model.learn_one({"a": 1.0}, "b")
    assert model.predict_one({"a": 1.0})


@pytest.mark.parametrize(
    "settings",
    [
        b"[" * 100_000,
        b'{"kind": "online", "settings": {"\xff": 1}, "only_predicts": false}',
        *(
            b'{"kind": "online", "settings": {"learning_rate": %s}, "only_predicts": false}' % number
            for number in (b"1e999", b"1" * 5000, b"-1", b"NaN", b'"x"', b"[]", b"1e308")
        ),
    ],
    ids=range(9),
)
def test_settings_that_cannot_be_read_are_a_damaged_file(tmp_path: Path, settings: bytes) -> None:
    path = forged(settings, tmp_path)
    for load in (PLT.load, OnlinePLT.load):
        with pytest.raises(ModelFormatError, match="the settings in the file are not valid"):
            load(path)


def test_arrays_whose_names_are_not_text_are_a_damaged_file(tmp_path: Path) -> None:
    path = forged(b"{}", tmp_path)
    arrays = arrays_of(path.read_bytes())
    for changed in ([arrays[0]._replace(name=b"x\xff"), *arrays[1:]], [arrays[0]._replace(name=b"x\xff")] * 2):
        path.write_bytes(file_of(changed))
        with pytest.raises(ModelFormatError):
            PLT.load(path)


def test_an_array_is_no_integer() -> None:
    for value in (np.array([1, 2]), int, np.array(2.0)):
        with pytest.raises(InvalidParameterError, match="k must be an integer"):
            OnlinePLT().predict_one({"a": 1.0}, k=value)  # type: ignore[arg-type]


def forged(settings: bytes, folder: Path) -> Path:
    """Make a model file with these settings and valid checksums."""
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, "b")
    model.save(folder / "m.oplt")
    path = folder / "forged.oplt"
    path.write_bytes(with_array((folder / "m.oplt").read_bytes(), "settings", settings))
    return path
