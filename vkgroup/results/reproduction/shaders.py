"""The shaders of a folder: each as source where it is known, as SPIR-V, and as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vkgroup.compiler import disassemble
from vkgroup.errors import InvalidInput, VkgroupError
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spirv import Module

FOLDER = "shaders"

_SUFFIXES = {"hlsl": "hlsl"}


class Shaders:
    """Writes the shaders that work is made of.

    Parameters
    ----------
    folder : the folder of the case.

    Attributes
    ----------
    listed : one object a shader: ``stage``, ``spirv``, ``text``, and ``source`` and ``dialect`` where known.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[Module, tuple[str, str]] = {}
        self.listed: list[dict[str, Any]] = []
        self._files: dict[Module, str] = {}

    def of(self, module: Module, source: str, dialect: str | None) -> None:
        """Remember what a module was compiled from."""
        self._sources.setdefault(module, (source, dialect or "vulkan"))

    def file(self, module: Module) -> str:
        """Write a module, unless it is written; returns the file of its SPIR-V."""
        if module not in self._files:
            self._files[module] = self._write(module)
        return self._files[module]

    def _write(self, module: Module) -> str:
        (self._folder / FOLDER).mkdir(parents=True, exist_ok=True)
        stage = module.reflection.entry_points[0].stage
        stem = f"{FOLDER}/{len(self.listed)}.{STAGE_NAMES[stage].suffix}"
        entry: dict[str, Any] = {"stage": stage, "spirv": f"{stem}.spv", "text": f"{stem}.spvasm"}
        (self._folder / entry["spirv"]).write_bytes(module.to_bytes())
        (self._folder / entry["text"]).write_text(_text(module), encoding="utf-8")
        source, dialect = self._sources.get(module, (module.debug_source, "vulkan"))
        if source is not None:
            entry["source"] = f"{stem}.{_SUFFIXES.get(dialect, 'glsl')}"
            entry["dialect"] = dialect
            (self._folder / entry["source"]).write_text(source, encoding="utf-8")
        self.listed.append(entry)
        return str(entry["spirv"])


def _text(module: Module) -> str:
    """Return a module in assembly; of one that the tools cannot read, why."""
    try:
        return disassemble(module)
    except VkgroupError as error:
        return f"; {error}\n"


def read_module(folder: Path, file: str) -> Module:
    """Read a module of a folder.

    Raises
    ------
    InvalidInput, InvalidModule
        There is none inside of the folder.
    """
    path = folder / file
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(f"{folder}: {file} lies outside of the folder; make the folder again.")
    try:
        return Module.from_bytes(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
