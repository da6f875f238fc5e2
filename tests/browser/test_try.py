# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Try a text, see why, correct it, and let the model learn that."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from oplt.service.served_model import ServedModel
from tests.browser.conftest import address
from tests.browser.views import go, predict, row
from tests.service.processes import serving
from tests.service.running import learn_all, new_folder, served, stream

Model = tuple[ServedModel, str]


def test_labels_and_why(page: Page, reading: str) -> None:
    go(page, reading, "try")
    predict(page, "💥 injection of a script")
    expect(page.locator(".answers li")).to_have_count(4)
    expect(page.locator(".answers li").first).to_contain_text("web")
    expect(page.locator(".why h3")).to_have_text("Why web?")
    words = page.locator(".text .word.up")
    expect(words).to_contain_text(["injection", "script"])  # not shifted by the sign before them
    expect(page.locator(".text")).to_have_text("💥 injection of a script")
    page.get_by_label("Label memory (cosine)").check()
    expect(page.locator(".text .word.up")).to_contain_text(["injection", "script"])
    row(page, "memory").get_by_role("button").click()
    expect(page.locator(".why h3")).to_have_text("Why memory?")
    expect(page.locator(".why")).to_contain_text("Compared with the best label")
    page.get_by_text("From the evidence to the probability").click()
    expect(page.get_by_text("log-odds:").first).to_be_visible()
    page.locator(".why").get_by_role("link", name="memory").last.click()
    expect(page.locator(".panel.tree h2")).to_have_text("memory")
    page.go_back()
    expect(page.get_by_label("Text", exact=True)).to_have_value("💥 injection of a script")
    expect(page.locator(".answers li")).to_have_count(4)


def test_correct_and_learn(page: Page, small: Model) -> None:
    model, url = small
    go(page, url, "try")
    predict(page, "script in the log file")
    page.get_by_label("web is right").set_checked(checked=False)
    page.get_by_label("secrets is right").check()
    adding = page.get_by_label("Add a label", exact=True)
    adding.fill("ker")
    page.get_by_role("option", name="kernel").click()
    adding.fill("brand new")
    page.get_by_role("option", name="brand new").click()
    adding.fill("mistake")
    page.get_by_role("option", name="mistake").click()
    page.get_by_role("button", name="Remove mistake").click()
    with page.expect_request("**/learn") as sent:
        page.get_by_role("button", name="Learn this").click()
    assert sorted(sent.value.post_data_json["labels"]) == ["brand new", "kernel", "secrets"]
    assert sent.value.headers["idempotency-key"].startswith("page-")
    learned = page.locator(".learned")
    expect(learned).to_contain_text("Learned at position 61.")
    expect(learned).to_contain_text("brand new not among the first 50 → 0.")
    expect(row(page, "brand new").locator(".change")).to_have_text("new")
    expect(row(page, "secrets").locator(".change")).to_have_text(re.compile(r"[+−±]0"))
    expect(page.locator("#figures")).to_contain_text("examples61")
    assert model.model.n_examples == 61
    with page.expect_request("**/learn") as again:  # one more time: another example
        page.get_by_role("button", name="Learn this").click()
    assert again.value.headers["idempotency-key"] != sent.value.headers["idempotency-key"]
    expect(learned).to_contain_text("Learned at position 62.")


def test_the_keyboard_is_enough(page: Page, small: Model) -> None:
    go(page, small[1], "try")
    keys = page.keyboard
    page.locator("body").click(position={"x": 1, "y": 1})
    for _ in range(20):
        keys.press("Tab")
        if page.evaluate("document.activeElement.id") == "example":
            break
    keys.type("overflow of the heap")
    keys.press("Control+Enter")
    expect(page.locator(".answers li")).to_have_count(4)
    keys.press("Tab")  # Predict
    keys.press("Tab")  # the first box
    assert page.evaluate("document.activeElement.type") == "checkbox"
    expect(page.locator(":focus")).to_be_checked()
    keys.press("Space")
    for _ in range(20):
        keys.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "combobox":
            break
    keys.type("secr")
    expect(page.get_by_role("option", name="secrets")).to_be_visible()
    keys.press("ArrowDown")
    expect(page.locator("[role=option][aria-selected=true]")).to_contain_text("secrets")
    keys.press("Enter")
    expect(page.get_by_label("secrets is right")).to_be_checked()
    keys.type("completely new")
    expect(page.get_by_role("option", name="completely new")).to_be_visible()
    keys.press("Enter")  # without a choice, what was typed
    expect(page.locator(".chips li")).to_have_count(1)
    while page.evaluate("document.activeElement.textContent") != "Learn this":
        keys.press("Tab")
    keys.press("Enter")
    expect(page.locator(".learned")).to_contain_text("completely new not among the first 50 → 0.")


def test_an_empty_model(page: Page, empty: Model) -> None:
    go(page, empty[1], "try")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_role("alert").filter(has_text="Enter a text first.")).to_be_visible()
    predict(page, "first of all")
    expect(page.locator(".results")).to_contain_text("knows no labels yet")
    page.get_by_label("Add a label", exact=True).fill("first")
    page.get_by_role("option", name="first").click()
    page.get_by_role("button", name="Learn this").click()
    expect(page.locator(".answers li")).to_have_count(1)
    expect(page.locator(".why h3")).to_have_text("Why first?")


def test_features(page: Page, tmp_path: Path) -> None:
    with served(new_folder(tmp_path), snapshot_at_end=False) as model, serving({"tags": model}) as client:
        learn_all(model, stream(50))
        go(page, address(client), "try")
        name = next(iter(stream(1)[0].features or {}))
        page.get_by_label("Features").fill(f"{name} 1.5\nunknown name: 2\nother")
        with page.expect_request("**/predict") as sent:
            page.get_by_role("button", name="Predict").click()
        assert sent.value.post_data_json["features"] == [[name, 1.5], ["unknown name", 2], ["other", 1]]
        expect(page.locator(".answers li").first).to_be_visible()
        expect(page.locator(".why")).to_contain_text("Features for it")


def test_numbered_features_and_labels(page: Page, tmp_path: Path) -> None:
    with served(new_folder(tmp_path), snapshot_at_end=False) as model, serving({"tags": model}) as client:
        large = 2**60 + 1  # JavaScript has no number for it
        examples = [{"features": [[7, 1.0]], "labels": [3]}, {"features": [[8, 1.0]], "labels": [large]}] * 5
        position = client.post("/v1/learn", json={"examples": examples}).json()["position"]
        client.post("/v1/predict", json={"features": [[7, 1.0]], "read_after": position})
        go(page, address(client), "try")
        page.get_by_label("Features").fill("8 1")
        page.get_by_role("button", name="Predict").click()
        expect(page.locator(".answers li").first).to_contain_text(str(large))
        page.get_by_label("Add a label", exact=True).fill("12")
        page.get_by_role("option", name="12").click()
        page.get_by_role("button", name="Learn this").click()
        expect(page.locator(".learned")).to_contain_text("12 not among")
        assert {3, 12, large} == set(model.model.labels)
        page.get_by_label("Features").fill("word 1")
        page.get_by_role("button", name="Predict").click()
        expect(page.get_by_role("alert").filter(has_text="Line 1")).to_be_visible()
