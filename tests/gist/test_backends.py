"""What every backend does, over real sockets and through the vendors' own clients."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from memory_core.config import Settings
from memory_core.gist import http_client, prompts
from memory_core.gist.base import AnswerFailure, Fact, GistEncoder, InputTurn, ServiceFailure, Usage
from memory_core.gist.encoder import choose

TURNS = [
    InputTurn("The staging database moved to port 5433.", "Lena", "user", 1_717_200_000.0),
    InputTurn("Noted. She likes it?", "", "assistant", 1_717_200_060.0),
]
BEFORE = [InputTurn("Mira asked about the database.", "Lena", "user", 1_717_199_000.0)]

GOOD = {
    "turns": [
        {
            "turn": 2,
            "gist": " Lena says that the staging database is on port 5433. ",
            "tags": ["Staging", "database", "staging"],
            "topic": "infrastructure",
            "entities": ["Lena"],
            "importance": 1.4,
        },
        {"turn": 3, "gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.1},
    ],
    "facts": [
        {
            "text": "Lena's staging database listens on port 5433.",
            "kind": "fact",
            "importance": 0.8,
            "topic": "infrastructure",
            "entities": ["Lena"],
            "sources": [2, 1, 2],
        },
        {
            "text": "It rests on nothing new.",
            "kind": "fact",
            "importance": 0.8,
            "topic": "",
            "entities": [],
            "sources": [1],
        },
        {
            "text": "It rests on a turn that was not shown.",
            "kind": "event",
            "importance": 0.8,
            "topic": "",
            "entities": [],
            "sources": [2, 9],
        },
    ],
}


def test_a_good_answer_comes_back_checked_and_counted(encoder: GistEncoder, server: Any) -> None:
    server.say = lambda data: GOOD
    made = encoder.encode(TURNS, BEFORE)
    first, second = made.gists
    assert first.gist == "Lena says that the staging database is on port 5433."
    assert first.keywords == ("staging", "database")
    assert (first.importance, second.importance) == (1.0, 0.1)
    assert made.facts == (
        Fact(
            "Lena's staging database listens on port 5433.",
            "fact",
            (0, 1),
            0.8,
            "infrastructure",
            ("Lena",),
        ),
    )
    assert made.usage == Usage(111, 20)


def test_turns_go_out_as_quoted_data_with_numbers_and_dates(
    encoder: GistEncoder, server: Any
) -> None:
    encoder.encode(TURNS, BEFORE)
    (asked,) = server.asked
    assert [turn["turn"] for turn in asked.data["context"]] == [1]
    assert asked.data["turns"][0] == {
        "turn": 2,
        "date": "Saturday 2024-06-01 00:00",
        "speaker": "Lena",
        "role": "user",
        "text": "The staging database moved to port 5433.",
    }
    assert asked.system == prompts.ENCODE
    assert "5433" not in asked.system


def test_the_answer_is_held_to_the_schema(encoder: GistEncoder, backend: str, server: Any) -> None:
    encoder.encode(TURNS)
    body = server.asked[0].body
    if backend == "claude":
        (tool,) = body["tools"]
        shape = tool["input_schema"]
        assert tool["strict"] is True
        assert body["tool_choice"]["name"] == tool["name"]
        assert body["tool_choice"]["type"] == "tool"
        assert tool["cache_control"] == body["system"][0]["cache_control"] == {"type": "ephemeral"}
    elif backend == "ollama":
        shape = body["format"]
        assert (body["stream"], body["options"]["temperature"]) == (False, 0)
        assert (
            body["options"]["num_ctx"] > len(prompts.ENCODE) // 4 + body["options"]["num_predict"]
        )
    else:
        shape = body["response_format"]["json_schema"]["schema"]
        assert body["response_format"]["json_schema"]["strict"] is True
    jsonschema.Draft202012Validator.check_schema(shape)
    jsonschema.validate({**GOOD}, shape)
    assert "$ref" not in json.dumps(shape)


def test_keys_are_sent_by_the_vendors_headers_only(
    encoder: GistEncoder, backend: str, server: Any
) -> None:
    encoder.encode(TURNS)
    headers = {name.lower(): value for name, value in server.asked[0].headers.items()}
    if backend == "claude":
        assert headers["authorization"] == "Bearer sk-ant-test-0001"  # as its client does
    if backend == "openai":
        assert headers["authorization"] == "Bearer sk-test-0002"
    if backend == "ollama":
        assert not {"authorization", "x-api-key"} & headers.keys()
    assert "sk-" not in json.dumps(server.asked[0].body)


def test_summaries_and_relations(encoder: GistEncoder, server: Any) -> None:
    server.judges = True
    assert encoder.summarise(["Ann moved to Bern.", "It rained."], 2).text == "Ann moved to Bern."
    found = encoder.relate("The port is 5432.", "The port is 5433.")
    assert (found.relation, found.detail) == ("updates", "the number")
    assert server.asked[0].data["sentences"] == 2


@pytest.mark.parametrize(
    ("trouble", "lasting", "retry_after", "said", "fix"),
    [
        ({"status": 401}, True, None, "401", "key"),
        ({"status": 403}, True, None, "403", "key"),
        ({"status": 404}, True, None, "404", "encoder_model"),
        ({"status": 308}, True, None, "308", "encoder_url"),
        ({"status": 429, "headers": {"retry-after": "37"}}, False, 37.0, "429", "again"),
        ({"status": 500}, False, None, "500", "again"),
        ({"status": 529}, False, None, "529", "again"),
        ({"close_after": 40}, False, None, "does not answer", "encoder_url"),
        ({"close_after": 0}, False, None, "does not answer", "encoder_url"),
    ],
    ids=["401", "403", "404", "308", "429", "500", "529", "closed half-way", "closed at once"],
)
def test_a_service_that_fails(
    encoder: GistEncoder,
    backend: str,
    server: Any,
    spoken: Any,
    trouble: dict[str, Any],
    lasting: bool,
    retry_after: float | None,
    said: str,
    fix: str,
) -> None:
    server.say = lambda data: spoken(**trouble)
    with pytest.raises(ServiceFailure) as failure:
        encoder.encode(TURNS)
    assert (failure.value.lasting, said in failure.value.problem) == (lasting, True)
    assert fix in failure.value.next_step
    assert failure.value.retry_after == retry_after
    assert len(server.asked) == 1  # the vendors' own retries are off


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ({"refuses": True}, ""),
        ({"cut_off": True, "text": '{"turns": ['}, "cut off"),
        ({"text": "Sure! Here are the facts:"}, ""),
        ({"text": '{"turns": [], "facts": [], "advice": "delete everything"}'}, ""),
        ({"text": '{"turns": [], "facts": []}'}, ""),
        ({"text": "[" * 100_000}, ""),
        ({"raw": b"<html>gateway</html>"}, ""),
        ({"raw": b"[]"}, ""),
        ({"raw": b"\xff\xfe\x00"}, ""),
        ({"raw": b"[" * 100_000}, ""),
        ({"status": 400}, "400"),
    ],
    ids=[
        "refusal",
        "truncated",
        "prose",
        "wrong schema",
        "turns left out",
        "deep",
        "html",
        "a list",
        "no text",
        "a deep body",
        "400",
    ],
)
def test_an_answer_that_is_unusable(
    encoder: GistEncoder, server: Any, spoken: Any, trouble: dict[str, Any], said: str
) -> None:
    server.say = lambda data: spoken(**trouble)
    with pytest.raises(AnswerFailure) as failure:
        encoder.encode(TURNS)
    assert said in failure.value.problem
    assert failure.value.next_step


def test_what_an_unusable_answer_took_is_known(
    encoder: GistEncoder, server: Any, spoken: Any
) -> None:
    server.say = lambda data: spoken(cut_off=True, text='{"turns": [')
    with pytest.raises(AnswerFailure) as failure:
        encoder.encode(TURNS)
    assert failure.value.usage == Usage(111, 20)


@pytest.mark.parametrize(
    ("raw", "headers"),
    [
        (b" " * (http_client.MOST_BYTES + 1) + b"{}", {}),
        (gzip.compress(b" " * 10**6), {"Content-Encoding": "gzip"}),
    ],
    ids=["too long", "a bomb"],
)
def test_an_enormous_answer_is_not_read(
    encoder: GistEncoder, server: Any, spoken: Any, raw: bytes, headers: dict[str, str]
) -> None:
    server.say = lambda data: spoken(raw=raw, headers=headers)
    with pytest.raises(ServiceFailure, match=r"bytes|compressed"):
        encoder.encode(TURNS)


def test_a_slow_answer_is_given_up(
    backend: str, server: Any, spoken: Any, chosen: Callable[..., dict[str, Any]]
) -> None:
    server.say = lambda data: spoken(waits=True)
    encoder = choose(Settings(**chosen(backend)), timeout_seconds=0.2)
    with pytest.raises(ServiceFailure, match="does not answer"):
        encoder.encode(TURNS)


@pytest.mark.usefixtures("processes")
def test_nobody_listens(backend: str, chosen: Callable[..., dict[str, Any]]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    encoder = choose(Settings(**(chosen(backend) | {"encoder_url": url})))
    with pytest.raises(ServiceFailure, match="does not answer"):
        encoder.encode(TURNS)


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"encoder": "claude"}, "ANTHROPIC_API_KEY"),
        ({"encoder": "openai", "encoder_model": "gpt"}, "OPENAI_API_KEY"),
        ({"encoder": "openai", "encoder_url": "http://127.0.0.1:9"}, "ANAMNESIS_ENCODER_MODEL"),
    ],
)
def test_what_is_missing_is_named_without_a_call(settings: dict[str, Any], fix: str) -> None:
    with pytest.raises(ServiceFailure) as failure:
        choose(Settings(**settings)).encode(TURNS)
    assert fix in failure.value.next_step
    assert failure.value.lasting


def test_a_model_that_takes_no_force_is_asked_again_without(
    server: Any, spoken: Any, chosen: Callable[..., dict[str, Any]]
) -> None:
    detail = {"type": "invalid_request_error", "message": "tool_choice: forced use is not allowed"}
    refusal = json.dumps({"type": "error", "error": detail}).encode()

    def say(data: dict[str, Any]) -> Any:
        forced = "tool_choice" in server.asked[-1].body
        return spoken(status=400, raw=refusal) if forced else GOOD

    server.say = say
    encoder = choose(Settings(**chosen("claude")))
    assert encoder.encode(TURNS, BEFORE).facts
    assert encoder.encode(TURNS, BEFORE).facts
    assert ["tool_choice" in asked.body for asked in server.asked] == [True, False, False]


def test_the_keys_of_an_error_are_masked_and_it_is_short() -> None:
    key = "sk-ant-api03-" + "a1B2" * 24
    problem = http_client.refused("Somebody", 401, f"invalid key {key} " + "x" * 900, None).problem
    assert key not in problem
    assert len(problem) < 300


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("", None), ("5", 5.0), ("-3", 0.0), ("1e9", 3600.0), ("soon", None)],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert http_client.seconds(header) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert http_client.seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert http_client.seconds("Wed, 21 Oct 2099 07:28:00 GMT") == 3600.0
