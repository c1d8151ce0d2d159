"""The commands of `service`: an engine that the system starts at login and that always stays."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from memory_core.config import PREFIX
from memory_core.errors import InvalidInput, ReadOnly
from server.cli.console import Outcome
from server.cli.grammar import SectionedGroup, command
from server.cli.install import PASSED_ON, variables
from server.cli.invocation import Invocation
from server.clients import clients, config_files
from server.engine import service
from server.engine.service import MARK, Service

MANAGER_SECONDS = 30.0


@command("install", example="anamnesis service install --print")
@click.option("--print", "print_only", is_flag=True, help="Print the file; write nothing.")
@click.pass_obj
def install(call: Invocation, print_only: bool) -> Outcome:
    """Let the system start an engine at login that always stays.

    It is for the settings in force. Without it the first client starts an engine, and it leaves ten
    minutes after the last one.
    """
    wanted = _wanted(call)
    if print_only:
        shown = {"file": str(wanted.path), "content": wanted.text}
        return Outcome(shown, f"{wanted.path}:\n{wanted.text}{_by_hand(wanted.enable)}")
    edited = config_files.Edited(wanted.path, _own(wanted), wanted.text)
    if edited.changes:
        config_files.write(edited)
    done = f"{'written' if edited.changes else 'needs no change'}: {wanted.path}"
    enabled = _told(wanted.enable)
    data = {"file": str(wanted.path), "changed": edited.changes, "enabled": enabled}
    return Outcome(data, f"{done}\n{'enabled' if enabled else _by_hand(wanted.enable)}")


@command("uninstall")
@click.pass_obj
def uninstall(call: Invocation) -> Outcome:
    """Let the system start no engine any more; memories stay."""
    wanted = _wanted(call)
    if _own(wanted) is None:
        return Outcome({"file": str(wanted.path), "removed": False}, "no service is installed")
    disabled = _told(wanted.disable)
    try:
        wanted.path.unlink()
        with suppress(FileNotFoundError):
            wanted.path.with_name(wanted.path.name + config_files.BACKUP).unlink()
    except OSError as problem:
        raise ReadOnly(
            f"{wanted.path} cannot be removed ({problem.strerror})", "remove it"
        ) from None
    data = {"file": str(wanted.path), "removed": True, "disabled": disabled}
    rest = "" if disabled else f"\n{_by_hand(wanted.disable)}"
    return Outcome(data, f"removed: {wanted.path}{rest}")


@command("status")
@click.pass_obj
def status(call: Invocation) -> Outcome:
    """Say whether the system starts an engine for the settings in force.

    Whether one runs, `anamnesis engine status` says.
    """
    wanted = _wanted(call)
    held = _own(wanted)
    state = "missing" if held is None else "installed" if held == wanted.text else "outdated"
    help = {"missing": "", "installed": "", "outdated": "; install it again for these settings"}
    return Outcome(
        {"file": str(wanted.path), "status": state}, f"{state}: {wanted.path}{help[state]}"
    )


@click.group("service", cls=SectionedGroup, sections={"Commands": (install, uninstall, status)})
def group() -> None:
    """Keep an engine running from login on."""


def _wanted(call: Invocation) -> Service:
    """The service for the settings in force. Raises InvalidInput for wrong ones."""
    user, found = clients.user(call.environment), variables(call)
    folder = str(call.settings.data_dir.absolute())
    found[f"{PREFIX}DATA_DIR"] = folder
    words = [*clients.program(sys.executable), "engine", "run", "--stay"]
    if user.platform == "darwin":
        return service.launchd(user.home, os.getuid(), words, found)
    if user.platform != "win32":
        return service.systemd(user.programs, words, found)
    for name in PASSED_ON:
        if value := found.pop(f"{PREFIX}{name.upper()}", ""):
            words += [f"--{name.replace('_', '-')}", value]
    if found:
        raise InvalidInput(
            f"a task of Windows has no variables, such as {next(iter(found))}",
            "write the settings to a file, and name it with --config",
        )
    return service.task(user.programs, words)


def _own(wanted: Service) -> str | None:
    """The text of the file of *wanted*, None without one. Raises InvalidInput for a foreign one."""
    try:
        held = wanted.path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"{wanted.path} cannot be read ({problem})", "look at it") from None
    if MARK not in held:
        raise InvalidInput(
            f"{wanted.path} was not written by this program, and was left as it is",
            "rename it, or see what --print shows",
        )
    return held


def _told(commands: Sequence[Sequence[str]]) -> bool:
    """Run the *commands* of the service manager; False when one fails or is not there."""
    try:
        for words in commands:
            subprocess.run(words, check=True, capture_output=True, timeout=MANAGER_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _by_hand(commands: Sequence[Sequence[str]]) -> str:
    """What to run where the service manager could not be reached."""
    return "\n".join(["then run:", *(f"  {shlex.join(words)}" for words in commands)])
