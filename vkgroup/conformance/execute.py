"""Executor: an open device with compiler, buffers and modules; runs a dispatch, draw or trace of a pipeline.

Rays are traced through a scene in which every ray reaches the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.base.errors import CompileError, CompilerUnavailable, Unsupported
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.compiler.front_ends import compiles
from vkgroup.conformance.arrays import Words
from vkgroup.conformance.stages.base import PipelineRest
from vkgroup.conformance.stages.interfaces import SCENE
from vkgroup.dispatch import Boxes, Buffer, Device, HitGroup, Instance, Triangles
from vkgroup.spec.stages import STAGE_NAMES, PipelineKind
from vkgroup.spirv import Module

Transform = Callable[[bytes], bytes]
"""Rewrites a module before it is passed to the device, to insert errors that the suite must detect."""


NOT_COMPILED = "does not compile it"
"""Words in the detail of a case that a chosen compiler does not compile."""


class Executor:
    """One open device with compiled modules and reused buffers; closing the executor leaves the device open.

    A dispatch may take `timeout` seconds. `compiler` compiles all shaders whose language it supports; empty
    for the default.
    """

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        timeout: float = 20.0,
        transform: Transform | None = None,
        compiler: str = "",
    ) -> None:
        self.device = device
        self.capabilities = device.capabilities
        self.seed = seed
        self.timeout = timeout
        # At most SPIR-V 1.5: from 1.6 on, the subgroup size of a pipeline may vary without a flag.
        self.target = (
            TargetEnvironment.VULKAN_1_1
            if self.capabilities.api_version < (1, 2)
            else TargetEnvironment.VULKAN_1_2
        )
        self.compiler = compiler
        self._transform = transform
        self._buffers: dict[str, Buffer] = {}
        self._objects: dict[str, Any] = {}
        self._plain: dict[tuple[str, str], Module] = {}
        self._stack = ExitStack()

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Compile a shader with the options of `compile_source`, and let `Transform` rewrite it.

        Raises Unsupported: a compiler that the user or the family chose does not compile the shader.
        """
        options.setdefault("target", self.target)
        options.update(self._choice(options.get("dialect", "vulkan")))
        try:
            module = compile_source(source, stage=stage, name="<conformance>", **options)
        except CompileError as error:
            compiler = options.get("compiler")
            if not compiler or isinstance(error, CompilerUnavailable):
                raise
            reason = error.diagnostics[0].message if error.diagnostics else str(error)
            raise Unsupported(
                f"{compiler} {NOT_COMPILED}: {reason.strip().splitlines()[0].strip()}"
            ) from None
        return self.transform_module(module)

    def _choice(self, dialect: str) -> dict[str, str]:
        """Return the option that chooses the compiler of a shader: none for the default one."""
        return {"compiler": self.compiler} if self.compiler and compiles(self.compiler, dialect) else {}

    def plain(self, source: str, stage: str) -> Module:
        """Return a shader for another stage of a pipeline, compiled once and not rewritten by `Transform`."""
        if (source, stage) not in self._plain:
            options: dict[str, Any] = {"target": self.target, **self._choice("vulkan")}
            module = compile_source(source, stage=stage, name="<conformance>", **options)
            self._plain[source, stage] = module
        return self._plain[source, stage]

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Return the module for the device: `module` itself, except in tests of the suite."""
        return module if self._transform is None else Module.from_bytes(self._transform(module.to_bytes()))

    def buffer(self, name: str, nbytes: int, *, host: bool = False) -> Buffer:
        """Return a buffer of at least this size; the previous one of this name is reused if large enough.

        A buffer in host memory is accessed without GPU work, because many workers share the GPU's queue.
        """
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < nbytes:
            if buffer is not None:
                buffer.close()
            buffer = self._buffers[name] = self.device.buffer(max(nbytes, 1 << 20), host=host)
        return buffer

    def filled(self, name: str, words: Words) -> Buffer:
        """Return a buffer in host memory, by `buffer`, that holds an array."""
        buffer = self.buffer(name, words.nbytes, host=True)
        buffer.write(words)
        return buffer

    def keep(self, name: str, make: Callable[[Device, ExitStack], Any]) -> Any:
        """Return the object of this name; the first call creates it with `make`, and `close` frees it."""
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


_HIT_STAGES = ("closest_hit", "any_hit", "intersection")

_TRIANGLE = np.array([[[-1, -1, 0], [4, -1, 0], [-1, 4, 0]]], np.float32)
_BOX = np.array([[[-1, -1, 0], [2, 2, 1]]], np.float32)


def _scene(part: Callable[[], Any]) -> Callable[[Device, ExitStack], Any]:
    """Return a function that creates a scene of one instance."""

    def make(device: Device, stack: ExitStack) -> Any:
        bottom = stack.enter_context(device.acceleration_structure(part()))
        return stack.enter_context(device.acceleration_structure([Instance(bottom)]))

    return make


SCENES: dict[str, Callable[[Device, ExitStack], Any]] = {
    "triangle": _scene(lambda: Triangles(_TRIANGLE, no_duplicate_any_hit=True)),
    "opaque": _scene(lambda: Triangles(_TRIANGLE, opaque=True)),
    "box": _scene(lambda: Boxes(_BOX)),
    "nothing": lambda device, stack: stack.enter_context(device.acceleration_structure([])),
}
"""Scenes in which every ray through the unit square has the same hits; the stack frees them."""


def run_around(
    executor: Executor,
    stage: str,
    module: Module,
    around: PipelineRest,
    bindings: Mapping[Any, Any],
    **control: Any,
) -> Mapping[Any, Any]:
    """Run a module in its stage, with other shaders around it that `Transform` does not rewrite."""
    modules = {name: executor.plain(source, name) for name, source in around.sources.items()}
    return run_stages(executor, stage, modules | {stage: module}, around.arguments, bindings, **control)


def run_stages(
    executor: Executor,
    stage: str,
    modules: Mapping[str, Module],
    arguments: Mapping[str, Any],
    bindings: Mapping[Any, Any],
    **control: Any,
) -> Mapping[Any, Any]:
    """Run the modules of a pipeline, by stage, and return the results.

    The tested stage decides whether this is a dispatch (arguments ``groups`` and ``push``), a trace (``size``
    and ``scene``) or a draw (those of `Device.draw`). `control` is for the pipeline, such as
    ``subgroup_size``.
    """
    device, stages, command = executor.device, dict[str, Any](modules), dict(arguments)
    pipelines = STAGE_NAMES[stage].pipelines
    if PipelineKind.COMPUTE in pipelines:
        with device.pipeline(stages[stage], **control) as pipeline, pipeline.bind(bindings) as bound:
            bound.dispatch((command.pop("groups"), 1, 1), **command, timeout=executor.timeout)
        return {}
    if PipelineKind.RAYS in pipelines:
        _trace(executor, stages, command, bindings, **control)
        return {}
    if "tessellation_control" in stages:
        stages["tessellation"] = stages.pop("tessellation_control"), stages.pop("tessellation_evaluation")
    fragment, size = stages.pop("fragment"), command.pop("size", (1, 1))
    return device.draw(fragment, size, bindings, **stages, **command, **control, timeout=executor.timeout)


def _trace(
    executor: Executor,
    stages: dict[str, Any],
    arguments: Mapping[str, Any],
    bindings: Mapping[Any, Any],
    **control: Any,
) -> None:
    if scene := arguments["scene"]:
        bindings = {**bindings, SCENE: executor.keep(f"scene {scene}", SCENES[scene])}
    hits = {name: stages[name] for name in _HIT_STAGES if name in stages}
    executor.device.trace(
        stages["raygen"],
        arguments["size"],
        bindings,
        miss=[stages["miss"]] if "miss" in stages else (),
        hit_groups=[HitGroup(**hits)] if hits else (),
        callable=[stages["callable"]] if "callable" in stages else (),
        timeout=executor.timeout,
        **control,
    )
