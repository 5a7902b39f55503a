"""Executors that take part in what becomes of a case: one writes it down, one repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.conformance.execute import Executor
from vkgroup.dispatch import Buffer, Device
from vkgroup.results.reproduction.shaders import Shaders
from vkgroup.spirv import Module


class RecordingExecutor(Executor):
    """Remembers the source of every module, and makes buffers no larger than they need to be."""

    def __init__(self, device: Device, shaders: Shaders, **options: Any) -> None:
        super().__init__(device, **options)
        self._shaders = shaders

    @classmethod
    def beside(cls, other: Executor, shaders: Shaders) -> RecordingExecutor:
        """Return one that does as another does, on the same device."""
        options = {"seed": other.seed, "timeout": other.timeout, "transform": other._transform}
        return cls(other.device, shaders, **options)

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Compile a shader as `Executor` does."""
        module = super().compile(source, stage=stage, **options)
        self._shaders.of(module, source, options.get("dialect"))
        return module

    def plain(self, source: str, stage: str) -> Module:
        """Compile the rest of a pipeline as `Executor` does."""
        module = super().plain(source, stage)
        self._shaders.of(module, source, None)
        return module

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Return the module that goes to the device."""
        found = super().transform_module(module, source)
        if source is not None:
            self._shaders.of(found, source, None)
        return found

    def buffer(self, name: str, nbytes: int, *, host: bool = False) -> Buffer:
        """Return a buffer of exactly that size, the same as last time if it was that then."""
        held = self._buffers.get(name)
        if held is not None and held.nbytes != nbytes:
            self._buffers.pop(name).close()
        if name not in self._buffers:
            self._buffers[name] = self.device.buffer(nbytes, host=host)
        return self._buffers[name]


class RepeatingExecutor(Executor):
    """Takes modules from a folder where their sources are the same.

    Parameters
    ----------
    device, **options : as for `Executor`.
    modules : the folder's, by their sources.

    Attributes
    ----------
    taken, compiled : how many modules came from the folder, and how many did not.
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
        """Return the folder's module of a source, or the module as it is."""
        return (self._found(source) if source is not None else None) or super().transform_module(module)

    def _found(self, source: str) -> Module | None:
        found = self._modules.get(source)
        self.taken += found is not None
        self.compiled += found is None
        return found
