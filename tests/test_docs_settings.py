"""The documented settings are those of the program: every name, key, unit and default."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import commands, options

from memory_core import config

ROOT = Path(__file__).parent.parent
CONFIGURATION = ROOT / "docs" / "configuration.md"


def toml_blocks(path: Path) -> list[str]:
    """The fenced TOML blocks of a document."""
    return re.findall(r"^```toml\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{path.name}-{number}")
        for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
        for number, block in enumerate(toml_blocks(path), 1)
    ],
)
def test_every_toml_block_loads(block: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(block, encoding="utf-8")
    assert not config.load({"ANAMNESIS_CONFIG": str(file)}).warnings


SECTIONS = {
    name: field.annotation
    for name, field in config.Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, config._Section)
}
FIELDS = {
    f"{name}.{key}": field
    for name, section in SECTIONS.items()
    for key, field in section.model_fields.items()
}


def test_the_documented_file_holds_every_key_with_its_default(tmp_path: Path) -> None:
    block = toml_blocks(CONFIGURATION)[0]
    file = tmp_path / "settings.toml"
    file.write_text(block)
    assert config.load({"ANAMNESIS_CONFIG": str(file)}) == config.load({})
    written = []
    for part in re.split(r"^\[(?=\w+\]$)", block, flags=re.MULTILINE)[1:]:
        name, _, keys = part.partition("]\n")
        written += [f"{name}.{key}" for key in re.findall(r"^(?:# )?(\w+) = ", keys, re.MULTILINE)]
    assert written == list(FIELDS)


def test_every_key_is_documented_with_unit_default_and_meaning() -> None:
    text = CONFIGURATION.read_text("utf-8")
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (.+?) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    assert [key for key, *_ in rows] == list(FIELDS)
    for key, unit, default, meaning in rows:
        value = FIELDS[key].default
        assert default == ("none" if value is None else json.dumps(value)), key
        assert unit.strip()
        assert len(meaning) > 10


def test_there_are_at_most_twenty_eight_settings() -> None:
    names, keys = len(config._ENVIRONMENT) + len(config._ELSEWHERE), len(FIELDS)
    assert names + keys <= 28
    said = f"There are {names + keys} settings: the {names} names below and the {keys} keys"
    assert said in CONFIGURATION.read_text("utf-8").replace("\n", " ")


def test_every_name_in_the_environment_is_documented() -> None:
    text = CONFIGURATION.read_text("utf-8")
    rows = re.findall(r"^\| `ANAMNESIS_(\w+)` \| (.+?) \| (.+?) \| .+ \|$", text, re.MULTILINE)
    assert {name for name, *_ in rows} == {*config._ENVIRONMENT, *config._ELSEWHERE}
    for name, places, default in rows:
        field = config._ENVIRONMENT.get(name)
        if field is None:
            continue
        assert f"`{field}`" in places
        value = config.Settings.model_fields[field].default
        if isinstance(value, str | int) and value != "":
            plain = str(value).lower() if isinstance(value, bool) else str(value)
            assert default == f"`{plain}`"
        elif field != "data_dir":
            assert default == "none"


def test_documented_flags_of_settings_exist() -> None:
    known = options(commands()["serve"])
    text = CONFIGURATION.read_text("utf-8").partition("## The file")[0]
    assert set(re.findall(r"`(--[\w-]+)`", text)) <= known
