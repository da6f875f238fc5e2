# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The files of the page: how they are served, and what they may not do. `tests/browser` tests what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import oplt.service
from oplt.service.tokens import Tokens, add_token
from tests.service.processes import serving
from tests.service.running import new_folder, served

FOLDER = Path(oplt.service.__file__).parent / "page"
SCRIPTS = sorted(FOLDER.glob("*.js"))


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("page")
    add_token(folder / "tokens.json", "reader", ["predict"])
    tokens = Tokens(folder / "tokens.json")
    with served(new_folder(folder, texts=True)) as model, serving({"tags": model}, tokens=tokens) as client:
        yield client


def test_everybody_may_read_them(http: httpx.Client) -> None:
    page = http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.content == (FOLDER / "index.html").read_bytes()
    types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
    named = re.findall(r'(?:href|src)="(page/[^"]+)"', page.text)
    assert {f"page/{path.name}" for path in SCRIPTS} <= set(named)  # loaded side by side, not one after the other
    for path in sorted(FOLDER.iterdir()):
        if path.suffix not in types:
            continue
        answer = http.get(f"/page/{path.name}")
        assert answer.headers["content-type"] == types[path.suffix]
        assert answer.content == path.read_bytes()
    assert http.get("/v1/model").status_code == 401


def test_headers(http: httpx.Client) -> None:
    for address in ("/", "/page/app.js"):
        headers = http.get(address).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-cache"


def test_what_the_browser_has_is_not_sent_again(http: httpx.Client) -> None:
    tag = http.get("/page/app.js").headers["etag"]
    assert tag != http.get("/").headers["etag"]
    for given in (tag, f'"other", W/{tag}'):
        again = http.get("/page/app.js", headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert http.get("/page/app.js", headers={"If-None-Match": '"other"'}).status_code == 200
    head = http.head("/page/app.js")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len((FOLDER / "app.js").read_bytes())


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/index.html",
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page//etc/passwd",
        "/page/app.js/",
        "/app.js",
    ],
)
def test_no_path_reaches_the_file_system(http: httpx.Client, path: str) -> None:
    answer = http.send(http.build_request("GET", httpx.URL(http.base_url, raw_path=path.encode())))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no-such-address")
    assert http.post("/").status_code in (404, 405)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts(path: Path) -> None:
    content = path.read_text(encoding="utf-8")
    assert len(content.splitlines()) < 300
    for name in re.findall(r'from "([^"]+)"', content):
        assert (FOLDER / name).resolve().is_file(), name
    for name in ("HTML", "document.write", "eval(", "localStorage", "http:", "https:"):
        assert name not in content.replace('"http://www.w3.org/2000/svg"', "")


def test_markup_has_no_scripts_or_styles_inside() -> None:
    content = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert "<style" not in content
    assert not re.search(r"\son\w+=|\sstyle=|<script(?![^>]* src=)", content)
    assert "http" not in content
