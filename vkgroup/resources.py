"""Where the shaders lie that belong to vkgroup: in the package when installed, beside it in a clone."""

from __future__ import annotations

from pathlib import Path

from vkgroup.errors import VkgroupError

_PACKAGE = Path(__file__).resolve().parent


def shaders() -> Path:
    """The folder of vkgroup's own shaders."""
    for folder in (_PACKAGE / "shaders", _PACKAGE.parent / "shaders"):
        if folder.is_dir():
            return folder
    raise VkgroupError(f"This installation of vkgroup in {_PACKAGE} has no shaders. Install it again.")


def shader(name: str) -> Path:
    """One of vkgroup's own shaders, by its path in that folder: ``"probe/layout.comp"``."""
    path = shaders() / name
    if not path.is_file():
        raise VkgroupError(f"vkgroup has no shader {name} in {shaders()}.")
    return path
