"""Paths of vkgroup's shaders, kernels and benchmarks, in the installed package or in a clone."""

from __future__ import annotations

from pathlib import Path

from vkgroup.base.errors import VkgroupError

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package vkgroup."""


def shaders() -> Path:
    """Return the folder of vkgroup's shaders."""
    return _folder("shaders", PACKAGE / "shaders", PACKAGE.parent / "shaders")


def shader(name: str) -> Path:
    """Return one of vkgroup's shaders by its path in that folder: ``"probe/layout.comp"``."""
    return _file(shaders(), name, "shader")


def kernels() -> Path:
    """Return the folder of the GLSL kernels."""
    return _folder("kernels", PACKAGE / "kernels" / "glsl", PACKAGE.parent / "kernels")


def kernel(name: str) -> Path:
    """Return a kernel by its path in that folder: ``"reduce/subgroup.comp"``."""
    return _file(kernels(), name, "kernel")


def _folder(what: str, *candidates: Path) -> Path:
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise VkgroupError(f"This installation of vkgroup in {PACKAGE} has no {what}. Install it again.")


def _file(folder: Path, name: str, what: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise VkgroupError(f"vkgroup has no {what} {name} in {folder}.")
    return path


def bench(part: str) -> Path:
    """Return a folder of the benchmarks: ``"definitions"``, ``"peers"`` or ``"shaders"``."""
    return _folder(f"bench/{part}", PACKAGE / "bench" / part, PACKAGE.parent / "bench" / part)
