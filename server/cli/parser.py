"""The command line's grammar: commands, flags, help, and what to say about a wrong one."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from typing import NoReturn

from memory_core.records import KINDS, ROLES, VISIBILITIES
from server import __version__
from server.clients.clients import CLIENTS

PROGRAM = "anamnesis"
MODES = ("sleep", "session", "topics", "deduplicate", "contradictions", "prune")
_CLIENTS = "one of " + ", ".join(sorted(CLIENTS))
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)|invalid choice: '([^']*)'")


class Parser(argparse.ArgumentParser):
    """Names the nearest known flag or command when it meets an unknown one; exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and end the process with status 2."""
        found = _UNKNOWN.search(message)
        word = (found[1] or found[2]) if found else ""
        near = difflib.get_close_matches(word.partition("=")[0], self._words(), n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if word and near else f"; see {self.prog} --help"
        self.exit(2, f"{self.prog}: {message}{hint}\n")

    def refuse_extra(self, command: str, extra: Iterable[str]) -> NoReturn:
        """End because *extra* is unknown to *command*."""
        chosen = self.command(command)
        (chosen or self).error("unrecognized arguments: " + " ".join(extra))

    def command(self, name: str) -> Parser | None:
        """The parser of the command *name*."""
        return self._commands().get(name)

    def _commands(self) -> dict[str, Parser]:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def _words(self) -> list[str]:
        flags = [flag for action in self._actions for flag in action.option_strings]
        return [flag for flag in flags if flag.startswith("--")] + list(self._commands())


def build_parser() -> Parser:
    """The whole grammar. Global flags may stand before or after the command."""
    shared = _shared_flags()
    parser = Parser(
        prog=PROGRAM,
        description="A long-term memory for assistants. Without a command: serve over stdio.",
        parents=[shared],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def add(name: str, about: str, *, data: bool = True) -> Parser:
        command: Parser = commands.add_parser(
            name, help=about, description=about, parents=[shared], allow_abbrev=False
        )
        if data:
            command.add_argument("--json", action="store_true", help="print JSON")
        return command

    _serving(add("serve", "serve MCP over stdio or HTTP", data=False))
    _demo(add("demo", "see the whole thing work on a real conversation"))
    _remember(add("remember", "store a memory"))
    _observe(add("observe", "keep what is worth keeping of a conversation, a turn a line"))
    _seed(add("seed", "remember every line of a file"))
    _recall(add("recall", "find memories"))
    _consolidate(add("consolidate", "turn episodes into knowledge"))
    _forget(add("forget", "delete memories for good"))
    _history(add("history", "show every change of a memory, or take one back"))
    encode = add("encode", "let the model do now what is due")
    encode.add_argument("--since", default="", metavar="ISO", help="and again what is from then on")
    health = add("health", "check every part with a real round trip")
    health.add_argument("--repair", action="store_true", help="mend what can be mended")
    add("doctor", "say what is wrong and which command mends it")
    backup = add("backup", "copy the memory to a new folder while others use it")
    backup.add_argument("folder", metavar="DIR", help="must be empty or not exist")
    restore = add("restore", "bring a backup back; never over a memory that is there")
    restore.add_argument("folder", metavar="DIR", help="where the backup is")
    salvage = add("salvage", "copy what is whole of a damaged memory to a new folder")
    salvage.add_argument("folder", metavar="DIR", help="must be empty or not exist")
    _reembed(add("reembed", "change the embedding model, while the memory goes on answering"))
    add("stats", "count memories, without loading a model")
    _evaluate(add("evaluate", "measure recall on labelled conversations"))
    export = add("export", "write every memory as JSON lines", data=False)
    export.add_argument("file", nargs="?", default="-", metavar="FILE", help="- is stdout")
    bring_in = add("import", "take exported memories back, doubling nothing")
    bring_in.add_argument("file", metavar="FILE", help="JSON lines; - is stdin")
    clear = add("clear", "remove every memory of this agent")
    clear.add_argument("--yes", action="store_true", help="really do it")
    add("setup", "fetch the embedding model if this machine has none")
    _install(add("install", "write this server into the configuration of a client"))
    add("hook", "answer a client's hook: JSON on stdin, JSON on stdout", data=False)
    _client(add("uninstall", "take it out of the configuration again"))
    _token(add("token", "manage tokens for HTTP", data=False), shared)
    return parser


def _shared_flags() -> Parser:
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    flags = shared.add_argument_group("settings (also ANAMNESIS_... in the environment)")
    flags.add_argument("--data-dir", metavar="DIR", help="where memories are kept")
    flags.add_argument("--agent", metavar="NAME", help="who remembers (default: me)")
    flags.add_argument("--team", metavar="NAME", help="whose team memories are shared")
    flags.add_argument("--config", metavar="FILE", help="TOML file with all other settings")
    flags.add_argument(
        "--log-level", metavar="LEVEL", type=str.upper, help="DEBUG, INFO, WARNING or ERROR"
    )
    return shared


def _serving(command: Parser) -> None:
    command.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    command.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    command.add_argument("--port", type=int, help="0 takes a free one (default: 7832)")
    command.add_argument(
        "--no-token", action="store_true", help="ask for no token; loopback addresses only"
    )
    command.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further host name under which clients reach this server",
    )


def _demo(command: Parser) -> None:
    command.add_argument("--questions", type=_count, default=6, metavar="N")


def _remember(command: Parser) -> None:
    command.add_argument("text", metavar="TEXT", help="- reads it from stdin")
    command.add_argument("--kind", choices=KINDS, default="")
    command.add_argument("--importance", type=float, default=0.0, metavar="0-1", help="0: judged")
    command.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG")
    command.add_argument("--when", default="", metavar="ISO", help="when it happened")
    command.add_argument("--speaker", default="", metavar="NAME")
    command.add_argument("--session", default="", metavar="NAME")
    command.add_argument("--scope", choices=VISIBILITIES, default="")
    command.add_argument("--source", default="", metavar="TEXT")
    command.add_argument("--role", choices=ROLES[1:], default="")
    command.add_argument("--replaces", default="", metavar="ID", help="the memory this corrects")
    command.add_argument(
        "--again", action="store_true", help="remember it even if it was forgotten before"
    )


def _observe(command: Parser) -> None:
    command.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="a turn a line, plain text or JSON with role, content, timestamp, session, speaker; "
        "- is stdin",
    )
    command.add_argument("--role", choices=ROLES[1:], default="user")
    command.add_argument("--session", default="", metavar="NAME")
    command.add_argument("--speaker", default="", metavar="NAME")
    command.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG")
    command.add_argument("--source", default="", metavar="TEXT")


def _seed(command: Parser) -> None:
    command.add_argument(
        "file", metavar="FILE", help="a fact a line, plain text or JSON with text, kind, tags ..."
    )
    command.add_argument("--source", default="", metavar="TEXT")


def _recall(command: Parser) -> None:
    command.add_argument("query", metavar="QUERY")
    command.add_argument("-k", "--top", type=int, default=8, metavar="N", help="1 to 50")
    command.add_argument("--scope", choices=VISIBILITIES, default="")
    command.add_argument("--kind", action="append", choices=KINDS, default=[], dest="kinds")
    command.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG")
    command.add_argument("--speaker", default="", metavar="NAME")
    command.add_argument("--session", default="", metavar="NAME")
    command.add_argument("--since", default="", metavar="ISO")
    command.add_argument("--until", default="", metavar="ISO", help="inclusive")
    command.add_argument("--as-of", default="", metavar="ISO", help="what was known then")
    command.add_argument("--context", type=int, default=1, metavar="N", help="neighbours, 0 to 5")
    command.add_argument("--explain", action="store_true", help="say why each was chosen")


def _consolidate(command: Parser) -> None:
    command.add_argument("--mode", choices=MODES, default="sleep")
    command.add_argument("--session", default="", metavar="NAME")
    command.add_argument("--dry-run", action="store_true", help="only show what would change")
    command.add_argument("--undo", default="", metavar="RUN", help="take a run back")


def _forget(command: Parser) -> None:
    command.add_argument("ids", nargs="*", metavar="ID")
    command.add_argument(
        "--query", default="", metavar="TEXT", help="find candidates; preview only"
    )
    command.add_argument(
        "--source", default="", metavar="TEXT", help="everything with exactly this source"
    )
    command.add_argument("--reason", default="", metavar="TEXT")
    command.add_argument("--allow-again", action="store_true", help="it may be remembered later")
    command.add_argument("--yes", action="store_true", help="really delete; else a preview")


def _history(command: Parser) -> None:
    command.add_argument("id", metavar="ID")
    command.add_argument("--undo", type=_count, default=0, metavar="CHANGE", help="its number")


def _reembed(command: Parser) -> None:
    command.add_argument(
        "model", nargs="?", default="", metavar="MODEL", help="default: the one that is set"
    )
    command.add_argument(
        "--no-wait", action="store_true", help="leave the work to a running server"
    )


def _evaluate(command: Parser) -> None:
    command.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="labelled conversations, a BEAM folder or questions; none: our own dialogue",
    )
    command.add_argument("-k", "--top", type=int, default=20, metavar="N")
    command.add_argument(
        "--format",
        default="auto",
        metavar="NAME",
        help="auto, locomo, beam, longmemeval, dialogue or pairs",
    )
    command.add_argument("--pooled", action="store_true", help="all conversations in one store")
    command.add_argument(
        "--own-store",
        action="store_true",
        help="ask your own memories a list of {query, relevant_texts}; changes nothing",
    )
    command.add_argument("--no-baselines", action="store_true", help="only this program")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the intervals")
    command.add_argument(
        "--misses", type=int, default=0, metavar="N", help="show N missed questions for reading"
    )
    command.add_argument("--markdown", action="store_true", help="print the table to keep")
    command.add_argument("--details", action="store_true", help="with --json: every question")
    for moved in ("--ablation", "--with-facts"):  # evaluate names the script that has it now
        command.add_argument(moved, action="store_true", help=argparse.SUPPRESS)
    for moved in ("--plot", "--days"):
        command.add_argument(moved, help=argparse.SUPPRESS)


def _client(command: Parser) -> None:
    command.add_argument("client", choices=sorted(CLIENTS), metavar="CLIENT", help=_CLIENTS)


def _install(command: Parser) -> None:
    _client(command)
    command.add_argument("--http", action="store_true", help="reach a running server over HTTP")
    command.add_argument(
        "--hooks", action="store_true", help="capture and recall by themselves, without tool calls"
    )
    command.add_argument("--host", help="of that server (default: 127.0.0.1)")
    command.add_argument("--port", type=int, help="of that server (default: 7832)")
    command.add_argument("--print", action="store_true", help="only show it")


def _token(command: Parser, shared: Parser) -> None:
    actions = command.add_subparsers(dest="action", required=True, parser_class=Parser)

    def add(name: str, about: str) -> Parser:
        action: Parser = actions.add_parser(
            name, help=about, description=about, parents=[shared], allow_abbrev=False
        )
        action.add_argument("--json", action="store_true", help="print JSON")
        return action

    new = add("add", "make a token; it is shown once")
    new.add_argument(
        "--rights", default="read,write", metavar="LIST", help="of read, write and admin"
    )
    new.add_argument(
        "--no-encoder", action="store_true", help="send nothing remembered with it to a model"
    )
    add("list", "show tokens by id, agent, team and rights")
    add("revoke", "take a token away").add_argument("id", metavar="ID")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number from 1")
    return int(text)
