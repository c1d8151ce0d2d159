"""The command `demo`: the real server as a subprocess, a real client, a real conversation.

It stores every turn of the project's own dialogue, asks questions in other words, consolidates,
reads the health report, restarts the server and asks again.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from memory_core import config
from memory_core.evaluation.readers import DIALOGUE
from server.cli.console import Outcome
from server.cli.grammar import command
from server.cli.invocation import Invocation
from server.protocol import rendering

Say = Callable[[str], None]

TURN_SECONDS = 60.0
"""Seconds between two turns; the dialogue dates its sessions only."""
READY_SECONDS = 120.0
SHOWN = 200
QUESTIONS = (
    "What argument settled the quarrel about where to keep the records?",
    "Where does she lock up her bike at night so that no thief gets it again?",
    "How often do the little birds get a meal?",
    "What injury came from the digging?",
    "Which mammal hardly needs any slumber?",
    "What did the specialist recommend for the noisy joint?",
)
_ROOT = Path(__file__).parents[2]


@dataclass
class _Log:
    """Times, problems and answers, for the summary."""

    say: Say
    times: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    turn_of: dict[str, str] = field(default_factory=dict)
    """Memory id -> turn id."""

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.times[name] = time.perf_counter() - started

    def expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)
            self.say(f"  problem: {problem}")


@command("demo", example="anamnesis demo")
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    metavar="N",
    help="How many questions to ask.",
)
@click.pass_obj
def demo(call: Invocation, questions: int) -> Outcome:
    """Show the whole program on a real conversation.

    It runs in a temporary directory, or in --data-dir. The exit code is 1 when something failed.
    """
    keep = call.settings.data_dir if "data_dir" in call.flags else None
    stream = sys.stderr if call.as_json else sys.stdout
    return run(
        keep, questions, _with_model(call), lambda text: print(text, file=stream, flush=True)
    )


def _with_model(call: Invocation) -> dict[str, str]:
    """The environment with the folder of the weights, which `setup` may have put into data_dir.

    A server with another data directory would not find them there.
    """
    if call.settings.embedder != "minilm":
        return call.environment
    from memory_core.embedding import acquisition

    folder = acquisition.acquire(call.settings, acquisition.indexes(call.environment))
    return {**call.environment, f"{config.PREFIX}MODEL_DIR": str(folder)}


def run(keep: Path | None, questions: int, environment: Mapping[str, str], say: Say) -> Outcome:
    """Play the demo in *keep*, or in a temporary folder; exit code 1 if anything failed."""
    dialogue = json.loads(DIALOGUE.read_text("utf-8"))
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="demo-")))
        log = _Log(say)
        asyncio.run(_play(dialogue, folder.absolute(), questions, environment, log))
    data = {
        "turns": len(log.turn_of),
        "answers": log.answers,
        "seconds": {name: round(seconds, 3) for name, seconds in log.times.items()},
        "problems": log.problems,
    }
    lines = ["", "seconds: " + ", ".join(f"{n} {s:.2f}" for n, s in log.times.items())]
    lines += [f"problem: {problem}" for problem in log.problems] or ["everything worked"]
    return Outcome(data, "\n".join(lines), 1 if log.problems else 0)


async def _play(
    dialogue: Mapping[str, Any],
    folder: Path,
    count: int,
    environment: Mapping[str, str],
    log: _Log,
) -> None:
    asked = _chosen(dialogue["questions"], count)
    log.say(f'"{dialogue["title"]}": {len(dialogue["sessions"])} conversations, real server')
    with log.timed("first server"):
        async with _server(folder, environment, log, "start") as client:
            await _ready(client, log)
            await _remember(client, dialogue, log)
            await _ask(client, asked, log, "in other words")
            await _consolidate(client, log)
            await _health(client, log)
    log.say("\nThe server was stopped and is started again.")
    with log.timed("second server"):
        async with _server(folder, environment, log, "restart") as client:
            await _ready(client, log)
            await _ask(client, asked[:2], log, "after the restart")


def _chosen(questions: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The questions shown, then others in other words than the dialogue; `evaluate` asks all."""
    by_text = {q["question"]: q for q in questions if q["evidence"]}
    shown = [by_text[text] for text in QUESTIONS if text in by_text]
    others = [q for q in by_text.values() if q["category"] == "paraphrase" and q not in shown]
    return (shown + others)[:count]


@asynccontextmanager
async def _server(
    folder: Path, environment: Mapping[str, str], log: _Log, name: str
) -> AsyncIterator[Any]:
    from mcp import Client, StdioServerParameters

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server", "--data-dir", str(folder)],
        env={name: value for name, value in environment.items() if name != "ANAMNESIS_DATA_DIR"},
        cwd=_ROOT,
    )
    started = time.perf_counter()
    async with Client(parameters, read_timeout_seconds=READY_SECONDS) as client:
        tools = await client.list_tools()
        log.times[f"{name} to tools"] = time.perf_counter() - started
        log.say(f"\n{name}: {', '.join(tool.name for tool in tools.tools)}")
        yield client


async def _ready(client: Any, log: _Log) -> None:
    """Wait until recall is no longer lexical only, as a client would: by asking."""
    with log.timed("model ready"):
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            report = await client.call_tool("health", {})
            checks = {
                c["name"]: c["status"] for c in (report.structured_content or {}).get("checks", ())
            }
            if not report.is_error and "degraded" not in checks.values():
                return
            await asyncio.sleep(0.2)
        log.expect(False, f"not everything was ready in time: {checks}")


async def _remember(client: Any, dialogue: Mapping[str, Any], log: _Log) -> None:
    failures = 0
    with log.timed("remember"):
        for session in dialogue["sessions"]:
            for number, turn in enumerate(session["turns"]):
                answer = await client.call_tool(
                    "remember",
                    {
                        "text": turn["text"],
                        "speaker": turn["speaker"],
                        "session": session["id"],
                        "when": _moment(session["date"], number),
                    },
                )
                if answer.is_error:
                    failures += 1
                else:
                    log.turn_of.setdefault(answer.structured_content["id"], turn["id"])
    log.expect(failures == 0, f"{failures} turns were not remembered")
    each = log.times["remember"] / max(1, len(log.turn_of)) * 1000
    log.say(f"remembered {len(log.turn_of)} turns, {each:.0f} ms each, every one durable")


def _moment(date: str, number: int) -> str:
    from datetime import datetime

    start = datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()
    return rendering.iso(start + number * TURN_SECONDS)


async def _ask(client: Any, questions: list[dict[str, Any]], log: _Log, name: str) -> None:
    log.say(f"\nQuestions, {name}:")
    hits = 0
    started = time.perf_counter()
    for question in questions:
        answer = await client.call_tool(
            "recall", {"query": question["question"], "k": 5, "context": 0}
        )
        if answer.is_error:
            log.expect(False, answer.content[0].text)
            continue
        found = answer.structured_content
        memories = [*found["memories"], *found.get("partial", [])]
        turns = [log.turn_of.get(memory["id"], "") for memory in memories]
        place = next((n for n, t in enumerate(turns, 1) if t in question["evidence"]), 0)
        hits += bool(place)
        log.answers.append({"question": question["question"], "place": place, "when": name})
        log.say(_answer(question, memories, place))
        log.say(f"    (confidence {found['confidence']}, {found['feeling']})")
    log.times[f"recall {name}"] = (time.perf_counter() - started) / max(1, len(questions))
    log.expect(
        2 * hits >= len(questions), f"only {hits} of {len(questions)} questions found their turn"
    )


def _answer(question: Mapping[str, Any], memories: list[dict[str, Any]], place: int) -> str:
    lines = [f"  ? {question['question']}"]
    if not memories:
        return "\n".join([*lines, "    nothing found"])
    shown = memories[max(0, place - 1)]
    text = rendering.line(shown["text"])[:SHOWN]
    where = f"place {place}" if place else "not the turn that answers it"
    lines.append(f"    {shown.get('speaker', '')}, {shown['when'][:10]}: {text} [{where}]")
    return "\n".join(lines)


async def _consolidate(client: Any, log: _Log) -> None:
    for name, arguments in (("preview", {"dry_run": True}), ("completed", {})):
        with log.timed(f"consolidate {name}"):
            answer = await client.call_tool("consolidate", arguments)
        if answer.is_error:
            log.expect(False, answer.content[0].text)
            continue
        done = answer.structured_content
        steps = ", ".join(f"{step['name']} {step['changed']}" for step in done["steps"])
        log.say(f"\nconsolidate ({done['status']}): {steps or 'nothing to do'}")
        log.expect(done["status"] == name, f"consolidate answered {done['status']}, not {name}")
        for summary in done.get("summaries", [])[:2]:
            sources = len(summary["derived_from"])
            log.say(f"  {rendering.line(summary['text'])[:SHOWN]} (from {sources} memories)")


async def _health(client: Any, log: _Log) -> None:
    answer = await client.call_tool("health", {})
    if answer.is_error:
        log.expect(False, answer.content[0].text)
        return
    report = answer.structured_content
    log.say(f"\nhealth: {report['status']}")
    for check in report["checks"]:
        log.say(f"  {check['name']}: {check['status']} {check.get('detail', '')}".rstrip())
    log.expect(report["status"] == "ok", f"health is {report['status']}")
