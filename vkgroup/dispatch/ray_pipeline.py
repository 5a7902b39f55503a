"""Ray-tracing pipelines: shaders of the six stages made ready to trace rays with."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.device import limits
from vkgroup.device.owner import Owner
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.base_pipeline import BasePipeline, Shader, check_size_choice, require
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.pipeline import checked_repeat
from vkgroup.dispatch.ray_checks import (
    Group,
    Size,
    check_data,
    check_links,
    check_scenes,
    launch_size,
    recursion_of,
)
from vkgroup.dispatch.slots import slots_of
from vkgroup.dispatch.stages import check_subgroup_size, merged_push_constants, pack_stages_push, stage_shader
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.spirv import Module

Source = Module | str | os.PathLike[str]

HIT_STAGES = ("closest_hit", "any_hit", "intersection")


@dataclass(frozen=True)
class HitGroup:
    """The shaders that run where a ray hits something: each a module, or what `Device.compile` takes.

    Attributes
    ----------
    closest_hit : runs once a ray, for the hit that is the nearest in the end; None runs nothing.
    any_hit : runs for hits on the way, of geometry that is not opaque, and may ignore them; None accepts all.
    intersection : finds the hits in boxes. With it the group is for boxes, without it for triangles.
    """

    closest_hit: Source | None = None
    any_hit: Source | None = None
    intersection: Source | None = None

    def sources(self) -> Iterator[tuple[str, Source]]:
        """Go over the shaders that there are, with the names of their stages."""
        for stage in HIT_STAGES:
            if (source := getattr(self, stage)) is not None:
                yield stage, source


class RayPipeline(BasePipeline):
    """A ray-tracing pipeline; `Device.ray_pipeline` makes it.

    Attributes
    ----------
    shaders : the shaders with their specialization, each once.
    raygen, miss, hit_groups, callables : what the shader binding table holds, as indices of `shaders`.
    max_recursion : how deep rays may start rays; 1 where only the ray-generation shader starts any.
    push_conflict : as of a `GraphicsPipeline`.
    """

    shaders: tuple[Shader, ...]
    _kind_of_traces: type[Traces]

    def __init__(
        self,
        device: Owner,
        raygen: Module,
        *,
        miss: Sequence[Module] = (),
        hit_groups: Sequence[HitGroup] = (),
        callables: Sequence[Module] = (),
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        varying_subgroup_size: bool = False,
        max_recursion: int | None = None,
    ) -> None:
        self.device, self.subgroup_size = device, subgroup_size
        self.full_subgroups, self.varying_subgroup_size = False, varying_subgroup_size
        device.require_open()
        check_subgroup_size(subgroup_size)
        check_size_choice(subgroup_size, varying_subgroup_size)
        self._numbers: dict[tuple[str, Module], int] = {}
        self.raygen = Group(general=self._number("raygen", raygen))
        self.miss = tuple(Group(general=self._number("miss", module)) for module in miss)
        self.hit_groups = tuple(self._hit_group(group) for group in hit_groups)
        self.callables = tuple(Group(general=self._number("callable", module)) for module in callables)
        self.shaders = tuple(stage_shader(module, stage, specialization) for stage, module in self._numbers)
        require(device, self._lacking(max_recursion))
        check_links(self.shaders, self.miss, self.hit_groups, self.callables)
        check_data(self.shaders, self.hit_groups)
        self.max_recursion = recursion_of(self.shaders, max_recursion)
        self.slots = slots_of(
            [binding for shader in self.shaders for binding in shader.module.reflection.bindings]
        )
        self.push_constants, self.push_conflict = merged_push_constants(self.shaders)
        for shader in self.shaders:
            shader.validate(device)
        self._make()

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups in the order of the shader binding table."""
        return (self.raygen, *self.miss, *self.hit_groups, *self.callables)

    def _number(self, stage: str, module: Any) -> int:
        """Return a shader's index; the same for the same module."""
        if not isinstance(module, Module):
            raise InvalidDispatch(
                f"A ray-tracing pipeline is made of modules, and its {stage} shader is {module!r};"
                " Device.compile makes them."
            )
        return self._numbers.setdefault((stage, module), len(self._numbers))

    def _hit_group(self, group: Any) -> Group:
        if not isinstance(group, HitGroup):
            raise InvalidDispatch(f"hit_groups are HitGroups; {group!r} was given.")
        return Group(**{stage: self._number(stage, module) for stage, module in group.sources()})

    def _lacking(self, max_recursion: Any) -> list[str]:
        capabilities = self.device.capabilities
        lacking: list[str] = []
        for shader in self.shaders:
            entry, size = shader.entry_point, self.required_size(shader)
            lacking += shader.missing(self.device, size)
            lacking += limits.exceeded(shader.module.reflection, entry, shader.specialization, capabilities)
            lacking += limits.ray_interface_exceeded(shader.module.reflection, capabilities)
            varying = self.varying_subgroup_size and shader.uses_subgroups
            lacking += limits.stage_size_problems(size, entry.stage, capabilities, varying=varying)
        if max_recursion is not None:
            whole = isinstance(max_recursion, int | np.integer) and not isinstance(max_recursion, bool)
            if not whole or max_recursion < 0:
                raise InvalidDispatch(f"max_recursion is a number from 0 on; {max_recursion!r} was given.")
            most = capabilities.limits.get("maxRayRecursionDepth", 0)
            if max_recursion > most:
                lacking.append(f"maxRayRecursionDepth of {max_recursion} (it is {most})")
        return list(dict.fromkeys(lacking))

    def bind(self, bindings: Mapping[Any, Any]) -> Traces:
        """Bind everything, ready to trace any number of times.

        Parameters
        ----------
        bindings : as for `Pipeline.bind`, of all stages. A place of an acceleration structure is given a top
            level, or an array of triangles (n, 3, 3) or boxes (n, 2, 3), which makes one of one instance.

        Raises
        ------
        InvalidDispatch
            A binding does not fit its place; an instance means a hit group that there is not, or one for
            other geometry.
        """
        return self._kind_of_traces(self, bindings)


def require_ray_tracing(device: Owner) -> None:
    """Raise `Unsupported` where a device has no ray-tracing pipelines."""
    if "rayTracingPipeline" not in device.capabilities.features:
        raise Unsupported(
            f"{device.capabilities.name} lacks: rayTracingPipeline (VK_KHR_ray_tracing_pipeline).",
            ["rayTracingPipeline"],
        )


class Traces(Bindings):
    """A ray-tracing pipeline with everything bound; `RayPipeline.bind` makes it."""

    pipeline: RayPipeline

    def _create(self) -> None:
        scenes = {
            (slot.set, slot.binding): [
                resource for resource in resources if isinstance(resource, AccelerationStructure)
            ]
            for slot, resources in self.resources.items()
        }
        check_scenes(self.pipeline.shaders, self.pipeline.hit_groups, scenes)

    @abstractmethod
    def _trace(self, size: Size, push: bytes, timeout: float | None) -> None:
        """Trace once, at least one ray."""

    @abstractmethod
    def _timed(self, size: Size, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Trace `repeat` times; gives seconds of one, None where they cannot be measured."""

    def trace(self, size: int | Sequence[int], push: Any = None, timeout: float | None = 10.0) -> None:
        """Run the ray-generation shader once for each place of a grid, and wait until it has finished.

        Parameters
        ----------
        size : width, height and depth of the grid (``gl_LaunchSizeEXT``); one or two numbers leave the others
            1. Zero runs nothing.
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits for ever.

        Raises
        ------
        InvalidDispatch
            The size or push constants make no sense.
        Unsupported
            The device traces no more at once.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device is of no more use.
        """
        grid, data = launch_size(size, self.device), self._pushed(push)
        if self._closings != self.device.closings:
            self.require_open()
        if 0 not in grid:
            self._trace(grid, data, timeout)

    def timed(
        self,
        size: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        repeat: int = 1,
    ) -> float | None:
        """Trace and measure it on the GPU.

        Parameters
        ----------
        size, push, timeout : as for `trace`.
        repeat : how many times, one after the other in one submission.

        Returns
        -------
        Seconds of one, on average; None where the device has no timestamps.
        """
        grid, data, repeat = launch_size(size, self.device), self._pushed(push), checked_repeat(repeat)
        self.require_open()
        return 0.0 if 0 in grid else self._timed(grid, data, timeout, repeat)

    def _pushed(self, push: Any) -> bytes:
        return pack_stages_push(self._push, self.pipeline.push_conflict, push)
