"""The process behind yard.Yard: forks a run for every task that it reads, and waits for it."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

SECONDS = 240


def run(task: dict[str, Any], scenarios: Any) -> None:
    shim = ctypes.CDLL(None)
    said = os.open(task["said"], os.O_WRONLY | os.O_APPEND)
    mark = -1
    if task.get("record"):
        mark = os.open(task["record"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        shim.faultshim_record(mark)

    def say(*words: object) -> None:
        line = (" ".join(map(str, words)) + "\n").encode()
        os.write(said, line)
        if mark >= 0:
            shim.faultshim_mark(line, len(line))

    arm = shim.faultshim_arm
    arm.argtypes = [ctypes.c_char_p, *[ctypes.c_int], *[ctypes.c_long] * 2, *[ctypes.c_int] * 2]
    arm(
        task["directory"].encode(),
        task.get("what", 0),
        task.get("first", 0),
        task.get("last", task.get("first", 0)),
        task.get("error", 0),
        int(task.get("room", False)),
    )
    getattr(scenarios, task["scenario"])(Path(task["directory"]), say, **task.get("options", {}))
    shim.faultshim_seen.restype = ctypes.c_long
    say("seen", shim.faultshim_seen())


def main() -> None:
    warnings.filterwarnings("ignore", message="lancedb fork support")
    sys.path.insert(0, str(Path(__file__).parent))
    scenarios = importlib.import_module(sys.argv[1])
    for line in sys.stdin:
        task = json.loads(line)
        errors = task["said"] + ".errors"
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(SECONDS)
                os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                run(task, scenarios)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        complaint = Path(errors).read_text(errors="replace")[-3000:]
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        told = {"signal": ended, "status": status, "complaint": complaint}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
