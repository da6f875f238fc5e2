# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A browser for the tests, which also watches what no page may do: errors, requests to other hosts, CSP violations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from oplt.service.served_model import ServedModel
from tests.browser.models import SMALL, learn
from tests.service.processes import serving
from tests.service.running import new_folder, served

NAMES = ("chromium", "chromium-browser", "google-chrome")
ENDED = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")  # servers end before pages are closed
VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the Chromium of this machine."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found is not None, "no Chromium on this machine; on Debian: apt-get install chromium"
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=found, args=arguments)
        yield one
        one.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


class Watched:
    """Opens pages, and collects what is wrong with them. One page is kept for all tests: to start one takes long."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept = self._new()
        self._pages: list[Page] = []
        self.problems: list[str] = []
        self.expected: list[str] = []  # parts of messages that a test provokes

    def __call__(self, **options: Any) -> Page:
        """Open a page for one test."""
        page = self._new(**options)
        self._pages.append(page)
        return page

    @property
    def kept(self) -> Page:
        return self._kept

    def _new(self, **options: Any) -> Page:
        context = self._browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.add_init_script(VIOLATIONS)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(f"a script opened a dialog: {dialog.message}"))
        page.on("request", lambda request: self._check(request.url))
        return page

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(text)

    def _check(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:")):
            self.problems.append(f"a request to {url}")

    def finish(self) -> None:
        """Fail if something is wrong, and get ready for the next test."""
        for page in (self._kept, *self._pages):
            self.problems += page.evaluate("window.violations")
        for page in self._pages:
            page.context.close()
        self._kept.unroute_all()
        self._kept.goto("about:blank")
        expected = [*self.expected, *ENDED]
        unexpected = [one for one in self.problems if not any(part in one for part in expected)]
        self._pages, self.problems, self.expected = [], [], []
        assert unexpected == []


@pytest.fixture(scope="session")
def watched(browser: Browser) -> Watched:
    return Watched(browser)


@pytest.fixture
def open_page(watched: Watched) -> Iterator[Watched]:
    yield watched
    watched.finish()


@pytest.fixture
def page(open_page: Watched) -> Page:
    return open_page.kept


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[ServedModel, str]]:
    """Serve an empty model; the test may change it."""
    with served(new_folder(tmp_path, texts=True), snapshot_at_end=False) as model, serving({"tags": model}) as client:
        yield model, address(client)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[ServedModel, str]]:
    """Serve a model with a few labels; the test may change it."""
    with served(new_folder(tmp_path, texts=True), snapshot_at_end=False) as model, serving({"tags": model}) as client:
        learn(model, SMALL)
        yield model, address(client)


@pytest.fixture(scope="session")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the same model; no test may change it."""
    folder = new_folder(tmp_path_factory.mktemp("reading"), texts=True)
    with served(folder, snapshot_at_end=False) as model, serving({"tags": model}) as client:
        learn(model, SMALL)
        yield address(client)


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a model with 46,000 labels."""
    folder = new_folder(tmp_path_factory.mktemp("large"), texts=True)
    with served(folder, snapshot_at_end=False) as model, serving({"tags": model}) as client:
        learn(model, [("everything at the same time", [f"label {i:05d}" for i in range(46_000)]), *SMALL])
        yield address(client)


def address(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/")
