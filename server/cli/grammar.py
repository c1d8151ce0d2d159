"""What these commands need beyond click: options of the program behind a command's name, texts that
begin with a dash, help in named sections, and an opened memory.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from memory_core.records import Identity
from server.cli import invocation, letters
from server.cli.console import Outcome
from server.cli.invocation import Invocation
from server.cli.place import place

if TYPE_CHECKING:
    from memory_core.memory import Memory

P = ParamSpec("P")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

CLIENT = "command line"
"""The client that memories stored here name."""
READY_SECONDS = 60.0
"""How long a command waits for the model; without it recall is lexical and vectors come later."""
STORING_SECONDS = 5.0
"""The same of `remember`: what is not stored yet is lost when the command is ended."""
ERASE_SECONDS = 30.0
"""How long forget and clear wait for a server that is erasing what they deleted."""

SPOOL_SECONDS = 10.0
"""How long a command waits for what hooks have left to be taken over, so that it is seen."""


class _MemoryId(click.ParamType[str]):
    """The id of a memory, or the beginning of one; a command gets the whole one."""

    name = "id"


MEMORY_ID = _MemoryId()


class _Text(click.ParamType[str]):
    """A text, with the letters that were typed; what is no text keeps its bytes."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The letters of *value*."""
        del param, ctx
        return letters.typed(value)


class _Place(click.ParamType[str]):
    """The path of a file or folder, in the bytes that it has."""

    name = "path"


TEXT = _Text()
PLACE = _Place()
_NUMBER = re.compile(r"-\d\w*|-\d*\.\d+")
"""No option, but a number or a time, such as -1 or -1h."""


def setting(name: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """An option of one command that overrides the setting of its name."""
    return click.option(name, expose_value=False, callback=_set_flag, **more)


def _set_flag(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None:
        context.obj.flags[parameter.name] = value


def _set_json(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.obj.as_json = value


SHARED = tuple(
    click.Option(
        [name], type=kind, metavar=metavar, help=about, expose_value=False, callback=_set_flag
    )
    for name, kind, metavar, about in (
        ("--data-dir", PLACE, "DIR", "Where memories are stored."),
        ("--agent", TEXT, "NAME", "Whose memories these are.  [default: me]"),
        ("--team", TEXT, "NAME", "The team whose shared memories are visible too."),
        ("--config", PLACE, "FILE", "TOML file with all other settings."),
        ("--log-level", TEXT, "LEVEL", "DEBUG, INFO, WARNING or ERROR.  [default: WARNING]"),
    )
)
"""Options of the program and of every command; the last one on the command line counts."""

_JSON = click.Option(
    ["--json"], is_flag=True, help="Print JSON.", expose_value=False, callback=_set_json
)


class _Shared(click.Command):
    """A command that takes the shared options and reads its words as the other classes here do."""

    otherwise: Sequence[str] = ()
    """The words that stand in when there are none but options."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for each in self.params:
            if each.type is click.STRING:
                each.type = TEXT
        self.params.extend(SHARED)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*, with the options moved in front of the other words."""
        options, others = _sorted_words(self, ctx, args)
        return super().parse_args(ctx, [*options, "--", *(others or self.otherwise)])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the shared ones."""
        own = [parameter for parameter in self.get_params(ctx) if parameter not in SHARED]
        settings = "Settings (also ANAMNESIS_... in the environment)"
        for title, parameters in (("Options", own), (settings, SHARED)):
            options = (each for each in parameters if isinstance(each, click.Option))
            with formatter.section(title):
                formatter.write_dl([row for each in options if (row := each.get_help_record(ctx))])


class AnswerCommand(_Shared):
    """A command that returns an Outcome; `--json` prints its data."""

    def __init__(self, *args: Any, json: bool = True, example: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self.example = example
        if json:
            self.params.insert(-len(SHARED), _JSON)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example."""
        del ctx
        if self.example:
            with formatter.section("Example"):
                formatter.write(f"  {self.example}\n")


class SectionedGroup(_Shared, click.Group):
    """Commands whose help is grouped by section."""

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[click.Command]],
        otherwise: Sequence[str] = (),
        **more: Any,
    ) -> None:
        """*sections* are the commands by heading; *otherwise* runs when no command is named."""
        super().__init__(*args, **more)
        self.sections = sections
        self.otherwise = otherwise
        for command in (each for commands in sections.values() for each in commands):
            self.add_command(command)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, in one column."""
        del ctx
        width = max(map(len, self.commands))
        for title, commands in self.sections.items():
            rows = [
                (str(each.name).ljust(width), each.get_short_help_str(1_000)) for each in commands
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


def command(
    name: str, *, example: str = "", json: bool = True
) -> Callable[[Callable[..., Any]], AnswerCommand]:
    """Make a function the command *name*; its docstring is the help, its first line the summary."""
    return click.command(name, cls=AnswerCommand, example=example, json=json)


def with_memory(
    *, ready: bool | float, begins: bool = False
) -> Callable[[Callable[Concatenate[Memory, Identity, P], Outcome]], Callable[P, Outcome]]:
    """Open the memory for a command and pass it with the identity of the settings.

    *ready* waits up to READY_SECONDS for the model first, or up to so many seconds. A command that
    *begins* a memory makes the folder of --data-dir; for any other one there must be a memory in
    it: a name that is mistyped would be an empty one. A running engine does the command, see
    ask_engine.COMMANDS: it may run in a thread of another process, so it reads, asks and shows
    progress through its `place`.
    """

    def decorate(
        run: Callable[Concatenate[Memory, Identity, P], Outcome],
    ) -> Callable[P, Outcome]:
        @functools.wraps(run)
        def opened(*args: P.args, **given: P.kwargs) -> Outcome:
            call = click.get_current_context().find_object(Invocation)
            assert call is not None
            if not begins:
                call.require_memory()
            with place.get().memory(call) as memory:
                invocation.take_over(memory, call.settings, SPOOL_SECONDS)
                if ready:
                    memory.wait_ready(READY_SECONDS if ready is True else ready)
                whole = _with_whole_ids(memory, call.who, given)
                return run(memory, call.who, *args, **whole)

        return opened

    return decorate


def _with_whole_ids(memory: Memory, who: Identity, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values *given* to the current command, with each id of a memory whole."""
    found = dict(given)
    for parameter in click.get_current_context().command.params:
        if parameter.type is MEMORY_ID and parameter.name is not None:
            value = found[parameter.name]
            found[parameter.name] = (
                tuple(memory.whole_id(who, each) for each in value)
                if parameter.nargs == -1
                else memory.whole_id(who, value)
            )
    return found


def on_a_terminal() -> bool:
    """True when somebody can be asked: both ends are a terminal, and no JSON was asked for.

    Ask before anything is changed: an engine gives the command back to the process that can ask.
    """
    call = click.get_current_context().find_object(Invocation)
    as_json = call is not None and call.as_json
    return not as_json and place.get().asks()


def _sorted_words(
    command: click.Command, ctx: click.Context, words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The options among *words*, each followed by its value, and all other words.

    click takes every word that begins with a dash for an option, and the word after an option for
    its value. Here a number, and a text with spaces in it, is no option, and an option is no value.
    The words of a group end at the name of the command.
    """
    options = {
        name: each
        for each in command.get_params(ctx)
        if isinstance(each, click.Option)
        for name in each.opts
    }
    chosen: list[str] = []
    others: list[str] = []
    left = deque(words)
    while left:
        word = left.popleft()
        if word == "--" or (isinstance(command, click.Group) and not _is_option(word, options)):
            others += left if word == "--" else [word, *left]
            break
        if not _is_option(word, options):
            others.append(word)
            continue
        name, value = _name_and_value(word, options)
        if name not in options and isinstance(command, click.Group) and _inside(command, name):
            raise click.UsageError(f"{name} stands behind the name of the command.", ctx)
        chosen.append(name)
        if name not in options or options[name].is_flag:
            continue
        if value is None and (not left or _is_option(left[0], options)):
            raise click.BadOptionUsage(name, f"Option {name!r} needs a value.", ctx)
        chosen.append(left.popleft() if value is None else value)
    return chosen, others


def _inside(group: click.Group, name: str) -> bool:
    """True when *name* is an option of a command of *group*."""
    return any(name in each.opts for one in group.commands.values() for each in one.params)


def _is_option(word: str, options: Mapping[str, click.Option]) -> bool:
    if len(word) < 2 or word[0] != "-" or _NUMBER.fullmatch(word):
        return False
    return " " not in word or _name_and_value(word, options)[0] in options


def _name_and_value(word: str, options: Mapping[str, click.Option]) -> tuple[str, str | None]:
    """`--top=3`, `-k=3` and `-k3` as name and value; the value is None when it is not in *word*.

    A *word* that names no option, or gives a value to one that takes none, is returned whole.
    """
    name, equals, value = word.partition("=")
    if equals and name in options and not options[name].is_flag:
        return name, value
    short = word[:2]
    if word not in options and short in options and not options[short].is_flag:
        return short, word[2:]
    return word, None
