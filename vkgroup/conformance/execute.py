"""Executor: an open device with the compiler, buffers and modules that families use to judge cases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from vkgroup.compiler import Target, compile_source
from vkgroup.dispatch import Buffer, Device
from vkgroup.spirv import Module

Transform = Callable[[bytes], bytes]
"""Rewrites a module before it reaches the device, to plant errors that the suite must catch."""


class Executor:
    """One open device, with modules compiled for it and buffers that are reused.

    Parameters
    ----------
    device : an open device; the executor does not close it.
    seed : seed of all data.
    timeout : seconds that one dispatch may take.
    transform : see `Transform`.

    Attributes
    ----------
    device, capabilities, seed, timeout : for the families.
    target : the target of all modules. It stays at SPIR-V 1.5: from 1.6 on the subgroup size of a pipeline
        may vary without a request.
    """

    def __init__(
        self, device: Device, *, seed: int, timeout: float = 20.0, transform: Transform | None = None
    ) -> None:
        self.device = device
        self.capabilities = device.capabilities
        self.seed = seed
        self.timeout = timeout
        self.target = Target.VULKAN_1_1 if self.capabilities.api_version < (1, 2) else Target.VULKAN_1_2
        self._transform = transform
        self._buffers: dict[str, Buffer] = {}
        self._objects: dict[str, Any] = {}
        self._plain: dict[tuple[str, str], Module] = {}
        self._stack = ExitStack()

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Compile a shader with the options of `compile_source`, and let `Transform` rewrite it."""
        options.setdefault("target", self.target)
        return self.transform_module(compile_source(source, stage=stage, name="<conformance>", **options))

    def plain(self, source: str, stage: str) -> Module:
        """Return a shader for the rest of a pipeline, compiled once, which `Transform` does not rewrite."""
        if (source, stage) not in self._plain:
            module = compile_source(source, stage=stage, name="<conformance>", target=self.target)
            self._plain[source, stage] = module
        return self._plain[source, stage]

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Return the module for the device: the same one, except in tests of the suite."""
        return module if self._transform is None else Module.from_bytes(self._transform(module.to_bytes()))

    def buffer(self, name: str, nbytes: int, *, host: bool = False) -> Buffer:
        """Return a buffer that is large enough: the last one of this name, if its size suffices.

        A buffer in host memory is written and read without work for the GPU, whose queue many workers share.
        """
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < nbytes:
            if buffer is not None:
                buffer.close()
            buffer = self._buffers[name] = self.device.buffer(max(nbytes, 1 << 20), host=host)
        return buffer

    def keep(self, name: str, make: Callable[[Device, ExitStack], Any]) -> Any:
        """Return the object that `make` makes once for this name, for all batches, until `close`."""
        if name not in self._objects:
            self._objects[name] = make(self.device, self._stack)
        return self._objects[name]

    def close(self) -> None:
        """Free the executor's buffers and objects."""
        self._objects.clear()
        self._stack.close()
        for buffer in self._buffers.values():
            buffer.close()
        self._buffers.clear()
