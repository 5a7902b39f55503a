"""Shared libraries made by hand: no code in them, but the dynamic linker loads them."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

_BASE = 64 + 3 * 56  # behind the file header and three program headers


def write_library(path: Path, soname: str, needed: tuple[str, ...] = ()) -> Path:
    """Write a library called `soname` that needs the libraries `needed`."""
    with open(sys.executable, "rb") as file:
        machine = file.read(20)[18:20]
    strings = bytearray(b"\0")

    def text(value: str) -> int:
        at = len(strings)
        strings.extend(value.encode() + b"\0")
        return at

    names = [(1, text(name)) for name in needed] + [(14, text(soname))]
    symbols = _BASE + len(strings) + -len(strings) % 8
    hashes = symbols + 24
    dynamic = hashes + 24
    tags = [*names, (4, hashes), (5, _BASE), (6, symbols), (10, len(strings)), (11, 24), (0, 0)]
    body = bytes(strings).ljust(symbols - _BASE, b"\0") + bytes(24)
    body += struct.pack("<IIII", 1, 1, 0, 0).ljust(24, b"\0")
    body += b"".join(struct.pack("<QQ", tag, value) for tag, value in tags)
    end = dynamic + 16 * len(tags)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<H", 3) + machine
    header += struct.pack("<IQQQIHHHHHH", 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, end, end, 0x1000)
    section = struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, 16 * len(tags), 16 * len(tags), 8)
    # PT_GNU_STACK. Without it a library asks for an executable stack, which glibc 2.41 refuses.
    stack = struct.pack("<IIQQQQQQ", 0x6474E551, 6, 0, 0, 0, 0, 0, 16)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + load + section + stack + body)
    return path
