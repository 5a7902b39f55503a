"""Executor: an open device, with modules compiled for it and buffers kept on it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from vkgroup.compiler import Target, compile_source
from vkgroup.conformance.stages import Around
from vkgroup.dispatch import Buffer, Device
from vkgroup.spirv import Module

Transform = Callable[[bytes], bytes]
"""Rewrites a module before it reaches the device, to plant errors that the suite must catch."""


class Executor:
    """One open device, with modules compiled for it and buffers kept on it.

    Parameters
    ----------
    device : an open device; the executor does not close it.
    seed : seed of all data.
    timeout : seconds that one dispatch may take.
    transform : see `Transform`.

    Attributes
    ----------
    device, capabilities, seed, timeout : for the families.
    target : what modules are compiled for. It stays at SPIR-V 1.5: from 1.6 on the subgroup size of a
        pipeline may vary unasked.
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
        self._kept: dict[str, Any] = {}
        self._plain: dict[tuple[str, str], Module] = {}
        self._stack = ExitStack()

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Compile a shader for the device, and let `Transform` rewrite it.

        Parameters
        ----------
        source, stage, **options : as for `vkgroup.compiler.compile_source`; `target` is the executor's
            unless given.
        """
        options.setdefault("target", self.target)
        return self.transform_module(compile_source(source, stage=stage, name="<conformance>", **options))

    def plain(self, source: str, stage: str) -> Module:
        """Compile a shader that no case is about, once, and that nothing rewrites: the rest of a pipeline."""
        if (source, stage) not in self._plain:
            module = compile_source(source, stage=stage, name="<conformance>", target=self.target)
            self._plain[source, stage] = module
        return self._plain[source, stage]

    def stages(self, around: Around, stage: str, module: Module) -> dict[str, Module]:
        """Return the modules of a pipeline by stage: one of a case, and those around it."""
        others = {name: self.plain(source, name) for name, source in around.sources.items()}
        return others | {stage: module}

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Return the module that goes to the device in its place: itself but in tests of the suite.

        Parameters
        ----------
        source : what it was compiled from, where `compile` did not do that.
        """
        return module if self._transform is None else Module.from_bytes(self._transform(module.to_bytes()))

    def buffer(self, name: str, nbytes: int, *, host: bool = False) -> Buffer:
        """Return a buffer that is large enough, the same as last time under this name if it was.

        In the host's memory it is written and read without work for the GPU, whose queue many workers share.
        """
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < nbytes:
            if buffer is not None:
                buffer.close()
            buffer = self._buffers[name] = self.device.buffer(max(nbytes, 1 << 20), host=host)
        return buffer

    def keep(self, name: str, make: Callable[[Device, ExitStack], Any]) -> Any:
        """Return what `make` made under this name, for all batches; it is freed with the executor."""
        if name not in self._kept:
            self._kept[name] = make(self.device, self._stack)
        return self._kept[name]

    def close(self) -> None:
        """Free the executor's buffers, and what it kept."""
        self._kept.clear()
        self._stack.close()
        for buffer in self._buffers.values():
            buffer.close()
        self._buffers.clear()
