"""Settings: a dozen names under ANAMNESIS_, and a TOML file for everything else.

Order of precedence: command-line flag, environment, file, default. Only this module and
`server/cli/main.py` read the environment.
"""

from __future__ import annotations

import difflib
import os
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from memory_core.errors import InvalidInput

PREFIX = "ANAMNESIS_"


PACKAGED = "minilm"
"""The embedder that comes with the program: it needs no download and sends nothing."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DecaySettings(_Section):
    """Half-lives of retention, in days since the last access."""

    recent_half_life_days: float = Field(7.0, gt=0)
    long_term_half_life_days: float = Field(30.0, gt=0)


class GistSettings(_Section):
    """What a model may see and use; without effect with the encoder `passthrough`.

    *daily_tokens* counts input and output of a UTC day; rules serve for the rest of the day.
    """

    daily_tokens: int = Field(200_000, ge=0)
    forbid_scopes: tuple[Literal["private", "team", "shared"], ...] = ()
    forbid_agents: tuple[str, ...] = ()


class EmbeddingSettings(_Section):
    """Where the embedding server of `ollama:NAME` or `openai:NAME` listens."""

    url: str | None = None


class NamesSettings(_Section):
    """A spaCy model or folder that finds names besides the rules; "" for the rules alone."""

    spacy: str = ""


class ConsolidationSettings(_Section):
    """Whether runs start by themselves, and at which time of the day (HH:MM) besides."""

    automatic: bool = True
    nightly: str = Field("", pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9])?$")


class LimitSettings(_Section):
    """The longest text of a memory, and what happens to secrets in it."""

    text_chars: int = Field(20_000, ge=1, le=1_000_000)
    secrets: Literal["mask", "refuse", "mask_keys_only"] = "mask"


_ENVIRONMENT = {
    "DATA_DIR": "data_dir",
    "AGENT": "agent",
    "TEAM": "team",
    "ENCODER": "encoder",
    "ENCODER_MODEL": "encoder_model",
    "ENCODER_URL": "encoder_url",
    "JUDGE": "judge",
    "EMBEDDER": "embedder",
    "HOST": "host",
    "PORT": "port",
    "LOG_LEVEL": "log_level",
    "MODEL_DIR": "model_dir",
    "OFFLINE": "offline",
    "SHARED": "shared",
}
_ELSEWHERE = frozenset({"CONFIG", "BUILD_WEIGHTS", "HOOKS"})

_VENDORS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
)
"""Names of other programs that are read too: keys, and where packages come from."""

_OURS = frozenset({"warnings", "vendors"})
"""Fields of Settings that only `load` fills in."""

_FIXED = {
    "recall": "candidates passage_weight whole_weight lexical_weight session_weight user_prior "
    "temporal_weight cognition_bound fact_weight mmr_lambda",
    "decay": "rehearsal_weight",
    "session": "hot working working_turns priming_rate priming_turns",
    "gist": "timeout_seconds workers queue batch_turns gather_seconds drain_seconds input_price "
    "output_price",
    "tiers": "ring keep_importance silence_minutes sweep_seconds check_turns cold_retention "
    "cold_minutes pair_minutes recent_most long_term_most",
    "embedding": "query_prefix document_prefix dimension near_duplicate related topic cluster "
    "first_person timeout_seconds",
    "consolidation": "min_cluster batch summary_sentences topic_members topic_merge every_turns "
    "unconsolidated idle_minutes concept_members min_age_days prune_retention prune_importance",
    "storage": "exact_vectors index apply_seconds apply_batch compact_commits snapshot_changes "
    "access_seconds lock_seconds",
    "limits": "query_chars source_chars calls deadline_seconds consolidate_seconds",
}
"""Former keys of the file that are constants of the program now, by section."""


class Settings(_Section):
    """All settings of one process, validated and frozen."""

    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("anamnesis", appauthor=False))
    )
    agent: str = Field("me", min_length=1, max_length=200)
    team: str = Field("", max_length=200)
    encoder: Literal["passthrough", "claude", "ollama", "openai"] = "passthrough"
    encoder_model: str = ""
    encoder_url: str = ""
    judge: Path | None = None
    embedder: str = Field(PACKAGED, min_length=1)
    host: str = "127.0.0.1"
    port: int = Field(7832, ge=0, le=65535)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    model_dir: Path | None = None
    offline: bool = False
    shared: Literal["auto", "on", "off", "tcp"] = "auto"

    decay: DecaySettings = DecaySettings()
    gist: GistSettings = GistSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    names: NamesSettings = NamesSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    limits: LimitSettings = LimitSettings()

    warnings: tuple[str, ...] = ()
    vendors: Mapping[str, str] = Field(default_factory=dict, repr=False)

    @property
    def writes_gists(self) -> bool:
        """True when the encoder is a language model, which describes texts later."""
        return self.encoder != "passthrough"

    @field_validator("data_dir", "model_dir", "judge")
    @classmethod
    def _at_home(cls, path: Path | None) -> Path | None:
        return None if path is None else _expanded(path)

    @field_validator("agent", "team")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
            raise ValueError("it holds a control character or is not UTF-8")
        if name != name.strip():
            raise ValueError("it begins or ends with white space")
        return name

    @field_validator("shared", mode="before")
    @classmethod
    def _in_lower_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_capitals(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level


def load(
    environment: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """The settings from *flags* (None is unset), the environment and the TOML file it names.

    Unknown names with our prefix in the environment, and keys of the file that are constants now,
    become `warnings`; other unknown keys of the file and values out of range raise InvalidInput,
    which names the nearest known key.
    """
    environment = os.environ if environment is None else environment
    flags = {name: value for name, value in (flags or {}).items() if value is not None}
    given = flags.pop("config", None)
    file = given or environment.get(PREFIX + "CONFIG")
    from_file = _read_file(Path(file), "--config" if given else f"{PREFIX}CONFIG") if file else {}
    from_environment, warnings = _read_environment(environment)
    warnings += _drop_fixed(from_file)
    values = {**from_file, **from_environment, **flags}
    named = {name: PREFIX + short for short, name in _ENVIRONMENT.items()}
    sources = {name: named[name] for name in from_environment.keys() - flags.keys()}
    if ours := sorted(_OURS & values.keys()):
        raise InvalidInput(f"unknown setting {ours[0]}", "remove it")
    vendors = {name: environment[name] for name in _VENDORS if environment.get(name)}
    try:
        return Settings(**values, warnings=tuple(warnings), vendors=vendors)
    except ValidationError as problem:
        raise _explain(problem, sources) from None


def _read_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    values: dict[str, str] = {}
    warnings: list[str] = []
    for name, value in sorted(environment.items()):
        if not name.startswith(PREFIX):
            continue
        short = name.removeprefix(PREFIX)
        if short == "PORT" and value.startswith("tcp://"):
            continue  # Kubernetes and old Docker links inject this for a service called anamnesis
        if short in _ENVIRONMENT:
            if value != "":
                values[_ENVIRONMENT[short]] = value
        elif short not in _ELSEWHERE:
            near = _nearest(short, [*_ENVIRONMENT, *_ELSEWHERE])
            hint = f"; did you mean {PREFIX}{near}?" if near else ""
            warnings.append(f"unknown setting {name} is ignored{hint}")
    return values, warnings


def _expanded(path: Path) -> Path:
    """*path* with ~ replaced: clients pass the environment on without a shell that does it."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("the home directory that ~ stands for is not known") from None


def _read_file(path: Path, named: str) -> dict[str, Any]:
    try:
        with _expanded(path).open("rb") as stream:
            return tomllib.load(stream)
    except OSError as problem:
        raise InvalidInput(
            f"the settings file {path} cannot be read ({problem.strerror})",
            f"correct {named} or remove it",
        ) from None
    except ValueError as problem:
        raise InvalidInput(
            f"the settings file {path} is not TOML ({problem})", "correct it"
        ) from None


def _drop_fixed(values: dict[str, Any]) -> list[str]:
    """Take the keys that are constants now out of *values*; one warning for each."""
    warnings = []
    for section, names in _FIXED.items():
        given = values.get(section)
        if not isinstance(given, dict):
            continue
        for name in [name for name in names.split() if name in given]:
            del given[name]
            warnings.append(f"setting {section}.{name} is a constant now and is ignored; remove it")
        if not given:
            del values[section]
    return warnings


def _explain(problem: ValidationError, sources: Mapping[str, str]) -> InvalidInput:
    """The first thing that is wrong, under the name that the user gave it (*sources*)."""
    error = problem.errors()[0]
    where = ".".join(str(part) for part in error["loc"])
    where = sources.get(where, where)
    if error["type"] == "extra_forbidden":
        near = _nearest(str(error["loc"][-1]), _known_keys(error["loc"][:-1]))
        return InvalidInput(
            f"unknown setting {where}", f"did you mean {near}?" if near else "remove it"
        )
    return InvalidInput(
        f"setting {where}: {error['msg']}", f"got {error.get('input')!r}; correct it"
    )


def _known_keys(path: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in path:
        inner = model.model_fields[str(part)].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return [name for name in model.model_fields if name not in _OURS]


def _nearest(word: str, known: list[str]) -> str:
    by_fold = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else ""
