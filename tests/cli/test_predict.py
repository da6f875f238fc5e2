# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt predict` and `oplt evaluate`."""

from __future__ import annotations

import json
import select
from pathlib import Path
from typing import IO, Any

import pytest

from oplt import OnlinePLT, files, metrics
from oplt.cli._console import json_line
from tests.cli.running import json_lines, learnt, refused, run, start, write_features, write_texts


def answers(model: Path, X: Any, **asked: Any) -> list[dict[str, Any]]:
    found = OnlinePLT.load(model).predict_many(X, **asked)
    return [{"labels": [label for label, _ in row], "probabilities": [round(p, 6) for _, p in row]} for row in found]


def test_each_example_gets_a_line_in_order(tmp_path: Path, model: Path) -> None:
    path = write_texts(tmp_path / "new.jsonl", 1500, seed=1)  # more than a batch
    X = [x for x, _, _ in files.read(path).examples()]
    result = run("predict", model, path)
    assert json_lines(result.stdout) == answers(model, X)
    assert result.stderr == ""


def test_what_is_asked_for_is_answered(texts: Path, model: Path) -> None:
    X = [x for x, _, _ in files.read(texts).examples()]
    found = json_lines(run("predict", model, texts, "-k", 2, "--threshold", 0.1, "--beam", 3).stdout)
    assert found == answers(model, X, k=2, threshold=0.1, beam=3)
    assert any(len(line["labels"]) < 2 for line in found)


def test_one_text_can_be_passed(model: Path, tmp_path: Path) -> None:
    expected = run("predict", model, "--format", "text", "-k", 2, given="Topic1-2 word\n").stdout
    assert run("predict", model, "--text", "Topic1-2 word", "-k", 2).stdout == expected
    assert json_lines(run("predict", model, "--text", "two\nlines", "--keep", "text").stdout)[0]["text"] == "two\nlines"
    run("predict", model, "--text", "Topic1-2 word", "-k", 2, "--out", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == expected
    message = "--text cannot be combined with DATA: pass either a text or a file"
    assert refused("predict", model, "data.jsonl", "--text", "a", code=2) == message


@pytest.mark.parametrize("command", ["predict", "explain"])
@pytest.mark.parametrize("text", ["printer jam", "printer/jam", "printer jam " * 30])
def test_a_text_that_is_passed_as_a_file(command: str, text: str, model: Path) -> None:
    assert refused(command, model, text).endswith(". If it is a text, pass it with --text")
    assert "--text" not in refused(command, "no model", "--text", text)


def test_labels_can_be_allowed_and_denied(tmp_path: Path, texts: Path, model: Path) -> None:
    X = [x for x, _, _ in files.read(texts).examples()]
    some = list(OnlinePLT.load(model).labels)[::2]
    (tmp_path / "some.txt").write_text("\n".join([*some, "", " never seen "]) + "\n", encoding="utf-8")
    found = json_lines(run("predict", model, texts, "--allow", tmp_path / "some.txt").stdout)
    assert found == answers(model, X, allow=some)
    found = json_lines(run("predict", model, texts, "--deny", tmp_path / "some.txt").stdout)
    assert found == answers(model, X, deny=some)


def test_a_list_without_known_labels_is_reported(tmp_path: Path, model: Path) -> None:
    (tmp_path / "others.txt").write_text("never\nseen\n", encoding="utf-8")
    result = run("predict", model, "--format", "text", "--allow", tmp_path / "others.txt", given="Topic1-2\n")
    assert json_lines(result.stdout) == [{"labels": [], "probabilities": []}]
    assert "others.txt: the model knows none of these 2 labels" in result.stderr


def test_a_list_of_labels_must_be_a_text(tmp_path: Path, texts: Path, model: Path) -> None:
    (tmp_path / "list.bin").write_bytes(b"\xff\xfe\x00")
    assert "list.bin: the file is not a text in UTF-8" in refused(
        "predict", model, texts, "--allow", tmp_path / "list.bin"
    )
    assert "none.txt" in refused("predict", model, texts, "--deny", tmp_path / "none.txt")


def test_a_listed_number_means_a_label_of_either_type(tmp_path: Path) -> None:
    model = OnlinePLT(features="text")
    model.learn_many(["purrs", "barks", "sings"], [7, "8", 9])
    model.save(tmp_path / "m.oplt")
    (tmp_path / "list.txt").write_text("7\n8\n", encoding="utf-8")
    result = run("predict", tmp_path / "m.oplt", "--format", "text", "--allow", tmp_path / "list.txt", given="sings\n")
    assert sorted(map(str, json_lines(result.stdout)[0]["labels"])) == ["7", "8"]


def test_lines_may_be_plain_texts_and_labels_are_not_needed(model: Path) -> None:
    found = run("predict", model, "--format", "text", given="Topic1-2 Topic1-3\nTopic2-1\n").stdout
    assert json_lines(found) == answers(model, ["Topic1-2 Topic1-3", "Topic2-1"])
    found = run("predict", model, "-", given='{"text": "Topic1-2 Topic1-3", "id": 5}\n{"text": "Topic2-1"}\n').stdout
    assert json_lines(found) == answers(model, ["Topic1-2 Topic1-3", "Topic2-1"])


def test_each_plain_line_has_its_answer(model: Path) -> None:
    lines = ["Topic1-2", "", "__label__x Topic2-1", " "]
    found = run("predict", model, "--format", "text", given="\r\n".join([*lines, ""])).stdout
    assert json_lines(found) == answers(model, lines)


def test_plain_texts_are_proposed_where_the_format_cannot_be_told(model: Path) -> None:
    message = refused("predict", model, given="an overflow\n")
    assert "Pass --format with one of xmlc, jsonl" in message
    assert message.endswith("If each line is a text, pass --format text.")


def test_features_get_labels_of_their_own_type(tmp_path: Path) -> None:
    path = write_features(tmp_path / "train.xmlc")
    target = tmp_path / "m.oplt"
    learnt([path]).save(target)
    (found,) = json_lines(run("predict", target, "-k", 1, "--format", "xmlc", given="0:1 7:0.5\n").stdout)
    assert found["labels"][0] in (0, 1, 2, 3)
    assert type(found["labels"][0]) is int


def test_an_answer_tells_its_line_if_lines_may_be_missing(model: Path) -> None:
    result = run("predict", model, "--on-error", "skip", given='{"text": "Topic1-2"}\n{"text\n\n{"text": "Topic2"}\n')
    assert [line["line"] for line in json_lines(result.stdout)] == [1, 4]
    assert "line 2: not JSON" in result.stderr


def test_a_file_is_written_when_all_is_done(tmp_path: Path, texts: Path, model: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert run("predict", model, texts, "--out", out).stdout == ""
    assert out.read_text() == run("predict", model, texts).stdout
    assert "already exists" in refused("predict", model, texts, "--out", out, code=2)
    before = out.read_bytes()
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(texts.read_bytes() * 10 + b"{")
    refused("predict", model, bad, "--out", out, "--force")
    assert out.read_bytes() == before
    assert list(tmp_path.glob(".*")) == []


def test_json_is_utf8_and_escapes_what_utf8_lacks() -> None:
    assert json_line({"label": "käse"}) == '{"label": "käse"}'.encode()
    assert json_line({"model": "caf\udce9.oplt"}) == rb'{"model": "caf\udce9.oplt"}'  # a file name in Latin-1


def read_line(stream: IO[bytes], seconds: float = 30) -> bytes:
    """Read a line with a timeout, because a program that waits for more input would never print it."""
    assert select.select([stream], [], [], seconds)[0], "no answer came"
    return stream.readline()


@pytest.mark.parametrize(
    "lines", [[b'{"text": "Topic1-2"}\n', b'{"text": "Topic2-1"}\n'], [b"Topic1-2\n", b"Topic2\n"]]
)
def test_answers_come_as_lines_come(model: Path, lines: list[bytes]) -> None:
    options = [] if lines[0].startswith(b"{") else ["--format", "text"]
    with start("predict", model, "-k", 1, *options) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for line in lines:
            program.stdin.write(line)
            program.stdin.flush()
            assert json.loads(read_line(program.stdout))["labels"]
        program.stdin.close()
        assert program.wait() == 0


def test_half_a_line_does_not_hold_up_the_one_before(model: Path) -> None:
    with start("predict", model, "-k", 1) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b'{"text": "Topic1-2"}\n{"text": ')
        program.stdin.flush()
        assert json.loads(read_line(program.stdout))["labels"]
        program.stdin.write(b'"Topic1-3"}')
        program.stdin.close()
        assert json.loads(read_line(program.stdout))["labels"]
        assert program.wait() == 0


def test_evaluate_measures_what_the_library_measures(tmp_path: Path, texts: Path, model: Path) -> None:
    test = write_texts(tmp_path / "test.jsonl", 300, seed=2)
    X, Y, _ = zip(*files.read(test).examples(), strict=True)
    scores = metrics.Scores((1, 3, 5))
    scores.add(OnlinePLT.load(model).predict_many(X, k=5), Y)
    (told,) = json_lines(run("evaluate", model, test, "--json").stdout)
    assert told["measures"] == pytest.approx(scores.result())
    assert (told["examples"], told["left_out"]) == (300, 0)
    (told,) = json_lines(run("evaluate", model, test, "--json", "--train-data", texts, "-k", "1,10").stdout)
    assert {"P@1", "P@10", "PSP@1", "PSnDCG@10"} <= set(told["measures"])


def test_propensities_are_of_the_labels_in_the_train_data(tmp_path: Path, texts: Path, model: Path) -> None:
    _, Y, _ = zip(*files.read(texts).examples(), strict=True)
    counts = {label: sum(label in labels for labels in Y) for labels in Y for label in labels}
    test = write_texts(tmp_path / "test.jsonl", 100, seed=2)
    X, Y, _ = zip(*files.read(test).examples(), strict=True)
    scores = metrics.Scores((1, 3, 5), propensities=metrics.propensities(counts, 200))
    scores.add(OnlinePLT.load(model).predict_many(X, k=5), Y)
    (told,) = json_lines(run("evaluate", model, test, "--json", "--train-data", texts).stdout)
    assert told["measures"] == pytest.approx(scores.result())


def test_propensities_of_features(tmp_path: Path) -> None:
    path = write_features(tmp_path / "train.xmlc")
    target = tmp_path / "m.oplt"
    learnt([path]).save(target)
    ((X, Y),) = [(batch.X, batch.Y) for batch in files.read(path)]
    scores = metrics.Scores((1, 3, 5), propensities=metrics.propensities(Y.sum(axis=0).astype(int), 60))
    scores.add(OnlinePLT.load(target).predict_many(X, k=5), Y)
    (told,) = json_lines(run("evaluate", target, path, "--json", "--train-data", path).stdout)
    assert told["measures"] == pytest.approx(scores.result())


def test_evaluate_prints_a_table(texts: Path, model: Path) -> None:
    result = run("evaluate", model, texts, "-k", "1,5", "--threshold", 0.3)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["@1", "@5"]
    assert [line.split()[0] for line in lines[1:7]] == ["P", "R", "nDCG", "coverage", "log-loss", "ECE"]
    assert lines[-1].startswith("sample-F1")
    assert lines[-1].endswith("on labels with p >= 0.3")
    assert "examples/s." in result.stderr
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("given", ["0", "1,x", ""])
def test_cutoffs_are_numbers(texts: Path, model: Path, given: str) -> None:
    run("evaluate", model, texts, "-k", given, code=2)


def test_too_little_train_data_is_told(tmp_path: Path, texts: Path, model: Path) -> None:
    few = write_texts(tmp_path / "few.jsonl", 2)
    message = refused("evaluate", model, texts, "--train-data", few, code=2)
    assert message == "--train-data: 2 examples are too few to estimate label frequencies"


def test_evaluate_refuses_what_the_model_does_not_take(features: Path, model: Path) -> None:
    assert "takes texts" in refused("evaluate", model, features)
    assert "takes texts" in refused("predict", model, features)


@pytest.mark.parametrize("form", ["jsonl", "text", "csv"])
def test_no_example_has_no_answer(tmp_path: Path, model: Path, form: str) -> None:
    result = run("predict", model, "-", "--format", form, given=b"")
    assert result.stdout == ""
    assert result.stderr == "There is no example.\n"
    out = tmp_path / "out.csv"
    run("predict", model, "-", "--format", form, "--out", out, given=b"")
    assert out.read_text() == "labels,probabilities\n"
