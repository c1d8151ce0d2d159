"""Settings: which source wins, what is refused, and what is only said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core import config
from memory_core.config import Settings
from memory_core.errors import InvalidInput

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a settings file and gives its name."""

    def written(text: str) -> str:
        path = tmp_path / "settings.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def load(environment: dict[str, str] | None = None, **flags: Any) -> Settings:
    return config.load({f"ANAMNESIS_{n}": v for n, v in (environment or {}).items()}, flags)


def refused(environment: dict[str, str] | None = None, **flags: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        load(environment, **flags)
    assert str(caught.value).startswith("invalid_input: ")
    return str(caught.value)


# Which source wins


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    settings = load()
    assert (settings.agent, settings.team, settings.port) == ("me", "", 7832)
    assert (settings.embedder, settings.encoder) == ("minilm", "passthrough")
    assert (settings.log_level, settings.offline, settings.warnings) == ("WARNING", False, ())
    assert settings.gist.daily_tokens == 200_000
    assert settings.data_dir.is_absolute()
    assert "anamnesis" in str(settings.data_dir)


@pytest.mark.parametrize(
    ("flag", "environment", "file", "wanted"),
    [
        (1, 2, 3, 1),
        (None, 2, 3, 2),
        (None, None, 3, 3),
        (None, None, None, 7832),
        (0, 2, 3, 0),
    ],
)
def test_flags_win_over_the_environment_over_the_file_over_defaults(
    write: Write, flag: int | None, environment: int | None, file: int | None, wanted: int
) -> None:
    named = {"CONFIG": write("" if file is None else f"port = {file}")}
    if environment is not None:
        named["PORT"] = str(environment)
    assert load(named, port=flag).port == wanted


def test_the_file_of_the_flag_wins_over_that_of_the_environment(
    write: Write, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text('agent = "flag"')
    assert load({"CONFIG": write('agent = "environment"')}, config=str(other)).agent == "flag"


def test_a_file_sets_everything_else(write: Write) -> None:
    settings = load(
        {
            "CONFIG": write(
                "[gist]\ndaily_tokens = 7\nforbid_scopes = ['private']\n"
                "[limits]\nsecrets = 'refuse'\n[decay]\nrecent_half_life_days = 3\n"
            )
        }
    )
    assert (settings.gist.daily_tokens, settings.gist.forbid_scopes) == (7, ("private",))
    assert (settings.limits.secrets, settings.limits.text_chars) == ("refuse", 20_000)
    assert settings.decay.recent_half_life_days == 3.0
    assert settings.decay.long_term_half_life_days == 30.0  # the rest keeps its defaults


def test_an_empty_value_in_the_environment_is_unset() -> None:
    assert load({"AGENT": "", "PORT": "", "CONFIG": "", "DATA_DIR": ""}) == load()


@pytest.mark.parametrize("value", ["1", "true", "yes", "on", "TRUE"])
def test_switches_take_the_usual_words(value: str) -> None:
    assert load({"OFFLINE": value}).offline is True


@pytest.mark.parametrize("value", ["debug", "Info", "WARNING"])
def test_log_levels_may_be_written_in_any_case(value: str) -> None:
    assert load({"LOG_LEVEL": value}).log_level == value.upper()


def test_a_tilde_is_the_home_directory_without_a_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my.toml").write_text("port = 5")
    settings = load({"DATA_DIR": "~/memory", "MODEL_DIR": "~/model", "CONFIG": "~/my.toml"})
    assert (settings.data_dir, settings.model_dir) == (tmp_path / "memory", tmp_path / "model")
    assert settings.port == 5


# What is only said


def test_unknown_names_warn_with_the_nearest_known_one() -> None:
    settings = load({"AGNET": "x", "DATADIR": "/x", "NOTHING_LIKE_IT": "1", "CONFG": "y"})
    said = {warning.split()[2]: warning for warning in settings.warnings}
    assert said.keys() == {
        "ANAMNESIS_AGNET",
        "ANAMNESIS_DATADIR",
        "ANAMNESIS_NOTHING_LIKE_IT",
        "ANAMNESIS_CONFG",
    }
    assert said["ANAMNESIS_AGNET"].endswith("did you mean ANAMNESIS_AGENT?")
    assert said["ANAMNESIS_DATADIR"].endswith("did you mean ANAMNESIS_DATA_DIR?")
    assert said["ANAMNESIS_CONFG"].endswith("did you mean ANAMNESIS_CONFIG?")
    assert "did you mean" not in said["ANAMNESIS_NOTHING_LIKE_IT"]
    assert settings.agent == "me"


def test_what_a_container_platform_injects_stops_nothing() -> None:
    settings = load(
        {
            "PORT": "tcp://10.0.0.7:7832",
            "SERVICE_HOST": "10.0.0.7",
            "SERVICE_PORT": "7832",
            "SERVICE_PORT_HTTP": "7832",
            "PORT_7832_TCP": "tcp://10.0.0.7:7832",
            "PORT_7832_TCP_ADDR": "10.0.0.7",
            "PORT_7832_TCP_PORT": "7832",
            "PORT_7832_TCP_PROTO": "tcp",
        }
    )
    assert (settings.port, settings.host) == (7832, "127.0.0.1")
    assert len(settings.warnings) == 7
    assert not any("ANAMNESIS_PORT " in warning for warning in settings.warnings)


def test_names_of_others_are_not_looked_at() -> None:
    assert config.load({"AGENT": "x", "anamnesis_agent": "y", "XANAMNESIS_AGENT": "z"}) == load()


def test_what_became_a_constant_is_named_and_does_not_stop_the_start(write: Write) -> None:
    text = "[storage]\nindex = 'ivf'\nlock_seconds = 5\n[limits]\ntext_chars = 9\nquery_chars = 9"
    settings = load({"CONFIG": write(text), "AGNET": "x"})
    assert settings.limits.text_chars == 9
    named = [warning.split()[1] for warning in settings.warnings[1:]]
    assert named == ["storage.index", "storage.lock_seconds", "limits.query_chars"]
    assert all(warning.endswith("is ignored; remove it") for warning in settings.warnings[1:])


@pytest.mark.parametrize("section", config._FIXED)
def test_no_setting_is_also_a_constant(section: str) -> None:
    known = Settings.model_fields.get(section)
    kept = set(known.annotation.model_fields) if known and known.annotation else set()
    assert not kept & set(config._FIXED[section].split())


# What is refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[gist]\ndayly_tokens = 5",
            ["unknown setting gist.dayly_tokens", "did you mean daily_tokens?"],
        ),
        ("[limit]\ntext_chars = 5", ["unknown setting limit", "did you mean limits?"]),
        ("agnet = 'x'", ["unknown setting agnet", "did you mean agent?"]),
        ("zzzzzz = 1", ["unknown setting zzzzzz", "remove it"]),
        ("warnings = ['x']", ["unknown setting warnings", "remove it"]),
        ("[limits]\ntext_chars = 0", ["limits.text_chars", "greater than or equal to 1", "got 0"]),
        ("[limits]\ntext_chars = 'many'", ["limits.text_chars", "got 'many'"]),
        ("[limits]\ntext_chars = 2000000", ["limits.text_chars", "1000000"]),
        ("[decay]\nlong_term_half_life_days = nan", ["decay.long_term_half_life_days"]),
        ("[decay]\nrecent_half_life_days = -1", ["decay.recent_half_life_days"]),
        ("[storage]\nindexes = 'hnsw'", ["unknown setting storage", "remove it"]),
        ("[limits]\nsecrets = 'keep'", ["limits.secrets", "'mask', 'refuse' or 'mask_keys_only'"]),
        ("limits = 5", ["setting limits", "got 5"]),
        ("port = 70000", ["setting port", "got 70000"]),
        ("encoder = 'telepathy'", ["setting encoder", "got 'telepathy'"]),
    ],
)
def test_a_wrong_key_or_value_of_the_file_is_named(
    write: Write, text: str, said: list[str]
) -> None:
    message = refused({"CONFIG": write(text)})
    for part in said:
        assert part in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "abc"),
        ("PORT", "-1"),
        ("PORT", "udp://10.0.0.7:53"),
        ("OFFLINE", "perhaps"),
        ("LOG_LEVEL", "loud"),
        ("AGENT", "x" * 201),
        ("AGENT", " me"),
        ("AGENT", "a\x1fb"),
        ("TEAM", "a\nb"),
        ("AGENT", "\udcff"),
        ("DATA_DIR", "~nobody-of-this-name/x"),
    ],
)
def test_a_wrong_value_in_the_environment_is_named_as_it_was_given(name: str, value: str) -> None:
    assert f"ANAMNESIS_{name}" in refused({name: value})


def test_a_wrong_flag_is_named() -> None:
    assert "setting port" in refused({"PORT": "5"}, port=-3)
    assert "unknown setting prot; did you mean port?" in refused(prot=3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"agent = ", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"agent = 'a'\nagent = 'b'", "is not TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    message = refused({"CONFIG": str(path)})
    assert said in message
    assert str(path) in message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path):
        message = refused({"CONFIG": str(path)})
        assert str(path) in message
        assert "ANAMNESIS_CONFIG" in message


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().agent = "another"  # type: ignore[misc]


def test_keys_come_from_the_environment_alone_and_are_not_shown(tmp_path: Path) -> None:
    environment = {
        "ANTHROPIC_API_KEY": "key-1",
        "OPENAI_API_KEY": "key-2",
        "OTHER_API_KEY": "key-3",
    }
    settings = config.load(environment)
    assert dict(settings.vendors) == {"ANTHROPIC_API_KEY": "key-1", "OPENAI_API_KEY": "key-2"}
    assert "key-" not in repr(settings)
    for line in ("vendors = {OPENAI_API_KEY = 'key-4'}", "openai_api_key = 'key-4'"):
        file = tmp_path / "settings.toml"
        file.write_text(line)
        with pytest.raises(InvalidInput):
            config.load({"ANAMNESIS_CONFIG": str(file)})
