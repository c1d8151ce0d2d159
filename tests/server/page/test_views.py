"""Every view with its main task, in all schemes and widths; what it did is checked through MCP."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import chat_models
import engines
import pytest
from processes import keep, until

from server.http.tokens import Tokens
from server.rest.transfer import EXPORTS as FORMS
from tests.server.page.conftest import Server

pytestmark = pytest.mark.slow

VIEWS = (
    "now",
    "memories",
    "doubtful",
    "topics",
    "people",
    "health",
    "sleep",
    "chat",
    "import",
    "access",
)
STATIC = Path(__file__).parents[3] / "server/page/static"
EXPORTS = Path(__file__).parents[2] / "interchange/data"
SAID = (
    "Mara Lind lives in Oslo with her two cats.",
    "Mara Lind repaired the red bicycle in the cellar.",
    "The red bicycle is chained to the stove in the cellar at night.",
    "Mara Lind sold the red bicycle to somebody from Bergen.",
    "The invoice for the greenhouse was paid in March.",
    "The greenhouse has new glass since March, and the invoice is paid.",
    "The contract with the harbour ends in December.",
)


@pytest.fixture(scope="module")
def server(served: Callable[[], Any]) -> Iterator[Any]:
    """One server for the whole file, with memories, a doubtful pair and a run of sleep."""
    made = served()
    for number, text in enumerate(SAID):
        made.remember(text, tags=[f"tag{number}"], speaker="Ann", session="harbour")
    for number, day in enumerate(("2026-07-13", "2026-07-22", "2026-07-31")):
        made.remember(f"Note {number} is about the harbour crane number {number}.", when=day)
    made.remember("Mara Lind's phone number is 5432.", kind="fact")
    later = "Mara Lind's phone number is 5433."
    made.remember(later, kind="fact", when="2031-02-03")
    made.call("POST", "consolidate", {"mode": "sleep"})
    yield made
    engines.end(made.folder)


def view(page: Any, name: str) -> None:
    page.evaluate(f"location.hash = '#/{name}'")
    page.locator("main h1").wait_for()
    page.locator(".loading[role=status]").first.wait_for(state="detached")


@pytest.mark.parametrize("views", [VIEWS[1::5], pytest.param(VIEWS, marks=pytest.mark.long)])
def test_axe_finds_nothing_in_any_view(
    server: Any, opened: Any, npm: Path, views: tuple[str, ...]
) -> None:
    page = opened().expects("status of 404").expects(*OF_AXE, sure=False).page
    memory = server.call("GET", "memories?limit=1")["memories"][0]["id"]
    page.evaluate((npm / "axe-core/axe.min.js").read_text("utf-8"))
    for name in (*views, f"memory/{memory}"):
        view(page, name)
        checked(page, name)
    page.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").wait_for()
    checked(page, "dialog")
    page.get_by_role("button", name="Cancel").click()
    if views == VIEWS:
        page.get_by_role("button", name="Forget", exact=True).click()
        page.get_by_role("dialog").get_by_role("checkbox").wait_for()
        checked(page, "forget")
        page.get_by_role("button", name="Cancel").click()
        act(page, "Pin", "Pinned.")
        checked(page, "message")
        undone(page)
        view(page, "memories")
        page.locator("summary", has_text="Filters").click()
        page.get_by_role("slider", name="To").press("ArrowLeft")
        page.get_by_role("button", name="Whole time").wait_for()
        checked(page, "stretch and filters")
        page.get_by_role("button", name="Whole time").click()
    view(page, "memories")
    page.get_by_role("searchbox").fill("Where is the red bicycle at night?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="left out").click()
    for number in range(page.locator(".why summary").count()):
        page.locator(".why summary").nth(number).click()
    checked(page, "search")
    view(page, "memory/00000000000000000000")
    page.locator("main .problem").wait_for()
    checked(page, "refusal")


OF_AXE = ("Applying inline style violates",)
"""What the content security policy forbids axe, which measures with styles of its own."""


def checked(page: Any, name: str) -> None:
    """Let axe look at what the page shows, light on a telephone; dark on a desk at its colours."""
    for width, scheme, only in ((360, "light", None), (1280, "dark", "cat.color")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert violations(page, only) == [], (name, width, scheme)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} pixels wide"


def violations(page: Any, only: str | None = None) -> list[Any]:
    """What axe has against the page, by all rules or *only* those of a tag: rule, first element."""
    more = {"runOnly": [only]} if only else {}
    script = "more => axe.run({ resultTypes: ['violations'], ...more }).then(r => r.violations)"
    found = page.evaluate(script, more)
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


def test_the_dark_scheme_changes_nothing_but_colours() -> None:
    """So axe, but for its rules on colours, finds in one scheme what it finds in the other."""
    style = (STATIC / "style.css").read_text("utf-8")
    dark = re.findall(r"@media \(prefers-color-scheme: dark\) \{ :root \{(.*?)\} \}", style)
    assert len(dark) == style.count("prefers-color-scheme") == 1
    changed = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", dark[0]))
    assert len(changed) == dark[0].count(":") == dark[0].count(";")
    assert not [path for path in STATIC.rglob("*.js") if "prefers-color" in path.read_text("utf-8")]


@pytest.mark.long
def test_tags_and_a_pin_are_changed_and_changed_back(server: Any, opened: Any) -> None:
    id = server.remember("The observatory opens on Fridays.", tags=["sky"])
    page = opened().page
    view(page, f"memory/{id}")
    page.get_by_role("button", name="Change tags").click()
    page.get_by_role("textbox").fill("sky, opening hours")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("opening hours").first.wait_for()
    assert set(tags(server, "observatory")) == {"sky", "opening hours"}
    last = page.locator(".history li", has_text="opening hours")
    last.locator("ins", has_text="opening hours").wait_for()
    assert last.locator("del").count() == 0  # the tag that was there before stays
    assert page.locator(".history li").count() == 2  # what the program did by itself is not told
    undone(page)
    assert tags(server, "observatory") == ["sky"]
    before = importance(server, id)
    act(page, "Pin", "Pinned.")
    page.locator("main .badge", has_text="pinned").first.wait_for()
    assert importance(server, id) == 1.0 > before
    undone(page)
    assert importance(server, id) == before
    act(page, "Pin", "Pinned.")
    act(page, "Unpin", "No longer pinned.")
    assert importance(server, id) == before
    normal = server.remember("The rope lies in the shed.", importance=0.5)
    assert importance(server, normal) == 0.5
    view(page, f"memory/{normal}")
    act(page, "Pin", "Pinned.")
    act(page, "Unpin", "No longer pinned.")
    assert importance(server, normal) == 0.5
    wish = server.remember("Always answer in Norwegian.", kind="preference")
    assert importance(server, wish) == 1.0  # though nobody pinned it
    view(page, f"memory/{wish}")
    act(page, "Unpin", "No longer pinned.")
    page.get_by_role("button", name="Pin", exact=True).wait_for()
    assert importance(server, wish) < 1.0
    undone(page)
    assert importance(server, wish) == 1.0
    server.call("POST", "forget", {"ids": [wish], "confirm": True})


@pytest.mark.long
def test_a_summary_is_pinned_by_hand_and_not_by_its_sources(server: Any, opened: Any) -> None:
    loom = ("The loom stands upstairs.", "The weaver works at night.", "The wool is blue.")
    ids = [server.remember(text, session="loom") for text in loom]
    run = server.call("POST", "consolidate", {"mode": "session", "session": "loom"})
    by_hand = run["summaries"][0]["id"]
    drawn = {"text": "Concept: the loom.", "kind": "concept", "importance": 1, "derived_from": ids}
    server.bring(drawn)
    every = server.call("GET", "memories?kind=concept")["memories"]
    by_source = next(each["id"] for each in every if each["text"] == drawn["text"])
    assert importance(server, by_source) == 1.0
    page = opened().page
    pinned = page.locator("main p > .badge", has_text="pinned")
    view(page, f"memory/{by_hand}")
    act(page, "Pin", "Pinned.")
    pinned.first.wait_for()
    view(page, f"memory/{by_source}")
    page.locator(".whole", has_text="Concept").wait_for()
    assert page.get_by_role("button", name="Unpin").count() == 0
    assert pinned.count() == 0
    server.call("POST", "forget", {"ids": [by_hand, by_source, *ids], "confirm": True})


@pytest.mark.long
def test_what_was_drawn_from_a_memory_and_the_memory_lead_to_each_other(
    server: Any, opened: Any
) -> None:
    kiln = ("The kiln was rebuilt.", "The potter fires it on Fridays.", "The glaze is green.")
    ids = [server.remember(text, session="kiln") for text in kiln]
    run = server.call("POST", "consolidate", {"mode": "session", "session": "kiln"})
    (summary,) = run["summaries"]
    page = opened().page
    view(page, f"memory/{summary['derived_from'][0]}")
    rests = section(page, "What rests on it")
    assert section(page, "Links").get_by_text("derived from").count() == 0
    rests.locator(f".card a[href='#/memory/{summary['id']}']").click()
    source = section(page, "Rests on").locator(".card a").first
    source.wait_for()
    section(page, "What rests on it").get_by_text("nothing else").wait_for()
    source.click()
    rests.locator(".card a").first.wait_for()
    server.call("POST", "forget", {"ids": [summary["id"], *ids], "confirm": True})


@pytest.mark.long
def test_history_names_what_replaced_a_memory_and_nobody_where_nobody_is_known(
    server: Any, opened: Any
) -> None:
    text = "Now Signe Holm lives in Tromsø."
    old = server.remember("Signe Holm lives in Narvik.", speaker="Ann")
    new = server.remember(text, speaker="Ann")
    assert server.call("GET", f"memories/{old}")["superseded_by"] == new

    def recalled(route: Any) -> None:
        """As it is once both were recalled together: the program writes that later."""
        body = route.fetch().json()
        link = {"b": new, "kind": "co_recall", "weight": 1.0}
        more = {"kind": "link", "seq": 99, "actor": "", "source": "", "body": link}
        body["changes"].append({**body["changes"][0], **more})
        route.fulfill(json=body)

    page = opened().page
    page.route("**/history", recalled)
    view(page, f"memory/{old}")
    replaced = page.locator(".history li", has_text="Replaced by")
    replaced.locator("ins", has_text=text).wait_for()
    told = page.locator(".history").inner_text()
    assert "–" not in told
    assert "recalled together" not in told


def test_the_signs_of_all_states_are_drawn(opened: Any) -> None:
    """A letter that no font of the machine has is drawn as one that does not exist."""
    page = opened().page
    drawn = page.evaluate(
        """async () => {
        const { SIGNS } = await import('/ui/memorycard.js');
        const box = Object.assign(document.createElement('canvas'), { width: 40, height: 40 });
        const to = box.getContext('2d', { willReadFrequently: true });
        const points = (letter) => {
            to.clearRect(0, 0, 40, 40);
            to.font = '20px ' + getComputedStyle(document.body).fontFamily;
            to.fillText(letter, 5, 30);
            return to.getImageData(0, 0, 40, 40).data.join();
        };
        const none = points('\u0378');
        return Object.values(SIGNS).filter((sign) => points(sign) === none);
        }"""
    )
    assert drawn == []


class Token(NamedTuple):
    id: str
    secret: str


def token(server: Any, agent: str, *rights: str) -> Token:
    """A new token for *agent*; it counts without a restart, also in the engine."""
    tokens = Tokens(server.folder)
    secret = tokens.add(agent, "", rights or ("read", "write"))
    (grant,) = [each for each in tokens.all() if each.agent == agent]
    return Token(grant.id, secret)


def section(page: Any, name: str) -> Any:
    return page.locator("section", has=page.get_by_role("heading", name=name, exact=True))


def act(page: Any, button: str, said: str) -> None:
    """Press *button*, and wait until that is *said*, once more where it was said before."""
    no_messages(page)
    page.get_by_role("button", name=button, exact=True).click()
    page.locator(".messages").get_by_text(said, exact=True).last.wait_for()


def undone(page: Any) -> None:
    """Take back what was done last, and close the messages."""
    messages = page.locator(".messages")
    messages.get_by_role("button", name="Undo").last.click()
    messages.get_by_text("Undone.").last.wait_for()
    no_messages(page)


def no_messages(page: Any) -> None:
    """Close the messages, which stay until somebody does."""
    close = page.locator(".messages").get_by_role("button", name="Close")
    while close.count():
        close.first.click()


def importance(server: Any, id: str) -> float:
    return float(server.call("GET", f"memories/{id}")["importance"])


def tags(server: Any, word: str) -> list[str]:
    found = server.tool("recall", query=word, explain=True)
    return next(list(m["tags"]) for m in found["memories"] if word in m["text"])


def test_a_topic_leads_to_its_memories_by_keyboard(server: Any, opened: Any) -> None:
    lines = ["The tomatoes need water at noon.", "The peas and the beans climb a fence."]
    server.bring(*({"text": text, "topic": "vegetables"} for text in lines))
    page = opened().page
    view(page, "topics")
    page.locator("summary", has_text="As a table").click()
    page.get_by_role("rowheader", name="The peas and the beans…", exact=True).wait_for()
    page.locator(".graph a[aria-label^='vegetables, 2']").focus()
    page.keyboard.press("Enter")
    page.locator(".virtual .card", has_text="beans").wait_for()
    shown = page.locator(".virtual .card .text").all_inner_texts()
    assert sorted(shown) == sorted(lines)
    page.locator(".virtual .card a", has_text="beans").click()
    section(page, "What rests on it").get_by_role("link", name="vegetables").wait_for()


@pytest.mark.long
def test_the_graph_shows_what_is_chosen_of_it(server: Any, opened: Any) -> None:
    page = opened().page
    view(page, "topics")
    forms = page.locator("svg[role=group] a")
    names = forms.locator("path.entity")
    names.first.wait_for(state="attached")
    everything = forms.count()
    page.get_by_role("checkbox", name="People and things").uncheck()
    names.first.wait_for(state="detached")
    assert 0 < forms.count() < everything
    page.locator("summary", has_text="As a table").click()
    assert page.locator("table tbody tr").count() == forms.count()
    page.locator("svg[data-settled=true]").wait_for()
    assert page.locator("svg[role=group] a[tabindex='0']").count() == 1  # one stop of Tab for all
    page.get_by_role("checkbox", name="People and things").focus()
    page.keyboard.press("Tab")
    seen = [page.evaluate("document.activeElement.getAttribute('href')")]
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "End"):
        page.keyboard.press(key)
        seen.append(page.evaluate("document.activeElement.getAttribute('href')"))
    assert None not in seen
    assert len(set(seen)) >= 3
    page.keyboard.press("Home")
    order = [page.evaluate("document.activeElement.getAttribute('href')")]
    for _ in range(forms.count() - 1):
        page.keyboard.press("PageDown")
        order.append(page.evaluate("document.activeElement.getAttribute('href')"))
    assert order == forms.evaluate_all("all => all.map(each => each.getAttribute('href'))")
    page.keyboard.press("Enter")
    until(lambda: page.evaluate("location.hash") == order[-1])


@pytest.mark.long
def test_names_in_the_graph_can_be_read_on_a_telephone(server: Any, opened: Any) -> None:
    lines = [
        {"text": f"Shelf {n} holds jar {turn}.", "topic": f"shelf {n}"}
        for n in range(40)
        for turn in range(2)
    ]
    server.bring(*lines)
    page = opened(viewport={"width": 390, "height": 844}, reduced_motion="reduce").page
    view(page, "topics")
    high = "all => all.map(each => each.getBoundingClientRect().height)"
    names = page.locator("svg[role=group] text")
    until(lambda: min(names.evaluate_all(high), default=0) >= 10)
    page.locator("svg[data-settled=true]").wait_for()
    picture = page.locator("svg[role=group]").bounding_box()
    sides = (
        "all => all.map(each => each.getBoundingClientRect()).flatMap(at => [at.left, at.right])"
    )
    at = names.evaluate_all(sides)
    assert picture["x"] <= min(at) < max(at) <= picture["x"] + picture["width"]
    tops = "all => all.map(each => each.getBoundingClientRect().top)"
    forms = page.locator("svg[role=group] path").evaluate_all(tops)
    assert max(forms) - min(forms) > picture["height"] / 2


@pytest.mark.long
def test_words_in_a_table_stay_whole_on_a_telephone(server: Any, opened: Any) -> None:
    page = opened(viewport={"width": 390, "height": 844}).page
    view(page, "access")
    token = page.locator("td, th").locator("code").first
    assert token.bounding_box()["height"] < 30
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


SIDEWAYS = """() => [...document.querySelectorAll('*')].filter((each) => {
    const scrolls = ['auto', 'scroll'].includes(getComputedStyle(each).overflowX);
    return scrolls && each.scrollWidth > each.clientWidth && !each.closest('svg, pre');
}).map((each) => each.outerHTML.slice(0, 200))"""
"""What is scrolled sideways to be read, but for graphs and what an assistant reads as it is."""
TELEPHONES = (320, 390)
WIDE = "document.scrollingElement.scrollWidth - innerWidth"


def fits(page: Any) -> bool:
    return page.evaluate(WIDE) <= 0 and page.evaluate(SIDEWAYS) == []


@pytest.mark.long
def test_nothing_is_scrolled_sideways_on_a_telephone(server: Any, opened: Any) -> None:
    made = token(server, "agent-of-a-long-name-without-a-space")
    server.bring({"text": "Skerries" * 30, "tags": ["t" * 90], "topic": "u" * 90})
    long = server.call("GET", f"memories?tag={'t' * 90}")["memories"][0]["id"]
    for locale in ("en-GB", "de-DE"):
        page = opened(locale=locale).page
        for name in (*VIEWS, f"memory/{long}"):
            view(page, name)
            page.evaluate("for (const each of document.querySelectorAll('details')) each.open = 1")
            page.locator(".loading[role=status]").first.wait_for(state="detached")
            for width in TELEPHONES:
                page.set_viewport_size({"width": width, "height": 800})
                until(partial(fits, page))  # a picture is drawn anew once its place has changed
        view(page, "access")
        button = page.get_by_role("row").filter(has_text=made.id).get_by_role("button")
        for width in TELEPHONES:
            page.set_viewport_size({"width": width, "height": 800})
            button.scroll_into_view_if_needed()
            place = button.bounding_box()
            assert place["x"] >= 0
            assert place["x"] + place["width"] <= width
    Tokens(server.folder).revoke(made.id)


def test_what_was_recalled_last_is_in_the_hot_buffer(server: Any, opened: Any) -> None:
    server.remember("The buoy off the pier is red.")
    server.tool("recall", query="What colour is the buoy?", session="pier")
    page = opened().page
    view(page, "health")
    hot = page.locator("section", has=page.get_by_role("heading", name="Hot buffer"))
    hot.locator(".card", has_text="buoy").wait_for()


def test_filters_act_on_a_list_and_on_a_search(server: Any, opened: Any) -> None:
    server.remember("The lighthouse is white.", tags=["project:beacon"], source="https://a.example")
    server.remember("The lighthouse is tall.", tags=["project:tower"])
    old = [
        server.remember("The lamp of the lighthouse broke.", when="2019-05-06"),
        server.remember("The lamp of the lighthouse is new.", when="2019-08-05"),
    ]
    page = opened().page
    view(page, "memories")
    brushed(page)
    page.locator("summary", has_text="Filters").click()
    page.get_by_label(re.compile("^Project")).select_option("project:beacon")
    page.locator(".virtual .card", has_text="tall").wait_for(state="detached")
    assert page.locator(".virtual .card .text").all_inner_texts() == ["The lighthouse is white."]
    page.get_by_label(re.compile("^Project")).select_option("")
    page.get_by_role("searchbox").fill("What is the lighthouse like?")
    page.keyboard.press("Enter")
    hits = page.locator("section[aria-label=Results] .card .text")
    hits.filter(has_text="tall").wait_for()
    page.get_by_label(re.compile("^Origin")).select_option("web")
    hits.filter(has_text="tall").wait_for(state="detached")
    assert hits.all_inner_texts() == ["The lighthouse is white."]
    page.get_by_label(re.compile("^Origin")).select_option("")
    hits.filter(has_text="tall").wait_for()
    tier = server.call("GET", f"memories/{old[0]}")["tier"]
    page.get_by_label(re.compile("^Tier")).select_option("recent" if tier == "active" else "active")
    hits.filter(has_text="lamp").first.wait_for(state="detached")
    page.locator("summary", has_text="Filters (1)").wait_for()
    page.get_by_label(re.compile("^Tier")).select_option(tier)
    hits.filter(has_text="lamp").first.wait_for()
    server.call("POST", "forget", {"ids": old, "confirm": True})


@pytest.mark.long
def test_each_filter_narrows_the_list(server: Any, opened: Any) -> None:
    nils = token(server, "nils", "read", "write")
    url = json.loads((server.folder / "http.json").read_text("utf-8"))["url"]
    anchor = {"text": "Nils Berg painted the anchor.", "speaker": "Nils Berg", "session": "deck"}
    anchor |= {"kind": "procedure", "scope": "shared", "when": "2031-05-06"}
    asked = urllib.request.Request(
        f"{url}/api/v1/memories",
        json.dumps(anchor).encode(),
        {"Authorization": f"Bearer {nils.secret}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(asked, timeout=60).close()
    other = server.remember("The rope is wet.", when="2031-05-04")
    server.call("POST", f"memories/{other}/retire", {})
    page = opened().page
    view(page, "memories")
    page.locator("summary", has_text="Filters").click()
    cards = page.locator(".virtual .card")
    for label, value in {
        "State": "current",
        "Kind": "procedure",
        "Who may read it": "shared",
        "Agent": "nils",
        "Person or thing": "Nils Berg",
        "Conversation": "deck",
        "Speaker": "Nils Berg",
        "Since": "2031-05-05",
    }.items():
        cards.filter(has_text="The rope is wet.").wait_for()
        field = page.locator(".filters").get_by_label(re.compile(f"^{label}"))
        if field.evaluate("each => each.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
            field.blur()
        cards.filter(has_text="The rope is wet.").wait_for(state="detached")
        cards.filter(has_text="painted the anchor").wait_for()
        page.get_by_role("button", name="Clear filters").click()
    page.get_by_label(re.compile("^Until")).fill("2031-05-05")
    cards.filter(has_text="painted the anchor").wait_for(state="detached")
    cards.filter(has_text="The rope is wet.").wait_for()
    server.call("POST", "forget", {"ids": [other], "confirm": True})


def brushed(page: Any) -> None:
    """Choose a stretch of time by the keyboard, and by the mouse, and the whole again."""
    shown = page.locator(".virtual .card .text")
    shown.filter(has_text="tall").wait_for()
    begin, end = (page.get_by_role("slider", name=name) for name in ("From", "To"))
    assert page.get_by_role("group", name="Stretch of time").get_by_role("slider").count() == 2
    end.focus()
    page.keyboard.press("Home")
    shown.filter(has_text="tall").wait_for(state="detached")
    assert shown.all_inner_texts() == ["The lamp of the lighthouse broke."]
    assert end.get_attribute("aria-valuetext") == "12 May 2019"
    page.get_by_text("From … to 12 May 2019").wait_for()
    page.keyboard.press("ArrowRight")
    shown.filter(has_text="is new").wait_for()
    begin.focus()
    page.keyboard.press("ArrowRight")
    shown.filter(has_text="broke").wait_for(state="detached")
    assert shown.all_inner_texts() == ["The lamp of the lighthouse is new."]
    page.get_by_role("button", name="Whole time").click()
    shown.filter(has_text="tall").wait_for()
    area = page.locator(".chart .u-over").bounding_box()
    page.mouse.move(area["x"] + 1, area["y"] + 40)
    page.mouse.down()
    page.mouse.move(area["x"] + 60, area["y"] + 40, steps=4)
    page.mouse.up()
    shown.filter(has_text="tall").wait_for(state="detached")
    assert shown.all_inner_texts() == [
        "The lamp of the lighthouse is new.",
        "The lamp of the lighthouse broke.",
    ]
    assert page.locator(".chart .u-select").bounding_box()["width"] > 10
    page.get_by_role("button", name="Whole time").click()
    shown.filter(has_text="tall").wait_for()


@pytest.mark.long
def test_a_memory_shows_how_it_fades(server: Any, opened: Any) -> None:
    id = server.remember("The pier light is green.")
    page = opened().page
    view(page, f"memory/{id}")
    assert "100 % is left." in page.locator(".fading figcaption").inner_text()
    view(page, "health")
    page.locator("h2", has_text="Tiers over time").wait_for()
    newest = section(page, "Newest of each tier").locator("summary")
    newest.first.wait_for()
    assert newest.all_inner_texts() == ["active", "recent", "long-term"]  # it is not all of them
    assert page.locator(".fading").count() >= 1


def test_health_shows_the_counts_of_the_tool(server: Any, opened: Any) -> None:
    page = opened().page
    view(page, "health")
    stats = server.call("GET", "stats")
    page.get_by_text(f"{stats['memories']} memories").first.wait_for()
    figures = page.locator(".counts").first.locator("td.figure").all_inner_texts()
    assert [int(each) for each in figures] == list(stats["by_tier"].values())
    assert page.locator(".status").inner_text().endswith("Everything works.")
    page.get_by_role("button", name="Check again").click()
    page.locator(".checks li").first.wait_for()


@pytest.mark.long
def test_health_shows_jobs_disk_and_engine_as_other_clients_are_told_them(
    server: Any, opened: Any
) -> None:
    page = opened().page
    view(page, "health")
    page.locator(".checks li").first.wait_for()
    jobs, report = server.call("GET", "jobs"), server.tool("health")
    section(page, "Jobs").get_by_text(in_words(jobs), exact=True).wait_for()
    disk = page.locator(".checks li", has=page.get_by_text("Disk", exact=True)).inner_text()
    free = re.fullmatch(r"✓ fine Disk ([\d,]+) MiB free", " ".join(disk.split()))
    assert free
    exact = report["storage"]["free_bytes"] / 2**20
    assert abs(int(free[1].replace(",", "")) - exact) < exact / 10  # others use the disk, too
    engine, told = known(page, "engine"), report["engine"]
    assert engine.pop("It has run for").endswith(" s")
    used = engine.pop("Memory that it uses").split()
    assert used[:7] == f"With shared pages in full {used[5]} MiB".split()
    assert float(used[5].replace(",", "")) > 10
    assert engine == {
        "Serves several clients": "yes",
        "Version": told["version"],
        "Process": str(told["pid"]),
        "Connected clients": str(told["clients"]),
    }
    stored = known(page, "storage")
    assert stored["Folder"] == str(server.folder)
    assert stored["Memories in the journal"] == str(report["storage"]["live"])
    assert stored["Damaged and set aside"] == "none"
    assert known(page, "versions")["lancedb"] == report["versions"]["lancedb"]


def in_words(jobs: dict[str, Any]) -> str:
    return f"{jobs['queued']} waiting, {jobs['running']} running, {jobs['failed']} failed"


def known(page: Any, part: str) -> dict[str, str]:
    """What the page tells of *part* of the report of health, by its name there."""
    shown = page.locator(f".part.{part}")
    if shown.get_attribute("open") is None:
        shown.locator("summary").click()
    rows = shown.locator("> dl > div")
    names = rows.locator("> dt").all_inner_texts()
    return dict(zip(names, rows.locator("> dd").all_inner_texts(), strict=True))


@pytest.mark.long
def test_jobs_that_wait_for_a_model_that_refuses_are_counted(
    modelled: Server, model: chat_models.Model, opened: Any
) -> None:
    model.status = 401
    modelled.address()
    modelled.remember("Ragna Moe keeps bees behind the mill in Voss.")

    def waits() -> bool:
        """Whether jobs wait, and the model is not asked for a while."""
        jobs = modelled.call("GET", "jobs")
        pause = modelled.call("GET", "health")["encoder"]["pause_seconds"]
        return pause > 60 and jobs["queued"] > 0 == jobs["running"]

    assert "answered HTTP 401" in modelled.command("encode", status=1)  # waits for no more to do
    until(waits)
    jobs = modelled.call("GET", "jobs")
    page = opened(of=modelled).page
    view(page, "health")
    section(page, "Jobs").get_by_text(in_words(jobs), exact=True).wait_for()
    check = page.locator(".checks li", has=page.locator("strong", has_text="Language model"))
    check.locator(".fix").wait_for()
    encoder = known(page, "encoder")
    assert encoder["Model"] == "small"
    assert encoder["Tokens allowed in a day"] == "200,000"
    assert "Failed calls" in encoder["Today"]


def test_a_doubtful_pair_is_decided(server: Any, opened: Any) -> None:
    pairs = server.call("GET", "contradictions")["pairs"]
    pair = next(each for each in pairs if "5433" in each["newer"]["text"])
    page = opened().page
    view(page, "doubtful")
    shown = page.locator(".pairs > li", has_text="5433")
    shown.get_by_text("the later text may say how the same thing is now").wait_for()
    shown.get_by_role("button", name="The later one holds").click()
    page.locator(".messages").get_by_role("button", name="Undo").wait_for()
    assert server.call("GET", f"memories/{pair['older']['id']}")["state"] == "superseded"
    found = server.tool("recall", query="What is Mara Lind's phone number?")
    assert found["memories"][0]["id"] == pair["newer"]["id"]


@pytest.mark.long
def test_each_decision_about_a_pair_is_undone(server: Any, opened: Any) -> None:
    older = server.remember("The port of the tide gauge is 5001.", kind="fact")
    newer = server.remember("The port of the tide gauge is 5002.", kind="fact")

    def states() -> list[str]:
        return [server.call("GET", f"memories/{id}")["state"] for id in (older, newer)]

    assert states() == ["doubtful", "current"]
    page = opened().page
    view(page, "doubtful")
    pair = page.locator(".pairs > li", has_text="5002")
    pair.wait_for()
    decisions = ("The later one holds", "The earlier one holds", "Both hold", "Merge them")
    assert pair.get_by_role("button").all_inner_texts() == list(decisions)
    for decision in decisions:
        pair.get_by_role("button", name=decision).click()
        pair.wait_for(state="detached")
        assert states() != ["doubtful", "current"]
        undone(page)
        pair.wait_for()
        assert states() == ["doubtful", "current"], decision
    server.call("POST", "forget", {"ids": [older, newer], "confirm": True})


@pytest.mark.long
def test_what_is_retired_is_put_back(server: Any, opened: Any) -> None:
    id = server.remember("The slipway is closed on Mondays.")
    page = opened().page
    view(page, f"memory/{id}")
    for put_back in (lambda: undone(page), lambda: act(page, "Put back", "Put back.")):
        act(page, "Retire", "Retired.")
        page.get_by_role("button", name="Put back", exact=True).wait_for()
        assert server.call("GET", f"memories/{id}")["state"] == "retired"
        put_back()
        page.get_by_role("button", name="Retire", exact=True).wait_for()
        assert server.call("GET", f"memories/{id}")["state"] == "current"


def test_what_is_broken_is_repaired_by_a_button(server: Any, opened: Any) -> None:
    page = opened().page
    report = server.call("GET", "health")
    broken = {**report["checks"][1], "status": "degraded", "fix": "call health with repair"}
    worse = {**report, "status": "degraded", "checks": [broken]}
    page.route("**/api/v1/health", lambda route: route.fulfill(json=worse))
    view(page, "health")
    page.locator(".fix", has_text="call health with repair").wait_for()
    page.unroute_all()
    with page.expect_response("**/api/v1/health/repair") as answer:
        page.get_by_role("button", name="Repair").click()
    assert answer.value.json()["status"] == "ok"
    page.get_by_text("Repaired as far as possible: Everything works.").wait_for()
    page.locator(".status.ok").wait_for()


def test_last_nights_sleep_is_undone(server: Any, opened: Any) -> None:
    mill = ("The mill stands by the weir.", "The miller left in May.", "The wheel turns slowly.")
    for text in mill:
        server.remember(text, session="mill", when="2026-05-06")
    server.call("POST", "consolidate", {"mode": "sleep"})

    def summaries() -> str:
        return texts(server.tool("recall", query="mill by the weir", kinds=["summary"]))

    assert "mill" in summaries()
    page = opened().page
    view(page, "sleep")
    run = page.locator(".runs > li", has_text="whole sleep").first  # an import is a run, too
    run.locator("summary").click()
    run.locator(".diff ins", has_text="The mill stands by the weir.").wait_for()
    run.get_by_role("button", name="Undo this run").click()
    run.locator(".badge", has_text="undone").wait_for()
    runs = server.call("GET", "runs")["runs"]
    assert next(each["state"] for each in runs if each["mode"] == "sleep") == "undone"
    assert "mill" not in summaries()


@pytest.mark.long
def test_a_dry_run_tells_and_changes_nothing(server: Any, opened: Any) -> None:
    page = opened().page
    view(page, "sleep")
    before = server.call("GET", "stats")["memories"]
    page.get_by_role("button", name="Show what it would do").click()
    page.get_by_role("heading", name="What it would do").wait_for()
    assert page.get_by_label("What it did").locator("li").count() > 3
    assert server.call("GET", "stats")["memories"] == before


def test_a_revoked_token_opens_nothing_more(server: Any, opened: Any) -> None:
    made = token(server, "zoe", "read")
    header = {"Authorization": f"Bearer {made.secret}"}
    url = json.loads((server.folder / "http.json").read_text("utf-8"))["url"]
    agents = urllib.request.Request(f"{url}/api/v1/sessions", headers=header)
    with urllib.request.urlopen(agents, timeout=60) as answer:
        assert answer.status == 200
    page = opened().page
    view(page, "access")
    row = page.get_by_role("row").filter(has_text=made.id)
    row.get_by_role("cell", name="zoe", exact=True).wait_for()
    row.get_by_role("cell", name="read", exact=True).wait_for()
    assert "not since" not in row.inner_text()  # it was used above
    page.get_by_role("button", name=f"Revoke token {made.id}").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.get_by_text("revoked").first.wait_for()
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        urllib.request.urlopen(agents, timeout=60)
    refused.value.close()


def test_a_file_is_imported_and_taken_out(server: Any, opened: Any, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    lines = [json.dumps({"text": "The kestrel nests in the silo."}), "{torn"]
    file.write_text("\n".join(lines))
    page = opened().page
    view(page, "import")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("The kestrel nests in the silo.").wait_for()
    view(page, "memories")
    page.go_back()  # the report is there again, and what can be done with it
    page.get_by_text("The kestrel nests in the silo.").wait_for()
    assert "line 2" in page.locator("p.problem").inner_text()
    assert "kestrel" not in texts(server.tool("recall", query="kestrel in the silo"))
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("button", name="Take them out again").wait_for()
    assert "kestrel" in texts(server.tool("recall", query="kestrel in the silo"))
    page.get_by_role("button", name="Take them out again").click()
    page.get_by_text("Undone.").wait_for()
    assert "kestrel" not in texts(server.tool("recall", query="kestrel in the silo"))


DROP = """async (zone, [files, text]) => {
    const dropped = new DataTransfer();
    for (const [name, lines] of files) dropped.items.add(new File([lines], name));
    if (text) dropped.setData('text/plain', text);
    const more = { dataTransfer: dropped, bubbles: true, cancelable: true };
    zone.dispatchEvent(new DragEvent('dragenter', more));
    const taken = !zone.dispatchEvent(new DragEvent('dragover', more));
    await new Promise((go) => setTimeout(go));
    const marked = zone.classList.contains('over');
    return !zone.dispatchEvent(new DragEvent('drop', more)) && taken ? marked : 'the browser';
}"""
"""Drop files, or a text, as a browser does: whether the field showed that it would take them.

"the browser" where the page leaves it to the browser, which would open the file in its place.
"""


@pytest.mark.long
def test_a_file_that_is_dropped_is_previewed_and_imported(server: Any, opened: Any) -> None:
    page = opened().page
    view(page, "import")
    text = "The bittern booms in the reeds."
    file = ["birds.jsonl", json.dumps({"text": text})]
    assert page.locator(".drop").evaluate(DROP, [[file], ""]) is True
    page.get_by_role("heading", name="What would be imported").wait_for()
    page.locator("main bdi", has_text="birds.jsonl").wait_for()
    page.get_by_text(text).wait_for()
    assert page.locator(".drop.over").count() == 0
    held = lambda: texts(server.call("POST", "recall", {"query": "bittern in the reeds"}))  # noqa: E731
    assert text not in held()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("button", name="Take them out again").wait_for()
    assert text in held()


@pytest.mark.long
def test_what_is_no_file_and_several_files_are_not_taken_and_that_is_said(
    server: Any, opened: Any
) -> None:
    shown = opened()
    page = shown.page
    view(page, "import")
    files = [["one.jsonl", '{"text": "Egret one."}'], ["two.jsonl", '{"text": "Egret two."}']]
    told = page.locator("main [role=alert]")
    for dropped, words in ((files, "One file at a time"), ([], "That was no file")):
        page.locator(".drop").evaluate(DROP, [dropped, "" if dropped else "Egret three."])
        told.filter(has_text=words).wait_for()
        assert page.get_by_text("Egret").count() == 0
    beside = page.locator("main h1").evaluate(DROP, [files[:1], ""])
    assert beside is False
    assert not any("import/file" in address for address in shown.asked)
    page.locator(".drop").evaluate(DROP, [files[:1], ""])
    page.get_by_text("Egret one.").wait_for()
    assert told.count() == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("chatgpt.json", "My shed stands beside the north fence"),
        ("claude.json", ""),
        ("server_memory.jsonl", ""),
    ],
)
def test_what_another_tool_exported_is_previewed_imported_and_taken_out(
    server: Any, opened: Any, name: str, said: str
) -> None:
    page = opened().page
    view(page, "import")
    before = server.call("GET", "stats")["memories"]
    page.locator("input[type=file]").set_input_files(EXPORTS / name)
    new = int(page.get_by_text(re.compile(r"\d+ new memories")).inner_text().split()[0])
    assert said in page.locator("ol").inner_text()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("button", name="Take them out again").wait_for()
    assert server.call("GET", "stats")["memories"] == before + new
    page.get_by_role("button", name="Take them out again").click()
    page.get_by_text("Undone.").wait_for()
    assert server.call("GET", "stats")["memories"] == before


@pytest.mark.long
def test_how_a_file_is_read_is_chosen_on_the_page(server: Any, opened: Any, tmp_path: Path) -> None:
    file = tmp_path / "remarks.csv"
    file.write_bytes(
        "Remark;Day\nDer Käuzchenruf.;2024-05-07\nDie Lerche.;no day\n".encode("cp1252")
    )
    page = opened().expects("status of 422").page
    view(page, "import")
    page.get_by_text("How it is read").click()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("has a known form").wait_for()
    page.get_by_label("Columns of a table").fill("text=Remark, when=Day")
    page.get_by_label("Columns of a table").press("Enter")
    page.get_by_text("it is not UTF-8").wait_for()
    page.get_by_label("Encoding, if not UTF-8").fill("cp1252")
    page.get_by_label("Encoding, if not UTF-8").press("Enter")
    page.get_by_text("Der Käuzchenruf.").wait_for()
    before = server.call("GET", "stats")["memories"]
    page.get_by_label("Import nothing when anything cannot be read").check()
    page.get_by_text("Der Käuzchenruf.").wait_for()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("heading", name="Nothing was imported").wait_for()
    assert server.call("GET", "stats")["memories"] == before


@pytest.mark.parametrize(
    "form", ["okf", *(pytest.param(n, marks=pytest.mark.long) for n in sorted({*FORMS} - {"okf"}))]
)
def test_everything_is_taken_along_in_each_form(server: Any, opened: Any, form: str) -> None:
    page = opened().page
    view(page, "import")
    page.get_by_label("Form").select_option(form)
    with page.expect_download() as started:
        page.get_by_role("button", name="Export", exact=True).click()
    file = Path(started.value.path())
    held = zipfile.ZipFile(file) if form == "okf" else None
    texts = [held.read(name) for name in held.namelist()] if held else [file.read_bytes()]
    assert b"Mara Lind sold the red bicycle" in b"".join(texts)
    assert started.value.suggested_filename.startswith("anamnesis.")


def test_a_file_of_no_known_form_is_refused_with_words(opened: Any, tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 4)
    page = opened().expects("status of 422").page
    view(page, "import")
    page.locator("input[type=file]").set_input_files(tmp_path / "noise.bin")
    assert "known form" in page.locator("[role=alert]").inner_text()
    assert page.get_by_role("button", name="Import", exact=True).count() == 0


def texts(found: dict[str, Any]) -> str:
    return "\n".join(each["text"] for each in found["memories"])


def test_a_prompt_shows_what_would_be_injected(server: Any, opened: Any) -> None:
    page = opened().page
    page.get_by_role("textbox", name="Prompt").fill("When does the contract with the harbour end?")
    page.get_by_role("button", name="Show it").click()
    page.locator(".block").wait_for()
    assert "December" in page.locator(".block").inner_text()
    section = page.locator("section[aria-labelledby=injected]")
    section.locator(".why summary").first.click()
    assert section.locator("meter").count() >= 3


def test_a_person_leads_to_what_is_known(server: Any, opened: Any) -> None:
    page = opened().page
    view(page, "people")
    page.get_by_role("link", name="Mara Lind").first.click()
    page.get_by_text("lives in Oslo").first.wait_for()


def test_a_chat_without_a_model_says_how_to_get_one_and_shows_what_comes_to_mind(
    server: Any, opened: Any
) -> None:
    page = opened().page
    view(page, "chat")
    page.get_by_role("textbox").fill("When does the contract with the harbour end?")
    page.get_by_role("button", name="Say it").click()
    turn = page.locator(".turns > li").first
    turn.locator(".problem", has_text="ollama pull").wait_for()
    assert "December" in turn.locator(".card").first.inner_text()
    turn.get_by_role("button", name="Why?").click()
    turn.locator(".why summary").first.click()
    assert turn.locator("meter").count() >= 3


@pytest.fixture
def model(processes: Any) -> Iterator[chat_models.Model]:
    """A language model that answers on this machine."""
    answering = chat_models.Model()
    with chat_models.serving(answering):
        yield answering


@pytest.fixture
def modelled(tmp_path: Path, model: chat_models.Model) -> Iterator[Server]:
    """A server whose settings name the language model."""
    made = Server(tmp_path / "data")
    keep(made.folder)
    made.environment |= {
        "ANAMNESIS_ENCODER": "openai",
        "ANAMNESIS_ENCODER_URL": model.url,
        "ANAMNESIS_ENCODER_MODEL": "small",
    }
    yield made
    engines.end(made.folder)


def test_a_chat_shows_the_answer_beside_what_was_recalled_for_it(
    modelled: Server, opened: Any
) -> None:
    page = opened(of=modelled).page
    modelled.remember("The spare key of the flat is under the flowerpot.")
    view(page, "chat")
    page.get_by_role("textbox").fill("I need the spare key of the flat, for my bag is lost.")
    page.keyboard.press("Enter")
    turn = page.locator(".turns > li").first
    turn.locator(".reply", has_text="small The key is under the flowerpot.").wait_for()
    turn.locator(".card", has_text="under the flowerpot").first.wait_for()
    turn.get_by_text("Stored", exact=True).wait_for()
    view(page, "health")
    page.get_by_text(re.compile(r"used [\d,]+ of 200,000 tokens today")).wait_for()
    kept = texts(modelled.tool("recall", query="The key is under the flowerpot.", k=5))
    assert "my bag is lost" in kept
    assert "The key is under the flowerpot." in kept


@pytest.mark.long
def test_a_search_says_why_others_were_left_out(server: Any, opened: Any) -> None:
    page = opened().page
    view(page, "memories")
    page.get_by_role("searchbox").fill("Where is the red bicycle at night?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="left out").click()
    left = page.locator("section:last-of-type .why")
    left.first.locator("summary").click()
    assert left.first.locator("p").first.inner_text().strip()


@pytest.mark.long
def test_a_name_that_is_not_among_the_most_frequent_is_found(server: Any, opened: Any) -> None:
    ships, berths = [f"Ship {n:03}" for n in range(210)], [f"berth {n:03}" for n in range(110)]
    often = [{"text": f"Sail {n}.", "entities": [ships[n], ships[n - 1]]} for n in range(210)]
    often += [{"text": f"Tag {n}.", "tags": berths[10 * (n // 2) :][:10]} for n in range(22)]
    rare = {"text": "Zacharias rang the bell.", "entities": ["Zacharias"], "tags": ["bell"]}
    server.bring(*often, rare)
    page = opened().page
    view(page, "people")
    page.get_by_role("link", name="Ship 000").wait_for()
    view(page, "topics")
    part = page.locator(".part")
    part.wait_for()
    assert re.search(r"200 of \d{3} memories", part.inner_text())
    assert page.locator("svg[role=group] a").count() <= 500
    view(page, "people")
    assert page.get_by_role("link", name="Zacharias").count() == 0
    page.get_by_label("Narrow the list").fill("zach")
    page.get_by_role("link", name="Zacharias").click()
    page.get_by_text("rang the bell").first.wait_for()
    view(page, "memories")
    page.locator("summary", has_text="Filters").click()
    page.get_by_label("Tag", exact=True).fill("bell")
    page.keyboard.press("Enter")
    page.locator(".virtual li[aria-setsize='1']", has_text="rang the bell").wait_for()
