"""The shaders of a reproduction folder (source, SPIR-V, text), and executors that record and repeat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.files import read_bytes, read_text, writing
from vkgroup.compiler import disassemble
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.languages import LANGUAGES
from vkgroup.dispatch import Buffer, Device
from vkgroup.outputs.reproduction.recorder import DeviceRecorder
from vkgroup.outputs.reproduction.values import inside
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spirv import Module

FOLDER = "shaders"


class StepShaders:
    """Writes the shaders of the recorded steps.

    `listed`: one object per shader: ``stage``, ``spirv``, ``text``, and if known ``source`` and ``dialect``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[Module, tuple[str, str]] = {}
        self.listed: list[dict[str, Any]] = []
        self._files: dict[Module, str] = {}

    def of(self, module: Module, source: str, dialect: str | None) -> None:
        """Store the source of a module."""
        self._sources.setdefault(module, (source, dialect or "vulkan"))

    def file(self, module: Module) -> str:
        """Write a module if it is not yet written; return the file of its SPIR-V."""
        if module not in self._files:
            self._files[module] = self._write(module)
        return self._files[module]

    def _write(self, module: Module) -> str:
        with writing(self._folder / FOLDER):
            return self._written(module)

    def _written(self, module: Module) -> str:
        (self._folder / FOLDER).mkdir(parents=True, exist_ok=True)
        stage = module.reflection.entry_points[0].stage
        stem = f"{FOLDER}/{len(self.listed)}.{STAGE_NAMES[stage].suffix}"
        entry: dict[str, Any] = {"stage": stage, "spirv": f"{stem}.spv", "text": f"{stem}.spvasm"}
        (self._folder / entry["spirv"]).write_bytes(module.to_bytes())
        (self._folder / entry["text"]).write_text(_text(module), encoding="utf-8")
        source, dialect = self._sources.get(module, (module.debug_source, "vulkan"))
        if source is not None:
            entry["source"] = f"{stem}.{dialect if dialect in LANGUAGES else 'glsl'}"
            entry["dialect"] = dialect
            (self._folder / entry["source"]).write_text(source, encoding="utf-8")
        self.listed.append(entry)
        return str(entry["spirv"])


def _text(module: Module) -> str:
    """Return a module in assembly; if the tools cannot read it, their error."""
    try:
        return disassemble(module)
    except VkgroupError as error:
        return f"; {error}\n"


def read_module(folder: Path, file: str) -> Module:
    """Read a module of a folder."""
    path = inside(folder, file)
    try:
        return Module.from_bytes(read_bytes(path))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error


def read_source(folder: Path, file: str) -> str:
    """Read the source of a shader of a folder."""
    path = inside(folder, file)
    try:
        return read_text(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: {error.reason}") from error


class RecordingExecutor(Executor):
    """Stores the source of every module, and creates buffers of exactly the required size.

    It has the settings of another executor, and executes on a recorder of that executor's device.
    On a compile-only device, each module is written before the driver compiles it, and `note` is called:
    a module that the driver rejects is in no step.
    """

    def __init__(
        self, other: Executor, device: DeviceRecorder, shaders: StepShaders, note: Callable[[], None]
    ) -> None:
        transform, compiler = other._transform, other.compiler
        options: Any = {"seed": other.seed, "timeout": other.timeout, "transform": transform}
        super().__init__(cast(Device, device), **options, compiler=compiler)
        self._shaders, self._note = shaders, note

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Compile a shader as `Executor` does."""
        module = super().compile(source, stage=stage, **options)
        self._store(module, source, options.get("dialect"))
        return module

    def plain(self, source: str, stage: str) -> Module:
        """Compile a shader of another stage as `Executor` does."""
        module = super().plain(source, stage)
        self._store(module, source, None)
        return module

    def _store(self, module: Module, source: str, dialect: str | None) -> None:
        self._shaders.of(module, source, dialect)
        if self.device.info.is_compile_only:
            self._shaders.file(module)
            self._note()

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Return the module for the device."""
        found = super().transform_module(module, source)
        if source is not None:
            self._store(found, source, None)
        return found

    def buffer(self, name: str, nbytes: int, *, host: bool = False) -> Buffer:
        """Return a buffer of exactly this size; an equally large previous one of this name is reused."""
        held = self._buffers.get(name)
        if held is not None and held.nbytes != nbytes:
            self._buffers.pop(name).close()
        if name not in self._buffers:
            self._buffers[name] = self.device.buffer(nbytes, host=host)
        return self._buffers[name]


class RepeatingExecutor(Executor):
    """Takes modules from a folder if their sources are equal.

    `taken`, `compiled`: numbers of modules from the folder, and of others.
    """

    def __init__(self, device: Device, modules: Mapping[str, Module], **options: Any) -> None:
        super().__init__(device, **options)
        self._modules = modules
        self.taken = self.compiled = 0

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Return the folder's module of a source, or compile it."""
        return self._found(source) or super().compile(source, stage=stage, **options)

    def plain(self, source: str, stage: str) -> Module:
        """Return the folder's module of a source, or compile it."""
        return self._modules.get(source) or super().plain(source, stage)

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Return the folder's module for the module's source, or the module unchanged."""
        return (self._found(source) if source is not None else None) or super().transform_module(module)

    def _found(self, source: str) -> Module | None:
        found = self._modules.get(source)
        self.taken += found is not None
        self.compiled += found is None
        return found
