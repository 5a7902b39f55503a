"""Catalogue of benchmarks and peers: the files of ``bench/definitions`` and ``bench/peers``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType

from vkgroup.bench.definition import Definition, Peer
from vkgroup.errors import InvalidInput
from vkgroup.resources import bench

CEILING = "ceiling."
"""Begins the names of the ceilings; a case's `needs` leave it out."""

MICRO = "micro."
"""Begins the names of the microbenchmarks."""

_SEPARATE = (CEILING, MICRO)


def load(folder: Path) -> tuple[Definition, ...]:
    """Load the definitions of all files of a folder, by name; files that begin with ``_`` are not loaded.

    Raises
    ------
    InvalidInput
        A file has no list `DEFINITIONS`, or two definitions have one name.
    """
    found: dict[str, Definition] = {}
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith("_"):
            continue
        module = _module("definitions", path)
        if not hasattr(module, "DEFINITIONS"):
            raise InvalidInput(f"{path} has no list DEFINITIONS; see docs/bench.md.")
        for definition in module.DEFINITIONS:
            if definition.name in found:
                raise InvalidInput(f"{path}: there are two benchmarks {definition.name}.")
            found[definition.name] = definition
    return tuple(found[name] for name in sorted(found))


@cache
def definitions() -> tuple[Definition, ...]:
    """Return vkgroup's own benchmarks, by name."""
    return load(bench("definitions"))


def choose(patterns: Sequence[str] = (), among: Iterable[Definition] | None = None) -> tuple[Definition, ...]:
    """Return the benchmarks that are meant.

    Parameters
    ----------
    patterns : globs over whole names, or beginnings of names up to a dot (``"reduce"``).
        None means all but ceilings (which are measured with all that needs them) and microbenchmarks.
    among : of which to choose; None takes vkgroup's own.

    Raises
    ------
    InvalidInput
        A pattern fits none.
    """
    everything = tuple(definitions() if among is None else among)
    if not patterns:
        return tuple(one for one in everything if not one.name.startswith(_SEPARATE))
    for pattern in patterns:
        if not any(_fits(one.name, pattern) for one in everything):
            raise InvalidInput(f"No benchmark is called {pattern!r}; `vkgroup bench --list` has them all.")
    return tuple(one for one in everything if any(_fits(one.name, pattern) for pattern in patterns))


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or name.startswith(pattern.removesuffix(".") + ".")


@cache
def peers() -> dict[str, Peer]:
    """Return the peers by name, without asking whether their packages are there."""
    found = {}
    for path in sorted(bench("peers").glob("*.py")):
        if not path.name.startswith("_"):
            peer: Peer = _module("peers", path).PEER
            found[peer.name] = peer
    return found


def _module(kind: str, path: Path) -> ModuleType:
    """Import a file under a name of its own: in a clone these folders are in no package."""
    # By its whole path: two folders may have files of one name.
    name = f"vkgroup_bench_{kind}_{path.stem}_{abs(hash(path)):x}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look their module up there.
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module
