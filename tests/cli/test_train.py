# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt train` and `oplt learn`: the model and the messages."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from oplt import PLT, OnlinePLT
from oplt.text import TextFeatures
from tests.cli.running import json_lines, learnt, refused, run, write_features, write_texts


def fingerprint(path: Path) -> str:
    return OnlinePLT.load(path).fingerprint()


def test_texts_are_learnt_as_the_library_learns_them(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    result = run("train", texts, "--model", target)
    assert fingerprint(target) == learnt([texts], features="text").fingerprint()
    assert result.stdout == ""
    assert result.stderr.startswith("Learned 200 examples in ")
    assert f"Now: oplt predict {target} new.jsonl" in result.stderr


def test_features_are_learnt_as_the_library_learns_them(tmp_path: Path, features: Path) -> None:
    target = tmp_path / "m.oplt"
    run("train", features, "--model", target)
    assert fingerprint(target) == learnt([features]).fingerprint()


def test_predicting_some_before_they_are_learnt_changes_nothing(tmp_path: Path) -> None:
    path = write_texts(tmp_path / "many.jsonl", 4200)
    target = tmp_path / "m.oplt"
    (told,) = json_lines(run("train", path, "--model", target, "--json", "-q").stdout)
    assert told["fingerprint"] == fingerprint(target) == learnt([path], features="text").fingerprint()
    assert told["tried"] == 64  # examples from the second and the third batch of 2,048
    assert told["P@1"] > 0.3


def test_several_files_and_passes_are_one_stream(tmp_path: Path, texts: Path) -> None:
    more = write_texts(tmp_path / "more.jsonl.gz", 50, seed=1)
    target = tmp_path / "m.oplt"
    result = run("train", texts, more, "--model", target, "--passes", 2, "--json", "-q")
    assert fingerprint(target) == learnt([texts, more], passes=2, features="text").fingerprint()
    (told,) = json_lines(result.stdout)
    assert (told["examples"], told["learnt"], told["left_out"], told["model"]) == (500, 500, 0, str(target))
    assert result.stderr == ""


def test_settings_reach_the_model(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    words = "--paper --arity 4 --no-bias --ngrams 1,2 --chars 3 --no-idf --hash-bits 12 --seed 7".split()
    run("train", texts, "--model", target, *words)
    features = TextFeatures(ngrams=(1, 2), chars=(3, 3), idf=False, hash_bits=12)
    assert OnlinePLT.load(target).settings == OnlinePLT.paper(arity=4, bias=False, seed=7, features=features).settings


def test_ngrams_may_be_left_out(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    run("train", texts, "--model", target, "--ngrams", "none", "--chars", "2,3")
    features: Any = OnlinePLT.load(target).settings["features"]
    assert (features["ngrams"], features["chars"]) == (None, (2, 3))


@pytest.mark.parametrize("given", ["one", "1,b", ","])
def test_what_is_no_range_is_wrong_usage(tmp_path: Path, texts: Path, given: str) -> None:
    assert "is neither MIN,MAX" in run("train", texts, "-m", tmp_path / "m.oplt", "--ngrams", given, code=2).stderr


def test_standard_input_is_learnt(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    run("train", "-", "--model", target, given=gzip.compress(texts.read_bytes()))
    assert fingerprint(target) == learnt([texts], features="text").fingerprint()


def test_columns_are_chosen(tmp_path: Path) -> None:
    table = tmp_path / "papers.csv"
    table.write_text("title,abstract,topics,n\nOn trees,We grow them,a|b,2\nOn stones,They lie,c,3\n")
    target = tmp_path / "m.oplt"
    words = ["--labels-column", "topics", "--separator", "|"]
    run("train", table, "--model", target, "--text-column", "title,abstract", *words)
    model = OnlinePLT.load(target)
    assert (model.n_labels, model.n_features) == (3, 8)
    run("train", table, "--model", target, "-f", "--number-columns", "n", *words)
    assert OnlinePLT.load(target).n_features == 1


def test_a_column_may_have_a_comma_in_its_name(tmp_path: Path) -> None:
    table = tmp_path / "mail.csv"
    table.write_text('subject,"body, plain",label\nHello,all of you,greeting\n')
    target = tmp_path / "m.oplt"
    run("train", table, "--model", target, "--text-column", 'subject, "body, plain"')
    assert OnlinePLT.load(target).n_features == 4


def test_the_command_that_is_proposed_next_works(tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "table"
    table.write_text("a title,n,topic\nOn trees,1,biology\n")
    monkeypatch.chdir(tmp_path)
    words = ["--format", "csv", "--text-column", "a title", "--labels-column", "topic"]
    said = run("train", table, "--model", "my model.oplt", *words).stderr
    proposed = said.strip().rpartition("Now: ")[2]
    assert proposed == "oplt predict 'my model.oplt' new --format csv --text-column 'a title'"
    (tmp_path / "new").write_text("a title\nOn stones\n")  # its label is unknown
    assert json_lines(run(*shlex.split(proposed)[1:]).stdout)[0]["labels"] == ["biology"]
    assert run("train", texts, "--model", "m.oplt").stderr.endswith("Now: oplt predict m.oplt new.jsonl\n")


def test_a_column_of_numbers_may_be_called_weight(tmp_path: Path) -> None:
    table, target = tmp_path / "animals.csv", tmp_path / "m.oplt"
    table.write_text("height,weight,label\n0.3,4,cat\n,500,cow\n0.2,,rat\n")
    run("train", table, "--model", target, "--number-columns", "height,weight")
    expected = OnlinePLT()
    expected.learn_many([{"height": 0.3, "weight": 4}, {"weight": 500}, {"height": 0.2}], ["cat", "cow", "rat"])
    assert fingerprint(target) == expected.fingerprint()
    told = refused(
        "train", table, "-m", target, "-f", "--number-columns", "height", "--weight-column", "height", code=2
    )
    assert told.endswith("feature. Pass a different --weight-column.")


def test_lines_that_are_no_examples_are_left_out_and_told(tmp_path: Path, texts: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b'{"text": "cut o\n' * 7 + texts.read_bytes())
    target = tmp_path / "m.oplt"
    assert "bad.jsonl, line 1: not JSON" in refused("train", bad, "--model", target)
    result = run("train", bad, "--model", target, "--on-error", "skip", "--json")
    assert fingerprint(target) == learnt([texts], features="text").fingerprint()
    assert "Skipped 7 invalid lines:" in result.stderr
    assert "and 2 more" in result.stderr
    assert json_lines(result.stdout)[0]["left_out"] == 7


def test_a_model_is_not_replaced_unless_asked_to(texts: Path, model: Path) -> None:
    before = model.read_bytes()
    message = refused("train", texts, "--model", model, code=2)
    assert message == f"{model} already exists: choose another name, or pass --force to overwrite it"
    assert model.read_bytes() == before
    run("train", texts, "--model", model, "--force", "--paper")
    assert model.read_bytes() != before


def test_what_is_no_model_is_never_replaced_by_one(tmp_path: Path, texts: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(texts.read_bytes())
    assert "is not an oplt model" in refused("train", texts, "--model", other, "--force", code=2)
    assert other.read_bytes() == texts.read_bytes()


def test_texts_and_features_do_not_mix(tmp_path: Path, texts: Path, features: Path) -> None:
    message = refused("train", texts, features, "--model", tmp_path / "m.oplt")
    assert f"{features}, line 1" not in message  # the header is line 1
    assert message.startswith(f"{features}, line 2: this is a row of features, but {texts}, line 1 is a text")


def test_examples_that_have_both_need_a_choice(tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    both.write_text('{"text": "it purrs", "features": {"fur": 1, "size": 2}, "label": "cat"}\n' * 2)
    target = tmp_path / "m.oplt"
    assert "Pass --use text or --use features." in refused("train", both, "--model", target)
    run("train", both, "--model", target, "--use", "features")
    assert OnlinePLT.load(target).settings["features"] is None


def test_settings_of_texts_are_refused_for_features(tmp_path: Path, features: Path) -> None:
    message = refused("train", features, "--model", tmp_path / "m.oplt", "--chars", "3,5", "--hash-bits", 9, code=2)
    assert message == "--chars, --hash-bits can only be used with texts, but the examples are features"


@pytest.mark.parametrize("more", [["--passes", "2"], ["-"]])
def test_standard_input_is_read_once_and_alone(tmp_path: Path, more: list[str]) -> None:
    assert "can only be read once" in refused("train", "-", *more, "-m", tmp_path / "m.oplt", given=b"", code=2)


def test_a_table_without_rows_has_no_example(tmp_path: Path) -> None:
    table = tmp_path / "empty.csv"
    table.write_text("text,labels\n")
    for words in (["train", table, "-m", tmp_path / "m.oplt"], ["progressive", table]):
        assert refused(*words) == f"{table}: there is no example"


def test_a_file_of_nothing_but_bad_lines_has_no_example(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{\n{\n")
    message = refused("train", bad, "-m", tmp_path / "m.oplt", "--on-error", "skip")
    assert message.startswith(f"{bad}: there is no example: {bad}, line 1: not JSON")


def test_learn_goes_on_in_place_or_beside(tmp_path: Path, texts: Path, model: Path) -> None:
    more = write_texts(tmp_path / "more.jsonl", 70, seed=3)
    both = learnt([texts, more], features="text").fingerprint()
    before = fingerprint(model)
    beside = tmp_path / "beside.oplt"
    result = run("learn", model, more, "--out", beside)
    assert (fingerprint(model), fingerprint(beside)) == (before, both)
    assert "Learned 70 examples" in result.stderr
    assert "270 in all" in result.stderr
    run("learn", model, more)
    assert fingerprint(model) == both
    assert "already exists" in refused("learn", model, more, "--out", beside, code=2)


def test_learn_can_leave_out_what_it_has_learnt(tmp_path: Path, texts: Path, model: Path) -> None:
    more = write_texts(tmp_path / "more.jsonl", 70, seed=3)
    first = tmp_path / "first.jsonl"
    first.write_text("".join(more.read_text().splitlines(keepends=True)[:30]))
    run("learn", model, first)
    run("learn", model, more, "--skip", 30)
    assert fingerprint(model) == learnt([texts, more], features="text").fingerprint()


def test_learn_refuses_what_the_model_does_not_take(tmp_path: Path, features: Path, texts: Path, model: Path) -> None:
    before = model.read_bytes()
    message = refused("learn", model, features)
    assert message == f"{features}, line 2: this is a row of features, but the model {model} takes texts"
    assert model.read_bytes() == before
    other = tmp_path / "features.oplt"
    learnt([features]).save(other)
    assert "takes features" in refused("learn", other, texts)


def test_learn_refuses_a_batch_trained_model(tmp_path: Path, features: Path) -> None:
    target = tmp_path / "batch.oplt"
    PLT.fit([{0: 1.0}, {1: 1.0}], ["a", "b"]).save(target)
    assert "cannot be updated" in refused("learn", target, features)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    assert "can only be read once" in refused("train", "/dev/null", "--passes", 2, "-m", tmp_path / "m.oplt", code=2)


def test_json_has_the_same_names_for_train_and_learn(tmp_path: Path, texts: Path) -> None:
    target = tmp_path / "m.oplt"
    (trained,) = json_lines(run("train", texts, "-m", target, "--json").stdout)
    (more,) = json_lines(run("learn", target, texts, "--json").stdout)
    names = "model examples learnt labels features seconds P@1 tried closed_at fingerprint left_out".split()
    assert list(trained) == list(more) == names
    assert trained["P@1"] is None  # JSON has no NaN
    assert json.dumps(trained)


def test_a_copy_of_compressed_data_gives_the_same_model(tmp_path: Path, texts: Path) -> None:
    packed = tmp_path / "packed.jsonl.gz"
    with texts.open("rb") as plain, gzip.open(packed, "wb") as file:
        shutil.copyfileobj(plain, file)
    target = tmp_path / "m.oplt"
    run("train", packed, "-m", target)
    assert fingerprint(target) == learnt([texts], features="text").fingerprint()


def test_threads_change_nothing(tmp_path: Path) -> None:
    path = write_features(tmp_path / "many.xmlc", 500)
    prints = set()
    for threads in (1, 2):
        run("train", path, "-m", tmp_path / "m.oplt", "-f", "--threads", threads)
        prints.add(fingerprint(tmp_path / "m.oplt"))
    assert len(prints) == 1
