"""Wrapped clients of openai and anthropic against a stand-in for the model."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import inspect
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import pytest

import anamnesis
from anamnesis import AsyncMemory, InvalidInput, Memory, ScopeDenied
from memory_core.memory import Memory as Facade
from tests.anamnesis.stand_in import SAID

FACT = "The heron Alfred sleeps in the boathouse at Millbrook."
PROMPT = "The heron Alfred hurt its left wing today. Where does it sleep at Millbrook?"
SECOND = "And what does the heron Alfred of Millbrook eat on Sundays?"
KEY = "sk-test-0000"
DARK = "it is dark"


@pytest.fixture
def own(memory: Facade) -> Memory:
    one = Memory.of(memory, anamnesis.Identity("ann"))
    one.remember(FACT)
    return one


Wrap = Callable[..., Any]


@pytest.fixture
def wrap(own: Memory) -> Iterator[Wrap]:
    """Wraps a client, which is closed at the end."""
    with contextlib.ExitStack() as open_ones:

        def wrapped(client: Any, memory: Memory = own, **more: Any) -> Any:
            return open_ones.enter_context(anamnesis.wrap(client, memory, **more))

        yield wrapped


def chatting(model: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=f"{model.url}/v1", max_retries=0)


def claude(model: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=KEY, base_url=model.url, max_retries=0)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def create(client: Any, turns: list[Any]) -> str:
    done = client.chat.completions.create(model="m", messages=turns)
    return str(done.choices[0].message.content)


def create_streamed(client: Any, turns: list[Any]) -> str:
    parts = client.chat.completions.create(model="m", messages=turns, stream=True)
    return "".join(part.choices[0].delta.content or "" for part in parts)


def stream_helper(client: Any, turns: list[Any]) -> str:
    with client.chat.completions.stream(model="m", messages=turns) as stream:
        stream.until_done()
        return str(stream.get_final_completion().choices[0].message.content)


def raw(client: Any, turns: list[Any]) -> str:
    done = client.chat.completions.with_raw_response.create(model="m", messages=turns)
    return str(done.parse().choices[0].message.content)


def responses(client: Any, turns: list[Any]) -> str:
    return str(client.responses.create(model="m", input=turns).output_text)


def responses_streamed(client: Any, turns: list[Any]) -> str:
    events = list(client.responses.create(model="m", input=turns, stream=True))
    return str(events[-1].response.output_text)


def messages(client: Any, turns: list[Any]) -> str:
    return str(client.messages.create(model="m", max_tokens=9, messages=turns).content[0].text)


def messages_streamed(client: Any, turns: list[Any]) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=turns) as stream:
        return str(stream.get_final_text())


class Where(pydantic.BaseModel):
    """What a parsed answer holds."""

    place: str


def parse(client: Any, turns: list[Any]) -> str:
    done = client.chat.completions.parse(model="m", messages=turns, response_format=Where)
    return str(done.choices[0].message.parsed.place)


def responses_parse(client: Any, turns: list[Any]) -> str:
    done = client.responses.parse(model="m", input=turns, text_format=Where)
    return str(done.output_parsed.place)


def responses_stream_helper(client: Any, turns: list[Any]) -> str:
    with client.responses.stream(model="m", input=turns) as stream:
        return str(stream.get_final_response().output_text)


def messages_raw(client: Any, turns: list[Any]) -> str:
    done = client.messages.with_raw_response.create(model="m", max_tokens=9, messages=turns)
    return str(done.parse().content[0].text)


def messages_parse(client: Any, turns: list[Any]) -> str:
    done = client.messages.parse(model="m", max_tokens=9, messages=turns, output_format=Where)
    return str(done.parsed_output.place)


WAYS: list[tuple[Callable[..., Any], Callable[[Any, list[Any]], str]]] = [
    (chatting, create),
    (chatting, create_streamed),
    (chatting, stream_helper),
    (chatting, raw),
    (chatting, responses),
    (chatting, responses_streamed),
    (chatting, responses_stream_helper),
    (chatting, parse),
    (chatting, responses_parse),
    (claude, messages),
    (claude, messages_streamed),
    (claude, messages_raw),
    (claude, messages_parse),
]
PARSED = {parse, responses_parse, messages_parse}


def kept(own: Memory) -> dict[str, str]:
    """What was captured, by role."""
    return {memory.role: memory.text for memory in own.listing(limit=50) if memory.role}


@pytest.mark.parametrize(("made", "call"), WAYS, ids=lambda way: way.__name__)
def test_a_turn_is_told_what_it_brings_to_mind_and_is_kept(
    made: Callable[..., Any], call: Any, own: Memory, wrap: Wrap, model: Any
) -> None:
    bare = made(model)
    client = wrap(bare)
    assert type(client) is type(bare)
    if call in PARSED:
        model.said = json.dumps({"place": SAID})
    assert call(client, [user(PROMPT)]).strip() == SAID
    (turn,) = model.last.get("messages") or model.last["input"]
    assert turn["content"].startswith(PROMPT + "\n\n")
    assert FACT in turn["content"]
    client._client._transport._companion.flush()
    said = kept(own)
    assert said.pop("user") == PROMPT
    if call not in PARSED:  # what holds for a program alone is not kept
        assert {role: text.strip() for role, text in said.items()} == {"assistant": SAID}
    call(bare, [user(PROMPT)])
    assert FACT not in json.dumps(model.last), "the client that was given is as it was"
    first = model.bodies[0]
    answered = {"role": "assistant", "content": SAID}
    call(client, [user(PROMPT), answered, user(SECOND)])
    turns = model.last.get("messages") or model.last["input"]
    assert turns[0] == (json.loads(first).get("messages") or json.loads(first)["input"])[0]


def test_twenty_turns_keep_the_prefix_byte_for_byte(own: Memory, wrap: Wrap, model: Any) -> None:
    client = wrap(chatting(model))
    turns: list[Any] = []
    for number in range(20):
        own.remember(f"The heron Alfred caught eel number {number} at Millbrook.")
        turns.append(user(f"Which eel, number {number}, did the heron Alfred catch at Millbrook?"))
        turns.append({"role": "assistant", "content": create(client, turns)})
    starts = [body[: body.index(b"]")] for body in model.bodies]
    assert all(later.startswith(earlier[:-1]) for earlier, later in itertools.pairwise(starts))
    assert sum(b"<recalled-" in body for body in model.bodies) > 10


def chat_loop(client: Any, stream: bool = False) -> str:
    turns: list[Any] = [user(PROMPT)]
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    while True:
        given: dict[str, Any] = {"model": "m", "messages": turns, "tools": [tool]}
        if stream:
            with client.chat.completions.stream(**given) as events:
                said = events.get_final_completion().choices[0].message
        else:
            said = client.chat.completions.create(**given).choices[0].message
        if not said.tool_calls:
            return str(said.content)
        turns.append(said.to_dict())
        for call in said.tool_calls:
            turns.append({"role": "tool", "tool_call_id": call.id, "content": DARK})


def chat_loop_streamed(client: Any) -> str:
    return chat_loop(client, stream=True)


def response_loop(client: Any, kept: bool = False) -> str:
    """With *kept* the service holds the conversation, else each request has the whole of it."""
    given: list[Any] = [user(PROMPT)]
    more: dict[str, Any] = {}
    while True:
        done = client.responses.create(model="m", input=given, **more)
        calls = [item for item in done.output if item.type == "function_call"]
        if not calls:
            return str(done.output_text)
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": DARK}
            for call in calls
        ]
        if kept:
            given, more = results, {"previous_response_id": done.id}
        else:
            given += [item.to_dict() for item in done.output] + results


def response_loop_kept(client: Any) -> str:
    return response_loop(client, kept=True)


def message_loop(client: Any) -> str:
    turns: list[Any] = [user(PROMPT)]
    while True:
        done = client.messages.create(model="m", max_tokens=9, messages=turns)
        turns.append({"role": "assistant", "content": [part.to_dict() for part in done.content]})
        if done.stop_reason != "tool_use":
            return str(done.content[0].text)
        result = {"type": "tool_result", "tool_use_id": done.content[0].id, "content": DARK}
        turns.append({"role": "user", "content": [result]})


@anthropic.beta_tool
def look() -> str:
    """Look out of the window."""
    return DARK


def runner(client: Any) -> str:
    given: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [user(PROMPT)]}
    done = client.beta.messages.tool_runner(tools=[look], **given).until_done()
    return str(done.content[0].text)


def runner_streamed(client: Any) -> str:
    given: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [user(PROMPT)]}
    streams = client.beta.messages.tool_runner(tools=[look], stream=True, **given)
    return str([stream.get_final_message() for stream in streams][-1].content[0].text)


LOOPS: list[tuple[Callable[..., Any], Callable[[Any], str]]] = [
    (chatting, chat_loop),
    (chatting, chat_loop_streamed),
    (chatting, response_loop),
    (chatting, response_loop_kept),
    (claude, message_loop),
    (claude, runner),
    (claude, runner_streamed),
]


def one_turn(model: Any, own: Memory, requests: int) -> None:
    """The *requests* of a loop held one turn of the user, told and kept once."""
    told = [json.loads(body) for body in model.bodies]
    assert len(told) == requests
    turns = [body.get("messages") or body["input"] for body in told]
    words = [text_of(turns[0][0])] * requests
    if "previous_response_id" in told[-1] or "thread" in told[-1]:  # the service has the rest
        words[1:] = [""] * (requests - 1)
    assert [text_of(each[0]) for each in turns] == words
    assert [json.dumps(each).count("<recalled-") for each in turns] == [bool(w) for w in words]
    said = [(memory.role, memory.text.strip()) for memory in own.listing(limit=50) if memory.role]
    assert sorted(said) == [("assistant", SAID), ("user", PROMPT)]
    assert len({memory.session for memory in own.listing(limit=50) if memory.role}) == 1


def text_of(turn: dict[str, Any]) -> str:
    """The words of a turn, "" of one that returns what a tool did."""
    content = turn.get("content", "")
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if "text" in part)


@pytest.mark.parametrize(("made", "loop"), LOOPS, ids=lambda each: each.__name__)
def test_a_loop_of_tools_is_one_turn(
    made: Callable[..., Any], loop: Any, own: Memory, wrap: Wrap, model: Any
) -> None:
    client = wrap(made(model))
    model.tools = 2
    assert loop(client).strip() == SAID
    client._client._transport._companion.flush()
    one_turn(model, own, 3)


def test_a_conversation_that_the_service_holds_is_one(own: Memory, wrap: Wrap, model: Any) -> None:
    client = wrap(chatting(model))
    ways: list[Callable[[str], dict[str, Any]]] = [
        lambda last: {"previous_response_id": last} if last else {},
        lambda last: {"conversation": "conv_7"},
        lambda last: {"conversation": {"id": "conv_8"}, "stream": True},
    ]
    for number, about in enumerate(ways):
        last = ""
        for question in (f"{PROMPT} That is heron {number}.", f"It ate {number}7 eels on Sunday."):
            done: Any = client.responses.create(model="m", input=question, **about(last))
            last = done.id if hasattr(done, "id") else list(done)[-1].response.id
            assert model.last["input"].startswith(question)
    client._client._transport._companion.flush()
    turns = [memory for memory in own.listing(limit=50) if memory.role == "user"]
    sessions = [{turn.session for turn in turns if f"{n}" in turn.text} for n in range(3)]
    assert [len(each) for each in sessions] == [1, 1, 1]
    assert len(set.union(*sessions)) == 3
    assert all(len([t for t in turns if t.session in each]) == 2 for each in sessions)


def test_an_answer_for_which_the_service_searched_is_kept(
    own: Memory, wrap: Wrap, model: Any
) -> None:
    client = wrap(chatting(model))
    model.searches = True
    assert responses(client, [user(PROMPT)]) == SAID
    client._client._transport._companion.flush()
    assert kept(own)["assistant"] == SAID


def test_what_begins_like_an_earlier_conversation_is_told_again(
    own: Memory, wrap: Wrap, model: Any
) -> None:
    client = wrap(chatting(model))
    said = {
        "It waits by the weir.": "The heron Alfred of Millbrook ate two eels on Sunday.",
        "It stands in the reeds.": "The heron Alfred of Millbrook caught four frogs at noon.",
    }
    for model.said in said:
        create(client, [user(PROMPT)])
        client._client._transport._companion.flush()
    assert [FACT in body.decode() for body in model.bodies] == [True, True]
    firsts = [json.loads(body)["messages"][0] for body in model.bodies]
    own.remember("The heron Alfred of Millbrook eats eels on Sundays.")
    for (answer, more), first in zip(said.items(), firsts, strict=True):
        create(client, [user(PROMPT), {"role": "assistant", "content": answer}, user(more)])
        assert model.last["messages"][0] == first, "each goes on with what it was told"
    client._client._transport._companion.flush()
    sessions = {memory.text: memory.session for memory in own.listing(limit=50)}
    assert len({sessions[answer] for answer in said}) == 2
    assert all(sessions[answer] == sessions[more] for answer, more in said.items())


def test_a_turn_that_is_asked_again_is_told_as_before(own: Memory, wrap: Wrap, model: Any) -> None:
    client = wrap(chatting(model), session="pond")
    for _ in range(2):
        create(client, [user(PROMPT)])
        client._client._transport._companion.flush()
    assert FACT.encode() in model.bodies[0]
    assert model.bodies[0] == model.bodies[1]


@pytest.mark.parametrize("call", [create, create_streamed, responses_streamed])
def test_an_answer_may_hold_every_character(own: Memory, wrap: Wrap, model: Any, call: Any) -> None:
    """Some end a line for str.splitlines, and none of a stream of events."""
    client = wrap(chatting(model))
    model.said = "It waits\u2028by the\u2029weir,\u0085quietly."
    assert call(client, [user(PROMPT)]).strip() == model.said
    client._client._transport._companion.flush()
    assert kept(own)["assistant"].strip() == model.said


def zipped(request: httpx2.Request) -> httpx2.Response:
    """What a mocked transport answers: it is read when it is made."""
    message = {"role": "assistant", "content": SAID}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    packed = gzip.compress(json.dumps(body).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    return httpx2.Response(200, headers=headers, content=packed)


def test_an_answer_that_was_read_before_is_passed_on_and_kept(
    own: Memory, wrap: Wrap, model: Any
) -> None:
    mocked = httpx2.Client(transport=httpx2.MockTransport(zipped))
    hooked = httpx2.Client(event_hooks={"response": [httpx2.Response.read]})
    model.said = "The heron of Millbrook stands on one leg behind the mill."
    for http, said in ((mocked, SAID), (hooked, model.said)):
        client = wrap(openai.OpenAI(api_key=KEY, base_url=f"{model.url}/v1", http_client=http))
        assert create(client, [user(PROMPT)]).strip() == said
        client._client._transport._companion.flush()
    answers = [each.text.strip() for each in own.listing(limit=50) if each.role == "assistant"]
    assert sorted(answers) == sorted([SAID, model.said])


def test_an_answer_that_an_async_transport_read_is_passed_on(own: Memory, wrap: Wrap) -> None:
    async def ask() -> str:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(zipped))
        async with anamnesis.wrap(openai.AsyncOpenAI(api_key=KEY, http_client=http), own) as client:
            done = await client.chat.completions.create(model="m", messages=[user(PROMPT)])  # type: ignore[list-item]
        return str(done.choices[0].message.content)

    assert asyncio.run(ask()) == SAID
    assert kept(own)["assistant"] == SAID


@pytest.mark.parametrize("later", [False, True])
def test_what_the_clients_own_requests_begin_with_is_kept(
    later: bool, own: Memory, model: Any
) -> None:
    same: dict[str, Any] = {
        "headers": {"X-Org": "acme"},
        "params": {"tenant": "north"},
        "cookies": {"lb": "7"},
    }
    made: dict[str, Any] = {"api_key": KEY, "base_url": f"{model.url}/v1"}

    async def ask() -> None:
        client = openai.AsyncOpenAI(http_client=openai.DefaultAsyncHttpxClient(**same), **made)
        async with anamnesis.wrap(client, own) as wrapped:
            await wrapped.chat.completions.create(model="m", messages=[user(PROMPT)])  # type: ignore[list-item]

    if later:
        asyncio.run(ask())
    else:
        client = openai.OpenAI(http_client=openai.DefaultHttpxClient(**same), **made)
        with anamnesis.wrap(client, own) as wrapped:
            create(wrapped, [user(PROMPT)])
    sent = model.headers[0]
    assert (sent["x-org"], sent["cookie"]) == ("acme", "lb=7")
    assert model.paths[0].endswith("?tenant=north")
    assert FACT in model.bodies[0].decode()


def test_an_answer_whose_end_was_not_seen_is_not_kept(own: Memory, wrap: Wrap, model: Any) -> None:
    client = wrap(chatting(model))
    model.breaks = True
    create_streamed(client, [user(PROMPT)])
    model.breaks, model.status = False, 500
    with pytest.raises(openai.InternalServerError):
        create(client, [user(SECOND)])
    client._client._transport._companion.flush()  # type: ignore[attr-defined]
    assert "assistant" not in kept(own)


def test_memory_never_fails_a_call(own: Memory, wrap: Wrap, model: Any, caplog: Any) -> None:
    client = wrap(chatting(model))
    own.close()
    assert create(client, [user(PROMPT)]) == SAID
    assert model.last["messages"] == [user(PROMPT)]
    assert "goes on without memory" in caplog.text
    assert PROMPT not in caplog.text


def test_a_call_names_its_conversation_and_agent_to_nobody_else(
    own: Memory, wrap: Wrap, model: Any
) -> None:
    client = wrap(chatting(model))
    about = {"X-Anamnesis-Session": "chat 7", "X-Anamnesis-Agent": "ben"}
    client.chat.completions.create(model="m", messages=[user(PROMPT)], extra_headers=about)  # type: ignore[list-item]
    assert not [name for name in model.headers[0] if "anamnesis" in name]
    assert model.headers[0]["authorization"] == f"Bearer {KEY}"
    ben = Memory.of(own.facade, anamnesis.Identity("ben"))
    client._client._transport._companion.flush()
    assert {(m.session, m.text) for m in ben.listing()} == {("chat 7", PROMPT), ("chat 7", SAID)}
    assert FACT not in model.bodies[0].decode(), "what is ann's alone"


def test_what_asks_nothing_is_sent_as_it_is(own: Memory, wrap: Wrap, model: Any) -> None:
    client = wrap(chatting(model))
    create(client, [user("ok go ahead")])
    create(chatting(model), [user("ok go ahead")])
    assert model.bodies[0] == model.bodies[1]


async def later(call: Any) -> Any:
    """What *call* gives in the end: awaited, and a stream read to its end."""
    done = await call if inspect.isawaitable(call) else call
    if hasattr(done, "__aenter__") and not hasattr(done, "__aiter__"):
        async with done as stream:
            await stream.until_done()
    elif hasattr(done, "__aiter__"):
        return [part async for part in done]
    return done


async def play_later(made: Any, model: Any, own: Memory, call: Callable[[Any], Any]) -> None:
    memory = await AsyncMemory._over(lambda: own)
    async with anamnesis.wrap(made, memory) as client:
        await later(call(client))


@anthropic.beta_async_tool(name="look")
async def look_later() -> str:
    """Look out of the window."""
    return DARK


HELD: dict[str, Any] = {"model": "m", "messages": [user(PROMPT)]}
CLAUDE: dict[str, Any] = {**HELD, "max_tokens": 9}
LATER: dict[str, Callable[[Any], Any]] = {
    "create": lambda c: c.chat.completions.create(**HELD),
    "create streamed": lambda c: c.chat.completions.create(stream=True, **HELD),
    "stream": lambda c: c.chat.completions.stream(**HELD),
    "raw": lambda c: c.chat.completions.with_raw_response.create(**HELD),
    "parse": lambda c: c.chat.completions.parse(response_format=Where, **HELD),
    "responses": lambda c: c.responses.create(model="m", input=PROMPT),
    "responses stream": lambda c: c.responses.stream(model="m", input=PROMPT),
    "responses parse": lambda c: c.responses.parse(model="m", input=PROMPT, text_format=Where),
    "messages": lambda c: c.messages.create(**CLAUDE),
    "messages stream": lambda c: c.messages.stream(**CLAUDE),
    "messages raw": lambda c: c.messages.with_raw_response.create(**CLAUDE),
    "tool runner": lambda c: c.beta.messages.tool_runner(tools=[look_later], **CLAUDE).until_done(),
}


@pytest.mark.parametrize("way", LATER)
def test_asynchronous_clients_are_wrapped_too(way: str, own: Memory, model: Any) -> None:
    is_claude = way.startswith(("messages", "tool"))
    made: Any = anthropic.AsyncAnthropic(api_key=KEY, base_url=model.url, max_retries=0)
    if not is_claude:
        made = openai.AsyncOpenAI(api_key=KEY, base_url=f"{model.url}/v1", max_retries=0)
    is_parsed = way.endswith("parse")
    model.said = json.dumps({"place": SAID}) if is_parsed else SAID
    model.tools = int(way == "tool runner")
    asyncio.run(play_later(made, model, own, LATER[way]))
    assert FACT in model.bodies[0].decode()
    said = {memory.role: memory.text.strip() for memory in own.listing(limit=9) if memory.role}
    assert said == {"user": PROMPT} | ({} if is_parsed else {"assistant": SAID})


@pytest.mark.parametrize("thing", [object(), httpx2.Client()])
def test_anything_else_is_refused(thing: Any, own: Memory) -> None:
    with pytest.raises(InvalidInput, match="cannot wrap"):
        anamnesis.wrap(thing, own)


def test_a_memory_over_rest_recalls_and_keeps_too(
    own: Memory, wrap: Wrap, model: Any, url: str, tokens: Any, caplog: Any
) -> None:
    with Memory.connect(url, tokens.add("ann", "", ("read", "write"))) as far:
        client = wrap(chatting(model), far, session="pond")
        assert create(client, [user(PROMPT)]) == SAID
        client.chat.completions.create(
            model="m",
            messages=[user(SECOND)],  # type: ignore[list-item]
            extra_headers={"X-Anamnesis-Agent": "ben"},
        )
        client._client._transport._companion.flush()
    assert [FACT in body.decode() for body in model.bodies] == [True, False]
    assert "without memory: ScopeDenied" in caplog.text
    assert {(m.session, m.text) for m in own.listing(limit=9) if m.role} == {
        ("pond", PROMPT),
        ("pond", SAID),
    }
    with Memory.connect(url, tokens.add("ann", "", ("read",))) as far, pytest.raises(ScopeDenied):
        wrap(chatting(model), far)
