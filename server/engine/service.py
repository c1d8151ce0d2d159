"""The file that makes a system start an engine at login: a unit, an agent or a task, as text.

Written from the manuals systemd.service(5), launchd.plist(5) and the Task Scheduler schema.
"""

from __future__ import annotations

import plistlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

MARK = "written by `anamnesis service install`"
"""In every file that is ours; one without it is somebody else's."""
LABEL = "anamnesis.engine"
UNIT = "anamnesis.service"
TASK = "Anamnesis"
RESTART_SECONDS = 30
"""After which the system starts an engine again that was killed, or that found another one."""


@dataclass(frozen=True, slots=True)
class Service:
    """A file for one service manager, and the commands that make the manager see it, or forget."""

    path: Path
    text: str
    enable: tuple[tuple[str, ...], ...]
    disable: tuple[tuple[str, ...], ...]


def systemd(folder: Path, words: Sequence[str], variables: Mapping[str, str]) -> Service:
    """A user unit in *folder*, that of the user's programs' configuration."""
    lines = [
        f"# {MARK}",
        "[Unit]",
        "Description=Anamnesis memory engine",
        "",
        "[Service]",
        f"ExecStart={' '.join(_quoted(word, command=True) for word in words)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in variables.items()),
        "Restart=on-failure",
        f"RestartSec={RESTART_SECONDS}",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    control = ("systemctl", "--user")
    reload = (*control, "daemon-reload")
    return Service(
        folder / "systemd" / "user" / UNIT,
        "\n".join(lines) + "\n",
        (reload, (*control, "enable", "--now", UNIT)),
        ((*control, "disable", "--now", UNIT),),
    )


def launchd(home: Path, user: int, words: Sequence[str], variables: Mapping[str, str]) -> Service:
    """A launch agent of the user with the id *user*."""
    about = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": dict(variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_SECONDS,
        "ProcessType": "Background",
    }
    head, body = plistlib.dumps(about).decode("utf-8").split("<plist", 1)
    path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    return Service(
        path,
        f"{head}<!-- {MARK} -->\n<plist{body}",
        (("launchctl", "bootstrap", f"gui/{user}", str(path)),),
        (("launchctl", "bootout", f"gui/{user}/{LABEL}"),),
    )


def task(folder: Path, words: Sequence[str]) -> Service:
    """A task of Windows in *folder*; a task has no variables, so *words* carry all settings."""
    text = f"""\
<?xml version="1.0"?>
<!-- {MARK} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Anamnesis memory engine</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>3</Count></RestartOnFailure>
  </Settings>
  <Actions>
    <Exec>
      <Command>{escape(words[0])}</Command>
      <Arguments>{escape(subprocess.list2cmdline(words[1:]))}</Arguments>
    </Exec>
  </Actions>
</Task>
"""
    path = folder / "Anamnesis" / "anamnesis-engine.xml"
    return Service(
        path,
        text.encode("ascii", "xmlcharrefreplace").decode("ascii"),
        (("schtasks", "/Create", "/F", "/TN", TASK, "/XML", str(path)),),
        (("schtasks", "/Delete", "/F", "/TN", TASK),),
    )


def _quoted(value: str, *, command: bool = False) -> str:
    """*value* as one word of a unit; a *command* also has variables that begin with a dollar."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("%", "%%")):
        value = value.replace(plain, escaped)
    return f'"{value.replace("$", "$$") if command else value}"'
