"""Puts the model's weights into the wheel, so that an install embeds at once and offline.

Reads ANAMNESIS_BUILD_WEIGHTS: `auto` (the default: without a network the build goes on, and the
install answers lexically until `anamnesis setup`), `require` (fail instead; for releases) or
`skip` (fetch nothing); and ANAMNESIS_MODEL_DIR, a folder that holds the two files.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "memory_core/embedding"
HOME = f"{PACKAGE}/minilm"
MODES = ("auto", "require", "skip")


class WeightsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs once before the wheel, or the editable install, is put together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Place the weights in the source tree and name them, since git ignores them there."""
        mode = os.environ.get("ANAMNESIS_BUILD_WEIGHTS", "auto")
        if mode not in MODES:
            raise ValueError(f"ANAMNESIS_BUILD_WEIGHTS is {mode!r}; use one of {', '.join(MODES)}")
        if self.target_name != "wheel" or mode == "skip":
            return
        root = Path(self.root)
        weights = _load(root / PACKAGE / "weights.py")
        try:
            _place(weights, root / HOME)
        except (OSError, weights.WeightsUnavailable) as problem:
            if mode == "require":
                raise
            self.app.display_warning(f"built without model weights ({problem})")
            self.app.display_warning("run `anamnesis setup` after installing")
            return
        if version == "standard":  # an editable install reads the source tree
            for name in weights.FILES:
                build_data["force_include"][str(root / HOME / name)] = f"{HOME}/{name}"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("weights", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _place(weights: ModuleType, folder: Path) -> None:
    if weights.complete(folder):
        return
    given = os.environ.get("ANAMNESIS_MODEL_DIR")
    if given:
        weights.from_folder(Path(given), folder)
    else:
        weights.from_package_index(folder, environment=dict(os.environ))
