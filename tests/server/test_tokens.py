from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp.server.auth.middleware.auth_context import AuthenticatedUser, auth_context_var

from memory_core.errors import (
    Busy,
    IncompatibleStore,
    InvalidInput,
    NotFound,
    ReadOnly,
    StorageError,
)
from memory_core.records import Identity
from memory_core.storage.locks import FileLock
from server.http.tokens import Tokens
from server.identity import caller

NOW = 1_717_200_000.0


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "data", clock=lambda: NOW)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_token_is_made_once_readable_and_has_every_right(
    tokens: Tokens, tmp_path: Path
) -> None:
    tokens.ensure_first("me", "ours")
    secret = tokens.first_file.read_text().strip()
    tokens.ensure_first("me", "ours")
    assert tokens.first_file.read_text().strip() == secret
    (grant,) = tokens.all()
    assert tokens.find(secret) == grant
    assert (grant.agent, grant.team) == ("me", "ours")
    assert set(grant.rights) == {"read", "write", "admin"}


def test_a_token_can_forbid_that_a_model_sees_what_is_remembered_with_it(
    tokens: Tokens, tmp_path: Path
) -> None:
    open_one, silent = tokens.add("me"), tokens.add("me", encode=False)
    again = Tokens(tmp_path / "data")
    grants = [again.find(secret) for secret in (open_one, silent)]
    assert [grant.encode for grant in grants if grant] == [True, False]
    assert [grant.as_access_token().claims["encode"] for grant in grants if grant] == [True, False]  # type: ignore[index]


def test_a_list_of_tokens_from_before_there_were_encoders_is_read(
    tokens: Tokens, tmp_path: Path
) -> None:
    secret = tokens.add("me")
    file = tmp_path / "data" / "tokens.json"
    listed = json.loads(file.read_text())
    for entry in listed["tokens"]:
        del entry["encode"]
    file.write_text(json.dumps(listed))
    grant = Tokens(tmp_path / "data").find(secret)
    assert grant is not None
    assert grant.encode


def test_files_are_private_under_any_umask(tokens: Tokens, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        tokens.ensure_first("me")
        tokens.add("other")
    finally:
        os.umask(before)
    assert mode(tmp_path / "data") == 0o700
    assert mode(tmp_path / "data" / "token") == 0o600
    assert mode(tmp_path / "data" / "tokens.json") == 0o600


def test_only_hashes_are_listed(tokens: Tokens, tmp_path: Path) -> None:
    secret = tokens.add("other")
    text = (tmp_path / "data" / "tokens.json").read_text()
    assert secret not in text
    assert hashlib.sha256(secret.encode()).hexdigest() in text
    assert len(secret) >= 40


def test_a_wrong_token_finds_nothing(tokens: Tokens) -> None:
    secret = tokens.add("other")
    for wrong in ("", "x", secret[:-1], secret + "x", secret.upper(), "\u2603"):
        assert tokens.find(wrong) is None


def test_a_revoked_token_is_gone_also_for_a_server_that_runs(
    tokens: Tokens, tmp_path: Path
) -> None:
    kept, gone = tokens.add("a"), tokens.add("b")
    server = Tokens(tmp_path / "data")
    grant = server.find(gone)
    assert grant is not None
    tokens.revoke(grant.id)
    assert server.find(gone) is None
    assert server.find(kept) is not None
    with pytest.raises(NotFound):
        tokens.revoke(grant.id)


def test_tokens_added_at_once_are_all_there(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = list(pool.map(lambda n: Tokens(tmp_path).add(f"agent {n}"), range(24)))
    assert len({grant.agent for grant in Tokens(tmp_path).all()}) == 24
    assert all(Tokens(tmp_path).find(secret) for secret in secrets)


def test_a_lock_that_is_held_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.http.tokens.LOCK_SECONDS", 0.05)
    lock = FileLock(tmp_path / "tokens.lock")
    assert lock.acquire()
    with pytest.raises(Busy, match="another process"):
        Tokens(tmp_path).add("a")
    lock.release()
    assert Tokens(tmp_path).add("a")


def test_revoking_the_first_token_removes_its_file(tokens: Tokens) -> None:
    tokens.ensure_first("me")
    tokens.add("other")
    tokens.revoke(tokens.all()[0].id)
    assert not tokens.first_file.exists()
    tokens.ensure_first("me")
    assert not tokens.first_file.exists(), "another token is there; none is made unasked"


def test_a_first_token_whose_maker_was_killed_is_listed(tokens: Tokens, tmp_path: Path) -> None:
    tokens.ensure_first("me")
    (tmp_path / "data" / "tokens.json").unlink()
    secret = tokens.first_file.read_text().strip()
    tokens.ensure_first("me")
    assert tokens.find(secret) is not None


def test_rights_are_checked(tokens: Tokens) -> None:
    with pytest.raises(InvalidInput, match="allowed are admin, read, write"):
        tokens.add("a", rights=("fly",))
    with pytest.raises(InvalidInput):
        tokens.add("a", rights=())
    with pytest.raises(InvalidInput, match="agent"):
        tokens.add(" ")
    grant = tokens.find(tokens.add("a", rights=("read",)))
    assert grant is not None
    assert grant.rights == ("read",)


def test_a_damaged_file_is_an_error_and_stays(tokens: Tokens, tmp_path: Path) -> None:
    tokens.add("a")
    file = tmp_path / "data" / "tokens.json"
    for broken in ("", "{", "[]", json.dumps({"version": 99, "tokens": []})):
        file.write_text(broken)
        with pytest.raises(IncompatibleStore, match=r"tokens\.json"):
            Tokens(tmp_path / "data").all()
        assert file.read_text() == broken


def test_an_unwritable_folder_is_read_only(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ReadOnly):
        Tokens(blocked / "data").add("a")


def test_the_caller_of_a_silent_token_is_silent(tokens: Tokens) -> None:
    for encode in (True, False):
        grant = tokens.find(tokens.add("diary", encode=encode))
        assert grant is not None
        set_to = auth_context_var.set(AuthenticatedUser(grant.as_access_token()))
        try:
            assert caller(Identity("me"), "write").encode is encode
        finally:
            auth_context_var.reset(set_to)
    assert caller(Identity("me"), "write").encode  # over stdio there is no token


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted")
@pytest.mark.parametrize("attack", ["deleted", "moved", "replaced"])
def test_a_folder_that_went_away_has_revoked_nothing(
    tokens: Tokens, tmp_path: Path, attack: str
) -> None:
    """Clients hear what happened, not that their token is wrong; and nothing is granted."""
    secret, folder = tokens.add("a"), tmp_path / "data"
    assert tokens.find(secret)
    folder.rename(tmp_path / "away")
    if attack == "deleted":
        shutil.rmtree(tmp_path / "away")
    if attack == "replaced":
        folder.mkdir()
    for _ in range(2):
        with pytest.raises(StorageError, match="deleted, moved or replaced"):
            tokens.find(secret)
    if attack == "moved":
        (tmp_path / "away").rename(folder)
        assert tokens.find(secret)
        (folder / "tokens.json").unlink()
        assert tokens.find(secret) is None
