# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Write docs/images/page-light.png and page-dark.png: the page of the server, with a made-up stream.

Needs what `make test-browser` installs:

    .venv/bin/python tools/screenshot.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from demo_stream import reports
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from oplt.service.examples import Example  # noqa: E402
from tests.browser.conftest import chromium  # noqa: E402
from tests.service.processes import serving  # noqa: E402
from tests.service.running import new_folder, served  # noqa: E402

N_EXAMPLES = 4000
BATCH = 20
SIZE = {"width": 1160, "height": 820}
TEXT = (
    "A crafted attachment of a mail message can inject a script into the page, which reads the session cookie and sends"
    " the password of the account to a server"
)


def main() -> None:
    """Learn the stream, and take a picture in each color scheme."""
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        path = new_folder(Path(place), texts=True)
        with served(path, progressive_share=1.0, snapshot_at_end=False) as model, chromium() as browser:
            examples = [Example(text=text, labels=labels) for text, labels in reports(N_EXAMPLES)]
            for begin in range(0, N_EXAMPLES, BATCH):
                model.learn(examples[begin : begin + BATCH]).result()
            model.learner.when_learned(model.journal.last).result()
            with serving({"reports": model}) as client:
                for scheme in ("light", "dark"):
                    picture = folder / f"page-{scheme}.png"
                    take(browser, str(client.base_url), scheme, picture)
                    print(f"{picture}: {picture.stat().st_size:,} bytes")


def take(browser: Browser, url: str, scheme: str, picture: Path) -> None:
    """Try a text, and take a picture."""
    page: Page = browser.new_page(color_scheme=scheme, viewport=SIZE)  # type: ignore[arg-type]
    page.goto(f"{url}/#/reports/try")
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Predict").click()
    expect(page.locator(".why h3")).to_be_visible()
    expect(page.locator("#state")).to_have_text("Ready")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=picture, animations="disabled")
    page.close()


if __name__ == "__main__":
    main()
