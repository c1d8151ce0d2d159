"""Threads share heaps, and freed memory goes back, where the C library can be told so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_core.storage import process_memory

pytestmark = pytest.mark.usefixtures("processes")

CODE = """
import re, sys, threading
from pathlib import Path
from memory_core.storage import process_memory
if sys.argv[1] == "shared":
    assert process_memory.limit_arenas()
blocks, done = [], threading.Barrier(17)

def work():
    blocks.append([bytes(2000) for _ in range(200)])  # above what Python's own allocator serves
    done.wait()
    done.wait()

for _ in range(16):
    threading.Thread(target=work).start()
done.wait()
maps = Path("/proc/self/smaps").read_text()
print(sum(map(int, re.findall(r"^Size: +(\\d+)", maps, re.M))))
done.wait()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the GNU C library's heaps")
def test_sixteen_threads_reserve_less_address_space_when_they_share() -> None:
    def reserved(how: str) -> int:
        root = Path(__file__).parents[2]
        done = subprocess.run(
            [sys.executable, "-c", CODE, how], cwd=root, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert reserved("shared") < 0.8 * reserved("each its own")


FREED = """
import sys
from pathlib import Path
from memory_core.storage import process_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

blocks = [bytes(2000) for _ in range(20_000)]
kept, last = blocks[::100], bytes(2000)  # what still lies between keeps the heap from shrinking
del blocks
before = resident()
assert process_memory.trim()
print(before, resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the GNU C library's heaps")
def test_freed_memory_goes_back_to_the_system() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", FREED]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert (before - after) * 4096 > 20_000_000


def test_another_system_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not process_memory.limit_arenas()
    assert not process_memory.trim()
