"""What a view shows while it is empty, loads or fails, and that the keyboard alone reaches all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.server.page.test_views import OF_AXE, VIEWS, checked, view

pytestmark = pytest.mark.slow

ASKS = ("memories", "doubtful", "topics", "people", "health", "sleep", "access")
EMPTY = {
    "now": "Nothing is remembered yet",
    "memories": "Nothing is remembered yet",
    "doubtful": "Nothing is in doubt",
    "topics": "There are no topics yet",
    "people": "Nobody and nothing is named yet",
    "health": "Nothing is remembered yet",
    "sleep": "It has not slept yet",
    "chat": "Nothing was said yet",
}


@pytest.mark.long
def test_an_empty_memory_says_so_until_another_client_stores(
    opened: Any, server: Any, npm: Path
) -> None:
    page = opened().expects(*OF_AXE, sure=False).page
    page.evaluate((npm / "axe-core/axe.min.js").read_text("utf-8"))
    for name in VIEWS:
        view(page, name)
        if name in EMPTY:
            page.get_by_text(EMPTY[name]).first.wait_for()
        checked(page, name)
    view(page, "now")
    page.locator(".live.on").wait_for()
    id = server.remember("The ferry leaves at nine.")
    page.get_by_text("The ferry leaves at nine.").first.wait_for()
    server.call("POST", "forget", {"ids": [id], "confirm": True})  # empty for the others, too


@pytest.mark.long
def test_a_view_that_waits_or_fails_says_so_and_tries_again(opened: Any, npm: Path) -> None:
    page = opened().expects("status of 500").expects(*OF_AXE, sure=False).page
    page.evaluate((npm / "axe-core/axe.min.js").read_text("utf-8"))
    failing, held = [True], []

    def fail(route: Any) -> None:
        if failing[0]:
            route.fulfill(status=500, json={"detail": "the disk is full", "next_step": "free it"})
        else:
            route.continue_()

    for name in ASKS:
        failing[0] = True
        page.route("**/api/v1/**", fail)
        page.route("**/page/tokens", fail)
        page.evaluate(f"location.hash = '#/{name}'")
        page.locator("main .problem", has_text="the disk is full").first.wait_for()
        assert page.get_by_role("alert").count() >= 1
        checked(page, name)
        failing[0] = False
        problems = page.locator("main .problem")
        for left in reversed(range(problems.count())):
            problems.get_by_role("button", name="Try again").first.click()
            problems.nth(left).wait_for(state="detached")
        page.unroute_all()
    page.route("**/api/v1/contradictions", lambda route: held.append(route))
    page.evaluate("location.hash = '#/doubtful'")
    page.locator("main .loading[role=status]").wait_for()
    checked(page, "loading")
    held[0].continue_()
    page.get_by_text("Nothing is in doubt").wait_for()


def test_the_keyboard_alone_reaches_content_and_every_view(opened: Any) -> None:
    page = opened().page
    order = []
    for _ in range(len(VIEWS) + 2):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.textContent"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", order
    shown = page.locator("nav a").all_inner_texts()
    assert order == ["Skip to the content", "Anamnesis", *shown]
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("nav a", has_text="Doubtful").focus()
    page.keyboard.press("Enter")
    page.locator("h1", has_text="Doubtful").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"


def test_nothing_turns_for_who_wants_no_motion(opened: Any) -> None:
    page = opened(reduced_motion="reduce").page
    page.route("**/api/v1/contradictions", lambda route: None)
    page.evaluate("location.hash = '#/doubtful'")
    page.locator(".spinner").wait_for()
    assert page.evaluate("document.getAnimations().length") == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate("document.getAnimations().length") == 1


def test_a_view_that_cannot_show_an_answer_says_so(opened: Any) -> None:
    page = opened().page
    strange = {"runs": [{}], "next": ""}
    page.route("**/api/v1/runs*", lambda route: route.fulfill(status=200, json=strange))
    page.evaluate("location.hash = '#/sleep'")
    page.locator("main .problem[role=alert]").wait_for()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Runs").wait_for()


def test_what_the_rights_do_not_allow_is_not_opened_by_its_address(opened: Any) -> None:
    page = opened("--read-only").page
    for name in ("chat", "import", "access"):
        page.evaluate(f"location.hash = '#/{name}'")
        page.get_by_role("heading", name="Now", exact=True).wait_for()
        assert page.locator("nav [aria-current]").inner_text() == "Now"
