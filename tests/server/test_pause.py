"""The commands pause and resume: what they print, and what is no time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from server.cli import main
from server.cli.invocation import Invocation
from server.hooks import pause


def run(data: Path, *words: str) -> dict[str, object]:
    outcome = main.run([*words, "--data-dir", str(data)], Invocation())
    assert outcome.code == 0
    return dict(outcome.data)


def test_a_pause_lasts_as_long_as_it_is_told(tmp_path: Path) -> None:
    began = time.time()
    assert run(tmp_path, "pause", "--for", "2h")["paused"] is True
    end = pause.until(str(tmp_path), began)
    assert end is not None
    assert end - began == pytest.approx(7_200, abs=60)
    assert pause.until(str(tmp_path), end + 1) is None
    run(tmp_path, "pause")
    assert pause.until(str(tmp_path), end + 1) == float("inf")
    assert (tmp_path / pause.PAUSED).stat().st_mode & 0o777 == 0o600
    assert run(tmp_path, "resume") == run(tmp_path, "resume") == {"paused": False}
    assert pause.until(str(tmp_path), began) is None


def test_doctor_reminds_of_a_pause_and_how_it_ends(tmp_path: Path) -> None:
    def told() -> list[tuple[str, str]]:
        checks = main.run(["doctor", "--data-dir", str(tmp_path)], Invocation()).data["checks"]
        return [(each["detail"], each["command"]) for each in checks if each["name"] == "pause"]

    assert told() == []
    run(tmp_path, "pause", "--for", "2h")
    ((detail, command),) = told()
    assert detail.startswith("hooks are paused until 20")
    assert command == "anamnesis resume"
    run(tmp_path, "pause")
    assert "without an end" in told()[0][0]
    run(tmp_path, "resume")
    assert told() == []


@pytest.mark.parametrize("span", ["2", "h", "-2h", "0h", "2 weeks", "1e3h", "99999999d"])
def test_what_is_no_time_pauses_nothing(
    tmp_path: Path, span: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["pause", f"--for={span}", "--data-dir", str(tmp_path)]) == 2
    assert "30m, 2h or 3d" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_a_pause(tmp_path: Path) -> None:
    (tmp_path / pause.PAUSED).write_text("nonsense")
    assert pause.until(str(tmp_path), 0.0) == float("inf")
