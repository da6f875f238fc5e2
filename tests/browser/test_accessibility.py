# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Every view in both color schemes, one of them wide and one narrow, checked by axe."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched
from tests.browser.views import VIEWS, go, is_too_wide, predict

ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page, rules: list[str]) -> list[str]:
    options: dict[str, Any] = {"runOnly": rules, "resultTypes": ["violations"]}
    found = Axe().run(page, options=options).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def headings(page: Page) -> list[int]:
    found = page.locator("h1, h2, h3, h4, h5").filter(visible=True)
    return [int(tag[1]) for tag in found.evaluate_all("all => all.map(one => one.tagName)")]


@pytest.mark.parametrize(("scheme", "width", "rules"), [("light", 1200, ALL), ("dark", 360, ["color-contrast"])])
def test_every_view(open_page: Watched, reading: str, scheme: str, width: int, rules: list[str]) -> None:
    url = reading
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    for view in (*VIEWS, "label"):
        go(page, url, view, **({"name": "kernel"} if view == "label" else {}))
        expect(page.locator("#state")).to_have_text("Ready")
        if view == "try":
            predict(page, "script injection in the kernel")
            expect(page.locator(".why h3")).to_be_visible()
            page.get_by_text("From the evidence to the probability").click()
            page.get_by_label("Add a label", exact=True).fill("e")
            expect(page.get_by_role("option").first).to_be_visible()
        if view == "stream":
            page.get_by_text("Values").first.click()
        assert violations(page, rules) == []
        assert not is_too_wide(page), view
        levels = headings(page)
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), (view, levels)
    page.get_by_role("button", name="Rename…").click()
    assert violations(page, rules) == []


def test_focus_can_be_seen(page: Page, reading: str) -> None:
    go(page, reading, "labels")
    page.keyboard.press("Tab")
    seen = 0
    for _ in range(25):
        page.keyboard.press("Tab")
        width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth) || 0")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert width >= 1, page.evaluate("document.activeElement.outerHTML")
        assert style != "none"
        seen += 1
    assert seen >= 8
