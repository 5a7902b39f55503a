"""Where the files lie that belong to vkgroup: in the package when installed, beside it in a clone."""

from __future__ import annotations

from pathlib import Path

from vkgroup.errors import VkgroupError

_PACKAGE = Path(__file__).resolve().parent


def shaders() -> Path:
    """The folder of vkgroup's own shaders."""
    return _folder("shaders", _PACKAGE / "shaders", _PACKAGE.parent / "shaders")


def shader(name: str) -> Path:
    """One of vkgroup's own shaders, by its path in that folder: ``"probe/layout.comp"``."""
    return _file(shaders(), name, "shader")


def kernels() -> Path:
    """The folder of the kernels in GLSL."""
    return _folder("kernels", _PACKAGE / "kernels" / "glsl", _PACKAGE.parent / "kernels")


def kernel(name: str) -> Path:
    """One of the kernels, by its path in that folder: ``"reduce/subgroup.comp"``."""
    return _file(kernels(), name, "kernel")


def _folder(what: str, *places: Path) -> Path:
    for folder in places:
        if folder.is_dir():
            return folder
    raise VkgroupError(f"This installation of vkgroup in {_PACKAGE} has no {what}. Install it again.")


def _file(folder: Path, name: str, what: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise VkgroupError(f"vkgroup has no {what} {name} in {folder}.")
    return path


def bench(part: str) -> Path:
    """A folder of the benchmarks: ``"definitions"``, ``"peers"`` or ``"shaders"``."""
    return _folder(f"bench/{part}", _PACKAGE / "bench" / part, _PACKAGE.parent / "bench" / part)
