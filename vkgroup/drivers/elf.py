"""Reader of a shared library's soname and needed libraries, and the order in which to load libraries.

Only the dynamic section is read (System V ABI, "Dynamic Section"), so that no tool such as
``readelf`` has to be installed. ``docs/decisions/libraries.md`` compares this reader with pyelftools.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SONAME = 1, 5, 14


@dataclass(frozen=True)
class Dynamic:
    """The dynamic section of one shared library."""

    soname: str  # the name other libraries ask for; empty where the library has none
    needed: tuple[str, ...]  # the sonames this library asks for, in its own order


def read_dynamic(library: Path) -> Dynamic | None:
    """Read a library's dynamic section; None for a file that is not a valid 64-bit ELF library.

    Every supported driver is built for a 64-bit architecture (amd64, arm64), so the 32-bit
    layout is left out.
    """
    data = library.read_bytes()
    if len(data) < 64 or data[:5] != b"\x7fELF\x02":
        return None
    order = "<" if data[5] == 1 else ">"
    try:
        return _parse(data, order)
    except (struct.error, ValueError, OverflowError):  # an offset may exceed the file, or 63 bits
        return None


def _parse(data: bytes, order: str) -> Dynamic | None:
    table, entry_size, count = (
        *struct.unpack_from(order + "Q", data, 32),
        *struct.unpack_from(order + "HH", data, 54),
    )
    loads: list[tuple[int, int, int]] = []  # (virtual address, file offset, size in the file)
    dynamic: tuple[int, int] | None = None
    for index in range(count):
        at = table + index * entry_size
        kind, _flags, offset, address, _physical, size = struct.unpack_from(order + "IIQQQQ", data, at)
        if kind == _PT_LOAD:
            loads.append((address, offset, size))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, size)
    if dynamic is None:
        return None
    tags = list(struct.iter_unpack(order + "QQ", data[dynamic[0] : dynamic[0] + dynamic[1]]))
    strings = next((value for tag, value in tags if tag == _DT_STRTAB), None)
    if strings is None:
        return None
    base = next((strings - a + o for a, o, size in loads if a <= strings < a + size), None)
    if base is None:
        return None

    def text(at: int) -> str:
        return data[base + at : data.index(b"\0", base + at)].decode("utf-8", "replace")

    soname = next((text(value) for tag, value in tags if tag == _DT_SONAME), "")
    return Dynamic(soname, tuple(text(value) for tag, value in tags if tag == _DT_NEEDED))


def load_order(library: Path, available: list[Path]) -> list[Path]:
    """Return the libraries of `available` that `library` needs, each after the libraries it needs itself.

    If they are loaded in this order, and then `library`, no search path is necessary: the dynamic
    linker recognizes a loaded library by its soname.
    """
    sections = {path: read_dynamic(path) for path in available}
    by_soname = {(d.soname or path.name): path for path, d in sections.items() if d is not None}
    order: list[Path] = []
    visited: set[Path] = set()

    def visit(dynamic: Dynamic | None) -> None:
        for soname in dynamic.needed if dynamic else ():
            path = by_soname.get(soname)
            if path is not None and path not in visited:
                visited.add(path)
                visit(sections[path])
                order.append(path)

    visit(read_dynamic(library))
    return order
