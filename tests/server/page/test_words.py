"""The page has a sentence for every signal of recall, and for every reason not to store."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args
from typing import get_type_hints as hints

import memory_core
import server.page
from memory_core import health
from memory_core.beliefs import relevance
from memory_core.consolidate import plan, run_log
from memory_core.consolidate.run import MODES, STEPS
from memory_core.consolidate.run_log import IMPORT
from memory_core.enrichment import budget
from memory_core.enrichment.budget import Budget
from memory_core.lifecycle import doubts
from memory_core.lifecycle.turn_pairs import PAIR
from memory_core.link_kinds import KNOWN
from memory_core.maintenance import reembedding
from memory_core.memory import Memory
from memory_core.overview import memory_graph
from memory_core.recall import explanation, spreading
from memory_core.recall.rivals import NAME
from memory_core.recall.signals import SIGNALS
from memory_core.records import Identity
from memory_core.remember.capture import ECHO, NEAR_DUPLICATE
from memory_core.remember.request import RememberRequest
from memory_core.storage.accesses import CO_RECALL
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.journal import Journal
from server.chat import session
from server.cli import grammar
from server.engine import usage
from server.engine.engine import Engine
from server.hooks import hooks
from server.http import problems
from server.protocol import schemas, structure

WORDS = Path(server.page.__file__).parent / "static" / "words"
_LINE = re.compile(r'^  ("[^"]+"): ("(?:[^"\\]|\\.)*"),?$', re.MULTILINE)


def words(language: str) -> dict[str, str]:
    found = _LINE.findall((WORDS / f"{language}.js").read_text("utf-8"))
    return {json.loads(key): json.loads(value) for key, value in found}


def test_every_signal_of_recall_has_a_sentence() -> None:
    english = words("en")
    for name in (*(signal.name for signal in SIGNALS), "links", NAME):
        assert f"signal.{name}" in english, name


def test_every_step_to_a_memory_has_words_in_both_languages() -> None:
    """Those of spreading and of explanation, but for the names that they hold."""
    tree = ast.parse(Path(spreading.__file__).read_text("utf-8"))
    yields = [node.value.elts[2] for node in ast.walk(tree) if isinstance(node, ast.Yield)
              if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 3]  # fmt: skip
    literal = {str(node.value) for node in yields if isinstance(node, ast.Constant)}
    named = [
        ast.unparse(node)[2:].partition("{")[0]
        for node in yields
        if isinstance(node, ast.JoinedStr)
    ]
    assert sorted(named) == ["same topic (", "shares "], "explain.js reads these"
    steps = {*literal, *spreading._HOW.values(), "shares", "same topic"}
    steps |= {*explanation._BY_OFFSET.values(), "answers"}
    assert len(steps) >= 12
    for language in ("en", "de"):
        assert {f"path.{step}" for step in steps} <= words(language).keys()


def test_every_reason_not_to_store_has_a_sentence_in_both_languages() -> None:
    reasons = {ECHO, NEAR_DUPLICATE, *gated()}
    assert relevance.gate("ok") in reasons
    assert relevance.gate("What time is it in Lisbon?") in reasons
    assert len(reasons) >= 16
    for language in ("en", "de"):
        known = {key for key in words(language) if key.startswith("skip.")}
        assert known == {f"skip.{reason}" for reason in reasons}


def test_what_writes_changes_and_kinds_of_links_have_words_in_both_languages() -> None:
    wanted = {f"through.{source}" for source in sources()}
    assert len(wanted) >= 12
    wanted |= {f"link.{kind}" for kind in (*KNOWN, CO_RECALL, DERIVED_FROM, PAIR)}
    for language in ("en", "de"):
        assert wanted <= words(language).keys()


def test_the_clients_that_the_program_names_itself_have_words_in_both_languages() -> None:
    names = {session.CLIENT, grammar.CLIENT, hooks.CLIENT}
    for language in ("en", "de"):
        known = {key for key in words(language) if key.startswith("client.")}
        assert known == {f"client.{name}" for name in names}


def test_steps_runs_and_checks_have_words_in_both_languages() -> None:
    source = Path(health.__file__).read_text("utf-8")
    checks = set(re.findall(r'(?:Check|_guarded)\("([^"]+)"', source))
    assert len(checks) >= 15
    wanted = {f"step.{name}" for name in (*STEPS, "undo")}
    wanted |= {f"mode.{name}" for name in (*MODES, IMPORT)} | {f"check.{name}" for name in checks}
    wanted |= {f"checked.{status}" for status in health._ORDER}
    for language in ("en", "de"):
        assert wanted <= words(language).keys()


def test_what_a_report_of_health_holds_has_words_in_both_languages(memory: Memory) -> None:
    """Its parts, the keys and states in them, and how it is told how the whole stands."""
    shown = schemas.HealthResult.model_fields.keys() - {"status", "checks", "counts", "jobs"}
    known = keys()
    memory.remember(Identity("me"), RememberRequest("The heron waits by the weir."))
    for who in (Identity("me"), Identity("me", rights=frozenset({"read"}))):
        held = structure.health_report(memory.health(who), usage.own())
        for part in shown - {"versions"}:
            assert set(nested(held.get(part, {}))) <= known, f"{part}: name it in SAYING"
    wanted = {f"part.{name}" for name in shown} | {f"field.{key}" for key in known}
    states = {run_log.STARTED, run_log.COMPLETED, run_log.FAILED, run_log.UNDONE, run_log.STOPPING}
    wanted |= {f"run.{state}" for state in states}
    wanted |= {f"status.{each}" for each in get_args(hints(schemas.HealthResult)["status"])}
    wanted |= {f"checked.{each}" for each in get_args(hints(schemas.CheckDone)["status"])}
    for language in ("en", "de"):
        assert wanted <= words(language).keys()
        fields = {key for key in words(language) if key.startswith("field.")}
        assert fields == {f"field.{key}" for key in known}
    view = (WORDS.parent / "views/health.js").read_text("utf-8")
    assert set(re.findall(r"'(\w+)'", re.findall(r"PARTS = \[(.*)\]", view)[0])) == shown


SAYING = (
    *(health._facts, health._storage, health._model_facts, health._last_run),
    *(reembedding._target, Journal.stats, Journal.counts),
    *(Budget.report, Budget._cost, Engine.serving, usage.own),
)
"""What puts together what a report of health tells of a part."""


def keys() -> set[str]:
    """Every key that SAYING may give: those of its dicts, and those that it takes by name."""
    found = {*budget._COUNTS, *usage._NAMES.values()}
    for each in SAYING:
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(each)))):
            named = node.keys if isinstance(node, ast.Dict) else ()
            named = node.elts if isinstance(node, ast.Tuple) else named
            found |= {str(key.value) for key in named if isinstance(key, ast.Constant)}
    return found


def nested(held: Mapping[str, Any]) -> Iterator[str]:
    """The keys of *held* at any depth, without days."""
    for key, value in held.items():
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", key):
            yield key
        if isinstance(value, Mapping):
            yield from nested(value)


def test_the_page_knows_how_much_its_graph_holds() -> None:
    topics = (WORDS.parent / "views/topics.js").read_text("utf-8")
    said = dict(re.findall(r"(\w+): (\d+)", topics.partition("LIMITS = {")[2].partition("}")[0]))
    held = (memory_graph.TOPICS, memory_graph.SUMMARIES, memory_graph.EPISODES)
    held += (memory_graph.ENTITIES,)
    assert said == {name: str(most) for name, most in zip(memory_graph.TYPES, held, strict=True)}
    assert sum(held) == 500


def test_every_code_of_a_refusal_has_a_sentence() -> None:
    codes = {*problems.STATUS, *problems.CODES.values()}
    programs = {"method_not_allowed", "unsupported_media_type", "unknown_host"}  # never a reader's
    assert {f"code.{code}" for code in codes - programs} <= words("de").keys()


def sources() -> set[str]:
    """The names that the program gives as the source of a change of a memory or a link."""
    found = {"undo", *(name.partition(":")[0] for name in (doubts.SOURCE, plan.SOURCE))}
    for file in Path(memory_core.__file__).parent.rglob("*.py"):
        text = file.read_text("utf-8")
        known = dict(re.findall(r'^([A-Z]+) = "([a-z]+)"$', text, re.MULTILINE))
        for node in ast.walk(ast.parse(text)):
            given: list[tuple[str | None, ast.expr]] = []
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Change":
                if ast.unparse(node.args[0]) != "'meta'":
                    given = [(each.arg, each.value) for each in node.keywords]
            elif isinstance(node, ast.Dict) and all(node.keys):
                pairs = zip(node.keys, node.values, strict=True)
                given = [(ast.unparse(key).strip("'"), value) for key, value in pairs if key]
                given = given if {"source", "scope"} <= {name for name, _ in given} else []
            for name, value in given:
                if name == "source" and isinstance(value, ast.Constant):
                    found.add(str(value.value))
                elif name == "source":
                    found.add(known.get(ast.unparse(value).rpartition(".")[2], "undo"))
    return found


def gated() -> set[str]:
    """What the gate says that it returns, which is all that it returns as a constant and more."""
    told = " ".join((relevance.gate.__doc__ or "").split())
    named = set(re.findall(r'"([a-z ]+)"', told))
    tree = ast.parse(Path(relevance.__file__).read_text("utf-8"))
    returned = (node.value for node in ast.walk(tree) if isinstance(node, ast.Return))
    said = (node.value for node in returned if isinstance(node, ast.Constant))
    assert named >= {each for each in said if isinstance(each, str) and each}
    return named
