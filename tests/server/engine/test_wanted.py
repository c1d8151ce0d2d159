"""Which engine a process wants: equal where answers are equal, another where they are not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from memory_core import config
from server.engine import wanted

PREFIX = "ANAMNESIS_"
VALUES = {"encoder": "claude", "embedder": "openai:x", "offline": "1"}


def key(environment: dict[str, str] | None = None, **flags: str) -> str:
    return wanted.find(flags, environment or {}).key


CHANGING = sorted(set(config._ENVIRONMENT.values()) - wanted._NO_ANSWER)


@pytest.mark.parametrize("name", CHANGING)
def test_a_setting_that_changes_answers_changes_the_key(name: str, tmp_path: Path) -> None:
    value = VALUES.get(name, "x")
    there = key({f"{PREFIX}{name.upper()}": value})
    assert there != key()
    assert there == key({}, **{name: value})
    file = tmp_path / "settings.toml"
    file.write_text(f'{name} = "{value}"\n')
    assert key({f"{PREFIX}CONFIG": str(file)}) == there


@pytest.mark.parametrize(
    ("place", "name"),
    [(wanted, "__version__"), (sys, "version"), (sys, "platform"), (sys, "prefix")],
)
def test_another_program_has_another_key(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    there = key()
    monkeypatch.setattr(place, name, "other")
    assert key() != there


def test_a_section_of_the_file_changes_the_key(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[decay]\nrecent_half_life_days = 3.0\n")
    assert key({f"{PREFIX}CONFIG": str(file)}) != key()


def test_who_asks_and_where_it_listens_changes_no_key() -> None:
    others = dict.fromkeys(wanted._NO_ANSWER - {"config"}, "7")
    assert key({f"{PREFIX}{name.upper()}": value for name, value in others.items()}) == key()
    assert key({"PATH": "/bin", f"{PREFIX}OFFLINE": ""}) == key()


def test_a_key_of_a_model_counts_where_a_model_is_used() -> None:
    own = {"ANTHROPIC_API_KEY": "one"}
    assert key(own) == key()
    used = {f"{PREFIX}ENCODER": "claude"}
    assert len({key(used), key({**used, **own}), key({**used, "ANTHROPIC_API_KEY": "two"})}) == 3


def test_identity_comes_from_flag_environment_and_file_in_this_order(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('agent = "file"\nteam = "file"\ndata_dir = "/from/file"\n')
    environment = {f"{PREFIX}CONFIG": str(file), f"{PREFIX}TEAM": "environment"}
    found = wanted.find({"agent": "flag"}, environment)
    assert (found.agent, found.team, found.folder) == ("flag", "environment", "/from/file")
    assert found.flags == {"agent": "flag", "data_dir": "/from/file", "config": str(file)}


def test_it_finds_the_data_directory_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"{PREFIX}DATA_DIR", raising=False)
    assert wanted.find({}, {}).folder == str(config.load({}).data_dir)
