"""Cache of the outcomes of checks, which are the same as long as shader, inputs and vkgroup are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base import files
from vkgroup.base.files import PACKAGE
from vkgroup.check.allowances import allowances_of
from vkgroup.check.members import by_place
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind
from vkgroup.check.request import CheckRequest
from vkgroup.compiler.cache import checksum, key_of, thin_out

_NOT_STORED = (OutcomeKind.NO_COMPILE, OutcomeKind.NO_VERDICT, OutcomeKind.ERROR)
"""Outcomes that are not stored: those that may depend on the time that a run takes, or on the host."""


@cache
def program() -> str:
    """Return the digest of vkgroup's version and of its source files' sizes and times."""
    sources = sorted(PACKAGE.rglob("*.py"))
    facts = [(str(file.relative_to(PACKAGE)), file.stat()) for file in sources]
    listed = [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in facts]
    return key_of(version("vkgroup"), *listed)


def key(request: CheckRequest, *others: object) -> str:
    """Return the key of a check; `others`: everything else that decides the outcome."""
    digests = [
        f"{place} {path} {part.dtype.str} {part.shape} {hashlib.blake2b(part.tobytes()).hexdigest()}"
        for place, value in by_place(request.module, request.inputs or {}).items()
        for entry in (value if isinstance(value, Sequence) else [value])
        for path, part in _arrays(entry)
    ]
    module = hashlib.blake2b(request.module.to_bytes()).hexdigest()
    facts = (replace(request, shader="", inputs=None), allowances_of(request), others)
    return key_of(program(), module, *map(repr, facts), *digests)


def _arrays(value: Any) -> list[tuple[str, npt.NDArray[Any]]]:
    """Return the arrays of an input: one, or those of the members of a block by path."""
    members = value.items() if isinstance(value, Mapping) else [("", value)]
    return [(path, np.asarray(part)) for path, part in members]


def load(key: str) -> ConfigurationOutcome | None:
    """Return the stored outcome of a check; None if there is none, or if it is damaged or has another key."""
    try:
        stored = json.loads(_path(key).read_text(encoding="utf-8"))
        outcome = stored["outcome"]
        if stored["checksum"] != _checksum(key, outcome):
            return None
        return ConfigurationOutcome.from_json(outcome)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(key: str, outcome: ConfigurationOutcome) -> None:
    """Store an outcome; do nothing if it is not to be stored, or if the cache cannot be written."""
    if outcome.kind in _NOT_STORED:
        return
    path, data = _path(key), outcome.to_json()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, json.dumps({"checksum": _checksum(key, data), "outcome": data}))
    except OSError:
        return
    # One key in 32 checks the size of its folder, which limits the cost.
    if int(key[2:4], 16) < 8:
        thin_out(path.parent)


def _checksum(key: str, outcome: Any) -> str:
    return checksum(key, json.dumps(outcome).encode()).hex()


def _path(key: str) -> Path:
    return files.cache_folder() / "checks" / key[:2] / f"{key[2:]}.json"
