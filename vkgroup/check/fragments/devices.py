"""Draws of a checked fragment shader on real devices, and the tolerance for their interpolation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.check.device_jobs import DispatchJob
from vkgroup.check.findings import RunParameters
from vkgroup.check.fragments.drawing import ATTACHMENTS, FragmentDraw
from vkgroup.check.fragments.helpers import with_helpers
from vkgroup.check.rounding import SAFETY, tolerance_of
from vkgroup.check.runs import CheckedRun, Difference, Tolerance, compare, pairs_of, widen
from vkgroup.check.state import CheckState
from vkgroup.device import Capabilities
from vkgroup.dispatch.attachments import color_outputs
from vkgroup.dispatch.device import Device
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import EntryPoint, Module

_INTERPOLATION = 2.0**-16
"""Assumed relative error of interpolated inputs, for which Vulkan gives no limit."""

_RANDOM_DRAWS = 6


@dataclass(frozen=True)
class DrawJob(DispatchJob):
    """One draw on one device, at the subgroup size that the device chooses."""

    size: tuple[int, int] = (1, 1)
    vertex: Module | None = None  # the vertex shader
    vertices: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)  # its inputs by location
    colors: Mapping[int, Any] = field(default_factory=dict)  # keys of the color attachments in the results

    def prepare(self, device: Device) -> None:
        """Do nothing: a draw compiles when it starts."""

    def start(self, device: Device) -> dict[tuple[int, int], Any]:
        """Draw on an open device; return the arrays of the writable bindings and attachments."""
        if len(self.module.reflection.entry_points) != 1:
            raise Unsupported(
                "Draws need a module with one entry point.", ["modules with several entry points"]
            )
        results = device.draw(
            self.module,
            self.size,
            self.resources(device),
            vertex=self.vertex,
            vertices=self.vertices,
            push=self.push or None,
            specialization=self.specialization,
            timeout=self.timeout,
        )
        written = {place: results[place] for place in self.bindings if place in self.writable}
        return {**written, **{(ATTACHMENTS, location): results[key] for location, key in self.colors.items()}}

    def sizes(self, capabilities: Capabilities) -> tuple[int, ...]:
        """Return no size: none is required of devices."""
        return ()


def draw_parameters(draw: FragmentDraw, entry: EntryPoint) -> dict[str, Any]:
    """Return the parameters of `DrawJob` that `DispatchJob` does not have."""
    return {
        "size": draw.scene.size,
        "vertex": draw.scene.vertex.module,
        "vertices": draw.scene.vertices.attributes,
        "colors": {item.location: item.name or ("location", item.location) for item in color_outputs(entry)},
    }


@dataclass
class FragmentCheck(CheckState):
    """The state of the check of a fragment shader."""

    device_tolerances: dict[RunParameters, Tolerance] = field(default_factory=dict)

    @cached_property
    def taking_part(self) -> ExecutableShader:
        """The shader in which helper invocations take part in all group operations."""
        program = self.dispatch.program
        return ExecutableShader(program.module, program.entry.name, None, with_helpers)

    def compare(self, base: CheckedRun, run: CheckedRun) -> Difference | None:
        """Return the first difference beyond rounding.

        A real device may interpolate inexactly, and may let helper invocations take part in group operations.
        """
        if not run.configuration.device:
            return super().compare(base, run)
        draw = self.dispatch
        assert isinstance(draw, FragmentDraw)
        where = base.configuration
        if where not in self.device_tolerances and compare(draw.inputs, base, run) is not None:
            rounded = tolerance_of(draw, base)
            _add_interpolation(draw, base, rounded)
            self.device_tolerances[where] = rounded
        difference = compare(draw.inputs, base, run, self.device_tolerances.get(where))
        if difference is None:
            return None
        other = draw.run(where, program=self.taking_part)
        is_legal = compare(draw.inputs, other, run, self.device_tolerances.get(where)) is None
        return None if is_legal else difference


def _add_interpolation(draw: FragmentDraw, base: CheckedRun, tolerance: Tolerance) -> None:
    """Allow errors of interpolation, too: those of draws with changed vertex values."""
    random = np.random.default_rng(draw.seed)
    for _ in range(_RANDOM_DRAWS):
        moved = replace(draw, scene=_moved(draw, random)).run(base.configuration, program=draw.program)
        for place, _, number, one, other in pairs_of(draw.inputs, base, moved):
            widen(tolerance, (place, number.name), _allowed(one, other))


def _allowed(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the allowed difference for an observed change; an integer that changes may have any value."""
    if one.dtype.kind != "f":
        return np.where(one == other, 0.0, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        change = SAFETY * np.abs(other.astype(np.float64) - one.astype(np.float64))
    return np.where(np.isnan(change), np.inf, change)


def _moved(draw: FragmentDraw, random: np.random.Generator) -> Any:
    """Return the scene with every float input moved a little at each vertex; positions stay."""
    vertices = draw.scene.vertices
    position = max(vertices.attributes)
    attributes = {}
    for location, values in vertices.attributes.items():
        moves = location != position and values.dtype.kind == "f"
        factor = 1 + _INTERPOLATION * random.uniform(-1, 1, values.shape) if moves else 1
        attributes[location] = (values * factor).astype(values.dtype)
    return replace(draw.scene, vertices=replace(vertices, attributes=attributes))
