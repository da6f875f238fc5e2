# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The backend for Annif, through Annif's own command line. `make test-annif` runs this in an environment with Annif."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("annif", reason="Annif pins its dependencies: run make test-annif", exc_type=ImportError)

import annif.cli
from click.testing import CliRunner, Result

import oplt.annif
from oplt import OnlinePLT
from oplt.text import TextFeatures

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "annif.md"
SUBJECTS = ["kernel", "memory", "web", "secrets"]
DOCUMENTS = [
    ("Heap overflow in the kernel", ["kernel", "memory"]),
    ("Stack overflow in a driver of the kernel", ["kernel", "memory"]),
    ("Script injection through the search form", ["web"]),
]
CORRECTED = [("Password is written to the log", ["secrets"])]


def uri(subject: str) -> str:
    return f"http://example.org/{subject}"


def corpus(path: Path, documents: list[tuple[str, list[str]]]) -> Path:
    path.write_text("text,subject_uris\n" + "".join(f"{text},{' '.join(map(uri, own))}\n" for text, own in documents))
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a loaded vocabulary and two projects, of which one may learn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # nothing may be downloaded
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    configure(tmp_path)
    labels = "".join(f"{uri(subject)},{subject}\n" for subject in SUBJECTS)
    (tmp_path / "vocabulary.csv").write_text("uri,label_en\n" + labels)
    corpus(tmp_path / "documents.csv", DOCUMENTS)
    corpus(tmp_path / "corrected.csv", CORRECTED)
    run("load-vocab", "tickets", "vocabulary.csv")
    return tmp_path


def configure(folder: Path, *settings: str) -> None:
    common = "\n".join(["language=en", "backend=oplt", "vocab=tickets", *settings])
    (folder / "projects.cfg").write_text(f"[tickets]\nallow_learn=true\n{common}\n[frozen]\n{common}\n")


def run(*words: str, given: str | None = None, code: int = 0) -> Result:
    result = CliRunner().invoke(annif.cli.cli, list(words), input=given)
    assert result.exit_code == code, result.output
    return result


def model_of(folder: Path, name: str = "tickets") -> OnlinePLT:
    return OnlinePLT.load(folder / "data" / "projects" / name / "model.oplt")


def test_the_page_is_not_stale(tmp_path: Path) -> None:
    sessions = re.findall(r"```sh-session\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    steps = [step for session in sessions for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in steps:
        command, _, expected = step.partition("\n")
        if command.startswith("cat "):  # shows a file that does not exist yet
            (tmp_path / command.removeprefix("cat ")).write_text(expected, encoding="utf-8")
            continue
        done = subprocess.run(  # noqa: S603 (our own docs)
            ["/bin/bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "https_proxy": "http://127.0.0.1:1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # as a terminal shows it
            text=True,
            check=False,
        )
        assert doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS), f"$ {step}\n{done.stdout}"
    shown = re.findall(r"^python -m oplt\.annif ([a-z-]+)", "\n".join(steps), re.MULTILINE)
    assert shown == ["load-vocab", "train", "learn", "suggest", "eval"]


def test_training_and_learning_are_those_of_the_model_alone(project: Path) -> None:
    run("train", "tickets", "documents.csv")
    run("learn", "tickets", "corrected.csv")
    alone = OnlinePLT(features="text")
    for text, subjects in DOCUMENTS + CORRECTED:
        alone.learn_one(text, list(map(uri, subjects)))
    assert model_of(project).fingerprint() == alone.fingerprint()


@pytest.mark.usefixtures("project")
def test_a_subject_is_suggested_after_it_was_learned() -> None:
    run("train", "tickets", "documents.csv")
    question = "The log shows my password"
    assert "secrets" not in run("suggest", "tickets", given=question).stdout
    run("learn", "tickets", "corrected.csv")
    first = run("suggest", "tickets", given=question).stdout.splitlines()[0]
    assert first.startswith(f"<{uri('secrets')}>\tsecrets\t")


def test_training_again_starts_again(project: Path) -> None:
    run("train", "tickets", "corrected.csv")
    run("train", "tickets", "documents.csv")
    assert list(model_of(project).labels) == list(map(uri, SUBJECTS[:3]))


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_evaluation(jobs: str) -> None:
    run("train", "tickets", "documents.csv")
    found = run("eval", "tickets", "documents.csv", "--limit", "2", "--jobs", jobs, "--metric", "Recall (doc avg)")
    assert "Recall (doc avg):             \t1.0000" in found.stdout


def test_learning_needs_the_permission_of_the_project(project: Path) -> None:
    run("train", "frozen", "documents.csv")
    assert "Learning not enabled" in run("learn", "frozen", "corrected.csv", code=1).output
    assert model_of(project, "frozen").n_examples == 3


def test_settings_come_from_the_configuration(project: Path) -> None:
    configure(project, "trees=2", "alpha=0.5", "idf=no", "ngrams=1,2", "policy=random", "hash_bits=none", "history=0")
    run("train", "tickets", "documents.csv", "--backend-param", "oplt.seed=7")
    features = TextFeatures(idf=False, ngrams=(1, 2))
    expected = OnlinePLT(trees=2, alpha=0.5, policy="random", history=0, seed=7, features=features)
    assert model_of(project).settings == expected.settings


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("trees=x", "Misconfigured project 'tickets': trees must be an integer, got 'x'"),
        ("idf=perhaps", "idf must be True or False, got 'perhaps'"),
        ("ngrams=one", "ngrams must be a pair (minimum, maximum)"),
        ("alpha=2", "alpha must be between 0 and 1, got 2"),
    ],
)
def test_a_bad_setting_is_named(project: Path, setting: str, message: str) -> None:
    configure(project, setting)
    assert message in run("train", "tickets", "documents.csv", code=1).output


def test_the_words_are_those_of_the_analyzer_of_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Analyzer:  # those of Annif download a file
        def tokenize_words(self, text: str) -> list[str]:
            return [word.lower().removesuffix("s") for word in text.split()]

    monkeypatch.setattr(annif.analyzer, "get_analyzer", lambda _: Analyzer())
    configure(project, "analyzer=simple")
    run("train", "tickets", "documents.csv")
    run("learn", "tickets", str(corpus(project / "more.csv", [("Passwords", ["secrets"])])))
    features = model_of(project).features
    assert features is not None
    assert "password" in features.names
    assert "passwords" not in features.names
    assert run("suggest", "tickets", "--limit", "1", given="password").stdout.startswith(f"<{uri('secrets')}>")


def test_documents_without_text_or_subject_are_skipped(project: Path) -> None:
    corpus(project / "some.csv", [("", ["web"]), ("no subject", []), ("unknown subject", ["none"]), DOCUMENTS[0]])
    assert "skipped 3 documents" in run("train", "tickets", "some.csv").output
    assert model_of(project).n_examples == 1
    nothing = str(corpus(project / "nothing.csv", [("no subject", [])]))
    assert "no document has a text and a subject" in run("train", "frozen", nothing, code=1).output
    assert "no document has a text and a subject" in run("learn", "tickets", nothing, code=1).output
    assert model_of(project).n_examples == 1


@pytest.mark.usefixtures("project")
def test_nothing_is_suggested_for_an_empty_text() -> None:
    run("train", "tickets", "documents.csv")
    assert run("suggest", "tickets", given=" \n").stdout == ""


def test_a_subject_that_left_the_vocabulary_is_not_suggested(project: Path) -> None:
    run("train", "tickets", "documents.csv")
    (project / "vocabulary.csv").write_text(f"uri,label_en\n{uri('kernel')},kernel\n{uri('web')},web\n")
    run("load-vocab", "tickets", "vocabulary.csv")
    suggested = run("suggest", "tickets", given="heap overflow").stdout
    assert "kernel" in suggested
    assert "memory" not in suggested


def test_errors(project: Path) -> None:
    assert "not trained" in run("suggest", "tickets", given="a text", code=1).output
    assert "model.oplt not found" in run("learn", "tickets", "corrected.csv", code=1).output
    assert "from cached data not supported" in run("train", "tickets", "--cached", code=1).output
    path = project / "data" / "projects" / "tickets" / "model.oplt"
    run("train", "tickets", "documents.csv")
    path.write_bytes(path.read_bytes()[:-100])
    assert "Operation failed project 'tickets': " in run("suggest", "tickets", given="a text", code=1).output


def test_the_command_names_itself() -> None:
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, "-m", "oplt.annif", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: python -m oplt.annif ")
    assert annif.backend.get_backend("oplt") is oplt.annif.OPLTBackend
