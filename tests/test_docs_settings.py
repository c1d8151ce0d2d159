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


def test_the_documented_file_holds_every_key_with_its_default(tmp_path: Path) -> None:
    block = toml_blocks(CONFIGURATION)[0]
    file = tmp_path / "settings.toml"
    file.write_text(block)
    assert config.load({"ANAMNESIS_CONFIG": str(file)}) == config.load({})
    for name, section in SECTIONS.items():
        part = block.partition(f"[{name}]\n")[2].partition("\n[")[0]
        keys = re.findall(r"^(?:# )?(\w+) = ", part, re.MULTILINE)
        assert keys == list(section.model_fields), name


def _documented(section: str) -> list[tuple[str, str, str, str]]:
    """The rows of the table under ### *section*: key, unit, default, meaning."""
    text = CONFIGURATION.read_text("utf-8").partition(f"\n### {section}\n")[2]
    table = re.split(r"\n#+ ", text)[0]
    return re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$", table, re.MULTILINE)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_is_documented_with_unit_default_and_meaning(section: str) -> None:
    fields = SECTIONS[section].model_fields
    rows = _documented(section)
    assert [key for key, *_ in rows] == list(fields)
    for key, unit, default, meaning in rows:
        value = fields[key].default
        written = {None: ("profile", "none")}.get(value, (json.dumps(value),))
        assert default in written, key
        assert unit.strip()
        assert len(meaning) > 10


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
