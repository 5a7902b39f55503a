"""Disk cache of compiled modules, shared by all processes of the user.

An entry is one file. Its name is the digest of everything that decides the module: source, options and tool
versions. It contains the module, the digests of the included files, and a checksum of all, the name included.
It is written to a temporary file and renamed, so that readers see a complete file or none. An entry that is
damaged, has another key, or whose included files have changed, is ignored. If the cache cannot be read or
written, the source is compiled without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import msgspec

from vkgroup.base import files
from vkgroup.base.errors import InvalidModule
from vkgroup.compiler.includes import Dependencies
from vkgroup.spirv import Module

_MAGIC = b"vkgroup module 1"
_DIGEST_SIZE = 32

#: Maximum number of entries in one of 256 folders (about 64 MB in all); above it the older half is deleted.
_ENTRIES_OF_A_FOLDER = 128


def cache_folder() -> Path:
    """Return the folder of compiled modules in the user's cache."""
    return files.cache_folder() / "modules"


def key_of(*parts: str) -> str:
    """Return the digest of a sequence of texts; the boundaries between texts count."""
    state = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def checksum(key: str, content: bytes) -> bytes:
    """Return the checksum of an entry: of its key and its content."""
    return hashlib.blake2b(key.encode() + content, digest_size=_DIGEST_SIZE).digest()


def load(key: str) -> Module | None:
    """Return the module of `key`; None if there is no valid entry."""
    try:
        data = _path(key).read_bytes()
    except OSError:
        return None
    try:
        payload, dependencies = _unpack(key, data)
        return Module.from_bytes(payload) if dependencies.still_hold() else None
    except (ValueError, KeyError, TypeError, AttributeError, InvalidModule):
        return None


def store(key: str, module: Module, dependencies: Dependencies) -> None:
    """Store `module` under `key`; do nothing if the cache cannot be written."""
    path = _path(key)
    try:
        entry = _pack(key, module, dependencies)
    except UnicodeEncodeError:  # the name of an included file is not UTF-8
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    # One key in 32 checks the size of its folder, which limits the cost.
    if int(key[2:4], 16) < 8:
        thin_out(path.parent)


def _path(key: str) -> Path:
    return cache_folder() / key[:2] / key[2:]


def _pack(key: str, module: Module, dependencies: Dependencies) -> bytes:
    """Return an entry: checksum, length of the dependencies, dependencies, module."""
    head = msgspec.json.encode(dependencies) if dependencies.present else b""
    body = len(head).to_bytes(8, "little") + head + module.to_bytes()
    return _MAGIC + checksum(key, body) + body


def _unpack(key: str, data: bytes) -> tuple[bytes, Dependencies]:
    """Return the content of a packed entry; raise ValueError if it is damaged or has another key."""
    start = len(_MAGIC) + _DIGEST_SIZE
    body = data[start:]
    if data[:start] != _MAGIC + checksum(key, body):
        raise ValueError("damaged entry")
    length = int.from_bytes(body[:8], "little")
    head = body[8 : 8 + length]
    dependencies = msgspec.json.decode(head, type=Dependencies) if length else Dependencies()
    return body[8 + length :], dependencies


def thin_out(folder: Path) -> None:
    """Delete the older half of a full folder; another process may do the same at the same time."""
    with contextlib.suppress(OSError):
        entries = [(entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder)]
        if len(entries) > _ENTRIES_OF_A_FOLDER:
            for _, path in sorted(entries)[: len(entries) // 2]:
                with contextlib.suppress(OSError):
                    os.unlink(path)
