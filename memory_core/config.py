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


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecallSettings(_Section):
    """How candidates are found and ranked; the weights are the measured recipe (design, 5)."""

    candidates: int = Field(50, ge=1, le=1000, description="taken from each of the three searches")
    passage_weight: float = Field(0.6, ge=0, le=10)
    whole_weight: float = Field(0.4, ge=0, le=10)
    lexical_weight: float = Field(0.5, ge=0, le=10)
    session_weight: float = Field(0.4, ge=0, le=10, description="x mean of the session's top three")
    user_prior: float = Field(2.0, ge=0, le=10, description="added to what a user said (BEAM)")
    temporal_weight: float = Field(1.5, ge=0, le=10)
    cognition_bound: float = Field(
        0.05, ge=0, le=0.05, description="share decay and importance move"
    )
    fact_weight: float = Field(0.3, ge=0, le=10, description="what a fact lends to its sources")
    mmr_lambda: float = Field(1.0, ge=0, le=1, description="1 = off; 0.7 costs recall")


class GistSettings(_Section):
    """What a model may do and cost; without effect with the encoder `passthrough`."""

    daily_tokens: int = Field(200_000, ge=0, description="a UTC day, in and out; then rules serve")
    workers: int = Field(4, ge=1, le=16, description="calls at a time (seed row A3.3)")
    queue: int = Field(256, ge=1, le=10_000, description="memories waiting in this process")
    batch_turns: int = Field(8, ge=1, le=50, description="turns of one conversation in a call")
    gather_seconds: float = Field(20.0, ge=0, le=3600, description="wait for a batch to fill")
    drain_seconds: float = Field(2.0, ge=0, le=60, description="calls under way at the end")
    forbid_scopes: tuple[Literal["private", "team", "shared"], ...] = ()
    forbid_agents: tuple[str, ...] = ()


class DecaySettings(_Section):
    """True half-lives in days since the last access (design, section 4)."""

    recent_half_life_days: float = Field(7.0, gt=0)
    long_term_half_life_days: float = Field(30.0, gt=0)
    rehearsal_weight: float = Field(1.0, ge=0, description="rate is divided by 1 + w ln(1 + n)")


class TierSettings(_Section):
    """The life cycle of captured turns. Sources: seed rows A1.1 to A1.16, A2.7, A3.1, A3.2."""

    ring: int = Field(20, ge=5, le=1000, description="last turns of a conversation kept active")
    keep_importance: float = Field(0.5, ge=0, le=1, description="from here a turn is kept")
    silence_minutes: float = Field(60.0, gt=0, description="then a conversation is over")
    sweep_seconds: float = Field(300.0, gt=0, description="between two sweeps")
    check_turns: int = Field(20, ge=1, description="captured turns after which one is due at once")
    cold_retention: float = Field(0.2, ge=0, le=1, description="below it recent is cold")
    cold_minutes: float = Field(5.0, ge=0, description="what is younger is never cold")
    pair_minutes: float = Field(10.0, ge=0, description="between a turn and its answer")
    recent_most: int = Field(40, ge=1, description="of one owner; then to long_term")
    long_term_most: int = Field(100_000, ge=1, description="of one owner; then retired")


class EmbeddingSettings(_Section):
    """Where an embedding server listens."""

    url: str | None = None


class NamesSettings(_Section):
    """How names are found in what is remembered."""

    spacy: str = Field("", description="a spaCy model or folder that finds names besides the rules")


class ConsolidationSettings(_Section):
    """Sleep. Sources: seed rows B4.2, C4.2, B5.7, A5.3, A5.7."""

    min_cluster: int = Field(3, ge=2, le=50)
    batch: int = Field(50, ge=2, le=1000)
    summary_sentences: int = Field(5, ge=1, le=20)
    topic_members: int = Field(20, ge=2, description="a larger topic is split")
    topic_merge: float = Field(0.93, gt=0, le=1, description="cosine of centroids")
    automatic: bool = Field(True, description="runs also begin by themselves")
    every_turns: int = Field(50, ge=0, description="new memories; 0 = never")
    unconsolidated: int = Field(500, ge=0, description="episodes without summary; 0 = never")
    idle_minutes: float = Field(30.0, ge=0, description="of silence; 0 = never")
    nightly: str = Field("", pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9])?$", description="UTC")
    concept_members: int = Field(8, ge=2, description="a topic so large gets a concept")
    min_age_days: float = Field(30.0, ge=0, description="of an episode, in runs by themselves")
    prune_retention: float = Field(0.2, ge=0, le=1)
    prune_importance: float = Field(
        0.375, ge=0, le=1, description="half of what a new memory has: what is summed up may fade"
    )


class LimitSettings(_Section):
    """What a call may bring or take."""

    text_chars: int = Field(20_000, ge=1, le=1_000_000)
    calls: int = Field(32, ge=1, le=1024, description="in flight; beyond it the answer is busy")
    deadline_seconds: float = Field(20.0, gt=0, le=600)
    consolidate_seconds: float = Field(45.0, gt=0, le=3600)
    secrets: Literal["mask", "refuse"] = "mask"


_ENVIRONMENT = {
    "DATA_DIR": "data_dir",
    "AGENT": "agent",
    "TEAM": "team",
    "ENCODER": "encoder",
    "ENCODER_MODEL": "encoder_model",
    "ENCODER_URL": "encoder_url",
    "EMBEDDER": "embedder",
    "HOST": "host",
    "PORT": "port",
    "LOG_LEVEL": "log_level",
    "MODEL_DIR": "model_dir",
    "OFFLINE": "offline",
}
_ELSEWHERE = frozenset({"CONFIG", "BUILD_WEIGHTS"})

_VENDORS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
)
"""Names that belong to others and that we read: keys, and where packages come from."""

_OURS = frozenset({"warnings", "vendors"})
"""Fields of Settings that only `load` fills."""

_FIXED = {
    "session": "hot working working_turns priming_rate priming_turns",
    "gist": "timeout_seconds input_price output_price",
    "embedding": "query_prefix document_prefix dimension near_duplicate related topic cluster "
    "first_person timeout_seconds",
    "storage": "exact_vectors index apply_seconds apply_batch compact_commits snapshot_changes "
    "access_seconds lock_seconds",
    "limits": "query_chars source_chars",
}
"""Keys of the file that were settings before 0.1.0 and are constants now, by section."""

_TELEMETRY = "ORT_DISABLE_TELEMETRY"


def forbid_telemetry() -> None:
    """Keep ONNX Runtime from sending usage data and from writing into the home directory.

    Only this name, set before the import, keeps its files away; its API call comes too late (seen
    with 1.31.1). Somebody who set the name keeps their value.
    """
    os.environ.setdefault(_TELEMETRY, "1")


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
    embedder: str = Field("minilm", min_length=1)
    host: str = "127.0.0.1"
    port: int = Field(7832, ge=0, le=65535)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    model_dir: Path | None = None
    offline: bool = False

    recall: RecallSettings = RecallSettings()
    decay: DecaySettings = DecaySettings()
    gist: GistSettings = GistSettings()
    tiers: TierSettings = TierSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    names: NamesSettings = NamesSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    limits: LimitSettings = LimitSettings()

    warnings: tuple[str, ...] = ()
    vendors: Mapping[str, str] = Field(default_factory=dict, repr=False)

    @field_validator("data_dir", "model_dir")
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
    file = flags.pop("config", None) or environment.get(PREFIX + "CONFIG")
    from_file = _read_file(Path(file)) if file else {}
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


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with _expanded(path).open("rb") as stream:
            return tomllib.load(stream)
    except OSError as problem:
        raise InvalidInput(
            f"the settings file {path} cannot be read ({problem.strerror})",
            f"correct {PREFIX}CONFIG or remove it",
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
