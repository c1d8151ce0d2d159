"""Ten tasks from the first view on, as somebody without a document does them, with their clicks.

A click is a press of the mouse, Enter, or the choice of a file; typing is none. What a task did is
checked through another client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import engines
import pytest

pytestmark = pytest.mark.slow


class Hand:
    """A user's hand on the *page*, and the *clicks* it made."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0

    def click(self, role: str, name: str, within: Any = None, *, exact: bool = True) -> None:
        (within or self.page).get_by_role(role, name=name, exact=exact).first.click()
        self.clicks += 1

    def press(self, target: Any) -> None:
        target.first.click()
        self.clicks += 1

    def search(self, question: str) -> None:
        self.click("link", "Memories")
        self.page.get_by_role("searchbox").fill(question)
        self.page.keyboard.press("Enter")
        self.clicks += 1
        self.page.locator("ol.hits li").first.wait_for()

    def open(self, question: str, text: str) -> None:
        self.search(question)
        self.press(self.page.locator("ol.hits a", has_text=text))
        self.page.get_by_role("heading", name="History").wait_for()


@pytest.fixture(scope="module")
def server(served: Callable[[], Any]) -> Iterator[Any]:
    """One server for the whole file."""
    made = served()
    made.remember("The ferry to Hvar leaves at nine.", tags=["travel"])
    made.remember("The boiler is checked every October.")
    made.remember("The spare key hangs behind the clock.")
    made.remember("Jonas Weller teaches the cello.")
    for text in (
        "Mara Lind lives in Oslo with her two cats.",
        "Mara Lind repaired the red bicycle in the cellar.",
        "The red bicycle is chained to the stove in the cellar at night.",
        "Mara Lind sold the red bicycle to somebody from Bergen.",
    ):
        made.remember(text, session="bicycle", speaker="Ann")
    made.remember("Mara Lind's phone number is 5432.", kind="fact")
    later = "Mara Lind's phone number is 5433."
    made.remember(later, kind="fact", when="2031-02-03")
    made.call("POST", "consolidate", {"mode": "sleep"})
    yield made
    engines.end(made.folder)


def state(server: Any, text: str) -> str:
    every = server.call("GET", "memories?limit=100&state=")["memories"]
    states: list[str] = [each["state"] for each in every if each["text"] == text]
    return states[0] if states else "gone"


def why(hand: Hand, server: Any, folder: Path) -> None:
    """Find out why something was recalled."""
    hand.search("When does the ferry leave?")
    hand.press(hand.page.locator(".hits .why summary"))
    assert hand.page.locator(".hits meter").count() >= 3


def correct(hand: Hand, server: Any, folder: Path) -> None:
    """Correct a memory."""
    hand.open("ferry to Hvar", "leaves at nine")
    hand.click("button", "Correct")
    hand.page.get_by_label("Text", exact=True).fill("The ferry to Hvar leaves at ten.")
    hand.click("button", "Save")
    hand.page.get_by_text("Corrected.").wait_for()
    assert state(server, "The ferry to Hvar leaves at nine.") == "superseded"


def undo_correction(hand: Hand, server: Any, folder: Path) -> None:
    """Undo what was done a moment ago."""
    hand.click("button", "Undo", hand.page.locator(".messages"))
    hand.page.get_by_text("Undone.").wait_for()
    assert state(server, "The ferry to Hvar leaves at nine.") == "current"


def tag(hand: Hand, server: Any, folder: Path) -> None:
    """Change the tags of a memory."""
    hand.open("boiler", "every October")
    hand.click("button", "Change tags")
    hand.page.get_by_role("textbox").fill("house")
    hand.click("button", "Save")
    hand.page.get_by_text("house").first.wait_for()
    found = server.tool("recall", query="boiler", explain=True)["memories"]
    assert next(each["tags"] for each in found if "boiler" in each["text"]) == ["house"]


def forget(hand: Hand, server: Any, folder: Path) -> None:
    """Delete a memory for good."""
    hand.open("spare key", "behind the clock")
    hand.click("button", "Forget")
    hand.click("button", "Forget for good")
    hand.page.get_by_text("Forgotten.").first.wait_for()
    assert state(server, "The spare key hangs behind the clock.") == "gone"


def decide(hand: Hand, server: Any, folder: Path) -> None:
    """Say which of two statements holds."""
    hand.click("link", "Doubtful")
    pair = hand.page.locator(".pairs > li", has_text="5433")
    hand.click("button", "The later one holds", pair)
    pair.wait_for(state="detached")
    assert state(server, "Mara Lind's phone number is 5432.") == "superseded"


def undo_sleep(hand: Hand, server: Any, folder: Path) -> None:
    """Undo last night's sleep."""
    hand.click("link", "Sleep")
    hand.click("button", "Undo this run")
    hand.page.locator(".runs .badge", has_text="undone").first.wait_for()
    assert server.call("GET", "runs")["runs"][0]["state"] == "undone"


def bring_in(hand: Hand, server: Any, folder: Path) -> None:
    """Import a file."""
    file = folder / "memories.jsonl"
    file.write_text(json.dumps({"text": "The kestrel nests in the silo."}))
    hand.click("link", "Import")
    hand.page.locator("input[type=file]").set_input_files(file)
    hand.clicks += 1
    hand.click("button", "Import")
    hand.page.get_by_role("button", name="Take them out again").wait_for()
    assert state(server, "The kestrel nests in the silo.") == "current"


def person(hand: Hand, server: Any, folder: Path) -> None:
    """See what is known about somebody."""
    hand.click("link", "People and things")
    hand.click("link", "Mara Lind", exact=False)
    hand.page.get_by_text("lives in Oslo").first.wait_for()


def injected(hand: Hand, server: Any, folder: Path) -> None:
    """See what a prompt would bring up."""
    hand.page.get_by_role("textbox", name="Prompt").fill("Where does Mara Lind live now?")
    hand.click("button", "Show it")
    hand.page.locator(".block").wait_for()
    assert "Oslo" in hand.page.locator(".block").inner_text()


CLICKS: dict[Callable[[Hand, Any, Path], None], int] = {
    injected: 1,
    why: 3,
    correct: 5,
    undo_correction: 1,
    tag: 5,
    forget: 5,
    decide: 2,
    undo_sleep: 2,
    bring_in: 3,
    person: 2,
}


SOME = (injected, correct, undo_correction, decide, bring_in)


@pytest.mark.parametrize(
    "tasks", [pytest.param(SOME, id="some"), pytest.param(CLICKS, id="ten", marks=pytest.mark.long)]
)
def test_tasks_take_so_many_clicks(
    server: Any, opened: Any, tmp_path: Path, tasks: Sequence[Callable[..., None]]
) -> None:
    shown = opened()
    made = {}
    for task in tasks:
        hand = Hand(shown.page)
        task(hand, server, tmp_path)
        made[task] = hand.clicks
        if task is not correct:
            shown.page.evaluate("location.hash = '#/now'")
            shown.page.get_by_role("textbox", name="Prompt").wait_for()
    assert made == {task: CLICKS[task] for task in tasks}
