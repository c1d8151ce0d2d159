"""Draws the icon of server/protocol/icon.py, two rings, as the PNG that client catalogues ask for.

    python tools/draw_icon.py

The plugin keeps it; tools/build_bundle.py takes it from there.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

ICON = Path(__file__).parents[1] / "integrations" / "claude-code" / ".claude-plugin" / "icon.png"
SIDE = 512
VIEW = 18.0
RADII = (8.0, 3.0)
COLOUR = (0x77, 0x55, 0xFF)


def pixels() -> np.ndarray:
    """RGBA of the icon, (SIDE, SIDE, 4) uint8; edges fade over one pixel."""
    step = VIEW / SIDE
    along = (np.arange(SIDE) + 0.5) * step - VIEW / 2
    distance = np.hypot(along[:, None], along[None, :])
    to_edge = np.min([np.abs(distance - radius) - 0.5 for radius in RADII], axis=0)
    covered = np.clip(0.5 - to_edge / step, 0.0, 1.0)
    image = np.empty((SIDE, SIDE, 4), np.uint8)
    image[..., :3] = COLOUR
    image[..., 3] = np.rint(covered * 255)
    return image


def png(image: np.ndarray) -> bytes:
    """*image* as a PNG file, each row without a filter."""
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


if __name__ == "__main__":
    ICON.write_bytes(png(pixels()))
    print(ICON.name, ICON.stat().st_size, "bytes")
