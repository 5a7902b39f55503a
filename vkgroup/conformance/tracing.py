"""Tracing rays with one shader in the place of its stage, through a scene that brings every ray to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.stages import SCENE, Around
from vkgroup.dispatch import Boxes, Device, HitGroup, Instance, Triangles
from vkgroup.spirv import Module

_HIT_STAGES = ("closest_hit", "any_hit", "intersection")

_TRIANGLE = np.array([[[-1, -1, 0], [4, -1, 0], [-1, 4, 0]]], np.float32)
_BOX = np.array([[[-1, -1, 0], [2, 2, 1]]], np.float32)


def _scene(part: Callable[[], Any]) -> Callable[[Device, ExitStack], Any]:
    """Return what makes a scene of one instance."""

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
"""What rays through the unit square meet, each of them: it is made on a device and freed by the stack."""


def trace(
    executor: Executor, around: Around, stage: str, module: Module, bindings: dict[Any, Any], **control: Any
) -> None:
    """Trace rays with a module in the place of its stage.

    Parameters
    ----------
    around : the rest of the pipeline, and the scene, which is added to the bindings.
    **control : more arguments of `Device.trace`.
    """
    stages = executor.stages(around, stage, module)
    if scene := around.arguments["scene"]:
        bindings = {**bindings, SCENE: executor.keep(f"scene {scene}", SCENES[scene])}
    hits = {name: stages[name] for name in _HIT_STAGES if name in stages}
    executor.device.trace(
        stages["raygen"],
        around.arguments["size"],
        bindings,
        miss=[stages["miss"]] if "miss" in stages else (),
        hit_groups=[HitGroup(**hits)] if hits else (),
        callable=[stages["callable"]] if "callable" in stages else (),
        timeout=executor.timeout,
        **control,
    )
