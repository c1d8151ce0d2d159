"""What somebody was at is there again on the way back, and while others go on storing."""

from __future__ import annotations

from typing import Any

import pytest
from processes import until

from tests.server.page.test_views import view

pytestmark = pytest.mark.slow

QUESTION = "What is the lighthouse like?"


def test_a_search_and_its_filters_are_there_again_until_the_list_is_asked_for(
    server: Any, opened: Any
) -> None:
    server.remember("The lighthouse is white.", source="https://a.example")
    server.remember("The lighthouse is tall.")
    page = opened().page
    view(page, "memories")
    page.locator("summary", has_text="Filters").click()
    page.get_by_label("Origin").select_option("web")
    page.get_by_role("searchbox").fill(QUESTION)
    page.keyboard.press("Enter")
    page.locator("ol.hits a", has_text="white").click()
    page.get_by_role("heading", name="History").wait_for()
    page.go_back()
    hits = page.locator("section[aria-label=Results] .card .text")
    hits.first.wait_for()
    assert hits.all_inner_texts() == ["The lighthouse is white."]
    assert page.get_by_role("searchbox").input_value() == QUESTION
    page.get_by_role("link", name="Memories", exact=True).click()
    page.locator(".virtual .card", has_text="tall").wait_for()
    assert page.get_by_role("searchbox").input_value() == ""


def test_an_address_opens_its_search_until_the_field_is_emptied(server: Any, opened: Any) -> None:
    server.remember("The quarry closes at dusk.")
    server.remember("The weir was painted green.")
    page = opened().page
    view(page, "memories?q=When+does+the+quarry+close%3F")
    hits = page.locator("section[aria-label=Results] .card .text")
    for _ in range(2):
        hits.first.wait_for()
        assert hits.first.inner_text() == "The quarry closes at dusk."
        assert page.get_by_role("searchbox").input_value() == "When does the quarry close?"
        assert page.locator("details.filters summary").inner_text() == "Filters"
        page.reload()
    hits.first.wait_for()
    page.get_by_role("searchbox").fill("")
    page.locator(".virtual .card", has_text="painted green").wait_for()
    page.reload()
    page.locator(".virtual .card", has_text="painted green").wait_for()
    assert page.get_by_role("searchbox").input_value() == ""


def test_a_search_does_not_bring_back_who_has_gone_on(opened: Any) -> None:
    """It writes itself into the address, which is another one by then."""
    page = opened().page
    view(page, "memories")
    page.get_by_role("searchbox").wait_for()
    page.evaluate("""
        location.hash = '#/doubtful';  // heard of in the next task
        document.querySelector('form[role=search]').requestSubmit();""")
    page.locator("nav a[aria-current][href='#/doubtful']").wait_for(state="attached")


@pytest.mark.long
def test_a_chat_is_there_again(server: Any, opened: Any) -> None:
    server.remember("The contract with the harbour ends in December.")
    page = opened().page
    view(page, "chat")
    page.get_by_role("textbox").fill("When does the contract with the harbour end?")
    page.keyboard.press("Enter")
    page.locator(".turns a", has_text="December").first.click()
    page.get_by_role("heading", name="History").wait_for()
    page.go_back()
    page.locator(".turns > li", has_text="When does the contract").wait_for()
    assert page.locator(".turns > li").count() == 1


def test_a_turn_stands_there_while_its_answer_is_waited_for(server: Any, opened: Any) -> None:
    page = opened().expects("net::ERR_FAILED").page
    view(page, "chat")
    held: list[Any] = []
    page.route("**/api/v1/chat", lambda route: held.append(route))
    with page.expect_request("**/api/v1/chat"):
        page.get_by_role("textbox").fill("Who keeps the lighthouse?")
        page.keyboard.press("Enter")
    turn = page.locator(".turns > li", has_text="Who keeps the lighthouse?")
    turn.locator(".loading").wait_for()
    assert page.get_by_role("button", name="Say it").is_disabled()
    held[0].abort()
    turn.wait_for(state="detached")  # it was not heard, so it can be said again
    assert page.get_by_role("textbox").input_value() == "Who keeps the lighthouse?"


@pytest.mark.long
def test_a_long_list_stays_where_it_is_read_when_another_client_stores(
    server: Any, opened: Any
) -> None:
    count = 130
    server.bring(*({"text": f"Gull {n} has ring {n * 7}.", "tags": ["gull"]} for n in range(count)))
    page = opened().page
    page.locator(".live.on").wait_for()
    view(page, "memories?tag=gull")
    box = page.locator(".virtual")
    while not page.locator(f".virtual li[aria-setsize='{count}']").count():
        box.evaluate("each => each.scrollTo(0, each.scrollHeight)")
    box.evaluate("each => each.scrollTo(0, each.scrollHeight)")
    last = page.locator(f".virtual li[aria-posinset='{count}'] .text")
    text, top = last.inner_text(), box.evaluate("each => each.scrollTop")
    server.remember("A gull without a ring was seen.", tags=["gull"])
    page.locator(f".virtual li[aria-setsize='{count + 1}']").first.wait_for()
    assert box.evaluate("each => each.scrollTop") == top
    box.evaluate("each => each.scrollTo(0, each.scrollHeight)")
    last = page.locator(f".virtual li[aria-posinset='{count + 1}'] .text")
    assert last.inner_text() == text
    top = box.evaluate("each => each.scrollTop")
    last.get_by_role("link").click()
    page.get_by_role("heading", name="History").wait_for()
    page.go_back()
    last.wait_for()
    assert box.evaluate("each => each.scrollTop") == top


def test_now_is_as_it_was_left(server: Any, opened: Any) -> None:
    for number in range(12):
        server.remember(f"Berth {number} holds boat {number * 3}.")
    page = opened(viewport={"width": 390, "height": 600}).page
    prompt = page.get_by_role("textbox", name="Prompt")
    prompt.fill("Which boat is at berth 4?")
    page.get_by_role("button", name="Show it").click()
    page.locator(".block", has_text="Berth 4").wait_for()
    link = page.locator(".feed a", has_text="Berth 3 ")
    link.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 7)")
    top = page.evaluate("scrollY")
    assert top > 0
    link.click()
    page.get_by_role("heading", name="History").wait_for()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    link.wait_for()
    until(lambda: page.evaluate("scrollY") == top)
    until(lambda: page.evaluate("document.activeElement.textContent").startswith("Berth 3 "))
    assert prompt.input_value() == "Which boat is at berth 4?"
    page.locator(".block", has_text="Berth 4").wait_for()
