# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How the tests use the page."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

_CHANGE = "hash => new Promise(seen => { addEventListener('hashchange', seen, { once: true }); location.hash = hash; })"
VIEWS = ("try", "stream", "labels", "tree", "snapshots")


def go(page: Page, url: str, view: str, **query: object) -> None:
    """Open a view by its address, and wait until it is shown."""
    hash_ = f"#/tags/{view}{f'?{urlencode(query)}' if query else ''}"
    if not page.url.startswith(url):
        page.goto(f"{url}/{hash_}")
    elif not page.url.endswith(hash_):  # without loading the page again
        page.evaluate(_CHANGE, hash_)
    page.locator(f".panel.{view} h2").wait_for()  # looks more often than `expect` does


def predict(page: Page, text: str) -> None:
    """Enter a text and wait for its labels."""
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Predict").click()
    page.locator(".results").wait_for()


def row(page: Page, label: str) -> Locator:
    """Return the row of a label that was predicted."""
    return page.locator(".answers li").filter(has=page.get_by_role("button", name=label, exact=True))


def is_too_wide(page: Page) -> bool:
    """Check whether the page must be scrolled sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
