"""Draws the pictures of the page in docs/images, from a store made for them.

    python tools/draw_page.py

Needs Chromium and the extra `page`. The sentences are made up; the run of sleep, the search and the
doubt in the pictures are what the program made of them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import engines  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from tests.server.page.conftest import Server, chromium  # noqa: E402
from tests.server.page.test_views import view  # noqa: E402

FOLDER = ROOT / "docs/images"
SAID = (
    ("2026-08-03", "We deploy the web shop to Fly.io from the release branch."),
    ("2026-08-19", "I am allergic to walnuts."),
    ("2026-09-02", "The kick-off with Ines Albrecht is on 14 September in Lisbon."),
    ("2026-09-11", "Always show me prices with VAT."),
    ("2026-09-24", "Ines Albrecht prefers short written updates over calls."),
    ("2026-10-07", "The migration script of the orders table takes four hours."),
    ("2026-10-20", "My train to Porto leaves at 9:40 on weekdays."),
    ("2026-11-02", "The team chat is on Slack."),
    ("2026-11-16", "We moved the team chat from Slack to Zulip."),
    ("2026-11-18", "The migration script takes forty minutes since we dropped the triggers."),
)
QUESTION = "How long does the migration script take?"


def draw(page: Any, name: str) -> None:
    """Write what the *page* shows now."""
    page.screenshot(path=str(FOLDER / f"{name}.png"))
    print(name, (FOLDER / f"{name}.png").stat().st_size, "bytes")


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driving:
        server = Server(Path(folder))
        browser = driving.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            server.address()
            for day, text in SAID:
                server.remember(text, when=day)
            size = {"width": 1000, "height": 640}
            page = browser.new_context(locale="en-GB", viewport=size).new_page()
            page.goto(server.address())
            view(page, "doubtful")
            draw(page, "page-doubtful")
            view(page, "memories")
            page.get_by_role("searchbox").fill(QUESTION)
            page.keyboard.press("Enter")
            page.locator("ol.hits li").first.wait_for()
            page.locator("ol.hits details").first.evaluate("each => { each.open = true; }")
            draw(page, "page-search")
        finally:
            engines.end(server.folder)
            browser.close()


if __name__ == "__main__":
    main()
