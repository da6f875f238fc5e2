# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Tokens, several models, a lost connection, and the head of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from oplt.service.served_model import ServedModel
from oplt.service.tokens import Tokens, add_token, remove_token
from tests.browser.conftest import Watched, address
from tests.browser.models import SMALL, learn
from tests.browser.views import go, predict
from tests.service.processes import serving
from tests.service.running import new_folder, served

Model = tuple[ServedModel, str]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str], str]]:
    """Serve a model with tokens: the file, the tokens by name, and the address."""
    path = tmp_path / "tokens.json"
    tokens = {"reader": add_token(path, "reader", ["predict"]), "owner": add_token(path, "owner", ["admin"])}
    tokens["writer"] = add_token(path, "writer", ["learn"])
    with served(new_folder(tmp_path, texts=True), snapshot_at_end=False) as model:
        learn(model, SMALL)
        with serving({"tags": model}, tokens=Tokens(path)) as client:
            yield path, tokens, address(client)


def enter(page: Page, token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Use this token").click()


def test_tokens(open_page: Watched, guarded: tuple[Path, dict[str, str], str]) -> None:
    path, tokens, url = guarded
    open_page.expected = ["401", "403"]
    page = open_page()
    page.clock.install()
    page.goto(url)
    page.get_by_role("button", name="Cancel").click()  # not a trap
    page.get_by_role("button", name="Enter a token").click()
    enter(page, "wrong")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("The server does not know this token.")
    enter(page, tokens["reader"])
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert tokens["reader"] not in str(page.context.storage_state()) + page.url
    predict(page, "script injection")
    page.get_by_role("button", name="Learn this").click()
    expect(page.get_by_role("alert").filter(has_text="It takes a token with the scope learn.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Text", exact=True)).to_be_visible()  # the tab still has it
    go(page, url, "snapshots")
    page.get_by_role("button", name="Write a snapshot now").click()
    expect(page.get_by_role("alert").filter(has_text="It takes a token with the scope admin.")).to_be_visible()
    go(page, url, "label", name="web")
    page.get_by_role("button", name="Hide…").click()
    page.get_by_role("dialog").get_by_role("button", name="Hide").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("the scope admin")
    page.keyboard.press("Escape")
    remove_token(path, "reader")
    page.clock.fast_forward(2000)
    expect(page.get_by_role("dialog")).to_contain_text("no longer valid")  # when the head is next refreshed
    enter(page, tokens["owner"])
    expect(page.locator(".panel.label h2")).to_have_text("web")
    go(page, url, "snapshots")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the snapshot at position 0").click()
    assert download.value.suggested_filename == "tags-0.oplt"


def test_a_token_that_may_only_learn(open_page: Watched, guarded: tuple[Path, dict[str, str], str]) -> None:
    _, tokens, url = guarded
    open_page.expected = ["401", "403"]
    page = open_page()
    page.goto(url)
    enter(page, tokens["writer"])
    expect(page.get_by_role("heading", name="A token is needed")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="It takes a token with the scope predict.")).to_be_visible()
    page.get_by_role("button", name="Enter a token").click()
    enter(page, tokens["owner"])
    expect(page.get_by_label("Text", exact=True)).to_be_visible()


def test_several_models(page: Page, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    folders = [new_folder(tmp_path / "one", texts=True), new_folder(tmp_path / "two")]
    with served(folders[0], snapshot_at_end=False) as one, served(folders[1], snapshot_at_end=False) as two:
        learn(one, SMALL)
        with serving({"first": one, "second & co": two}) as client:
            page.goto(address(client))
            expect(page.locator("#figures")).to_contain_text("examples60")
            assert page.url.endswith("#/first/try")
            page.get_by_label("Model", exact=True).select_option("second & co")
            expect(page.get_by_label("Features")).to_be_visible()
            expect(page.locator("#figures")).to_contain_text("examples0")
            page.get_by_role("link", name="Labels").click()
            expect(page.get_by_text("The model knows no labels yet.")).to_be_visible()
            page.go_back()
            page.go_back()
            expect(page.get_by_label("Text", exact=True)).to_be_visible()
            expect(page.get_by_label("Model", exact=True)).to_have_value("first")


def test_a_lost_connection(open_page: Watched, small: Model) -> None:
    model, url = small
    open_page.expected = ["ERR_INTERNET_DISCONNECTED"]
    page = open_page()
    page.clock.install()
    go(page, url, "try")
    predict(page, "heap overflow")
    expect(page.locator("#state")).to_have_text("Ready")
    page.context.set_offline(True)
    page.clock.fast_forward(2000)
    expect(page.get_by_role("alert").filter(has_text="Connection lost.")).to_be_visible()
    page.get_by_role("button", name="Learn this").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    page.context.set_offline(False)
    page.clock.fast_forward(2000)
    expect(page.locator("#lost")).to_be_hidden()
    expect(page.locator("#state")).to_have_text("Ready")
    page.get_by_role("button", name="Learn this").click()
    expect(page.locator(".learned")).to_contain_text("Learned at position 61.")
    assert model.journal.last == 61


def test_an_answer_that_got_lost_counts_once(open_page: Watched, small: Model) -> None:
    model, url = small
    open_page.expected = ["ERR_FAILED"]
    page = open_page()
    go(page, url, "try")
    predict(page, "heap overflow")
    page.route("**/learn", lambda route: (route.fetch(), route.abort())[1])
    page.get_by_role("button", name="Learn this").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    page.unroute("**/learn")
    page.get_by_role("button", name="Learn this").click()
    expect(page.locator(".learned")).to_contain_text("Learned at position 61.")
    assert model.journal.last == 61


def test_addresses_and_the_title(page: Page, reading: str) -> None:
    page.goto(f"{reading}/#/nobody/nothing?x=%zz")
    expect(page.locator(".panel.try h2")).to_be_visible()
    assert page.url.endswith("#/tags/try")
    page.get_by_role("link", name="Stream").click()
    expect(page).to_have_title("Stream – tags – oplt")
    expect(page.get_by_role("link", name="Stream")).to_have_attribute("aria-current", "page")
    page.keyboard.press("Control+Home")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert page.url.endswith("#/tags/stream")
