"""The memory tool of the Anthropic API, whose files are memories of one agent."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as Create
from anthropic.types.beta import BetaMemoryTool20250818DeleteCommand as Delete
from anthropic.types.beta import BetaMemoryTool20250818InsertCommand as Insert
from anthropic.types.beta import BetaMemoryTool20250818RenameCommand as Rename
from anthropic.types.beta import BetaMemoryTool20250818StrReplaceCommand as StrReplace
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand as View

from anamnesis.adapters.documents import Document, Documents
from anamnesis.memory import Memory
from memory_core.errors import MemoryCoreError

ROOT = "/memories"
_DEPTH = 2
"""Levels of a folder that `view` lists."""
_AROUND = 2
"""Lines before and after a change that `str_replace` shows."""


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool `memory_20250818`; its files are memories of one agent.

    A path is a memory's `source`, and each version of a file replaces the one before, so that a
    person can look at them, undo and forget them as everything else. `delete` retires: the model
    can destroy nothing. Nothing outside /memories is reached. A file and the line of
    heading that names its path have up to 20,000 characters together.
    """

    def __init__(self, memory: Memory, **more: Any) -> None:
        """Keep the files in *memory*; *more* is that of BetaAbstractMemoryTool."""
        super().__init__(**more)
        self._files = Documents(memory, "memory-tool", "assistant")

    def execute(self, command: Any) -> Any:
        """Do *command*. Raises ToolError, whose words the model reads."""
        try:
            return super().execute(command)
        except MemoryCoreError as problem:
            raise ToolError(str(problem)) from None
        except NotImplementedError as problem:
            raise ToolError(str(problem)) from None

    def view(self, command: View) -> str:
        """The numbered lines of a file, or what lies in a folder."""
        path = _path(command.path)
        file = self._files.get(path) if path != ROOT else None
        if file is not None:
            lines = file.text.split("\n")
            first, last = command.view_range or (1, -1)
            first, last = max(1, first), len(lines) if last == -1 else last
            shown = _numbered(lines[first - 1 : last], first)
            return f"Here's the content of {path} with line numbers:\n{shown}"
        files = self._under(path)
        if not files and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return _listed(path, files)

    def create(self, command: Create) -> str:
        """Store a new file; one that is there is not overwritten."""
        path = _path(command.path)
        if self._files.get(path) is not None or self._under(path) or path == ROOT:
            raise ToolError(f"File {path} already exists")
        self._write(path, command.file_text)
        return f"File created successfully at: {path}"

    def str_replace(self, command: StrReplace) -> str:
        """Replace a text that stands once in a file."""
        path, text = self._read(command.path)
        places = _places(text, command.old_str)
        if not places:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear "
                f"verbatim in {path}."
            )
        at = [text.count("\n", 0, place) for place in places]
        if len(places) > 1:
            lines = ", ".join(str(line + 1) for line in at)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str "
                f"`{command.old_str}` in lines: {lines}. Please ensure it is unique"
            )
        end = places[0] + len(command.old_str)
        changed = self._write(path, text[: places[0]] + command.new_str + text[end:])
        first = max(0, at[0] - _AROUND)
        shown = changed.text.split("\n")[first : at[0] + _AROUND + 1]
        return (
            "The memory file has been edited. Here is the snippet showing the change "
            f"(with line numbers):\n{_numbered(shown, first + 1)}"
        )

    def insert(self, command: Insert) -> str:
        """Insert a text after a line of a file, 0 before the first."""
        path, text = self._read(command.path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within "
                f"the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._write(path, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    def delete(self, command: Delete) -> str:
        """Retire a file, or every file in a folder."""
        path = _path(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        for file in self._at(path):
            self._files.remove(file.name)
        return f"Successfully deleted {path}"

    def rename(self, command: Rename) -> str:
        """Move a file, or every file in a folder; nothing is overwritten."""
        old, new = _path(command.old_path), _path(command.new_path)
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        files = self._at(old)
        if new == ROOT or self._files.get(new) is not None or self._under(new):
            raise ToolError(f"The destination {new} already exists")
        if f"{new}/".startswith(f"{old}/"):
            raise ToolError(f"Cannot move {old} into itself")
        for file in files:
            self._write(new + file.name.removeprefix(old), file.text, moved=file.id)
        return f"Successfully renamed {old} to {new}"

    def clear_all_memory(self) -> str:
        """Retire every file."""
        for file in self._files.all():
            self._files.remove(file.name)
        return "All memory cleared"

    def _write(self, path: str, text: str, moved: str = "") -> Document:
        """Store *text* as the file *path*. Raises ToolError when a folder is a file."""
        parents = _folders(path)
        blocking = next((each for each in parents if self._files.get(each) is not None), "")
        if blocking:
            raise ToolError(f"{blocking} is a file, not a directory")
        return self._files.put(path, f"File {path}", text, parents, instead=moved)

    def _read(self, given: str) -> tuple[str, str]:
        path = _path(given)
        file = self._files.get(path)
        if file is None:
            if path == ROOT or self._under(path):
                raise ToolError(f"The path {path} is not a file.")
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return path, file.text

    def _at(self, path: str) -> list[Document]:
        """The file *path*, or the files below it. Raises ToolError when there is none."""
        file = self._files.get(path)
        files = [file] if file is not None else self._under(path)
        if not files:
            raise ToolError(f"The path {path} does not exist")
        return files

    def _under(self, path: str) -> list[Document]:
        """The files below the folder *path*, which alone make it one."""
        files = self._files.all("" if path == ROOT else path)
        return [each for each in files if each.name.startswith(f"{path}/")]


def _awaited(method: Callable[[MemoryTool, Any], str]) -> Any:
    """*method* of MemoryTool, done in a thread and awaited."""

    @functools.wraps(method)
    async def called(self: AsyncMemoryTool, command: Any) -> str:
        return await anyio.to_thread.run_sync(method, self.blocking, command)

    return called


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """MemoryTool for the async client; each command runs in a thread."""

    def __init__(self, memory: Memory, **more: Any) -> None:
        """Keep the files in *memory*; of an AsyncMemory that is its `blocking`."""
        super().__init__(**more)
        self.blocking = MemoryTool(memory)

    execute = _awaited(MemoryTool.execute)
    view = _awaited(MemoryTool.view)
    create = _awaited(MemoryTool.create)
    str_replace = _awaited(MemoryTool.str_replace)
    insert = _awaited(MemoryTool.insert)
    delete = _awaited(MemoryTool.delete)
    rename = _awaited(MemoryTool.rename)

    async def clear_all_memory(self) -> str:
        """As MemoryTool.clear_all_memory."""
        return await anyio.to_thread.run_sync(self.blocking.clear_all_memory)


def _path(given: str) -> str:
    """*given* as a path below ROOT. Raises ToolError for every other one."""
    parts = given.split("/")
    if given != ROOT and not given.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {given}")
    if ".." in parts or "\\" in given or not given.isprintable() or "%2e" in given.lower():
        raise ToolError(f"Path {given!r} would escape {ROOT} directory")
    return posixpath.normpath(given)


def _folders(path: str) -> list[str]:
    """The folders that *path* lies in, below ROOT."""
    parts = path.removeprefix(f"{ROOT}/").split("/")[:-1]
    return ["/".join((ROOT, *parts[: number + 1])) for number in range(len(parts))]


def _places(text: str, wanted: str) -> list[int]:
    """Where *wanted* stands in *text*; nowhere, if it is empty."""
    found, start = [], text.find(wanted) if wanted else -1
    while start != -1:
        found.append(start)
        start = text.find(wanted, start + 1)
    return found


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _listed(path: str, files: list[Document]) -> str:
    """The files and folders below *path*, two levels deep, with their sizes."""
    sizes = {path: 0}
    for file in files:
        size = len(file.text.encode())
        sizes[path] += size
        parts = file.name.removeprefix(f"{path}/").split("/")
        for depth in range(1, min(len(parts), _DEPTH) + 1):
            below = "/".join((path, *parts[:depth])) + ("/" if depth < len(parts) else "")
            sizes[below] = sizes.get(below, 0) + size
    lines = [f"{_size(sizes.pop(path))}\t{path}"]
    lines += [f"{_size(size)}\t{name}" for name, size in sorted(sizes.items())]
    head = f"Here're the files and directories up to {_DEPTH} levels deep in {path}"
    return f"{head}:\n" + "\n".join(lines)


def _size(count: float) -> str:
    for unit in ("B", "K", "M"):
        if count < 1024 or unit == "M":
            break
        count /= 1024
    return f"{count:.1f}".removesuffix(".0") + unit
