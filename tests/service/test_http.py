# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The HTTP interface: what each address does, what it refuses, and who may use it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from oplt import OnlinePLT
from oplt.service.app import make_app
from oplt.service.served_model import ServedModel
from oplt.service.settings import ServingSettings
from oplt.service.tokens import Tokens, add_token, remove_token
from tests.service.processes import serving
from tests.service.running import PATIENCE, new_folder, served, until

EXAMPLES = [
    {"text": "heap overflow in the kernel", "labels": ["kernel", "memory"]},
    {"text": "script injection through the form", "labels": ["web"]},
    {"text": "password in the log", "labels": ["secrets"], "weight": 2.0},
]


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ServedModel]:
    with served(new_folder(tmp_path, texts=True)) as one:
        yield one


@pytest.fixture
def http(model: ServedModel) -> Iterator[httpx.Client]:
    with serving({"tags": model}) as client:
        yield client


def error_of(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert "Traceback" not in answer.text
    return answer.status_code, body["error"]["code"]


def test_learn_and_predict(http: httpx.Client, model: ServedModel) -> None:
    one = http.post("/v1/learn", json=EXAMPLES[0])
    assert (one.status_code, one.json()) == (200, {"position": 1, "positions": [1]})
    many = http.post("/v1/learn", json={"examples": EXAMPLES[1:]})
    assert many.json() == {"position": 3, "positions": [2, 3]}
    question = {"text": "injection of a script", "k": 1, "read_after": 3}
    found = http.post("/v1/predict", json=question).json()
    assert found["predictions"][0]["labels"] == ["web"]
    assert found["position"] == 3
    twin = OnlinePLT(features="text")
    for one in EXAMPLES:
        twin.learn_one(one["text"], one["labels"], weight=one.get("weight", 1.0))
    assert model.model.fingerprint() == twin.fingerprint()
    texts = [{"text": one["text"]} for one in EXAMPLES]
    several = http.post("/v1/predict", json={"examples": texts, "k": 2}).json()["predictions"]
    for answer, example in zip(several, EXAMPLES, strict=True):
        expected = twin.predict_one(str(example["text"]), k=2)
        assert list(zip(answer["labels"], answer["probabilities"], strict=True)) == expected
    named = http.post("/v1/models/tags/predict", json={**question, "deny": ["web"]}).json()["predictions"][0]
    assert "web" not in named["labels"]
    allowed = http.post("/v1/predict", json={**question, "k": 3, "allow": ["secrets"]}).json()["predictions"][0]
    assert allowed["labels"] == ["secrets"]
    assert http.post("/v1/predict", json={"examples": []}).json()["predictions"] == []


def test_the_short_way_answers_as_the_framework_does(http: httpx.Client, model: ServedModel) -> None:
    """Learn and predict bypass the framework, whose answers are the same, errors included."""
    framework = make_app({"tags": model})._app._app
    bodies: list[tuple[str, Any]] = [
        *(("/v1/learn", one) for one in EXAMPLES),
        ("/v1/learn", {"examples": EXAMPLES}),
        ("/v1/learn", {"text": "a", "labels": ["x"], "weight": 0}),
        ("/v1/learn", {"text": 7, "labels": ["x"]}),
        ("/v1/learn", {"text": "a"}),
        ("/v1/models/tags/predict", {"text": "heap", "k": 2}),
        ("/v1/predict", {"examples": [{"text": "heap"}, {"text": "form"}], "threshold": 0.1}),
        ("/v1/predict", {"text": "heap", "k": -1}),
        ("/v1/predict", {}),
    ]

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=framework)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [
                await client.post(path, json=body, headers={"Idempotency-Key": f"k{i}"})
                for i, (path, body) in enumerate(bodies)
            ]

    for i, (path, body) in enumerate(bodies):
        http.post(path, json=body, headers={"Idempotency-Key": f"k{i}"})
    model.learner.when_learned(model.journal.last).result(PATIENCE)
    for (path, body), theirs, i in zip(bodies, asyncio.run(ask()), range(len(bodies)), strict=True):
        ours = http.post(path, json=body, headers={"Idempotency-Key": f"k{i}"})
        assert ours.status_code == theirs.status_code, (path, body)
        mine, other = ours.json(), theirs.json()
        for answer in (mine, other):
            answer.get("error", {}).pop("message", None)
        assert mine == other


def test_a_repeated_request_counts_once(http: httpx.Client) -> None:
    headers = {"Idempotency-Key": "abc"}
    first = http.post("/v1/learn", json={"examples": EXAMPLES}, headers=headers).json()
    assert http.post("/v1/learn", json={"examples": EXAMPLES}, headers=headers).json() == first
    assert error_of(http.post("/v1/learn", json={"examples": EXAMPLES[1:]}, headers=headers)) == (
        409,
        "key-used-before",
    )
    for key in ("", "k" * 201):
        assert error_of(http.post("/v1/learn", json={"examples": [{**EXAMPLES[0], "key": key}]}))[0] == 400
    own = {**EXAMPLES[0], "key": "mine"}
    assert http.post("/v1/learn", json=own).json() == http.post("/v1/learn", json=own).json()
    assert http.get("/v1/model").json()["journal"] == 4


def test_a_stream_can_be_sent_again(http: httpx.Client) -> None:
    lines = b"\n".join(json.dumps(EXAMPLES[i % 3]).encode() for i in range(1200))
    headers = {"content-type": "application/x-ndjson", "Idempotency-Key": "stream"}
    broken = b"\n".join([*lines.split(b"\n")[:700], b'{"text'])
    assert error_of(http.post("/v1/learn/stream", content=broken, headers=headers)) == (400, "not-json")
    assert http.get("/v1/model").json()["journal"] == 700
    answer = http.post("/v1/learn/stream", content=lines, headers=headers)
    assert answer.json() == {"position": 1200, "n_examples": 1200}
    assert http.post("/v1/learn/stream", content=lines, headers=headers).json()["position"] == 1200
    bad = b'{"text": "a", "labels": ["x"]}\n{"features": {"a": 1}, "labels": ["x"]}\n'
    kind = {"content-type": "application/x-ndjson"}
    refused = http.post("/v1/learn/stream", content=bad, headers=kind)
    assert error_of(refused) == (400, "model-takes-others")
    assert "lines 1 to 2: example 1" in refused.text
    assert http.post("/v1/learn/stream", content=b"\n\n", headers=kind).json()["n_examples"] == 0


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/predict", {}, (400, "text-missing")),
        ("/v1/predict", {"text": 7}, (400, "request-not-valid")),
        ("/v1/predict", {"text": "a", "examples": []}, (400, "text-and-features")),
        ("/v1/predict", {"features": {"a": 1.0}}, (400, "model-takes-others")),
        ("/v1/predict", {"text": "a", "k": 0}, (400, "request-not-valid")),
        ("/v1/predict", {"text": "a", "threshold": 2}, (400, "request-not-valid")),
        ("/v1/predict", {"text": "a", "unknown": 2}, (400, "request-not-valid")),
        ("/v1/predict", {"text": "a", "allow": [""]}, (400, "name-not-valid")),
        ("/v1/predict", {"text": "a", "read_after": 99}, (404, "no-such-position")),
        ("/v1/predict", [], (400, "request-not-valid")),
        ("/v1/learn", {"text": "a"}, (400, "labels-missing")),
        ("/v1/learn", {"text": "a", "labels": "x"}, (400, "request-not-valid")),
        ("/v1/learn", {"text": "a", "labels": [""]}, (400, "name-not-valid")),
        ("/v1/learn", {"text": "a", "labels": ["x"], "weight": 0}, (400, "weight-out-of-range")),
        ("/v1/learn", {"text": "a", "labels": ["x"], "weight": 1e30}, (400, "weight-out-of-range")),
        ("/v1/learn", {"labels": ["x"]}, (400, "text-missing")),
        ("/v1/learn", {"examples": [{"text": "a"}]}, (400, "request-not-valid")),
        ("/v1/forget", {"positions": [1]}, (404, "no-such-position")),
        ("/v1/forget", {"positions": []}, (400, "request-not-valid")),
        ("/v1/snapshots/7/rollback", None, (404, "no-such-snapshot")),
        ("/v1/promote", None, (409, "is-leader")),
        ("/v1/models/other/predict", {"text": "a"}, (404, "no-such-model")),
        ("/v1/nothing", {}, (404, "no-such-address")),
        ("/v1/model", {}, (405, "method-not-allowed")),
    ],
)
def test_bad_requests(http: httpx.Client, model: ServedModel, path: str, body: Any, expected: tuple[int, str]) -> None:
    assert error_of(http.post(path, json=body) if body is not None else http.post(path)) == expected
    assert model.journal.last == 0


def test_columns_of_a_table_are_no_fields(http: httpx.Client) -> None:
    row = {"Subject": "Printer", "Body": "It jams"}
    for body in (row, {"examples": [row]}):
        message = http.post("/v1/predict", json=body).json()["error"]["message"]
        assert message.startswith("there is no field `Subject`")
        assert message.endswith(". A text goes into `text`: join several columns with a blank")


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        (
            "/v1/learn",
            {"text": "a", "label": "x"},
            "there is no field `label`; did you mean `labels`? Use the fields `text`, `features`, `labels`, `weight`,"
            " `key` and `examples`",
        ),
        ("/v1/learn", {"examples": [{"text": "a"}]}, "`examples[0]` lacks the field `labels`"),
        ("/v1/learn", {"text": "a", "labels": "x"}, '`labels` must be a list, got "x"'),
        ("/v1/learn", {"text": "a", "labels": [1.5]}, "`labels[0]` must be an integer or a string, got 1.5"),
        ("/v1/learn", {"text": "a", "labels": [], "key": ""}, '`key` must have at least 1 character, got ""'),
        ("/v1/learn", {"features": {"a": "x"}, "labels": []}, "`features[...]` must be a number, got a string"),
        ("/v1/learn", {"features": [["a"]], "labels": []}, '`features[0]` must have exactly 2 items, got ["a"]'),
        ("/v1/predict", {"text": "a", "k": 0}, "`k` must be an integer of at least 1, got 0"),
        ("/v1/predict", {"text": "a", "threshold": 2}, "`threshold` must be a number of at most 1.0, got 2"),
        ("/v1/predict", [], "the body must be an object, got []"),
        (
            "/v1/predict",
            {"examples": [{"text": "a", "k": 1}]},
            "there is no field `k` in `examples[0]`. Use the fields",
        ),
        ("/v1/labels", {"kind": "add"}, "the body lacks the field `label`"),
        ("/v1/labels", {"kind": "add", "label": "x", "othr": "y"}, "there is no field `othr`; did you mean `other`?"),
        ("/v1/labels", {"kind": "ad", "label": "x"}, "`kind` must be one of the values that GET /openapi/"),
        ("/v1/forget", {"positions": [0]}, "`positions[0]` must be an integer of at least 1"),
        ("/v1/forget", b"", "the body is empty. Send a JSON object with the field `positions`"),
        ("/v1/labels", b"", "the body is empty. Send a JSON object with the fields `kind`, `label`, `other`"),
        ("/v1/predict", b"", "the body is empty. Send a JSON object with the fields `text`, `features`, `examples`"),
        ("/v1/predict", b'{"text"', "the body is not complete JSON"),
        ("/v1/labels", b"{]", "the body is not valid JSON: "),
        ("/v1/learn/stream", b'{"text": "a"}', "line 1: the line lacks the field `labels`"),
        ("/v1/model", {}, "/v1/model does not accept POST. Use GET"),
        ("/predict", {}, "there is no address /predict. GET /openapi/openapi.json lists all addresses"),
    ],
)
def test_errors_say_what_to_send(http: httpx.Client, path: str, body: Any, says: str) -> None:
    kind = "application/x-ndjson" if path.endswith("stream") else "application/json"
    content = body if isinstance(body, bytes) else json.dumps(body)
    answer = http.post(path, content=content, headers={"content-type": kind})
    assert answer.json()["error"]["message"].startswith(says)


def test_errors_about_parameters_and_headers_say_what_to_send(http: httpx.Client) -> None:
    assert '"`limit` must be an integer of at least 1, got \\"0\\""' in http.get("/v1/labels?limit=0").text
    missing = "Missing required query parameter 'label' for path /v1/labels/one"
    assert http.get("/v1/labels/one").json()["error"]["message"] == missing
    assert "/v1/predict does not accept GET. Use POST" in http.get("/v1/predict").text
    for path, body in (("/v1/learn", EXAMPLES[0]), ("/v1/forget", {"positions": [1]})):
        answer = http.post(path, json=body, headers={"idempotency-key": "k" * 101})
        assert answer.json()["error"]["message"] == "Idempotency-Key must have 1 to 100 visible ASCII characters"
    form = http.post("/v1/predict", content="{}", headers={"content-type": "text/plain"}).text
    assert "must be application/json, got text/plain. Pass the header content-type: application/json, as curl" in form


def test_other_bad_bodies(http: httpx.Client, model: ServedModel) -> None:
    kind = {"content-type": "application/json"}
    for body in (b"{", b"\xff\xfe", b'{"text": "\\ud800", "labels": []}', b"[" * 100_000, b""):
        assert error_of(http.post("/v1/learn", content=body, headers=kind))[0] == 400
    huge = b'{"text": "' + b"a" * (17 << 20) + b'", "labels": []}'
    assert error_of(http.post("/v1/learn", content=huge, headers=kind)) == (413, "request-too-large")
    assert model.journal.last == 0


def test_other_web_sites_are_refused(http: httpx.Client) -> None:
    form = {"content-type": "text/plain"}
    assert error_of(http.post("/v1/learn", content=b"{}", headers=form)) == (415, "content-type-not-json")
    assert error_of(http.get("/v1/model", headers={"host": "evil.example"})) == (403, "host-not-local")
    origin = {"origin": "https://evil.example"}
    assert error_of(http.post("/v1/snapshots", headers=origin)) == (403, "origin-not-allowed")
    own = {"origin": str(http.base_url).rstrip("/")}
    assert http.post("/v1/predict", json={"text": "a"}, headers=own).status_code == 200
    preflight = http.options("/v1/learn", headers={**origin, "access-control-request-method": "POST"})
    assert not any(name.startswith("access-control") for name in preflight.headers)


def test_labels_are_listed_by_page(http: httpx.Client) -> None:
    http.post("/v1/learn", json={"examples": EXAMPLES})
    http.post("/v1/predict", json={"text": "a", "read_after": 3})
    recent = {"n": 1, "recall": 0.0, "share": 1 / 3, "drift": None}
    seen_once = {"n_examples": 1, "hidden": False, "aliases": [], "recent": recent}
    assert http.get("/v1/labels").json() == {
        "total": 4,
        "labels": [
            {"label": label, "first": number, "last": number, **seen_once}
            for label, number in (("kernel", 0), ("memory", 0), ("web", 1), ("secrets", 2))
        ],
    }
    page = http.get("/v1/labels", params={"search": "E", "offset": 1, "limit": 2}).json()
    assert (page["total"], [one["label"] for one in page["labels"]]) == (4, ["memory", "web"])
    assert error_of(http.get("/v1/labels", params={"limit": 0})) == (400, "request-not-valid")


def test_labels_are_changed(http: httpx.Client, model: ServedModel) -> None:
    http.post("/v1/learn", json={"examples": EXAMPLES})
    added = http.post("/v1/labels", json={"kind": "add", "label": "router", "text": "a router"})
    assert added.json() == {"position": 4, "applied": True}
    found = http.post("/v1/predict", json={"text": "the router", "k": 1}).json()["predictions"][0]
    assert found["labels"] == ["router"]
    renaming = {"kind": "rename", "label": "web", "other": "www"}
    for _ in range(2):  # the second time, it is the same request
        answer = http.post("/v1/labels", json=renaming, headers={"Idempotency-Key": "one"})
        assert answer.json() == {"position": 5, "applied": True}
    (renamed,) = http.get("/v1/labels", params={"search": "www"}).json()["labels"]
    assert renamed["aliases"] == ["web"]
    refused = http.post("/v1/labels", json={"kind": "hide", "label": "nowhere"})
    assert error_of(refused) == (400, "unknown-label")
    assert error_of(http.post("/v1/labels", json={"kind": "merge", "label": "web"})) == (400, "operation-not-valid")
    assert [one.kind for one in model.model.labels.operations] == ["add", "rename"]


def test_a_prediction_is_explained(http: httpx.Client, model: ServedModel) -> None:
    http.post("/v1/learn", json={"examples": EXAMPLES})
    http.post("/v1/predict", json={"text": "a", "read_after": 3})
    found = http.post("/v1/explain", json={"text": "script in the form", "label": "web"}).json()
    assert found["position"] == 3
    assert found["probability"] == model.model.explain("script in the form", "web").probability
    assert http.post("/v1/explain", json={"text": "script"}).json()["label"] == "web"
    assert error_of(http.post("/v1/explain", json={"text": "a", "label": "nowhere"})) == (400, "unknown-label")
    assert error_of(http.post("/v1/explain", json={"label": "web"})) == (400, "text-missing")


def test_snapshots_are_listed_downloaded_and_rolled_back_to(http: httpx.Client, tmp_path: Path) -> None:
    http.post("/v1/learn", json={"examples": EXAMPLES[:2]})
    http.post("/v1/predict", json={"text": "a", "read_after": 2})
    created = http.post("/v1/snapshots")
    assert (created.status_code, created.json()["position"]) == (201, 2)
    assert [one["position"] for one in http.get("/v1/snapshots").json()["snapshots"]] == [0, 2]
    path = tmp_path / "download.oplt"
    path.write_bytes(http.get("/v1/snapshots/2/file").content)
    assert OnlinePLT.load(path).fingerprint() == created.json()["fingerprint"]
    assert error_of(http.get("/v1/snapshots/1/file")) == (404, "no-such-snapshot")
    http.post("/v1/learn", json=EXAMPLES[2])
    assert http.post("/v1/snapshots/2/rollback").json() == {"position": 4, "applied": True}
    described = http.get("/v1/model", params={"fingerprint": True}).json()
    assert (described["fingerprint"], described["position"]) == (created.json()["fingerprint"], 4)


def test_forgetting_leaves_no_trace(http: httpx.Client) -> None:
    http.post("/v1/learn", json={"examples": EXAMPLES})
    assert http.post("/v1/forget", json={"positions": [3]}).json() == {"position": 4, "applied": True}
    assert [one["label"] for one in http.get("/v1/labels").json()["labels"]] == ["kernel", "memory", "web"]
    records = http.get("/v1/journal").json()["records"]
    assert [(one["kind"], one["content"] is None) for one in records] == [
        ("learn", False),
        ("learn", False),
        ("learn", True),
        ("forget", False),
    ]


def test_the_journal_can_be_read_and_waited_for(http: httpx.Client) -> None:
    http.post("/v1/learn", json={"examples": EXAMPLES})
    part = http.get("/v1/journal", params={"after": 1, "limit": 1}).json()
    assert (part["first"], part["last"], [one["position"] for one in part["records"]]) == (1, 3, [2])
    assert part["records"][0]["content"] == EXAMPLES[1]
    assert part["records"][0]["who"] == "local"
    begin = time.monotonic()
    assert http.get("/v1/journal", params={"after": 3, "wait": 0.2}).json()["records"] == []
    assert time.monotonic() - begin >= 0.2


def test_health_readiness_and_metrics(http: httpx.Client, model: ServedModel) -> None:
    assert http.get("/healthz").json()["status"] == "ok"
    assert http.get("/readyz").status_code == 200
    http.post("/v1/learn", json={"examples": EXAMPLES})
    http.post("/v1/predict", json={"text": "a", "read_after": 3})
    metrics = http.get("/metrics").text
    for line in (
        'oplt_learned_position{model="tags"} 3.0',
        'oplt_labels{model="tags"} 4.0',
        'oplt_requests_total{method="POST",route="/v1/learn",status="200"} 1.0',
        'oplt_progressive_precision{k="1",model="tags"}',
    ):
        assert line in metrics, line
    model.diverged = "somewhere"
    not_ready = http.get("/readyz")
    assert (not_ready.status_code, not_ready.json()["reasons"]) == (503, ["tags: the model differs from its leader's"])
    model.diverged = None
    assert http.get("/v1/models").json() == {"models": ["tags"]}
    assert http.get("/v1/monitoring").json()["windows"][0]["n"] == 3


def test_a_full_queue_is_answered_with_429(tmp_path: Path) -> None:
    model = ServedModel(new_folder(tmp_path, texts=True), ServingSettings(max_pending=2))
    with serving({"tags": model}) as http, model.learner._turn:
        assert http.post("/v1/learn", json={"examples": EXAMPLES[:2]}).status_code == 200
        busy = http.post("/v1/learn", json=EXAMPLES[2])
        assert error_of(busy) == (429, "queue-full")
        assert int(busy.headers["retry-after"]) >= 1
    model.close()


def test_a_journal_that_cannot_be_written_is_told_without_internals(http: httpx.Client, model: ServedModel) -> None:
    pages = model.journal._connection.execute("PRAGMA page_count").fetchone()[0]
    model.journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    answer = http.post("/v1/learn", json={"text": "a " * 50_000, "labels": ["x"]})
    assert error_of(answer) == (503, "journal-not-writable")
    assert "sqlite" not in answer.text
    assert http.get("/readyz").status_code == 503
    assert http.post("/v1/predict", json={"text": "a"}).status_code == 200
    until(lambda: http.post("/v1/learn", json=EXAMPLES[0]).status_code == 200, "recovery")
    assert http.get("/readyz").status_code == 200


def test_tokens_allow_what_their_scopes_say(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    words = {name: add_token(path, name, [name]) for name in ("predict", "learn", "admin")}  # type: ignore[list-item]
    assert path.stat().st_mode & 0o077 == 0
    assert not any(word in path.read_text() for word in words.values())
    allowed = {
        ("POST", "/v1/predict"): {"predict", "admin"},
        ("POST", "/v1/learn"): {"learn", "admin"},
        ("POST", "/v1/snapshots"): {"admin"},
        ("GET", "/v1/journal"): {"admin"},
        ("GET", "/v1/model"): {"predict", "admin"},
        ("GET", "/metrics"): {"predict", "admin"},
        ("GET", "/healthz"): {"predict", "learn", "admin", "nobody"},
    }
    with served(new_folder(tmp_path, texts=True)) as model, serving({"m": model}, tokens=Tokens(path)) as http:
        for (method, address), names in allowed.items():
            body = {"text": "a"} if address == "/v1/predict" else EXAMPLES[0] if address == "/v1/learn" else None
            for name in ("predict", "learn", "admin", "nobody"):
                headers = {"authorization": f"Bearer {words.get(name, 'wrong')}", "host": "any.example"}
                answer = http.request(method, address, json=body, headers=headers)
                status = 403 if name in words else 401
                assert answer.status_code in ((200, 201) if name in names else (status,)), (address, name)
        assert error_of(http.get("/v1/model"))[0] == 401
        assert http.get("/v1/model").headers["www-authenticate"] == "Bearer"
        assert {record.who for record in model.journal.read(0)} == {"learn", "admin"}
        remove_token(path, "predict")
        headers = {"authorization": f"Bearer {words['predict']}"}
        assert http.get("/v1/model", headers=headers).status_code == 401
        for break_it in (lambda: path.write_text("[{"), path.unlink):
            break_it()
            for method, address in (("GET", "/v1/model"), ("POST", "/v1/learn")):
                answer = http.request(method, address, json=EXAMPLES[0], headers=headers)
                assert error_of(answer) == (503, "tokens-not-readable")
                assert "tokens.json" not in answer.text


def test_several_models(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with (
        served(new_folder(tmp_path, texts=True)) as a,
        served(new_folder(tmp_path / "b")) as b,
        serving({"a": a, "b": b}) as http,
    ):
        assert http.post("/v1/models/b/learn", json={"features": {"x": 1.0}, "labels": [7]}).json()["position"] == 1
        assert http.post("/v1/learn", json=EXAMPLES[0]).json()["position"] == 1
        found = http.post("/v1/models/b/predict", json={"features": [["x", 1.0]], "read_after": 1}).json()
        assert found["predictions"][0]["labels"] == [7]
        assert http.get("/v1/model").json()["takes"] == "texts"
        assert http.get("/v1/models/b/model").json()["takes"] == "features"
