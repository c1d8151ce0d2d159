"""Takes the page's libraries out of their npm packages, by version and hash.

Run: python tools/vendor_page.py [--check]. Without --check it writes server/page/static/vendor and
the licences; with it nothing is written, and a difference is an error. Packages come from
registry.npmjs.org, or from the folder in ANAMNESIS_NPM_DIR.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import sys
import tarfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "server/page/static/vendor"
LICENCES = ROOT / "third_party/page-libraries.txt"
PACKAGES = {
    "preact": (
        "11.2.0",
        "sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGH"
        "e1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        {
            "package/dist/preact.mjs": "preact.js",
            "package/hooks/dist/hooks.mjs": "hooks.js",
        },
    ),
    "htm": (
        "3.1.1",
        "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4"
        "KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        {
            "package/dist/htm.mjs": "htm.js",
        },
    ),
    "d3-force": (
        "3.0.1",
        "sha512-kAaaHLFebBYwgi5cYBXAI8vKrQFMCD2MEswj2QuPKKbdU1wYLc8WX"
        "tS7O8F/b6POCIe3gJjY6hkDstHi1yMETQ==",
        {
            "package/dist/d3-force.min.mjs": "d3-force.js",
        },
    ),
    "d3-quadtree": (
        "3.0.2",
        "sha512-9Lu9mqJKRbIk0d6mKDjpvPURaPdwHVK5CYbcdd0/4vBgz4ldz/7TI"
        "Ose3kNERsByGNfld58KEco507AztJWyTQ==",
        {
            "package/dist/d3-quadtree.min.mjs": "d3-quadtree.js",
        },
    ),
    "d3-dispatch": (
        "3.0.2",
        "sha512-sAzH4Y4nsLo8eSqw5jKiZt+LU2wZmL/qS+OkxQGjhwazB/D7TY34R"
        "/QK1eshfGr7cZEKymKZ/Haem7m+lu98Sg==",
        {
            "package/dist/d3-dispatch.min.mjs": "d3-dispatch.js",
        },
    ),
    "d3-timer": (
        "3.0.2",
        "sha512-1Il1aliroVSErrv5aulRBxAY+7+DnaoLIWGd1C6SsBTWDeobWiP/V"
        "69vwb8vT6abR1kKwaNe1196pmaQ1fK90A==",
        {
            "package/dist/d3-timer.min.mjs": "d3-timer.js",
        },
    ),
    "uplot": (
        "1.6.32",
        "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+"
        "jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {
            "package/dist/uPlot.iife.min.js": "uplot.js",
            "package/dist/uPlot.min.css": "uplot.css",
        },
    ),
}
"""By name: version, integrity as npm states it, the file taken, and where it goes."""
BARE = {
    "preact": "./preact.js",
    "d3-quadtree": "./d3-quadtree.js",
    "d3-dispatch": "./d3-dispatch.js",
    "d3-timer": "./d3-timer.js",
}
"""Modules that import each other by bare name; browsers need a path."""


def package(name: str, version: str, integrity: str) -> tarfile.TarFile:
    """The package's archive. Raises SystemExit when its hash is another."""
    file = f"{name}-{version}.tgz"
    folder = os.environ.get("ANAMNESIS_NPM_DIR")
    if folder:
        data = (Path(folder) / file).read_bytes()
    else:
        address = f"https://registry.npmjs.org/{name}/-/{file}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            data = answer.read()
    found = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if found != integrity:
        raise SystemExit(f"{file} has the hash {found}, not {integrity}")
    return tarfile.open(fileobj=io.BytesIO(data))


def vendored() -> dict[Path, bytes]:
    """Every file that this script writes, with its bytes."""
    written: dict[Path, bytes] = {}
    licences = []
    for name, (version, integrity, taken) in PACKAGES.items():
        with package(name, version, integrity) as archive:
            for source, target in taken.items():
                written[VENDOR / target] = _module(_read(archive, source), target)
            text = _read(archive, "package/LICENSE").decode("utf-8").strip()
        licences.append(f"{name} {version}\n\n{text}\n")
    written[LICENCES] = ("\n" + "-" * 72 + "\n\n").join(licences).encode("utf-8")
    return written


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None
    return member.read()


def _module(data: bytes, target: str) -> bytes:
    text = data.decode("utf-8")
    for bare, path in BARE.items():
        text = text.replace(f'from"{bare}"', f'from"{path}"')
    lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL")]
    if target == "uplot.js":
        lines.append("export default uPlot;")
    return ("\n".join(lines) + "\n").encode("utf-8")


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wrong = []
    for path, data in vendored().items():
        if check and (not path.exists() or path.read_bytes() != data):
            wrong.append(path.relative_to(ROOT).as_posix())
        elif not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    if wrong:
        print(f"not what npm holds: {', '.join(wrong)}; run tools/vendor_page.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
