"""Part E: what is published is valid, and what the bundle holds starts on a clean machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import clients
import jsonschema
from runner import ROOT, Runner

sys.path.insert(0, str(ROOT / "tools"))
import build_bundle

UV = "uv==0.13.9"
SCHEMA_CARRIER = "skillsaw==0.22.0"
"""A package on PyPI that carries the released schemas of the MCP registry, unchanged."""
SCHEMA = "skillsaw/schemas/mcp_registry/v2025_12_11/server.schema.json"
SCHEMA_SHA256 = "3fba09590c99f61735d234822279f4223fab9e300c0a81e81c91ab62a4114de0"
TOOLS = ROOT / "build" / "conformance"
FIRST_START = 280
"""Seconds for a first start, which installs the dependencies."""


def bundle(run: Runner) -> None:
    """Validate, pack, unpack, install as a client would, and hold a session."""
    staged, packed, unpacked = (run.home / name for name in ("staged", "a.mcpb", "unpacked"))
    build_bundle.stage(staged)
    run("E bundle", "mcpb validate", "mcpb", "validate", str(staged))
    run("E bundle", "mcpb pack", "mcpb", "pack", str(staged), str(packed))
    run("E bundle", "mcpb unpack", "mcpb", "unpack", str(packed), str(unpacked))
    small = packed.stat().st_size < 2 * 2**20  # no weights in it
    run.note("E bundle", "size", small, f"{packed.stat().st_size} bytes")
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    target = _as_a_host_would(manifest, unpacked, run.home / "bundle")
    clients.session(run, "E bundle", "first start and session", "sdk", target)
    uv_run = target["args"][: target["args"].index("main.py")]
    alone = {**target, "args": [*uv_run, manifest["server"]["entry_point"]]}
    if not run.few:
        clients.session(run, "E bundle", "entry point alone", "modern", alone)
    model = unpacked / "memory_core" / "embedding" / "minilm" / "model.safetensors"
    run.note("E bundle", "the model came with the first start", model.exists(), model.name)


def _as_a_host_would(manifest: dict[str, Any], folder: Path, data: Path) -> dict[str, Any]:
    """What a host starts: mcp_config with its own uv and the user's answers, which are defaults."""
    known = {"${__dirname}": str(folder)} | {
        f"${{user_config.{name}}}": about["default"]
        for name, about in manifest["user_config"].items()
    }
    config = manifest["server"]["mcp_config"]
    words = [config["command"], *config["args"]]
    for variable, value in known.items():
        words = [word.replace(variable, value) for word in words]
    network = {k: v for k, v in os.environ.items() if k.startswith(("UV_", "PIP_", "SSL_CERT"))}
    environment = {name: known.get(value, value) for name, value in config["env"].items()}
    cache = {"UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(TOOLS / "cache"))}
    return {
        "command": _uv() if words[0] == "uv" else words[0],
        "args": words[1:],
        "env": {**network, **cache, **environment, "ANAMNESIS_DATA_DIR": str(data)},
        "seconds": FIRST_START,
    }


def registry(run: Runner) -> None:
    """server.json against the schema that it names."""
    schema = json.loads(_schema())
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    checker = jsonschema.validators.validator_for(schema)(schema)
    problems = [error.message for error in checker.iter_errors(entry)]
    if entry["$schema"] != schema["$id"]:
        problems.append(f"it names {entry['$schema']}, the schema is {schema['$id']}")
    run.note("E registry", "server.json", not problems, "; ".join(problems) or schema["$id"])


def _uv() -> str:
    """The pinned uv from PyPI, in a folder of its own."""
    folder = TOOLS / UV
    if not (folder / "bin" / "uv").exists():
        _pip("install", "--target", str(folder), UV)
    return str(folder / "bin" / "uv")


def _schema() -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        _pip("download", "--no-deps", "--dest", scratch, SCHEMA_CARRIER)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as held:
            schema = held.read(SCHEMA)
    if hashlib.sha256(schema).hexdigest() != SCHEMA_SHA256:
        raise SystemExit(f"{SCHEMA_CARRIER} holds another schema than expected")
    return schema


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True, stdout=sys.stderr)
