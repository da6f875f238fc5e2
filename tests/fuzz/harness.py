# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Calls of the API and of commands with mutated input: they succeed, or raise an OpltError and change nothing.

`make fuzz` runs it for a given time: python -m tests.fuzz.harness --seconds 60. It prints the seed of each
call that violated a guarantee; `--seed` repeats it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from click.testing import CliRunner

from oplt import PLT, OnlinePLT, OpltError, files, tree
from oplt.cli import main
from tests.fuzz.model_files import Array, arrays_of, file_of

__all__ = ["CASES", "run"]

_TEXTS = [
    b'{"text": "a small cat", "labels": ["cat", 3], "weight": 2}\n{"text": "dog", "labels": []}\n',
    b'{"features": {"a": 1.5, "b": -2}, "labels": "x"}\n{"features": [[1, 0.5], ["c", 1]], "labels": [1]}\n',
    b'text,labels\n"a ""cat"", small",cat\ndog;wolf,x|y\n',
    b"text\tlabels\na\tb\nc d\te\n",
    b"__label__cat __label__pet a small cat\n__label__dog barks\n",
    b"1 2.0 'tag|a x:1 y |b z:0.5\n-1 | x\n",
    b"2 5 3\n0,2 1:0.5 3:1e-3\n1 0:1\n",
    b'oplt-tree 1\n-1\n0\n0\t7\n1\t"cat"\n1\t"dog"\n',
]
_NAMES = ["a.jsonl", "a.jsonl", "a.csv", "a.tsv", "a.txt", "a.vw", "a.svm", "a.tree"]
_PIECES = [
    b"",
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"\\u0000",
    b"1e999",
    b"-1",
    b"NaN",
    b"[",
    b"{",
    b":",
    b",",
    b"\n",
    b"|",
]


def _model(*, text: bool) -> OnlinePLT:
    model = OnlinePLT(features="text" if text else None, label_memory=8)
    xs: list[Any] = ["a small cat", "the dog", "cow moos"] if text else [{"a": 1, 3: 2}, {"b": 1}, {"a": -1, "c": 1}]
    model.learn_many(xs, ["cat", "dog", 7])
    return model


def _saved(model: OnlinePLT, folder: Path) -> bytes:
    model.save(folder / "seed.oplt")
    return (folder / "seed.oplt").read_bytes()


def _changed(content: bytes, rng: random.Random) -> bytes:
    """Mutate some bytes."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(content) + 1), rng.choice([0, 1, 1, 2, 8, 64])
        piece = rng.choice([rng.choice(_PIECES), rng.randbytes(rng.randint(1, 8)), content[at : at + 16] * 2])
        content = content[:at] + piece + content[at + length :]
    return content


def _forged(content: bytes, rng: random.Random) -> bytes:
    """Change arrays of a model file, with or without correcting the checksums."""
    if rng.random() < 0.2:
        return _changed(content, rng)
    arrays = arrays_of(content)
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(arrays))
        name, size, old = arrays[i]
        new = bytearray(old)
        if new:
            at = rng.randrange(len(new))
            new[at : at + 1] = rng.choice([b"\x00", b"\xff", bytes([new[at] ^ 1 << rng.randrange(8)])])
        if rng.random() < 0.2:
            new = bytearray(_changed(bytes(new), rng))
        if rng.random() < 0.1:
            name = rng.choice([b"x\xff", b"", name + b"/x"])
        arrays[i] = Array(name, size, bytes(new[: len(new) // size * size]))
    return file_of(arrays)


def _anything(rng: random.Random, depth: int = 0) -> Any:
    """Make a value that a user might pass: valid, invalid or strange."""
    plain = ["cat", "", "\ud800", "x" * 300, 0, 3, -1, 2**70, True, 1.5, math.nan, -math.inf, 1e300, None, b"cat", 1j]
    strange = [
        np.int64(4),
        np.float32(2),
        np.array([1, 2.5]),
        np.zeros((2, 2)),
        np.array(["a"]),
        sp.csr_array((2, 3)),
        object,
    ]
    kind = rng.randrange(8 if depth < 3 else 3)
    if kind < 3:
        return rng.choice(plain)
    if kind == 3:
        return rng.choice(strange)
    inner = [_anything(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if kind == 4:
        return inner
    if kind == 5:
        return tuple(inner)
    keys = [rng.choice(["a", "b", 3, "", "\ud800", 2**64, None, 1.5, True, np.int32(5)]) for _ in inner]
    values = [rng.choice([one, rng.uniform(-2, 2)]) for one in inner]
    return dict(zip(keys, values, strict=True))


def _call_api(rng: random.Random, folder: Path) -> None:  # noqa: ARG001
    model = _model(text=rng.random() < 0.3)
    before = model.fingerprint()
    x, y = _anything(rng), _anything(rng)
    call: Callable[[], Any] = rng.choice(
        [
            lambda: model.learn_one(x, y),
            lambda: model.learn_one(x, y, weight=_anything(rng)),
            lambda: model.learn_many([x, x], [y, y]),
            lambda: model.learn_many(x, y),
            lambda: model.predict_one(x),
            lambda: model.predict_one(x, k=_anything(rng)),
            lambda: model.predict_one(x, threshold=_anything(rng)),
            lambda: model.predict_many(x),
            lambda: model.explain(x),
            lambda: model.explain(x, y),
            lambda: PLT.fit(x, y),
            lambda: OnlinePLT(learning_rate=x, trees=y),
        ]
    )
    try:
        call()
    except OpltError:
        assert model.fingerprint() == before, "an error has changed the model"
    json.dumps(str(model))


def _load_model(rng: random.Random, folder: Path) -> None:
    text = rng.random() < 0.5
    path = folder / "forged.oplt"
    path.write_bytes(_forged(_saved(_model(text=text), folder), rng))
    try:
        model = OnlinePLT.load(path)
    except OpltError:
        return
    questions: list[Any] = ["a cat and more", ""] if text else [{"a": 1, 3: 1, "new": 2}, {}]
    try:
        for question in questions:
            assert all(0 <= p <= 1 for _, p in model.predict_one(question))
            if model.n_labels:
                assert 0 <= model.explain(question).probability <= 1
        model.learn_many(questions, ["cat", "new"])
    except OpltError as error:
        if error.code != "model-takes-others":  # the settings were changed
            raise AssertionError("a loaded model cannot be used") from error
        return
    model.fingerprint()
    model.save(path)
    OnlinePLT.load(path)


def _read_file(rng: random.Random, folder: Path) -> None:
    i = rng.randrange(len(_TEXTS))
    path = folder / _NAMES[rng.choice([i, rng.randrange(len(_NAMES))])]
    path.write_bytes(_changed(_TEXTS[i], rng))
    try:
        if path.suffix == ".tree":
            tree.load(path)
            return
        with files.read(path) as reader:
            model = OnlinePLT(features=rng.choice([None, "text"]), label_memory=0)
            for batch in reader:
                model.learn_many(batch.X, batch.Y)
    except OpltError:
        return


def _use_shell(rng: random.Random, folder: Path) -> None:
    i = rng.randrange(len(_TEXTS) - 1)
    data, model = folder / _NAMES[i], folder / "shell.oplt"
    data.write_bytes(_changed(_TEXTS[i], rng))
    model.write_bytes(_forged(_saved(_model(text=rng.random() < 0.5), folder), rng))
    words = rng.choice(
        [
            ["train", data, "--out", folder / "new.oplt"],
            ["predict", model, data],
            ["evaluate", model, data],
            ["progressive", data],
            ["inspect", model],
            ["explain", model, data],
            ["tree", model],
            ["convert", data, folder / "out.jsonl"],
            [rng.choice(["train", "predict", "bogus"]), str(_anything(rng)).replace("\ud800", "?")],
        ]
    )
    result = CliRunner().invoke(main, [str(word) for word in words], prog_name="oplt")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output, result.output


CASES: dict[str, Callable[[random.Random, Path], None]] = {
    "api": _call_api,
    "model": _load_model,
    "file": _read_file,
    "shell": _use_shell,
}


def run(name: str, seed: int) -> None:
    """Make one call. Raises an error if a guarantee is violated."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CASES[name](random.Random(f"{name} {seed}"), Path(folder))  # noqa: S311 (no secret)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="repeat this one alone")
    parser.add_argument("--case", choices=CASES, help="of this case alone")
    parser.add_argument("--first", type=int, default=1_000_000, help="seed to begin with")
    given = parser.parse_args()
    names = [given.case] if given.case else list(CASES)
    if given.seed is not None:
        for name in names:
            run(name, given.seed)
        return 0
    n_run: Counter[str] = Counter()
    n_failed, end = 0, time.monotonic() + given.seconds
    while time.monotonic() < end:
        for name in names:
            seed = given.first + n_run[name]
            n_run[name] += 1
            try:
                run(name, seed)
            except Exception:  # noqa: BLE001 (that is what is looked for)
                n_failed += 1
                print(f"--case {name} --seed {seed}\n{traceback.format_exc(limit=-4)}")  # noqa: T201
    print(f"{dict(n_run)} calls, {n_failed} failed")  # noqa: T201
    return 1 if n_failed else 0


if __name__ == "__main__":
    raise SystemExit(_main())
