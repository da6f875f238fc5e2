# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Names of labels that try to break the page: they are shown, and nothing else happens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched, address
from tests.browser.models import HOSTILE, PLAIN, learn
from tests.browser.views import go, is_too_wide, predict
from tests.service.processes import serving
from tests.service.running import new_folder, served

NARROW = {"width": 360, "height": 800}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = new_folder(tmp_path_factory.mktemp("hostile"), texts=True)
    with served(folder, snapshot_at_end=False) as model, serving({"tags": model}) as client:
        learn(model, [(f"word{i} <b>bold</b> \u202e", [name]) for i, name in enumerate(HOSTILE)])
        yield address(client)


def markup(page: Page) -> int:
    """Count elements that the page itself never makes in its content."""
    return page.locator("main :is(script, img, b, iframe, [onclick], [onerror])").count()


def test_every_view_shows_them_safely(open_page: Watched, hostile: str) -> None:
    page = open_page(viewport=NARROW)
    go(page, hostile, "try")
    predict(page, 'word0 word15 <b>bold</b> "x" \u202e and more')
    page.locator(".answers").get_by_role("button").first.click()
    expect(page.locator(".why h3")).to_be_visible()
    assert "<b>bold</b>" in page.locator(".text").inner_text()
    assert (markup(page), is_too_wide(page)) == (0, False)
    go(page, hostile, "labels", sort="arrival")
    expect(page.locator("tbody tr")).to_have_count(len(HOSTILE))
    expect(page.get_by_role("link", name=HOSTILE[0], exact=True)).to_be_visible()
    shown = page.locator("tbody th").all_inner_texts()
    assert all(text.strip() for text in shown)
    assert max(map(len, shown)) < 200
    assert not any(c in text for text in shown for c in "\u202e\u2067\u200b\u3164\t")
    assert set(PLAIN) <= {text.strip() for text in shown}
    assert any("line↵break↵↵and⇥tab" in text for text in shown)
    assert (markup(page), is_too_wide(page)) == (0, False)
    go(page, hostile, "tree")
    assert (markup(page), is_too_wide(page)) == (0, False)


def test_each_has_its_page(open_page: Watched, hostile: str) -> None:
    page = open_page(viewport=NARROW)
    go(page, hostile, "labels")
    for name in HOSTILE:
        go(page, hostile, "label", name=name)
        expect(page.locator(".facts")).to_contain_text("examples1")
        assert (markup(page), is_too_wide(page)) == (0, False)


def test_they_can_be_changed(open_page: Watched, hostile: str) -> None:
    page = open_page(viewport=NARROW)
    go(page, hostile, "label", name=HOSTILE[-1])
    page.get_by_role("button", name="Remove…").click()
    assert not is_too_wide(page)
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator(".panel.labels")).to_contain_text(f"{len(HOSTILE) - 1} labels.")
    go(page, hostile, "label", name=HOSTILE[0])
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("harmless")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.locator("main h2")).to_have_text("harmless")
    expect(page.locator(".facts")).to_contain_text(HOSTILE[0])
    assert markup(page) == 0
