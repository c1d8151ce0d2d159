"""The cases of a file of beliefs, with a question or a request behind each correction.

    python tests/bench/asked.py FILE OUTPUT

People tell an assistant news and ask it something in one breath. OUTPUT is FILE for
`anamnesis evaluate OUTPUT --format beliefs`: each new text, then one of three sentences that ask,
in turn, in English or German. Nothing else is changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

ENGLISH = (
    "Can you write that into the plan?",
    "What should I bring?",
    "could you check the list for me?",
)
GERMAN = (
    "Kannst du das in den Plan schreiben?",
    "Was soll ich mitbringen?",
    "Schaust du mal, ob das passt?",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    cases = json.loads(args.file.read_text("utf-8"))
    for number, case in enumerate(cases["corrections"]):
        told = case["new"].rstrip()
        end = "" if told.endswith((".", "!", "?")) else "."
        asked = GERMAN if case.get("lang") == "de" else ENGLISH
        case["new"] = f"{told}{end} {asked[number % len(asked)]}"
    args.output.write_text(json.dumps(cases, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
