"""The TypeScript client: up to date, packed, and played by node against a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import node_packages
import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from server import __version__
from server.hooks import route
from server.hooks.hooks import Hooks
from server.http import listener
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest.mount import rest
from tests.anamnesis.stand_in import model as model

pytestmark = pytest.mark.usefixtures("processes")

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "typescript"
OLDEST_NODE = 20
SECONDS = 240
AGENTS = (
    "me", "create", "create_streamed", "stream_helper", "raw", "responses", "responses_streamed",
    "messages", "messages_streamed", "twenty", "tools", "loop", "loop_kept", "held", "again",
    "named", "broken", "away", "blob", "ann", "ben", "plain",
)  # fmt: skip

Node = Callable[..., str]


@pytest.fixture(scope="session")
def node() -> Node:
    """Runs a command in the folder of the package, built; gives what it prints."""
    try:
        environment = _installed()
    except (OSError, subprocess.SubprocessError, LookupError) as problem:
        why = f"the TypeScript client is not tested: {problem}"
        if os.environ.get("REQUIRE_NODE"):
            pytest.fail(why)
        pytest.skip(f"{why}; install Node {OLDEST_NODE} and npm")

    def run(*command: str, **more: str) -> str:
        done = subprocess.run(
            command, cwd=PACKAGE, env={**environment, **more}, timeout=SECONDS, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("npm", "run", "--silent", "build")
    return run


def _installed() -> dict[str, str]:
    """The environment to run npm in, what package-lock.json names installed there."""
    if os.environ.get("REQUIRE_NODE"):
        node_packages.npm()
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(said.strip().lstrip("v").partition(".")[0]) < OLDEST_NODE:
        raise LookupError(f"node is {said.strip()}")
    node_packages.installed(PACKAGE)
    return {**os.environ, "NO_COLOR": "1"}


@pytest.fixture
def places(memory: Memory, tmp_path: Path, model: Any) -> Iterator[dict[str, str]]:
    """A real server with tokens and a stand-in for a model, as the scripts are told of them."""
    owner, tokens = Identity("me"), Tokens(tmp_path)
    app = build_app(
        build_server(memory, owner=owner),
        tokens=tokens,
        more=[route.route(Hooks(memory, time.time), owner), *rest(memory, owner, None)],
    )
    socket = listener.bind("127.0.0.1", 0)
    end = listener.begin(app, socket)
    secrets = {name: tokens.add(name, "team", ("read", "write")) for name in AGENTS}
    yield {
        "MEMORY_URL": f"http://127.0.0.1:{socket.getsockname()[1]}",
        "MEMORY_TOKEN": secrets["me"],
        "TOKENS": json.dumps(secrets),
        "MODEL_URL": model.url,
    }
    end()


def test_the_types_are_those_of_the_document(node: Node) -> None:
    node("npm", "run", "--silent", "check")


@pytest.mark.long
def test_stale_types_are_noticed(node: Node, tmp_path: Path) -> None:
    document = json.loads((ROOT / "docs/openapi.json").read_text("utf-8"))
    del document["paths"]["/stats"]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document))
    with pytest.raises(AssertionError):
        node(
            "npx",
            "openapi-typescript",
            str(other),
            "--default-non-nullable",
            "false",
            "-o",
            "src/schema.ts",
            "--check",
        )


def test_what_the_client_weighs(node: Node) -> None:
    weighs = json.loads(node("npm", "run", "--silent", "size"))
    assert weighs["connect"]["gzip"] < 4_000
    assert weighs["all"]["gzip"] < 8_000


def test_the_client_is_packed(node: Node, tmp_path: Path) -> None:
    node("npm", "pack", "--silent", "--pack-destination", str(tmp_path))
    (packed,) = tmp_path.glob("*.tgz")
    assert packed.name == f"anamnesis-client-{__version__}.tgz"
    with tarfile.open(packed) as archive:
        names = set(archive.getnames())
        # Python 3.11.2 has no filters
        archive.extractall(tmp_path, **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    wanted = {"package.json", "LICENSE", "README.md", "dist/index.js", "dist/index.d.ts"}
    assert {f"package/{name}" for name in wanted} <= names
    assert not [name for name in names if "/src/" in name or "/test/" in name]
    modules = tmp_path / "app" / "node_modules"
    modules.mkdir(parents=True)
    shutil.move(tmp_path / "package", modules / "anamnesis-client")
    (modules / "openapi-fetch").symlink_to(PACKAGE / "node_modules" / "openapi-fetch")
    script = tmp_path / "app" / "use.mjs"
    script.write_text('import * as all from "anamnesis-client"; console.log(Object.keys(all));')
    assert "rememberingFetch" in node("node", str(script))


@pytest.mark.parametrize("script", ["client", "remembering"])
def test_node_plays_the_client(script: str, node: Node, places: dict[str, str]) -> None:
    said = node("node", "--test", "--test-reporter=tap", f"test/{script}.test.mjs", **places)
    assert re.search(r"^# pass [1-9]", said, re.MULTILINE)
    assert re.search(r"^# skipped 0$", said, re.MULTILINE)


def test_the_examples_compile_and_run(
    node: Node, places: dict[str, str], model: Any, memory: Memory
) -> None:
    text = (ROOT / "docs/typescript.md").read_text("utf-8")
    examples = re.findall(r"^```ts\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    folder = PACKAGE / "examples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number, example in enumerate(examples):
        (folder / f"example{number}.ts").write_text(example)
    node("npm", "run", "--silent", "examples")
    places["CLAUDE_URL"], places["MODEL_URL"] = model.url, f"{model.url}/v1"
    printed = [
        node("node", f"examples/out/example{number}.js", **places)
        for number in range(len(examples))
    ]
    assert len(examples) == 3
    assert "The ladder leans on the shed." in printed[0]
    assert "not_found" in printed[0]
    assert all("It waits by the weir." in each for each in printed[1:])
    assert b"The ladder leans on the shed." in model.bodies[0]
    told = [each.text for each in memory.listing(Identity("me", "team"), limit=20) if each.role]
    assert "My neighbour Ola borrowed the ladder until Sunday." in told
