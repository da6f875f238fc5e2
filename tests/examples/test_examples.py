# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The examples run, without arguments as the documentation shows, and on files of one's own."""

from __future__ import annotations

import gzip
import json
import mailbox
import os
import re
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path

import pytest

from oplt import OnlinePLT

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
SHOWN = re.findall(
    r"^```text\n\$ python examples/(\S+)\n(.*?)^```",
    (ROOT / "docs" / "examples.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def started(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (our own examples)
        [sys.executable, str(ROOT / "examples" / script), *map(str, arguments)],
        env={**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def run(script: str, *arguments: object) -> str:
    done = started(script, *arguments)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def message(subject: str, text: str, **headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"Subject": subject, **headers}.items():
        made[name.replace("_", "-")] = value
    made.set_content(text)
    return made


def write_mailbox(path: Path, *messages: EmailMessage | bytes) -> Path:
    box = mailbox.mbox(path)
    for one in messages:
        box.add(one)
    box.close()
    return path


def test_all_examples_are_shown() -> None:
    assert sorted(name for name, _ in SHOWN) == [script.name for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_example_is_short(script: Path) -> None:
    assert len(script.read_text(encoding="utf-8").splitlines()) < 80


@pytest.mark.parametrize(("script", "expected"), SHOWN, ids=[name for name, _ in SHOWN])
def test_an_example_does_what_is_shown(script: str, expected: str) -> None:
    assert run(script).rstrip("\n") + "\n" == expected  # to the letter: models are the same on every machine


def test_a_mailbox_with_labels_in_a_header(tmp_path: Path) -> None:
    labeled = [
        message("Invoice", "payment", Date="Tue, 14 Nov 2023 22:13:20 -0000", X_Keywords="billing, Important"),
        message("Parcel", "<p>the <b>courier</b></p>", Date="not a date", X_Keywords="delivery"),
    ]
    labeled[1].replace_header("Content-Type", "text/html; charset=utf-8")
    odd = b"From: x\nX-Keywords: billing\nContent-Type: text/plain; charset=no-such-charset\n\npayment \xff\n"
    path = write_mailbox(tmp_path / "all.mbox", *labeled, odd, message("An invoice", "", X_Keywords="Inbox"))
    found = run("mailbox_tickets.py", path, "--header", "X-Keywords", "--save", tmp_path / "mail.oplt")
    assert "3 messages, 2 labels" in found
    model = OnlinePLT.load(tmp_path / "mail.oplt")
    assert sorted(model.labels) == ["billing", "delivery"]
    assert model.features is not None
    assert "p" not in model.features.names  # of a tag
    assert found.splitlines()[-1].startswith("An invoice")


def test_a_mailbox_for_each_label(tmp_path: Path) -> None:
    paths = [
        write_mailbox(
            tmp_path / f"{name}.mbox", message(f"{name} {number}", name, Date=f"1 Jan 2024 00:0{number} +0000")
        )
        for number, name in enumerate(["billing", "delivery", "inbox"])
    ]
    found = run("mailbox_tickets.py", *paths)
    assert "2 messages, 2 labels" in found
    assert found.splitlines()[-1].startswith("inbox 2")


def test_files_without_labeled_mail_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Not a mailbox\n", encoding="utf-8")
    done = started("mailbox_tickets.py", tmp_path / "notes.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert "found 0 messages, none of them labeled: is it an mbox file with the header X-Gmail-Labels?" in done.stderr
    done = started("mailbox_tickets.py", write_mailbox(tmp_path / "all.mbox", message("An invoice", "")))
    assert (done.returncode, done.stdout) == (2, "")
    assert "found 1 messages, none of them labeled" in done.stderr


@pytest.mark.parametrize(
    "vocabulary",
    [
        "<http://e.org/1>\tglacier\n<http://e.org/2>\tvolcano\n",
        '<http://e.org/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "gl\\u0061cier"@en .\n'
        '<http://e.org/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "Gletscher"@de .\n'
        '<http://e.org/2> <http://www.w3.org/2004/02/skos/core#prefLabel> "volcano"@en .\n',
    ],
    ids=["tsv", "skos"],
)
def test_a_vocabulary_and_records(tmp_path: Path, vocabulary: str) -> None:
    (tmp_path / "vocabulary").write_text(vocabulary, encoding="utf-8")
    (tmp_path / "records.tsv").write_text("Glaciers of the Alps\t<http://e.org/1>\nA volcano\t\n", encoding="utf-8")
    first, second = run("library_subjects.py", tmp_path / "vocabulary", tmp_path / "records.tsv").splitlines()
    assert "1 of 1 subjects among the best five on their first use" in first
    assert re.search(r"A volcano +volcano \(\d+%\)", second)


def cve(date: str, text: str, *names: str) -> dict[str, object]:
    matches = [{"vulnerable": True, "criteria": name} for name in names]
    other = {"vulnerable": False, "criteria": "cpe:2.3:o:linux:linux_kernel:-:*:*:*:*:*:*:*"}
    nodes = [{"nodes": [{"cpeMatch": [*matches, other]}]}] if names else []
    descriptions = [{"lang": "en", "value": text}]
    return {"cve": {"published": date, "descriptions": descriptions, "configurations": nodes}}


def test_feeds_of_cves(tmp_path: Path) -> None:
    feed = [
        cve(
            "2024-02-01", "Overflow in Spam", r"cpe:2.3:a:acme\:x:spam:1.0:*:*:*:*:*:*:*", r"cpe:2.3:a:acme\:x:spam:2:*"
        ),
        cve("2024-01-01", "Overflow in Egg", "cpe:2.3:a:acme:egg:1.0:*:*:*:*:*:*:*"),
        cve("2024-03-01", "Not yet analyzed"),
    ]
    path = tmp_path / "nvdcve-2.0-2024.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"vulnerabilities": feed}).encode()))
    found = run("cve_stream.py", path)
    assert "2 reports" in found
    assert "2 products" in found


def test_reports_as_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text('{"text": "Overflow in Egg", "labels": ["acme:egg"]}\n' * 120)
    found = run("cve_stream.py", path)
    assert "120 reports, P@1 0.99, of the last 500 0.99" in found
    assert "1 products" in found
