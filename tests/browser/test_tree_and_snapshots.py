# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The tree, node by node, and the snapshots."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from oplt import OnlinePLT
from oplt.service.served_model import ServedModel
from tests.browser.models import SMALL, learn
from tests.browser.views import go

Model = tuple[ServedModel, str]


def test_an_empty_tree(page: Page, empty: Model) -> None:
    go(page, empty[1], "tree")
    expect(page.locator(".empty")).to_contain_text("The tree is empty")


def test_from_the_root_to_a_label(page: Page, large: str) -> None:
    go(page, large, "tree")
    expect(page.locator(".panel")).to_contain_text("46,004 labels below it")
    expect(page.locator(".children li").first.locator(".samples")).not_to_be_empty()
    depth = 0
    while page.locator(".children").count():
        depth += 1
        page.locator(".children a").first.click()
        expect(page.locator(".crumbs li")).to_have_count(depth + 1)
    expect(page.locator(".panel")).to_contain_text("A leaf")
    expect(page.locator("h2 a")).to_be_visible()
    page.get_by_role("link", name="root").click()
    expect(page.locator("main h2")).to_have_text("Tree")
    page.go_back()
    expect(page.locator(".panel")).to_contain_text("A leaf")
    page.locator("h2 a").click()
    expect(page.locator(".panel.label h2")).to_be_visible()


def test_create_download_and_roll_back(page: Page, small: Model, tmp_path: Path) -> None:
    model, url = small
    go(page, url, "snapshots")
    expect(page.locator("tbody tr")).to_have_count(1)  # of the empty model
    page.get_by_role("button", name="Write a snapshot now").click()
    expect(page.get_by_text("Written: 60 examples")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the snapshot at position 60").click()
    assert download.value.suggested_filename == "model-60.oplt"
    download.value.save_as(tmp_path / "copy.oplt")
    assert OnlinePLT.load(tmp_path / "copy.oplt").n_examples == 60
    learn(model, [*SMALL, ("something else", ["other"])])
    page.get_by_role("button", name="Roll back to position 60…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("61 records of the journal since then will no longer count:")
    expect(dialog).to_contain_text("61 examples fewer and 1 label fewer.")
    expect(dialog.get_by_label("Write a snapshot of the present model first")).to_be_checked()
    dialog.get_by_role("button", name="Cancel").click()
    assert model.model.n_examples == 121
    page.get_by_role("button", name="Roll back to position 60…").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("Rolled back to position 60.")).to_be_visible()
    expect(page.locator("#figures")).to_contain_text("examples60")
    assert model.model.n_examples == 60
    assert [one.position for one in model.snapshots.list()][:3] == [0, 60, 121]
