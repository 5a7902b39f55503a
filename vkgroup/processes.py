"""Python processes of our own: modules of vkgroup run apart, where a driver may crash or hang."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module; files in the current folder cannot stand in for libraries."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return this process's environment, with vkgroup importable from where this process has it."""
    source = str(Path(__file__).resolve().parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
