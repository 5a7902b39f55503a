"""Catalogue of benchmarks and peers (``bench/definitions``, ``bench/peers``), and notation of sizes."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType

from vkgroup.base.errors import InvalidInput, describe
from vkgroup.base.files import bench
from vkgroup.base.suggestions import nearest
from vkgroup.bench.definition import Definition, Peer

CEILING = "ceiling."
"""Prefix of the names of ceilings; a case's `needs` use the names without it."""

MICRO = "micro."
"""Prefix of the names of microbenchmarks."""

_SEPARATE = (CEILING, MICRO)


def load(path: Path) -> tuple[Definition, ...]:
    """Load the definitions of a file, or of a folder's files whose names do not begin with ``_``, by name.

    Raises InvalidInput: a file cannot be loaded, has no list `DEFINITIONS`, or names two definitions alike.
    """
    definitions: dict[str, Definition] = {}
    found = sorted(file for file in path.glob("*.py") if not file.name.startswith("_"))
    for file in found if path.is_dir() else [path]:
        module = _module("definitions", file)
        if not hasattr(module, "DEFINITIONS"):
            raise InvalidInput(f"{file} has no list DEFINITIONS; see docs/benchmarks/definitions.md.")
        for definition in module.DEFINITIONS:
            if definition.name in definitions:
                raise InvalidInput(f"{file}: there are two benchmarks {definition.name}; rename one of them.")
            definitions[definition.name] = definition
    return tuple(definitions[name] for name in sorted(definitions))


@cache
def definitions() -> tuple[Definition, ...]:
    """Return vkgroup's own benchmarks, by name."""
    return load(bench("definitions"))


def choose(patterns: Sequence[str] = (), among: Iterable[Definition] | None = None) -> tuple[Definition, ...]:
    """Return the benchmarks that match patterns.

    `patterns`: globs for whole names, or parts of names before a dot (``"reduce"``). None means all except
    microbenchmarks and ceilings; ceilings are measured with the benchmarks that need them.
    `among`: the benchmarks to choose from; None means vkgroup's own.
    Raises InvalidInput: a pattern matches no benchmark.
    """
    everything = tuple(definitions() if among is None else among)
    if not patterns:
        return tuple(definition for definition in everything if not definition.name.startswith(_SEPARATE))
    for pattern in patterns:
        if not any(_fits(definition.name, pattern) for definition in everything):
            parts = [entry.name.split(".") for entry in everything]
            known = {".".join(names[:count]) for names in parts for count in (1, 2, None)}
            raise InvalidInput(
                f"No benchmark is called {pattern!r}.{nearest(pattern, known)} `vkgroup bench --list` shows"
                " all names."
            )
    return tuple(
        definition
        for definition in everything
        if any(_fits(definition.name, pattern) for pattern in patterns)
    )


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or name.startswith(pattern.removesuffix(".") + ".")


@cache
def peers() -> dict[str, Peer]:
    """Return the peers by name, without testing whether their packages are installed."""
    paths = sorted(bench("peers").glob("*.py"))
    modules = (_module("peers", path) for path in paths if not path.name.startswith("_"))
    return {module.PEER.name: module.PEER for module in modules}


def _module(kind: str, path: Path) -> ModuleType:
    """Import a file under a unique module name, since these folders are not packages in a clone."""
    # Use the whole path, since two folders may have files of the same name.
    name = f"vkgroup_bench_{kind}_{path.stem}_{abs(hash(path)):x}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look up their module in sys.modules.
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{path} cannot be loaded: {describe(error)}.") from error
    return module


_SIZE = re.compile(r"(\d+)(?:(\^|\*\*)(\d+)|([kKMG])i?)?")
_SUFFIXES = {"k": 10, "K": 10, "M": 20, "G": 30}


def parse_size(text: str) -> int:
    """Parse a size: ``"1000003"``, ``"2^20"``, ``"2**20"``, ``"64k"`` or ``"1Mi"`` (powers of 1024).

    Raises InvalidInput: the text is not a size, or the size is out of range.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is not a size; write 1000003, 2^20, 64k or 1M.")
    base, power, exponent, suffix = match.groups()
    size = int(base) ** min(int(exponent), 64) if power else int(base)
    size <<= _SUFFIXES[suffix] if suffix else 0
    if not 0 < size <= 1 << 40:
        raise InvalidInput(f"{text!r}: a size must be in the range from 1 to 2^40.")
    return size


def power_text(size: int) -> str:
    """Return a size as text: ``"2^20"`` for a power of two of at least 2^10, otherwise in decimal."""
    return f"2^{size.bit_length() - 1}" if size >= 1024 and not size & (size - 1) else f"{size}"
