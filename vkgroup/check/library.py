"""Compute shaders in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vkgroup.compiler.hlsl_front_ends import stage_of_source
from vkgroup.errors import InvalidInput
from vkgroup.reading import read_text

_LANGUAGES = (".glsl", ".hlsl", ".slang")
_NUMTHREADS = re.compile(r"\[\s*numthreads\s*\(")


def shaders_in(folder: Path) -> list[tuple[Path, str | None]]:
    """Return the compute shaders below a folder, each with its stage if the file does not determine it.

    They are files with the suffix ``.comp``, also before ``.glsl``, ``.hlsl`` or ``.slang``, and files of
    HLSL and Slang with a compute entry point. Hidden files and folders are left out.

    Raises InvalidInput: there are none.
    """
    found = sorted(_compute_shaders(folder))
    if not found:
        raise InvalidInput(f"{folder} has no compute shader (*.comp, or *.hlsl and *.slang with numthreads).")
    return found


def _compute_shaders(folder: Path) -> Iterator[tuple[Path, str | None]]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts) or not path.is_file():
            continue
        suffixes = [suffix for suffix in path.suffixes if suffix not in _LANGUAGES]
        if suffixes[-1:] == [".comp"]:
            yield path, None
        elif not suffixes and path.suffix in (".hlsl", ".slang"):
            text = read_text(path, errors="replace")
            stage = stage_of_source(text)
            if stage == "compute" or (stage is None and _NUMTHREADS.search(text)):
                yield path, None if stage else "compute"
