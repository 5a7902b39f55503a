"""Files of the cmeel wheels (glslang, SPIRV-Tools, SPIRV-Headers) in the installed environment."""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata
from pathlib import Path

#: Every cmeel wheel puts its files under this folder of site-packages.
_PREFIX = "cmeel.prefix"


@cache
def prefixes(distribution: str) -> tuple[Path, ...]:
    """Return the folders that may hold the files of `distribution`, the most likely first."""
    folders = []
    try:
        located = metadata.distribution(distribution).locate_file(_PREFIX)
        folders.append(Path(str(located)))
    except metadata.PackageNotFoundError:
        pass
    folders.extend(Path(entry, _PREFIX) for entry in sys.path)
    return tuple(dict.fromkeys(path for path in folders if path.is_dir()))
