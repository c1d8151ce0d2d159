"""The real server and web application with the conformance suite's fixtures registered on top.

Most scenarios of the suite call tools, resources and prompts of given names; a memory has none of
them. This adds them to what `server.protocol.server` and `server.http.app` build, so that every
scored scenario can run against our application. It is never shipped. Run by run.py; by hand:

    python tests/conformance/facade.py DIR
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import warnings
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mcp import MCPDeprecationWarning, MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    AudioContent,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from memory_core.config import Settings
from memory_core.memory import Memory
from server.cli.serve import until_signal
from server.http import listener
from server.http.app import build_app
from server.protocol.sdk import lowlevel
from server.protocol.server import build_server

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
    "rkJggg=="
)
SILENCE = base64.b64encode(
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\2\0\0\0\0\0"
).decode()
NEEDED = -32021
Ctx = Context[Any, Any]


def add_contents(server: MCPServer[Any]) -> None:
    """Tools that answer with each kind of content, and one that fails."""
    image = ImageContent(data=PIXEL, mime_type="image/png")

    def embedded(uri: str, mime: str, text: str) -> EmbeddedResource:
        return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime, text=text))

    @server.tool()
    def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @server.tool(structured_output=False)
    def test_image_content() -> list[ImageContent]:
        return [image]

    @server.tool(structured_output=False)
    def test_audio_content() -> list[AudioContent]:
        return [AudioContent(data=SILENCE, mime_type="audio/wav")]

    @server.tool(structured_output=False)
    def test_embedded_resource() -> list[EmbeddedResource]:
        return [embedded("test://embedded-resource", "text/plain", "An embedded resource.")]

    @server.tool(structured_output=False)
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        mixed = embedded("test://mixed-content-resource", "application/json", '{"value": 123}')
        return [TextContent(text="Several kinds:"), image, mixed]

    @server.tool()
    def test_error_handling() -> str:
        raise RuntimeError("This tool intentionally returns an error for testing")


def add_notifying(server: MCPServer[Any]) -> None:
    """Tools that log, report progress, or change a list."""

    async def logged(ctx: Ctx) -> str:
        for stage in ("started", "in the middle", "completed"):
            await ctx.log("info", f"Tool execution {stage}")
        return "logged"

    server.add_tool(logged, name="test_tool_with_logging")
    server.add_tool(logged, name="test_logging_tool")

    @server.tool()
    async def test_tool_with_progress(ctx: Ctx) -> str:
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"step {done} of 100")
        return "done"

    @server.tool()
    async def test_trigger_tool_change(ctx: Ctx) -> str:
        await ctx.notify_tools_changed()
        return "published"

    @server.tool()
    async def test_trigger_prompt_change(ctx: Ctx) -> str:
        await ctx.notify_prompts_changed()
        return "published"

    async def set_level(_: Any, __: SetLevelRequestParams) -> EmptyResult:
        return EmptyResult()

    lowlevel(server).add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)


class Answer(BaseModel):
    """What a user is asked for."""

    response: str = Field(description="the user's answer")


class Defaults(BaseModel):
    """A default for every primitive type (SEP-1034)."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def titled(*values: str) -> list[dict[str, str]]:
    """Choices with titles, as SEP-1330 has them."""
    return [{"const": value, "title": value.title()} for value in values]


class Choices(BaseModel):
    """Every form of an enumeration (SEP-1330)."""

    untitledSingle: str = Field(json_schema_extra={"enum": ["one", "two", "three"]})
    titledSingle: str = Field(json_schema_extra={"oneOf": titled("one", "two", "three")})  # type: ignore[dict-item]
    legacyEnum: str = Field(json_schema_extra={"enum": ["one", "two"], "enumNames": ["One", "Two"]})
    untitledMulti: list[str] = Field(
        json_schema_extra={"items": {"type": "string", "enum": ["one", "two", "three"]}}
    )
    titledMulti: list[str] = Field(
        json_schema_extra={"items": {"anyOf": titled("one", "two", "three")}}  # type: ignore[dict-item]
    )


def add_asking(server: MCPServer[Any]) -> None:
    """Tools that ask the client back while they run (up to 2025-11-25)."""

    @server.tool()
    async def test_sampling(prompt: str, ctx: Ctx) -> str:
        question = SamplingMessage(role="user", content=TextContent(text=prompt))
        answer = await ctx.session.create_message(
            messages=[question],
            max_tokens=100,
            # else it goes to a stream of its own, which the client may not have opened yet
            related_request_id=ctx.request_id,
        )
        return f"LLM response: {answer.content}"

    async def ask(ctx: Ctx, message: str, form: type[BaseModel]) -> str:
        answer = await ctx.elicit(message, form)
        content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
        return f"User response: action={answer.action}, content={content}"

    @server.tool()
    async def test_elicitation(message: str, ctx: Ctx) -> str:
        return await ask(ctx, message, Answer)

    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: Ctx) -> str:
        return await ask(ctx, "Please fill in", Defaults)

    @server.tool()
    async def test_elicitation_sep1330_enums(ctx: Ctx) -> str:
        return await ask(ctx, "Please choose", Choices)

    @server.tool()
    async def test_missing_capability(ctx: Ctx) -> str:
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            needed = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(code=NEEDED, message="sampling is needed", data=needed)
        return "sampling is declared"


def form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    """A question with one required field."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, tokens: int) -> CreateMessageRequest:
    """A question to the client's model."""
    question = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[question], max_tokens=tokens)
    )


def add_rounds(server: MCPServer[Any]) -> None:
    """Tools and a prompt that need further rounds (2026-07-28, SEP-2322)."""
    name = form("What is your name?", "name")

    def add(tool: str, requests: dict[str, Any], state: str | None, answer: str) -> None:
        async def fixture(ctx: Ctx) -> str | InputRequiredResult:
            given = ctx.input_responses or {}
            if requests.keys() <= given.keys() and (state is None or ctx.request_state == state):
                return f"{answer} {[response.model_dump() for response in given.values()]}"
            return InputRequiredResult(input_requests=requests, request_state=state)

        server.add_tool(fixture, name=f"test_input_required_result_{tool}", structured_output=False)

    add("elicitation", {"user_name": name}, None, "Hello,")
    question = sampling("What is the capital of France?", 100)
    add("sampling", {"capital_question": question}, None, "It said")
    add("list_roots", {"client_roots": ListRootsRequest()}, None, "Roots:")
    confirm = {"confirm": form("Please confirm", "ok", "boolean")}
    add("request_state", confirm, "asked", "state-ok")
    add("tampered_state", confirm, "sealed", "state-ok")
    several = {
        "user_name": name,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": ListRootsRequest(),
    }
    add("multiple_inputs", several, "three", "All there:")

    @server.tool(structured_output=False)
    async def test_input_required_result_multi_round(ctx: Ctx) -> str | InputRequiredResult:
        if ctx.request_state == "second":
            return "done"
        if ctx.request_state == "first":
            color = form("Step 2: What is your favorite color?", "color")
            return InputRequiredResult(input_requests={"step2": color}, request_state="second")
        return InputRequiredResult(
            input_requests={"step1": form("Step 1: What is your name?", "name")},
            request_state="first",
        )

    @server.tool(structured_output=False)
    async def test_input_required_result_capabilities(ctx: Ctx) -> str | InputRequiredResult:
        can = ctx.client_capabilities
        asked: dict[str, Any] = {}
        if can and can.sampling is not None:
            asked["greeting"] = sampling("Generate a greeting", 50)
        if can and can.elicitation is not None:
            asked["user_name"] = name
        return InputRequiredResult(input_requests=asked) if asked else "nothing can be asked"

    @server.tool(structured_output=False)
    async def test_streaming_elicitation(ctx: Ctx) -> str | InputRequiredResult:
        await ctx.report_progress(1, 2, "asking")
        return (
            "thank you"
            if ctx.input_responses
            else InputRequiredResult(input_requests={"user_name": name})
        )

    @server.prompt()
    async def test_input_required_result_prompt(ctx: Ctx) -> Any:
        if ctx.input_responses:
            return [UserMessage("With the context that was given.")]
        asked = form("What context should the prompt use?", "context")
        return InputRequiredResult(input_requests={"user_context": asked})


def add_resources_and_prompts(server: MCPServer[Any]) -> None:
    """Resources and prompts of the names that the suite asks for."""
    image = ImageContent(data=PIXEL, mime_type="image/png")

    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        return "watched"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.prompt()
    def test_simple_prompt() -> list[Any]:
        return [UserMessage("This is a simple prompt for testing.")]

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[Any]:
        return [UserMessage(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:
        resource = TextResourceContents(uri=resourceUri, mime_type="text/plain", text="embedded")
        return [UserMessage(EmbeddedResource(resource=resource)), UserMessage("Process it.")]

    @server.prompt()
    def test_prompt_with_image() -> list[Any]:
        return [UserMessage(image), UserMessage("Look at it.")]


def describe(server: MCPServer[Any]) -> None:
    """Give each fixture the description that the suite asks for."""
    tools, prompts = server._tool_manager.list_tools(), server._prompt_manager.list_prompts()
    for fixture in (*tools, *prompts):
        fixture.description = fixture.description or "A fixture of the conformance suite."


def main() -> None:
    """Serve on a free port of loopback until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, metavar="DIR")
    data = parser.parse_args().data_dir
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    with Memory(Settings(data_dir=data, offline=True)) as memory:
        server = build_server(memory)
        for add in (
            add_contents, add_notifying, add_asking, add_rounds, add_resources_and_prompts
        ):  # fmt: skip
            add(server)
        describe(server)
        socket = listener.bind("127.0.0.1", 0)
        print(f"serving http://127.0.0.1:{socket.getsockname()[1]}/mcp", file=sys.stderr)
        end = listener.begin(build_app(server, tokens=None), socket)
        until_signal()
        end()


if __name__ == "__main__":
    main()
