# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The tables of the paper can be computed for data sets that the benchmarks do not know."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oplt.datasets import make_stream

RUN = Path(__file__).parents[2] / "benchmarks" / "paper" / "run.py"


def write_data(folder: Path) -> None:
    """Make a small data set: the training part plain, the test part compressed."""
    folder.mkdir(parents=True)
    labels: dict[str, int] = {}
    words: dict[str, int] = {}
    lines = []
    for x, names in make_stream(300, n_labels=40, seed=4):
        numbers = ",".join(str(labels.setdefault(name, len(labels))) for name in names)
        features = " ".join(f"{words.setdefault(word, len(words))}:{value}" for word, value in x.items())
        lines.append(f"{numbers} {features}\n")
    (folder / "train.txt").write_text("".join(lines[:250]))
    (folder / "test.txt.gz").write_bytes(gzip.compress("".join(lines[250:]).encode()))


def run(data: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), "--out", str(out), *arguments]
    environment = {**os.environ, "OPLT_DATA": str(data)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 (ours)


def figures(out: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    runs = [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()]
    return {(r["data"], json.dumps(r["system"]), str(r["seed"])): r["figures"] for r in runs}


@pytest.mark.slow
def test_tables_of_any_data_set(tmp_path: Path) -> None:
    for name in ("mine", "Amazon-670K"):
        write_data(tmp_path / "data" / name)
    out = tmp_path / "out"
    done = run(tmp_path / "data", out, "--tables", "4", "7", "--data", "mine", "Amazon-670K", "--seeds", "2")
    assert done.returncode == 0, done.stderr

    report = (out / "RESULTS.md").read_text()
    assert report.count("### mine (2 seeds)") == report.count("### Amazon-670K (2 seeds)") == 2
    assert report.count("\n| OPLT B p=3 |") == 4
    found = figures(out)
    assert {seed for _, _, seed in found} == {"0", "1"}
    for (name, *run_of), mine in found.items():
        if name == "mine":
            its = found[("Amazon-670K", *run_of)]
            assert its["P@1"] == mine["P@1"] > 0
            assert its["PSP@1"] != mine["PSP@1"]  # this data set has its own A and B
    if importlib.util.find_spec("matplotlib") is not None:
        assert (out / "depth-against-alpha.svg").read_text().count("depth of the tree -->") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", "2", "--data", "none"], "there is no .*none.train.txt, neither plain nor as .xz, .gz or .bz2"),
        (["--tables", "3", "--data", "mine"], "table 3 is of data whose examples have exactly one label: none of mine"),
    ],
)
def test_what_cannot_be_run_is_said(arguments: list[str], message: str, tmp_path: Path) -> None:
    write_data(tmp_path / "mine")
    done = run(tmp_path, tmp_path / "out", *arguments)
    assert re.search(message, done.stderr), done.stderr


def test_cmt_has_the_rate_that_its_authors_suggest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    cmt = importlib.import_module("cmt")
    rates = {}
    for name in ("aloi-27d", "wp4s-para-3shot"):
        words = cmt.settings(name, 3000, 1000, passes=3)
        rates[name] = words[words.index("-l") + 1]
    assert rates == {"aloi-27d": "0.001", "wp4s-para-3shot": "0.1"}
