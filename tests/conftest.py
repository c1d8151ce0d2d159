"""Fixtures that several folders of tests share."""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import shutil
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import disk_usage
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.acquisition import locate
from memory_core.embedding.base import Profile
from memory_core.embedding.minilm import MiniLM
from memory_core.errors import EncoderUnavailable
from memory_core.memory import Memory
from memory_core.runtime import Tuning

sys.path.append(str(Path(__file__).parent))

import balance
import warm
from evals.cached import Cached

pytest_plugins = ["outcome", "processes"]

KEPT = ("XDG_RUNTIME_DIR", "ANAMNESIS_BUILD_WEIGHTS")
ROOM = 4 * 2**30
"""Bytes that must be free in memory for the tests' folders to lie there."""


def pytest_configure(config: pytest.Config) -> None:
    """Folders of tests lie in memory where there is room: a sync of the disk is not their point.

    What a power cut leaves is computed from a record of syncs (tests/campaigns/power.py). The
    hundreds of processes that tests start share compiled code, as those of an installed program do.
    The home of the user, with the default store in it, is not that of the tests, nor are the locale
    and the time zone.
    """
    for name in [name for name in os.environ if name.startswith(("LANG", "LC_"))]:
        del os.environ[name]  # what gets few variables then starts from a template too
    os.environ["TZ"] = "UTC"  # a day is that of the machine: another one would have other days
    time.tzset()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    memory = Path("/dev/shm")
    if memory.is_dir() and "TMPDIR" not in os.environ and disk_usage(memory).free >= ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)
    if not hasattr(config, "workerinput"):
        for name, folder in {"npm_config_cache": ".npm", "PIP_CACHE_DIR": ".cache/pip"}.items():
            os.environ.setdefault(name, str(Path.home() / folder))
        home = tempfile.mkdtemp(prefix="home")
        config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
        os.environ["HOME"] = os.environ["USERPROFILE"] = home
        for name in [name for name in os.environ if name.startswith(("XDG_", "ANAMNESIS_"))]:
            if name not in KEPT:
                del os.environ[name]
    warm.load_model_once()
    # each client of a service reads the certificates of this machine anew, for a twentieth second
    ssl.create_default_context = functools.cache(ssl.create_default_context)
    os.environ["ANAMNESIS_SHARED"] = "off"  # a test that shares an engine says so, and ends it
    config.option.loadscopereorder = False  # of pytest-xdist: it would put the longest files last


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[Any]:
    """Nothing that is imported is garbage, and nobody looks for any in it: half of this time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)  # a twentieth of a run went into looking for little
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest goes first, so that no worker is left alone with it at the end."""
    places = {name: place for place, name in enumerate(balance.LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files as they are, but for those that balance.py joins."""
    return balance.scheduler(config, log) if config.getoption("dist") == "loadfile" else None


# No limit of time on an example: that would test how busy the machine is.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "steady", settings.get_profile("patient"), derandomize=True, max_examples=20
)
# the same examples each time, so that more would find what these do; SEARCH=1 draws 100 new ones
settings.load_profile("patient" if os.environ.get("SEARCH") else "steady")


@pytest.fixture(scope="session")
def weights_available() -> bool:
    """True when this machine has the real model's weights; nothing is fetched."""
    try:
        locate(Settings(offline=True))
    except EncoderUnavailable:
        return False
    return True


@pytest.fixture(scope="session")
def uncached() -> MiniLM:
    """The real model itself. Without its weights the test errors, with the way to get them."""
    return MiniLM(locate(Settings(offline=True)))


@pytest.fixture(scope="session")
def minilm(uncached: MiniLM) -> Cached:
    """The real model, asked once for each text: many tests tell the same beside their own."""
    return Cached(uncached)


class ToyEmbedder:
    """Texts that share words are close, deterministically; no weights. It can be told to fail."""

    name = "toy"
    fingerprint = "toy-1"
    dimension = 64
    profile = Profile()

    def __init__(self) -> None:
        self.refuses: Callable[[str], bool] = lambda text: False
        self.asked = 0

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += 1
        for text in texts:
            if self.refuses(text):
                raise EncoderUnavailable("the toy refuses this text", "give it another")
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
        total = np.sum([_direction(word) for word in words] or [_direction("")], axis=0)
        unit: NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
        return unit


@functools.cache
def _direction(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).normal(size=ToyEmbedder.dimension)


@pytest.fixture
def toy() -> ToyEmbedder:
    return ToyEmbedder()


class NoModel(ToyEmbedder):
    """A model that cannot be loaded."""

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        raise EncoderUnavailable("there is no model", "none in this test")


class Clock:
    """A clock that is set by hand; 2024-06-01T00:00:00Z at first."""

    def __init__(self) -> None:
        self.now = 1_717_200_000.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def no_model() -> NoModel:
    return NoModel()


OpenMemory = Callable[..., Memory]


@pytest.fixture
def open_memory(tmp_path: Path, clock: Clock, toy: ToyEmbedder) -> Iterator[OpenMemory]:
    """Opens memories: (folder name, embedder, encoder object, tuning, settings) -> ready."""
    opened: list[Memory] = []

    def open_one(
        name: str = "store",
        embedder: Any = toy,
        asks: Any = None,
        tuning: Tuning | None = None,
        **settings: Any,
    ) -> Memory:
        chosen = Settings(data_dir=tmp_path / name, **settings)
        memory = Memory(chosen, clock=clock, embedder=embedder, encoder=asks, tuning=tuning)
        opened.append(memory)
        assert memory.wait_ready(120.0) is not isinstance(embedder, NoModel)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory()


def _cost(function: Callable[[str], Any], text: str) -> float:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        function(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.fixture
def grows_linearly() -> Callable[[Callable[[str], Any], str], bool]:
    """Whether processor time on twice the text stays well under the fourfold of quadratic rules."""

    def check(function: Callable[[str], Any], unit: str) -> bool:
        text = unit * (10_000 // len(unit))
        for _ in range(3):  # a busy machine gets another chance; a quadratic rule does not pass
            if _cost(function, text) < 3 * _cost(function, text[: len(text) // 2]) + 0.004:
                return True
        return False

    return check
