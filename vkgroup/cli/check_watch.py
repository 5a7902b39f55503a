"""``vkgroup check F --watch``: check again whenever the shader, an include or the configuration changes."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from vkgroup.base.errors import VkgroupError
from vkgroup.cli.settings import Settings, settings_of

_POLL_SECONDS = 0.2
_INCLUDE = re.compile(r"""^\s*#\s*include\s*["<]([^">]+)[">]""", re.MULTILINE)
_IMPORT = re.compile(r"""^\s*(?:import|__include)\s+"?([\w./]+)"?\s*;""", re.MULTILINE)


def execute(arguments: argparse.Namespace) -> int:
    """Check until Ctrl-C; return the exit code of the last check that ended."""
    words = [word for word in arguments.words if word != "--watch"]
    code: int | None = None
    while True:
        # Before the check, so that a change during it is not missed.
        before = _times(arguments)
        try:
            # Each check is a process of its own: it has its time limit, and its crash does not end the watch.
            code = subprocess.run([sys.executable, "-m", "vkgroup", *words]).returncode
            changed = _wait(arguments, before)
        except KeyboardInterrupt:
            if code is None:
                raise
            return code
        print(f"\n--- {time.strftime('%H:%M:%S')}: {', '.join(map(str, changed))} changed", flush=True)


def _wait(arguments: argparse.Namespace, before: dict[Path, int]) -> list[Path]:
    """Wait until a file changes; return those that did."""
    while True:
        time.sleep(_POLL_SECONDS)
        now = _times(arguments)
        if changed := sorted(
            file for file in before.keys() | now.keys() if before.get(file) != now.get(file)
        ):
            return changed


def _times(arguments: argparse.Namespace) -> dict[Path, int]:
    """Return the files of a check with the times of their last changes; 0 for one that is absent."""
    return {file: file.stat().st_mtime_ns if file.exists() else 0 for file in _files(arguments)}


def _files(arguments: argparse.Namespace) -> set[Path]:
    """Return the configuration, the shaders, and what they include."""
    files = set() if arguments.with_file is None else {arguments.with_file}
    try:
        settings = settings_of(arguments)
    except VkgroupError:  # of the configuration; the check has printed it
        return files
    for entry in settings:
        _add(entry.options.shader, entry, files)
    return files


def _add(file: Path, settings: Settings, files: set[Path]) -> None:
    """Add a source and what it includes."""
    if file in files:
        return
    files.add(file)
    if file.suffix == ".spv" or not file.is_file():
        return
    for name in _included(file.read_text(errors="replace")):
        folders = (file.parent, *map(Path, settings.options.include_paths))
        for found in (folder / name for folder in folders):
            if found.is_file():
                _add(found, settings, files)
                break


def _included(text: str) -> Iterator[str]:
    """Yield the names of the files that a source includes, or imports as Slang's modules."""
    yield from _INCLUDE.findall(text)
    for module in _IMPORT.findall(text):
        yield module if module.endswith(".slang") else f"{module}.slang"
