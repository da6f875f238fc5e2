# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The curves over the stream."""

from __future__ import annotations

import json

from playwright.sync_api import Page, Route, expect

from oplt.service.served_model import ServedModel
from tests.browser.conftest import Watched
from tests.browser.models import SMALL, learn
from tests.browser.views import go

Model = tuple[ServedModel, str]


def test_an_empty_model_says_what_to_do(open_page: Watched, empty: Model) -> None:
    model, url = empty
    page = open_page()
    page.clock.install()
    go(page, url, "stream")
    expect(page.locator(".empty")).to_contain_text("Nothing has been learned")
    expect(page.locator(".chart").first).to_be_hidden()
    learn(model, SMALL)
    page.clock.fast_forward(3000)
    expect(page.locator(".chart").first).to_be_visible()


def test_charts_read_out_their_values(page: Page, small: Model) -> None:
    model, url = small
    for _ in range(4):
        learn(model, SMALL)
    go(page, url, "stream")
    expect(page.locator(".chart")).to_have_count(9)
    for title in ("Precision", "Calibration", "Recall by number of examples", "Recall by age", "New labels"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    drawing = page.get_by_role("img", name="Precision")
    expect(drawing.locator(".line path, .line circle").first).to_be_visible()
    reading = page.locator(".chart").first.locator(".reading")
    expect(reading).to_contain_text("Last: P@1")
    drawing.focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(reading).to_contain_text("Position")
    expect(drawing.locator(".cursor circle")).to_have_count(3)
    drawing.hover()
    expect(reading).to_contain_text("Position")
    page.locator(".chart").first.get_by_text("Values").click()
    table = page.get_by_role("region", name="Precision").locator("tbody tr")
    windows = model.monitor.windows()
    expect(table).to_have_count(len(windows))
    expect(table.first).to_contain_text(f"{windows[-1].p1:.3f}")


def test_changes_are_marked(page: Page, reading: str) -> None:
    url = reading

    def changed(route: Route) -> None:
        body = json.loads(route.fetch().text())
        [window] = body["windows"]
        body["windows"] = [
            {**window, "first": 100 * i + 1, "last": 100 * i + 100, "p1": 0.9 - 0.04 * i} for i in range(10)
        ]
        body["changes"] = [{"position": 450, "time": window["end"], "of": "p1", "before": 0.9, "after": 0.5}]
        route.fulfill(json=body)

    page.route("**/monitoring", changed)
    go(page, url, "stream")
    expect(page.locator(".chart").first.locator(".changes line")).to_have_count(1)
    expect(page.locator(".changes line")).to_have_count(1)
    expect(page.locator(".panel")).to_contain_text("1 change detected")
    page.get_by_role("img", name="Precision").focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".chart").first.locator(".reading")).to_contain_text("Change at position 450: 0.900 → 0.500")


def test_a_hidden_page_asks_for_nothing(open_page: Watched, reading: str) -> None:
    page = open_page()
    page.clock.install()
    go(page, reading, "stream")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true, writable: true })")
    page.clock.run_for(3500)  # what was due before sees that the page is hidden
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(20_000)
    assert asked == []
    page.evaluate("document.hidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(200)
    assert any(url.endswith("/monitoring") for url in asked)
