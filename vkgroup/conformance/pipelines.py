"""Pipelines: one dispatch, draw or trace that runs a module in its stage.

Rays are traced through a scene in which every ray reaches the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.stages import SCENE, Around
from vkgroup.dispatch import Boxes, Device, HitGroup, Instance, Triangles
from vkgroup.spec.stages import STAGE_NAMES, Pipeline
from vkgroup.spirv import Module

_HIT_STAGES = ("closest_hit", "any_hit", "intersection")

_TRIANGLE = np.array([[[-1, -1, 0], [4, -1, 0], [-1, 4, 0]]], np.float32)
_BOX = np.array([[[-1, -1, 0], [2, 2, 1]]], np.float32)


def _scene(part: Callable[[], Any]) -> Callable[[Device, ExitStack], Any]:
    """Return a function that makes a scene of one instance."""

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
    around: Around,
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
    if Pipeline.COMPUTE in pipelines:
        with device.pipeline(stages[stage], **control) as pipeline, pipeline.bind(bindings) as bound:
            bound.dispatch((command.pop("groups"), 1, 1), **command, timeout=executor.timeout)
        return {}
    if Pipeline.RAYS in pipelines:
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
