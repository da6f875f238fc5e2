# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt tree` draws the requested part of the tree, to any target."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oplt import LabelTree, OnlinePLT, drawing
from oplt.cli import main
from oplt.tree import save

TREE = LabelTree.from_nested([["cat", "dog"], ["granite", ["märble", 7]], "water"])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.oplt"
    OnlinePLT.from_tree(TREE).save(path)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["tree", *map(str, arguments)])


def test_a_model_is_drawn_as_text(model: Path) -> None:
    result = run(model)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == drawing.as_text(TREE) + "\n"


def test_a_saved_tree_is_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    save(TREE, path)
    assert run(path).stdout == drawing.as_text(TREE) + "\n"


def test_of_several_trees_the_first_is_drawn_and_that_is_said(tmp_path: Path) -> None:
    model = OnlinePLT(trees=3)
    model.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
    model.save(tmp_path / "m.oplt")
    result = run(tmp_path / "m.oplt")
    assert result.stdout == drawing.as_text(model.tree) + "\n"
    assert result.stderr == f"{tmp_path / 'm.oplt'} has 3 trees; only the first is drawn.\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--depth", 1], drawing.as_text(TREE, depth=1)),
        (["--children", 1], drawing.as_text(TREE, children=1)),
        (["--label", "cat"], drawing.as_text(TREE, label="cat")),
        (["--label", "7"], drawing.as_text(TREE, label=7)),  # a label that is a number
        (["--format", "dot", "--depth", 1], drawing.as_dot(TREE, depth=1)),
        (["--format", "svg", "--label", "dog"], drawing.as_svg(TREE, label="dog")),
        (
            ["--format", "html", "--label", "dog", "--depth", 2, "--children", 3],
            drawing.as_html(TREE, label="dog", depth=2, children=3, title="Label tree of m.oplt"),
        ),
    ],
)
def test_what_is_asked_is_drawn(model: Path, arguments: list[object], expected: str) -> None:
    result = run(model, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout == expected + "\n"


@pytest.mark.parametrize(
    ("name", "begin"),
    [("t.html", "<!doctype html>"), ("t.svg", "<svg "), ("t.dot", "digraph {"), ("t.txt", "node 0: 6 labels\n├─ ")],
)
def test_the_suffix_of_a_file_tells_the_format(model: Path, tmp_path: Path, name: str, begin: str) -> None:
    out = tmp_path / name
    result = run(model, "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"Wrote {out}.\n"
    assert out.read_text(encoding="utf-8").startswith(begin)


@pytest.mark.parametrize("name", ["t.png", "t.pdf", "t.json", "t.svg.gz", "t.oplt"])
def test_a_suffix_that_cannot_be_written_is_refused(model: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    result = run(model, "--out", out)
    assert result.exit_code == 2
    known = "Use one of .txt, .dot, .gv, .svg, .html, .htm, or pass --format."
    assert f"{out}: cannot write {out.suffix} files. {known}" in result.stderr
    assert ("Graphviz" in result.stderr) == (out.suffix in (".png", ".pdf"))
    assert not out.exists()
    assert run(model, "--out", out, "--format", "text").exit_code == 0


def test_a_file_that_is_there_stays_unless_forced(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.svg"
    out.write_text("mine")
    result = run(model, "--out", out)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert out.read_text() == "mine"
    assert run(model, "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("<svg")


def test_a_terminal_without_these_characters_gets_ascii(model: Path) -> None:
    command = [sys.executable, "-m", "oplt", "tree", str(model)]
    done = subprocess.run(  # noqa: S603 (our own command)
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii", "PATH": ""}
    )
    assert done.stdout.decode("ascii").splitlines()[:2] == ["node 0: 6 labels", "|- node 1: 2 labels"]
    assert b"m\\xe4rble" in done.stdout


def test_a_picture_is_utf_8_whatever_the_terminal_has(model: Path) -> None:
    command = [sys.executable, "-m", "oplt", "tree", str(model), "--format", "svg"]
    done = subprocess.run(  # noqa: S603 (our own command)
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii", "PATH": ""}
    )
    assert "märble" in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--label", "CA"], 1, "the tree has no label 'CA'. Did you mean 'cat'?"),
        (["--label", "8"], 1, "the tree has no label '8', and no label that contains it"),
        (["--label", "cat", "--depth", 1], 2, "cannot be combined"),
        (["--depth", "-1"], 2, "--depth"),
        (["--format", "png"], 2, "png"),
    ],
)
def test_a_mistake_is_told(model: Path, arguments: list[object], code: int, says: str) -> None:
    result = run(model, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none.oplt"
    path.write_text("{}")
    for wrong, says in [
        (path, "the file is not an oplt model: it begins with b'{}'"),
        (tmp_path / "x", "no such file"),
    ]:
        result = run(wrong)
        assert (result.exit_code, result.stdout) == (1, "")
        assert says in result.stderr
        assert result.stderr.count("\n") == 1
