# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The list of labels, the page of a label, and what can be done to it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from oplt.service.served_model import ServedModel
from tests.browser.models import learn
from tests.browser.views import go

Model = tuple[ServedModel, str]


def test_search_sort_and_addresses(page: Page, small: Model) -> None:
    model, url = small
    learn(model, [("heap", ["memory"])] * 3)
    go(page, url, "labels")
    names = page.locator("tbody th")
    expect(names).to_have_text(["secrets", "web", "memory", "kernel"])
    page.get_by_label("Sort by").select_option("most examples")
    expect(names).to_have_text(["memory", "kernel", "web", "secrets"])
    expect(page.locator("tbody tr").first.locator("td").first).to_have_text("23")
    page.get_by_label("Search").fill("E")
    expect(names).to_have_text(["memory", "kernel", "web", "secrets"])
    page.get_by_label("Search").fill("ker")
    expect(names).to_have_text(["kernel"])
    page.reload()
    expect(page.get_by_label("Search")).to_have_value("ker")
    expect(page.get_by_label("Sort by")).to_have_value("examples")
    expect(names).to_have_text(["kernel"])
    page.get_by_role("link", name="kernel").click()
    expect(page.locator("main h2")).to_have_text("kernel")
    expect(page.locator("main h2")).to_be_focused()
    page.go_back()
    expect(names).to_have_text(["kernel"])
    page.get_by_label("Search").fill("nothing like it")
    expect(page.get_by_text("No label found.")).to_be_visible()


def test_a_page_of_46000_labels(page: Page, large: str) -> None:
    go(page, large, "labels", sort="arrival")
    expect(page.locator(".paging")).to_contain_text("1–50 of 46,004")
    page.get_by_role("link", name="Last").click()
    expect(page.locator(".paging")).to_contain_text("46,001–46,004 of 46,004")
    expect(page.locator("tbody tr")).to_have_count(4)
    page.get_by_role("link", name="Previous").click()
    expect(page.locator(".paging")).to_contain_text("45,951–46,000 of 46,004")
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(4)
    page.get_by_label("Search").fill("01234")
    expect(page.locator("tbody th")).to_have_text(["label 01234"])
    page.get_by_label("Search").fill("")
    page.get_by_label("Sort by").select_option("most examples")
    expect(page.locator("tbody th").first).to_have_text("kernel")


def test_the_page_of_a_label(page: Page, reading: str) -> None:
    go(page, reading, "label", name="kernel")
    facts = page.locator(".facts")
    expect(facts).to_contain_text("examples20")
    expect(facts).to_contain_text("recall lately")
    expect(page.get_by_role("heading", name="For it", exact=True)).to_be_visible()
    expect(page.locator(".weights").first).to_contain_text("heap")
    page.get_by_role("link", name="root").click()
    expect(page.locator(".panel.tree h2")).to_have_text("Tree")


def test_rename_hide_merge_and_remove(page: Page, small: Model) -> None:
    model, url = small
    go(page, url, "label", name="web")
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("web pages")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "web" in set(model.model.labels)
    expect(page.get_by_role("button", name="Rename…")).to_be_focused()
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("web pages")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.locator("main h2")).to_have_text("web pages")
    expect(page.locator(".facts")).to_contain_text("also calledweb")
    expect(page.locator(".panel")).to_contain_text("web renamed to web pages after 60 examples")
    page.get_by_role("button", name="Hide…").click()
    page.get_by_role("dialog").get_by_role("button", name="Hide").click()
    expect(page.get_by_text("This label is hidden")).to_be_visible()
    page.get_by_role("button", name="Show again…").click()
    page.get_by_role("dialog").get_by_role("button", name="Show again").click()
    expect(page.get_by_text("This label is hidden")).to_be_hidden()
    page.get_by_role("button", name="Merge…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Merge").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Choose the label")
    dialog.get_by_label("Merge it into", exact=True).fill("kern")
    dialog.get_by_role("option", name="kernel").click()
    dialog.get_by_role("button", name="Merge").click()
    expect(page.locator("main h2")).to_have_text("kernel")
    page.get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("tbody th")).to_have_text(["secrets", "memory"])
    assert set(model.model.labels) == {"memory", "secrets"}


def test_a_label_that_does_not_exist(page: Page, reading: str, open_page: object) -> None:
    open_page.expected = ["404"]  # type: ignore[attr-defined]
    page.goto(f"{reading}/#/tags/label?name=nothing")
    expect(page.get_by_role("alert").filter(has_text="no label of this name")).to_be_visible()
    page.get_by_role("link", name="Labels").click()
    expect(page.locator("tbody tr")).to_have_count(4)
