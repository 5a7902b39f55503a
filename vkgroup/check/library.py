"""Compute shaders in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.base.reading import read_text
from vkgroup.compiler.hlsl_front_ends import stage_of_source

_LANGUAGES = (".glsl", ".hlsl", ".slang")


def shaders_in(folder: Path) -> list[Path]:
    """Return the compute shaders below a folder.

    They are files with the suffix ``.comp``, also before ``.glsl``, ``.hlsl`` or ``.slang``, and files of
    HLSL and Slang with a compute entry point. Hidden files and folders are left out.

    Raises InvalidInput: there are none.
    """
    found = sorted(_compute_shaders(folder))
    if not found:
        raise InvalidInput(f"{folder} has no compute shader (*.comp, or *.hlsl and *.slang with numthreads).")
    return found


def _compute_shaders(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts) or not path.is_file():
            continue
        suffixes = [suffix for suffix in path.suffixes if suffix not in _LANGUAGES]
        if suffixes[-1:] == [".comp"] or (not suffixes and _is_compute(path)):
            yield path


def _is_compute(path: Path) -> bool:
    """Whether a file of HLSL or Slang is a compute shader by its source."""
    if path.suffix not in (".hlsl", ".slang"):
        return False
    return stage_of_source(read_text(path, errors="replace")) == "compute"
