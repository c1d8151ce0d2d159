"""The page in a real browser, over a real server: each change is checked by another client."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.server.page.test_words import words

pytestmark = pytest.mark.slow

CONTROLS = "pay \u202eevil\u202c \x07bell"
MARKUP = '<img src=x onerror="document.title=1"><svg onload=alert(1)><style>*{display:none}</style>'
LEFT = """words => {
    const english = new Set(words), found = [];
    const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = all.nextNode());)
        if (english.has(node.data.trim()) && node.parentElement.closest('[lang]').lang === 'de')
            found.push(node.data.trim());
    return found; }"""
"""The texts of the page that are English ones of its dictionary, where nothing says so."""
HEADINGS = """
    window.shownHeadings = new Set();
    new MutationObserver(() => {
        for (const each of document.querySelectorAll('h1')) shownHeadings.add(each.textContent);
    }).observe(document, { childList: true, subtree: true });"""
"""Keeps every heading that the page shows from its beginning on."""
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


def view(page: Any, name: str) -> None:
    page.evaluate(f"location.hash = '#/{name}'")
    page.locator(f"nav a[aria-current][href='#/{name}']").wait_for(state="attached")


def test_an_address_opens_once_and_leaves_no_code_behind(server: Any, opened: Any) -> None:
    shown = opened().expects("status of 401")
    assert shown.page.url.partition("#")[2] == ""
    address = server.address()
    second = shown.page.context.new_page()
    second.goto(address)
    second.get_by_role("heading", name="Now", exact=True).wait_for()
    third = shown.page.context.new_page()
    third.goto(address)
    third.get_by_text("is not signed in").wait_for()


def test_a_fresh_address_signs_in_the_tab_that_is_open(server: Any, opened: Any) -> None:
    page = opened().expects("status of 401", sure=False).page
    page.evaluate("sessionStorage.clear()")
    page.goto(page.url)
    page.reload()
    page.get_by_text("is not signed in").wait_for()
    for flags, badge in (("--read-only",), 1), ((), 0):  # the second finds the tab signed in
        with page.expect_event("load"):
            page.evaluate("url => { location.href = url; }", server.address(*flags))
        page.get_by_role("heading", name="Now", exact=True).wait_for()
        assert page.locator(".badge", has_text="read").count() == badge
        assert "#" not in page.url


def test_what_other_clients_store_correct_and_are_told_appears_by_itself(
    server: Any, opened: Any
) -> None:
    page = opened().page
    page.locator(".live.on").wait_for()
    first = server.remember("Always name the tide: it turns at six.", kind="preference")
    page.locator(".feed .card", has_text="turns at six").get_by_text("through rest").wait_for()
    server.tool("remember", text="Always name the tide: it turns at five.", replaces=first)
    corrected = page.locator(".feed .card", has=page.locator("ins", has_text="five"))
    corrected.get_by_text("Corrected by me, through mcp").wait_for()
    assert corrected.locator("del").inner_text() == "six."
    told = page.locator("section[aria-labelledby=brief]")
    told.locator(".card", has_text="turns at five").wait_for()
    told.locator("summary").click()
    assert "[wish]" in told.locator("pre").inner_text()
    server.call("POST", "/hook", {"hook_event_name": "SessionStart", "session_id": "tide"})
    act = page.locator(".feed .event", has_text="Told at the start of a conversation")
    act.locator("summary").first.click()
    act.locator(".card", has_text="turns at five").first.wait_for()


def test_what_is_in_doubt_is_told_as_such(server: Any, opened: Any) -> None:
    """Of one text a part is in doubt, the other one whole; both were shown before."""
    page = opened().page
    page.locator(".live.on").wait_for()
    server.remember("Standup of the quarry crew is at nine.", kind="preference")
    server.remember("I live in Cork and teach physics.", kind="preference")
    told = page.locator("section[aria-labelledby=brief]")
    for text in ("at nine", "in Cork"):
        told.locator(".card.current", has_text=text).wait_for()
    server.remember("Standup of the quarry crew moved to ten.")
    server.remember("I moved to Kerry.")
    for text in ("at nine", "in Cork"):
        told.locator(".card.doubtful", has_text=text).wait_for()


def test_what_others_recall_and_what_is_not_stored_appears_with_its_reason(
    server: Any, opened: Any
) -> None:
    server.remember("The beacon on the mole is green.")
    page = opened().page
    page.locator(".live.on").wait_for()
    acts = page.locator(".feed .event")
    german = opened(locale="de-DE").page
    for client, client_in_german, ask in (
        ("mcp", "mcp", lambda words: server.tool("recall", query=words)),
        ("rest", "rest", lambda words: server.call("POST", "recall", {"query": words})),
        (
            "the command line",
            "die Befehlszeile",
            lambda words: server.command("recall", words),
        ),
    ):
        words = f"What colour is the beacon? {uuid.uuid4().hex}"
        ask(words)
        recalled = acts.filter(has_text=words)
        recalled.get_by_text("Recalled for").wait_for()
        recalled.get_by_text(f"by me, through {client}", exact=True).wait_for()
        there = german.locator(".feed .event", has_text=words)
        there.get_by_text(f"von me, über {client_in_german}", exact=True).wait_for()
        recalled.locator("summary").click()
        recalled.locator(".card", has_text="green").first.wait_for()
    server.call("POST", "observe", {"role": "user", "content": "Which beacon is red?"})
    skipped = acts.filter(has_text="Which beacon is red?")
    skipped.get_by_text("It only asks something.").wait_for()
    skipped.get_by_text("by me, through rest", exact=True).wait_for()
    assert "Not stored" in skipped.inner_text()


@pytest.mark.long
def test_what_is_put_in_doubt_is_told_as_that_with_what_doubts_it(server: Any, opened: Any) -> None:
    page = opened().page
    page.locator(".live.on").wait_for()
    older = server.remember("The port of the lock keeper's radio is 16.", kind="fact")
    card = page.locator(".feed .card", has_text="radio is 16")
    card.get_by_text("Stored by me, through rest").wait_for()
    newer = "The port of the lock keeper's radio is 73."
    server.remember(newer, kind="fact")
    assert server.call("GET", f"memories/{older}")["state"] == "doubtful"
    card.get_by_text("Put in doubt by me, through a check for contradictions").wait_for()
    card.get_by_role("link", name=newer).click()
    page.locator(".whole", has_text=newer).wait_for()
    page.locator(".history", has_text="Linked").get_by_text("through a check").wait_for()


def test_a_memory_is_corrected_undone_retired_and_forgotten(server: Any, opened: Any) -> None:
    tram = uuid.uuid4().hex  # a repeat would be refused what this one forgets
    id = server.remember(f"Tram {tram} leaves at nine.")
    page = opened().page
    page.evaluate(f"location.hash = '#/memory/{id}'")
    page.get_by_role("button", name="Correct").click()
    page.get_by_label("Text", exact=True).fill(f"Tram {tram} leaves at ten.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Corrected.").wait_for()
    assert server.call("GET", f"memories/{id}")["state"] == "superseded"
    page.locator(".messages").get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.").wait_for()
    assert server.call("GET", f"memories/{id}")["state"] == "current"
    page.evaluate(f"location.hash = '#/memory/{id}'")
    page.get_by_role("button", name="Retire", exact=True).click()
    page.get_by_text("Retired.").first.wait_for()
    assert server.call("GET", f"memories/{id}")["state"] == "retired"
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("button", name="Forget for good").wait_for()
    assert "ids" not in page.get_by_role("dialog").inner_text()  # that is said to programs
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_text("Forgotten.").first.wait_for()
    states = [each["id"] for each in server.call("GET", "memories")["memories"]]
    assert id not in states


@pytest.mark.long
def test_what_is_loaded_while_a_memory_is_forgotten_shows_no_error(
    server: Any, opened: Any
) -> None:
    id = server.remember(f"Ferry {uuid.uuid4().hex} leaves at nine.")
    page = opened().page
    page.locator(".live.on").wait_for()
    page.evaluate(f"location.hash = '#/memory/{id}'")
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("button", name="Forget for good").wait_for()
    held: list[Any] = []
    page.route("**/links", lambda route: held.append(route))
    with page.expect_request("**/links"):  # the page hears of the change and loads anew
        server.call("PATCH", f"memories/{id}", {"tags": ["ferry"]})

    def forget(route: Any) -> None:
        answer = route.fetch()
        for late in held:
            late.fulfill(response=late.fetch())  # before the page knows that it is forgotten
        route.fulfill(response=answer)

    page.route("**/forget", forget)
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_text("Forgotten.").first.wait_for()
    assert held


def test_a_search_says_why_and_stored_text_never_becomes_markup(server: Any, opened: Any) -> None:
    tags = [f"tag{number}" for number in range(20)]
    server.remember(f"{MARKUP} {CONTROLS} about the harbour", tags=tags, speaker="<b>Eve</b>")
    shown = opened()
    page = shown.page
    view(page, "memories")
    page.get_by_label("Search").fill("harbour")
    page.get_by_role("button", name="Find").click()
    page.get_by_text("How close its meaning").or_(page.get_by_text("How many of the words"))
    page.locator(".hits summary").first.click()
    assert page.locator(".hits meter").count() >= 3
    assert page.locator(".card img, .card svg, .card style, .card b").count() == 0
    assert "U+202E" in page.locator(".hits .card").first.inner_text()
    own = page.evaluate("location.origin")
    assert all(each.startswith((own, "data:")) for each in shown.asked)


def test_a_read_only_session_shows_no_change_and_can_make_none(server: Any, opened: Any) -> None:
    id = server.remember("The lighthouse is white.")
    page = opened("--read-only").expects("status of 403").page
    page.evaluate(f"location.hash = '#/memory/{id}'")
    page.get_by_text("Rests on").or_(page.get_by_role("heading", name="History")).first.wait_for()
    assert page.get_by_role("button", name="Forget").count() == 0
    status = page.evaluate(
        """id => fetch(`/api/v1/memories/${id}/retire`, {method: 'POST', body: '{}', headers: {
        'Content-Type': 'application/json',
        'Authorization': 'Bearer ' + sessionStorage.getItem('anamnesis-session')}})
        .then(answer => answer.status)""",
        id,
    )
    assert status == 403


def test_a_text_that_is_too_long_is_refused_and_not_cut(server: Any, opened: Any) -> None:
    id = server.remember("The ferry log begins in May.")
    page = opened().expects("status of 413").page
    page.evaluate(f"location.hash = '#/memory/{id}'")
    page.get_by_role("button", name="Correct").click()
    page.get_by_label("Text", exact=True).select_text()
    page.keyboard.insert_text("A line of the log. " * 1_200)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("has 22,800 characters, at most 20,000 are allowed").wait_for()
    assert len(page.get_by_label("Text", exact=True).input_value()) == 22_800
    page.get_by_role("button", name="Cancel").click()
    view(page, "chat")
    page.get_by_role("textbox").focus()
    page.keyboard.insert_text("A turn of the chat. " * 1_100)
    page.get_by_role("button", name="Say it").click()
    page.get_by_text("has 22,000 characters, at most 20,000 are allowed").wait_for()
    assert server.call("GET", f"memories/{id}")["state"] == "current"


def test_a_pages_session_ends_with_the_engine(server: Any, opened: Any) -> None:
    page = opened().expects("net::ERR_", sure=False).page
    page.locator(".live.on").wait_for()
    url = page.evaluate("location.origin")
    server.command("engine", "stop")
    page.locator(".live:not(.on)").wait_for()
    assert url
    page.goto(server.address().partition("#")[0])
    page.get_by_text("is not signed in").wait_for()


def test_every_view_opens_without_an_error_in_german_too(server: Any, opened: Any) -> None:
    server.remember("Priya prefers tea over coffee in the morning.", when="2024-03-05")
    german = words("de")
    other = [each for key, each in words("en").items() if each != german[key]]
    other = [each for each in other if each not in german.values() and "{" not in each]
    more = {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}}
    shown = opened(locale="de-DE", **more).expects("status of 404")
    for name in VIEWS:
        view(shown.page, name)
        shown.page.locator("main h1").wait_for()
        shown.page.locator(".loading").first.wait_for(state="detached")
        wide = shown.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{name} is {wide} pixels wide"
        left = shown.page.evaluate(LEFT, other)
        assert left == [], f"{name} says it in English"
        if name == "health":
            shown.page.get_by_role("row", name="März 2024").wait_for()
    shown.page.evaluate("location.hash = '#/memory/00000000000000000000'")
    refused = shown.page.locator("main .problem", has_text="Es ist nicht da oder nicht lesbar.")
    refused.get_by_text("mit Wörtern suchen, um die richtige Id zu finden").wait_for()
    assert shown.page.get_by_role("link", name="Erinnerungen").count() == 1


def test_one_memory_is_told_in_the_singular(server: Any, opened: Any) -> None:
    server.remember("Zadie Quill repairs the clock of the town hall.")
    for locale, one in (("de-DE", "1 Erinnerung"), ("en-GB", "1 memory")):
        page = opened(locale=locale).page
        view(page, "people")
        row = page.locator(".names li", has_text="Zadie Quill")
        row.get_by_text(one, exact=True).wait_for()


def test_words_of_another_language_are_loaded_by_its_readers_alone(
    server: Any, opened: Any
) -> None:
    english = opened(locale="fr-FR")
    page = english.page
    assert page.locator("html").get_attribute("lang") == "en"
    for name in VIEWS:
        view(page, name)
    german = ("words/de.js", "words/said-de.js", "words/said-de-import.js")
    loaded = [each for each in english.asked if "/words/" in each]
    assert [each for each in loaded if each.endswith(german)] == []
    assert [each.rpartition("/")[2] for each in loaded] == ["en.js"]
    page.get_by_label("Language").select_option("de")
    page.locator("h1", has_text="Agenten und Tokens").wait_for()
    assert page.locator("html").get_attribute("lang") == "de"
    assert all(any(each.endswith(file) for each in english.asked) for file in german)
    page.get_by_label("Sprache").select_option("en")
    page.locator("h1", has_text="Agents and tokens").wait_for()
    page.get_by_label("Language").select_option("de")
    page.locator("h1", has_text="Agenten und Tokens").wait_for()
    held: list[Any] = []
    page.route("**/words/de.js", lambda route: held.append(route))
    page.add_init_script(HEADINGS)
    with page.expect_request("**/words/de.js"), page.expect_response("**/api/v1/meta"):
        page.reload()
    held[0].continue_()  # only after the page is signed in
    page.locator("h1", has_text="Agenten und Tokens").wait_for()
    assert page.evaluate("[...shownHeadings]") == ["Agenten und Tokens"]


@pytest.mark.long
def test_a_language_whose_words_do_not_come_leaves_the_page_in_english(opened: Any) -> None:
    shown = opened().expects("net::ERR_FAILED")
    page = shown.page
    page.route("**/words/said-de.js", lambda route: route.abort())
    page.get_by_label("Language").select_option("de")
    page.locator(".messages .problem").wait_for()
    assert page.get_by_label("Language").input_value() == "en"
    page.evaluate("sessionStorage.setItem('anamnesis-language', 'de')")
    page.reload()
    page.get_by_role("heading", name="Now", exact=True).wait_for()


def test_an_attacking_page_reads_and_changes_nothing(
    server: Any, opened: Any, attacker: str
) -> None:
    server.remember("The ferry leaves at nine.")
    before = [each["text"] for each in server.call("GET", "memories")["memories"]]
    refused = ("status of 401", "status of 415", "status of 421", "frame-ancestors 'none'")
    shown = opened().expects("blocked by CORS policy", *refused)
    shown.expects("net::ERR_", "status of 404", sure=False)
    own = shown.page.evaluate("location.origin")
    page = shown.page.context.new_page()
    page.goto(attacker)
    tried = page.evaluate(
        """async own => {
        const ways = [['GET', {}], ['GET', {mode: 'no-cors'}],
          ['POST', {method: 'POST', mode: 'no-cors', body: '{"text": "attack"}'}],
          ['POST', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}]];
        const read = [];
        for (const [, options] of ways)
          for (const path of ['/api/v1/memories', '/ui/session', '/ui/', '/page/activity'])
            read.push(await fetch(own + path, options).then(a => a.text(), () => ''));
        return read; }""",
        own,
    )
    assert tried == [""] * 16
    page.evaluate(
        "own => { const f = document.createElement('iframe'); f.src = own + '/ui/'; "
        "document.body.append(f); return new Promise(go => f.onload = go); }",
        own,
    )
    assert all("Anamnesis" not in (each.title() or "") for each in page.frames[1:])
    rebound = page.goto(own.replace("127.0.0.1", "evil.test") + "/ui/")
    assert rebound.status == 421
    assert [each["text"] for each in server.call("GET", "memories")["memories"]] == before
