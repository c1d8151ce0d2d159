"""The memory tool of the Anthropic API, driven by the package's own tool runner."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import ToolError

from anamnesis import Identity, Memory
from anamnesis.adapters.memory_tool import AsyncMemoryTool, MemoryTool
from memory_core.memory import Memory as Facade
from tests.anamnesis.stand_in import SAID

NOTES = "# Boats\nThe punt is green.\n\nThe dinghy is red.\n"
PATH = "/memories/boats/notes.md"


@pytest.fixture
def tool(own: Memory) -> MemoryTool:
    return MemoryTool(own)


def do(tool: MemoryTool, command: str, **given: Any) -> str:
    return str(tool.call({"command": command, **given}))


def refused(tool: MemoryTool, command: str, **given: Any) -> str:
    with pytest.raises(ToolError) as caught:
        do(tool, command, **given)
    return str(caught.value.content)


def test_six_commands(tool: MemoryTool, own: Memory) -> None:
    assert do(tool, "view", path="/memories").endswith("0B\t/memories")
    assert PATH in do(tool, "create", path=PATH, file_text=NOTES)
    assert "already exists" in refused(tool, "create", path=PATH, file_text="x")
    shown = do(tool, "view", path=PATH)
    numbered = [line.split("\t") for line in shown.splitlines()[1:]]
    assert [(int(n), text) for n, text in numbered] == list(enumerate(NOTES.split("\n"), 1))
    assert do(tool, "view", path=PATH, view_range=[2, 2]).endswith("2\tThe punt is green.")
    done = do(tool, "str_replace", path=PATH, old_str="green", new_str="blue")
    assert "2\tThe punt is blue." in done
    assert "did not appear" in refused(tool, "str_replace", path=PATH, old_str="x9", new_str="y")
    assert "lines: 2, 4" in refused(tool, "str_replace", path=PATH, old_str="is", new_str="was")
    do(tool, "insert", path=PATH, insert_line=1, insert_text="Two of them.")
    assert "[0, 5]" in refused(tool, "insert", path=PATH, insert_line=6, insert_text="x")
    moved = "/memories/old/notes.md"
    do(tool, "rename", old_path="/memories/boats", new_path="/memories/old")
    assert "does not exist" in refused(tool, "view", path=PATH)
    changed = "# Boats\nTwo of them.\nThe punt is blue.\n\nThe dinghy is red.\n"
    assert tool._files.get(moved).text == changed  # type: ignore[union-attr]
    listed = do(tool, "view", path="/memories")
    assert listed.splitlines()[1:] == [
        "59B\t/memories", "59B\t/memories/old/", "59B\t/memories/old/notes.md"
    ]  # fmt: skip
    assert own.recall("the punt is blue").hits[0].memory.source == f"memory-tool:{moved}"
    do(tool, "delete", path="/memories/old")
    assert "does not exist" in refused(tool, "delete", path=moved)
    assert do(tool, "view", path="/memories").endswith("0B\t/memories")


def test_deletion_retires_and_a_file_of_the_same_name_is_a_new_one(
    tool: MemoryTool, own: Memory
) -> None:
    do(tool, "create", path=PATH, file_text=NOTES)
    first = tool._files.get(PATH)
    assert first is not None
    do(tool, "delete", path=PATH)
    assert own.get(first.id).text.endswith(NOTES)
    assert own.get(first.id).retired_at is not None
    do(tool, "create", path=PATH, file_text=NOTES)
    again = tool._files.get(PATH)
    assert again is not None
    assert (again.text, again.id != first.id) == (NOTES, True)
    own.retire(again.id)
    assert tool._files.get(PATH) is None
    own.retire(again.id, retired=False)
    assert tool._files.get(PATH) == again


def test_what_differs_in_nothing_but_space_or_case_is_kept(tool: MemoryTool) -> None:
    for path in ("/memories/a.py", "/memories/b.py"):
        do(tool, "create", path=path, file_text="if x:\n    go()\n")
    do(tool, "str_replace", path="/memories/a.py", old_str="    go", new_str="\tGo")
    do(tool, "create", path="/memories/empty", file_text="")
    texts = {each.name: each.text for each in tool._files.all()}
    assert texts == {
        "/memories/a.py": "if x:\n\tGo()\n",
        "/memories/b.py": "if x:\n    go()\n",
        "/memories/empty": "",
    }


OUTSIDE = (
    "/etc/passwd", "memories/x", "/memories/../x", "/memories/a/../../x", "/memoriesx/y", "",
    "/memories/..", "/memories/%2e%2e/x", "/memories/a\\..\\x", "/memories/a\nb", "/",
)  # fmt: skip


def test_nothing_outside_the_folder(tool: MemoryTool) -> None:
    for path in OUTSIDE:
        for command, given in (
            ("view", {"path": path}),
            ("create", {"path": path, "file_text": "x"}),
            ("str_replace", {"path": path, "old_str": "x", "new_str": "y"}),
            ("insert", {"path": path, "insert_line": 0, "insert_text": "x"}),
            ("delete", {"path": path}),
            ("rename", {"old_path": path, "new_path": "/memories/y"}),
            ("rename", {"old_path": "/memories/y", "new_path": path}),
        ):
            said = refused(tool, command, **given)
            assert "escape" in said or "must start with" in said, path
        assert tool._files.all() == [], path


def test_what_the_memory_refuses_is_told_to_the_model(tool: MemoryTool, own: Memory) -> None:
    said = refused(tool, "create", path="/memories/a", file_text="x" * 19_990)
    assert "with a heading of 28 characters: text has 20,018 characters, at most 20,000" in said
    assert "store less" in said
    assert "anamnesis import" not in said
    assert "Unknown command" in refused(tool, "format", path="/memories")
    do(tool, "create", path="/memories/a", file_text="x")
    assert "not a directory" in refused(tool, "create", path="/memories/a/b", file_text="x")
    assert "directory itself" in refused(tool, "delete", path="/memories")
    assert "into itself" in refused(
        tool, "rename", old_path="/memories/a", new_path="/memories/a/b"
    )
    own.remember("A note about a boat.", tags=["memory-tool"], source="elsewhere")
    assert [each.name for each in tool._files.all()] == ["/memories/a"]


def test_a_run_of_consolidation_changes_no_file(tool: MemoryTool, own: Memory, clock: Any) -> None:
    for number in range(4):
        do(tool, "create", path=f"/memories/n{number}", file_text=NOTES)
    for _ in range(3):
        clock.pass_by(200 * 86_400)
        own.consolidate()
    assert {each.text for each in tool._files.all()} == {NOTES}
    assert len(tool._files.all()) == 4
    do(tool, "delete", path="/memories/n0")
    assert len(tool._files.all()) == 3


def test_agents_have_files_of_their_own(memory: Facade) -> None:
    ann, ben = (MemoryTool(Memory.of(memory, Identity(name, "team"))) for name in ("ann", "ben"))
    do(ann, "create", path=PATH, file_text=NOTES)
    assert ben._files.all() == []
    assert "does not exist" in refused(ben, "view", path=PATH)


def test_the_runner_of_the_package_drives_it(model: Any, tool: MemoryTool, own: Memory) -> None:
    model.calls = [
        ("memory", {"command": "view", "path": "/memories"}),
        ("memory", {"command": "create", "path": PATH, "file_text": NOTES}),
        ("memory", {"command": "view", "path": "/etc/passwd"}),
    ]
    client = anthropic.Anthropic(api_key="k", base_url=model.url, max_retries=0)
    done = client.beta.messages.tool_runner(
        model="m",
        max_tokens=100,
        tools=[tool],
        messages=[{"role": "user", "content": "Note my boats."}],
    ).until_done()
    assert done.content[0].text == SAID  # type: ignore[union-attr]
    bodies = [json.loads(each) for each in model.bodies]
    assert bodies[0]["tools"][0]["type"] == "memory_20250818"
    results = [body["messages"][-1]["content"][-1] for body in bodies[1:]]
    assert [bool(each.get("is_error")) for each in results] == [False, False, True]
    assert "File created" in json.dumps(results[1])
    assert [each.name for each in tool._files.all()] == [PATH]


@pytest.mark.anyio
async def test_the_async_runner_drives_it(model: Any, own: Memory) -> None:
    model.calls = [("memory", {"command": "create", "path": PATH, "file_text": NOTES})]
    tool = AsyncMemoryTool(own)
    async with anthropic.AsyncAnthropic(api_key="k", base_url=model.url) as client:
        runner = client.beta.messages.tool_runner(
            model="m", max_tokens=9, tools=[tool], messages=[{"role": "user", "content": "Go."}]
        )
        await runner.until_done()
    assert tool.blocking._files.get(PATH).text == NOTES  # type: ignore[union-attr]
