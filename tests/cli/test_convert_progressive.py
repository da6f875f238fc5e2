# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt convert` and `oplt progressive`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from oplt import OnlinePLT, files
from oplt.cli._plot import plot
from oplt.evaluate import progressive
from tests.cli.running import json_lines, learnt, refused, run


def examples(path: Path) -> list[object]:
    return list(files.read(path).examples())


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.jsonl.xz"])
def test_examples_are_the_same_in_another_format(tmp_path: Path, texts: Path, name: str) -> None:
    result = run("convert", texts, tmp_path / name)
    assert examples(tmp_path / name) == examples(texts)
    assert result.stderr == f"200 examples written to {tmp_path / name}.\n"


def test_formats_may_be_told(tmp_path: Path, features: Path) -> None:
    out = tmp_path / "out"
    run("convert", "-", out, "--from", "xmlc", "--to", "vw", "-q", given=features.read_bytes())
    assert run("convert", out, "-", "--from", "vw", "--to", "xmlc").stdout == features.read_text()


def test_separators_may_differ(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text,labels\nit purrs,cat|pet\n")
    words = ["--separator", "|", "--to", "csv", "--to-separator", "+"]
    assert run("convert", source, "-", *words).stdout == "text,labels,weight\nit purrs,cat+pet,\n"


def test_what_a_format_cannot_hold_is_an_error_or_left_out(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a", "label": "x y"}\n{"text": "b", "label": "z"}\n')
    out = tmp_path / "out.ft"
    assert "line 1: a fastText label cannot contain whitespace" in refused("convert", source, out)
    assert not out.exists()
    result = run("convert", source, out, "--on-error", "skip", "--json")
    assert json_lines(result.stdout) == [{"out": str(out), "examples": 1, "left_out": 1}]
    assert "cannot contain whitespace" in result.stderr
    assert "already exists" in refused("convert", source, out, code=2)


def test_a_report_would_mix_with_examples(texts: Path) -> None:
    assert "write OUT to a file" in refused("convert", texts, "-", "--to", "csv", "--json", code=2)


def test_a_target_whose_format_nobody_knows_is_wrong_usage(tmp_path: Path, texts: Path) -> None:
    message = refused("convert", texts, tmp_path / "out.dat", code=2)
    assert message.endswith("Pass --to with one of xmlc, jsonl, csv, tsv, fasttext, vw.")


def test_the_option_that_is_proposed_for_an_unknown_format_is_there(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("it purrs\n")
    assert "Pass --format with one of" in refused("convert", source, tmp_path / "out.csv")
    assert run("convert", source, "-", "--format", "fasttext", "--to", "fasttext").stdout == "it purrs\n"


def test_progressive_reports_what_the_library_reports(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    words = "--every 80 --window 50 --delay 3 -k 3 --json".split()
    told = json_lines(run("progressive", texts, *words, "--model", target).stdout)
    model = OnlinePLT(features="text")
    stream = files.read(texts).examples()
    expected = list(progressive(model, stream, every=80, window=50, delay=3, k=3))
    assert [report["n_examples"] for report in told] == [80, 160, 200]
    for report, wanted in zip(told, expected, strict=True):
        assert report.pop("examples_per_second") > 0
        assert report.pop("memory_bytes") > 0
        assert report["total"] == pytest.approx(wanted.total)
        assert list(report) == list(asdict(wanted))
    assert OnlinePLT.load(target).fingerprint() == model.fingerprint() == learnt([texts], features="text").fingerprint()


def test_progressive_goes_on_with_a_model(tmp_path: Path, texts: Path, model: Path) -> None:
    target = tmp_path / "m.oplt"
    result = run("progressive", texts, "--from", model, "--model", target)
    assert OnlinePLT.load(target).n_examples == 400
    assert "400 examples" in result.stderr
    message = refused("progressive", texts, "--from", model, "--arity", 4, code=2)
    assert (
        message
        == f"{model} already has its settings: --from cannot be combined with options that set those of a new model"
    )


def test_progressive_prints_lines_where_nobody_watches(texts: Path) -> None:
    result = run("progressive", texts, "--every", 100)
    assert result.output.index("(tail, torso, head: ") < result.output.index("examples/s")
    lines = result.stdout.splitlines()
    assert lines[0].split()[:3] == ["examples", "labels", "P@1"]
    assert [line.split()[0] for line in lines[1:]] == ["100", "200"]
    assert len({len(line) for line in lines}) == 1  # columns are aligned with their names


def test_progressive_refuses_what_the_model_does_not_take(features: Path, model: Path) -> None:
    assert "takes texts" in refused("progressive", features, "--from", model)


def test_a_plot_has_its_scale_and_one_star_a_column() -> None:
    lines = plot([0.0] * 50 + [0.75] * 50, width=10, height=5)
    assert lines[0].startswith("0.8 |")
    assert lines[-1] == "0.0 |*****"
    assert sum(line.count("*") for line in lines) == 10
    assert plot([], height=2) == ["0.1 |", "0.0 |"]
    assert sum(line.count("*") for line in plot([float("nan"), 0.5])) == 1
