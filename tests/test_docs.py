"""The documents are true: their commands run, their settings load, what they show comes out."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import command_line
import pytest
from mcp import Client

from memory_core import config
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.records import Identity
from server import __version__
from server.cli import invocation, main
from server.protocol.server import build_server
from server.protocol.tools import DESCRIPTIONS

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
PROGRAM = ".venv/bin/anamnesis"

WHOLE_INSTALL = "a whole installation from PyPI; .ci/run installs and tests the same"
CLIENT = "a client that is not part of this project"
NETWORK = "fetches gigabytes"
SERVES = "a server that runs until it is stopped; tests/server starts it on every transport"
MEASURES = "measures; the last test here asks each script for its flags"
MODEL = "needs a language model; tests/gist runs it against servers that speak for one"
NOT_RUN = {
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/anamnesis demo": WHOLE_INSTALL,
    "python3 -m venv .venv && .venv/bin/pip install '.[dev]' "
    "&& .venv/bin/python -m pytest -n 3 --dist loadfile": WHOLE_INSTALL,
    "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'": WHOLE_INSTALL,
    ".ci/run": "runs these tests",
    ".ci/run install types": "runs the type checker",
    ".venv/bin/pip install torch --index-url https://download.pytorch.org/whl/cpu": NETWORK,
    ".venv/bin/pip install '.[sentence-transformers]'": NETWORK,
    "anamnesis sync ~/Cloud/memory": (
        "the folder of a file service; tests/server/test_import_command.py keeps two in step"
    ),
    "anamnesis encode": MODEL,
    "anamnesis encode --since 2024-01-01": MODEL,
    "anamnesis review 06h0105d4r04pq8fyv7f 06h2m3ft1g9xk0w8c5qz --decide newer-holds": (
        "tests/server/test_review.py decides a pair"
    ),
    "anamnesis demo": "tests/server/test_demo.py plays it",
    "anamnesis evaluate": "takes a minute; tests/evaluation measures on small conversations",
    "anamnesis evaluate locomo10.json": "the user's own copy of LoCoMo",
    "anamnesis evaluate beam_chats/ --format beam": "the user's own copy of BEAM",
    "anamnesis evaluate longmemeval_s.json --no-baselines": "the user's own copy of LongMemEval",
    "anamnesis evaluate locomo10.json --pooled --misses 20": "the user's own copy of LoCoMo",
    **dict.fromkeys(
        (
            "anamnesis evaluate tests/evals/data/beliefs.json --format beliefs",
            "anamnesis evaluate tests/evals/data/beliefs_held.json --format beliefs",
            "anamnesis evaluate tests/evals/data/beliefs_indirect.json --format beliefs",
            "anamnesis evaluate tests/evals/data/beliefs_parts.json --format beliefs",
        ),
        "takes half a minute; tests/evals/test_beliefs.py plays a quarter of it",
    ),
    "anamnesis export knowledge --format okf --watch": (
        "it runs until it is stopped; tests/server/test_export_command.py stops it"
    ),
}
"""Commands that no test here runs, and why. Prefixes of clients and scripts are below."""
NOT_RUN_PREFIXES = {
    "claude ": CLIENT,
    "anamnesis export ~/": "the user's own folders; tests/server/test_export_command.py",
    "anamnesis import ~/": "the user's own files; tests/importing reads every form",
    "npx ": CLIENT,
    "npm ": "needs Node; tests/typescript installs and packs",
    "uv tool install ": WHOLE_INSTALL,
    ".venv/bin/python tools/build_bundle.py": "needs Node; tests/conformance packs the bundle",
    ".venv/bin/python tools/write_manifests.py": "tests/test_manifests.py compares what it writes",
    ".venv/bin/python tools/train_secrets.py": "test_learned_secrets.py compares its inputs",
    "curl ": CLIENT,
    ".venv/bin/python -m pytest ": ".ci/run and the campaign `long` run all tests",
    ".venv/bin/ruff ": ".ci/run runs it",
    ".venv/bin/python -m mypy": ".ci/run runs it",
    "anamnesis serve": SERVES,
    "anamnesis proxy ": SERVES,
    f"{PROGRAM} serve": SERVES,
    ".venv/bin/python tests/bench/": MEASURES,
    ".venv/bin/python tests/evals/": MEASURES,
    ".venv/bin/python -m tests.campaigns": "tests/test_campaigns.py lists them",
    ".venv/bin/python tests/campaigns/": "takes hours; tests/faults plays a short version",
    ".venv/bin/python tests/conformance/": ".ci/run runs it",
}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{20}\b")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def blocks(language: str, path: Path) -> list[str]:
    """The fenced blocks of a document in one language."""
    return [body for name, body in _FENCE.findall(path.read_text("utf-8")) if name == language]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_is_of_a_kind_that_is_checked(path: Path) -> None:
    """Commands are bash, client configurations json, settings toml; text and sql are shown.

    The examples in python run in tests/anamnesis, those in ts in tests/typescript.
    """
    languages = {name for name, _ in _FENCE.findall(path.read_text("utf-8"))}
    languages_of = {"python.md": "python", "integrations.md": "python", "typescript.md": "ts"}
    examples = languages_of.get(path.name, "text")
    assert languages <= {"bash", "json", "toml", "text", "sql", examples}


def commands(path: Path) -> list[str]:
    """The shell commands of a document, continued lines joined, comments left out."""
    text = "\n".join(blocks("bash", path)).replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def every(find: Callable[[Path], list[str]]) -> list[Any]:
    """What *find* finds in all documents, as parameters named by document and number."""
    return [
        pytest.param(path, found, id=f"{path.name}-{number}")
        for path in DOCUMENTS
        for number, found in enumerate(find(path), 1)
    ]


def reason_not_to_run(command: str) -> str:
    if command in NOT_RUN:
        return NOT_RUN[command]
    return next((why for prefix, why in NOT_RUN_PREFIXES.items() if command.startswith(prefix)), "")


def arguments(command: str) -> list[str]:
    """The arguments of an anamnesis command, without what stands before a pipe."""
    words = shlex.split(command.rpartition("|")[2])
    assert words[0] in ("anamnesis", PROGRAM), f"neither run nor listed: {command}"
    return words[1:]


# Commands


def test_reasons_not_to_run_a_command_belong_to_commands_that_exist() -> None:
    written = {command for path in DOCUMENTS for command in commands(path)}
    assert set(NOT_RUN) <= written
    for prefix in NOT_RUN_PREFIXES:
        assert any(command.startswith(prefix) for command in written), prefix


class Shell:
    """Runs anamnesis commands in this process, over the real store and the real model.

    Ids in documents are examples; what is stored first here stands for them.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = patch
        self._memory = self._run = self._token = ""

    def __call__(self, command: str) -> tuple[int, str]:
        argv = [self._known(word) for word in arguments(command)]
        if "|" in command:
            words = shlex.split(command.rpartition("|")[0])
            assert words[0] == "echo"
            self._patch.setattr("sys.stdin", io.StringIO(" ".join(words[1:]) + "\n"))
        code = main.main(argv)
        said, errors = self._capsys.readouterr()
        assert code == 0, errors
        found = _ID.search(said)
        if argv[0] == "remember" and found:
            self._memory = self._memory or found[0]
        if argv[0] == "consolidate" and found:
            self._run = found[0]
        if argv[:2] == ["token", "list"]:
            self._token = re.findall(r"\b[0-9a-f]{8}\b", said)[-1]
        return code, said

    def _known(self, word: str) -> str:
        if _ID.fullmatch(word):
            return self._run if word.startswith("06h00x") else self._memory
        return self._token if re.fullmatch(r"[0-9a-f]{8}", word) else word


@pytest.fixture
def shell(
    minilm: Embedder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    environment = {
        "ANAMNESIS_DATA_DIR": str(tmp_path / "data"),
        "ANAMNESIS_OFFLINE": "1",
        "HOME": str(tmp_path),  # commands that look for the user's own files find none
    }
    monkeypatch.setattr("os.environ", environment)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        invocation, "open_memory", lambda settings: Memory(settings, embedder=minilm)
    )
    pairs = [{"query": "Where is the tea?", "relevant_texts": ["The tea is in the tin."]}]
    (tmp_path / "my_questions.json").write_text(json.dumps(pairs))
    (tmp_path / "talk.txt").write_text("The ferry to Bergen leaves at nine.\nok\n")
    (tmp_path / "facts.txt").write_text("The boat is called Ida.\n")
    return Shell(capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if commands(path)], ids=lambda path: path.name
)
def test_the_commands_of_a_document_work_one_after_the_other(path: Path, shell: Shell) -> None:
    for command in commands(path):
        if not command.startswith("sed ") and not reason_not_to_run(command):
            shell(command)


@pytest.mark.parametrize(("path", "command"), every(commands))
def test_every_anamnesis_command_has_known_flags(path: Path, command: str) -> None:
    for part in re.split(r"&&|\|", command if not command.startswith("sed ") else ""):
        words = shlex.split(part)
        if words and words[0] in ("anamnesis", PROGRAM):
            command_line.read(words[1:])


@pytest.mark.parametrize(
    ("path", "command"),
    every(lambda path: re.findall(r"`anamnesis ([a-z][^`]*)`", path.read_text("utf-8"))),
)
def test_every_command_named_in_a_sentence_exists(path: Path, command: str) -> None:
    words = command.split()
    known = {
        option
        for name, each in command_line.commands().items()
        if words[0] == name.split()[0]
        for option in command_line.options(each)
    }
    assert known
    assert {word for word in words if word.startswith("--")} <= known


# Configuration of clients


def servers(block: str) -> Iterator[dict[str, Any]]:
    data = json.loads(block)
    yield from data.get("mcpServers", data.get("servers", {})).values()


@pytest.mark.parametrize(("path", "block"), every(lambda path: blocks("json", path)))
def test_every_json_block_configures_a_server_that_would_start(path: Path, block: str) -> None:
    found = list(servers(block))
    assert found
    for entry in found:
        if "url" in entry:
            assert entry["url"] == f"http://127.0.0.1:{config.Settings().port}/mcp"
            assert entry["headers"]["Authorization"].startswith("Bearer ")
            continue
        assert entry["command"] == f"/absolute/path/to/{PROGRAM}"
        assert command_line.read(entry["args"])[0] == "serve"
        assert not config.load(entry.get("env", {})).warnings


def test_the_block_to_paste_is_the_example_file_and_the_one_for_claude_desktop() -> None:
    example = (ROOT / "claude_desktop_config.example.json").read_text("utf-8")
    (readme,) = blocks("json", ROOT / "README.md")
    assert readme == example
    assert readme in blocks("json", ROOT / "docs" / "clients.md")


@pytest.mark.usefixtures("processes")
def test_the_block_to_paste_answers_initialize_over_stdio(tmp_path: Path) -> None:
    (entry,) = servers(blocks("json", ROOT / "README.md")[0])
    installed = Path(sys.executable).with_name("anamnesis")
    program = [str(installed)] if installed.exists() else [sys.executable, "-m", "server"]
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
    about["clientInfo"]["version"] = "1"  # type: ignore[index]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    with subprocess.Popen(
        [*program, *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={
            **entry["env"],
            "ANAMNESIS_DATA_DIR": str(tmp_path),
            "ANAMNESIS_SHARED": "off",
            "HOME": str(tmp_path),
        },
        cwd=ROOT,
    ) as server:
        out, _ = server.communicate(json.dumps(hello).encode() + b"\n", timeout=60)
    answer = json.loads(out.splitlines()[0])["result"]
    assert answer["serverInfo"]["name"] == "anamnesis"
    assert answer["serverInfo"]["version"] == __version__
    assert server.returncode == 0


@pytest.mark.usefixtures("processes")
def test_sed_prints_the_configuration_of_this_checkout() -> None:
    (command,) = [c for c in commands(ROOT / "docs" / "clients.md") if c.startswith("sed ")]
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=True)
    (entry,) = servers(done.stdout.decode())
    assert entry["command"] == str(ROOT / PROGRAM)


# What the README shows


def _plain(text: str) -> str:
    """*text* without what differs from run to run: ids, boundaries, times and figures."""
    text = _ID.sub("ID", text)
    text = re.sub(r"recalled-[0-9a-f]{8}", "recalled-X", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    return re.sub(r"(confidence|score|importance) \d+(\.\d+)?", r"\1 N", text)


@pytest.mark.anyio
async def test_the_exchange_in_the_readme_is_what_a_client_gets(
    minilm: Embedder, tmp_path: Path
) -> None:
    (shown,) = blocks("text", ROOT / "README.md")
    with Memory(config.Settings(data_dir=tmp_path), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        async with Client(build_server(memory, owner=Identity("me"))) as client:
            for exchange in shown.strip().split("\n\n"):
                call, _, expected = exchange.partition("\n")
                name, _, given = call.partition(" ")
                answer = await client.call_tool(name, json.loads(given))
                assert _plain(answer.content[0].text) == _plain(expected)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_readme_names_the_five_tools() -> None:
    table = re.findall(r"^\| `(\w+)` \| ", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert table == list(DESCRIPTIONS)


def test_the_figures_are_filled_in() -> None:
    for path in DOCUMENTS:
        assert "FIGURE " not in path.read_text("utf-8"), path


# The rest


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in _LINK.findall(path.read_text("utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        if anchor:
            titles = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}
            assert anchor in anchors, link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_path_of_the_machine_it_was_written_on(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(r"(?<![\w.])/(?:work|tmp|root|home|Users|mnt)/", text)
    assert str(ROOT) not in text


def test_every_command_has_its_place_in_the_documents() -> None:
    titles = re.findall(r"^## (.+)$", (ROOT / "docs/commands.md").read_text("utf-8"), re.MULTILINE)
    named = [name for title in titles for name in title.split(", ")]
    assert sorted(named) == sorted({name.split()[0] for name in command_line.commands()})


def test_the_changelog_is_about_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)", text, re.MULTILINE)[0] == __version__
    listed = re.search(r"^- Commands: (.+?)\.$", text, re.MULTILINE | re.DOTALL)
    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == {
        name.split()[0] for name in command_line.commands()
    }


@pytest.mark.anyio
async def test_resources_and_prompts_are_those_of_the_server(
    minilm: Embedder, tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "clients.md").read_text("utf-8")
    with Memory(config.Settings(data_dir=tmp_path), embedder=minilm) as memory:
        async with Client(build_server(memory)) as client:
            resources = {str(r.uri) for r in (await client.list_resources()).resources}
            templates = (await client.list_resource_templates()).resource_templates
            prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
    assert set(re.findall(r"`(memory://[^`]+)`", text)) == resources | {
        template.uri_template for template in templates
    }
    for name in prompts:
        assert f"`{name}`" in text


@pytest.mark.usefixtures("processes")
@pytest.mark.slow
def test_nothing_is_written_outside_the_data_directory(
    weights_available: bool, tmp_path: Path
) -> None:
    assert weights_available, "run `anamnesis setup`"
    home, data = tmp_path / "home", tmp_path / "data"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-B", "-m", "server", "remember", "the tea is in the tin"],
        env={"ANAMNESIS_DATA_DIR": str(data), "HOME": str(home), "TMPDIR": str(home)},
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert b"stored" in done.stdout
    assert [str(path) for path in home.rglob("*")] == []
    assert (data / "journal.db").exists()


@pytest.mark.parametrize(
    ("folder", "listed"), [("bench", "figures.md"), ("evals", "evaluation.md")]
)
def test_every_measuring_script_is_documented_with_flags_that_it_has(
    folder: str, listed: str
) -> None:
    text = (ROOT / "docs" / "internals" / listed).read_text("utf-8")
    scripts = {
        path.name: path.read_text("utf-8")
        for path in (ROOT / "tests" / folder).glob("*.py")
        if '__name__ == "__main__"' in path.read_text("utf-8")
    }
    named: dict[str, set[str]] = {}
    for document in DOCUMENTS:
        for name, flags in re.findall(
            rf"python tests/{folder}/(\w+\.py)([^`\n]*)", document.read_text("utf-8")
        ):
            named.setdefault(name, set()).update(re.findall(r"--[\w-]+", flags))
    assert set(named) == set(scripts)
    for name, flags in named.items():
        assert f"python tests/{folder}/{name}" in text
        for flag in flags:
            assert f'"{flag}"' in scripts[name], (name, flag)
