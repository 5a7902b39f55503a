"""``vkgroup check F --watch``: check again whenever a shader, an include or the configuration changes."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from vkgroup.base.errors import VkgroupError
from vkgroup.base.files import read_text
from vkgroup.cli.check_folder import settings_of_all
from vkgroup.cli.options.shaders import names_several
from vkgroup.cli.settings import Settings, settings_of
from vkgroup.compiler.includes import Includer, scan

_POLL_SECONDS = 0.2
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
    return {file: file.stat().st_mtime_ns if file.exists() else 0 for file in watched(arguments)}


def watched(arguments: argparse.Namespace) -> set[Path]:
    """Return the configuration, the shaders, and what they include."""
    files = set() if arguments.with_file is None else {arguments.with_file}
    try:
        settings = settings_of_all(arguments) if names_several(arguments) else settings_of(arguments)
    except VkgroupError:  # of the configuration, or of a folder without shaders; the check has printed it
        return {*files, *arguments.scripts, *([arguments.shader] if arguments.shader else [])}
    for entry in settings:
        files |= _with_includes(entry.options.shader, entry)
    return files


def _with_includes(file: Path, settings: Settings) -> set[Path]:
    """Return a source and the files that it includes, or imports as Slang's modules."""
    if file.suffix in (".spv", ".spvasm") or not file.is_file():
        return {file}
    text = read_text(file, errors="replace")
    paths = list(map(Path, settings.options.include_paths))
    includer = Includer(file.parent, paths)
    scan(includer, text, str(file))
    imported = (
        folder / f"{name.removesuffix('.slang')}.slang"
        for name in _IMPORT.findall(text)
        for folder in (file.parent, *paths)
    )
    return {file, *map(Path, includer.dependencies.present), *filter(Path.is_file, imported)}
