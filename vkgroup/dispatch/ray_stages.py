"""Ray-tracing pipelines: hit groups, and the checks of shaders of the six stages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.device import limits
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.ray_checks import Group, check_data, check_links, recursion_of
from vkgroup.dispatch.stages import Stages, check_subgroup_size, stage_shader
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
        """Go over the shaders that exist, with the names of their stages."""
        for stage in HIT_STAGES:
            if (source := getattr(self, stage)) is not None:
                yield stage, source


class RayStages(Stages):
    """The shaders of a ray-tracing pipeline.

    Attributes
    ----------
    shaders : the shaders with their specialization, each once.
    raygen, miss, hit_groups, callables : content of the shader binding table, as indices of `shaders`.
    max_recursion : depth to which rays may start rays; 1 where only the ray-generation shader starts any.
        Known after `check_links`.
    """

    kind = "ray-tracing"
    max_recursion: int

    def __init__(
        self,
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
        check_subgroup_size(subgroup_size)
        super().__init__(subgroup_size, False, varying_subgroup_size)
        self._given_recursion = max_recursion
        self._numbers: dict[tuple[str, Module], int] = {}
        self.raygen = Group(general=self._number("raygen", raygen))
        self.miss = tuple(Group(general=self._number("miss", module)) for module in miss)
        self.hit_groups = tuple(self._hit_group(group) for group in hit_groups)
        self.callables = tuple(Group(general=self._number("callable", module)) for module in callables)
        self.shaders = tuple(stage_shader(module, stage, specialization) for stage, module in self._numbers)

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups in the order of the shader binding table."""
        return (self.raygen, *self.miss, *self.hit_groups, *self.callables)

    def check_links(self) -> None:
        """Check what the shaders start, and the data that they hand to each other."""
        check_links(self.shaders, self.miss, self.hit_groups, self.callables)
        check_data(self.shaders, self.hit_groups)
        self.max_recursion = recursion_of(self.shaders, self._given_recursion)

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

    def lacking(self, device: DeviceBase) -> list[str]:
        """List what the shaders need and the device does not have, by Vulkan's names."""
        capabilities, max_recursion = device.capabilities, self._given_recursion
        lacking: list[str] = []
        for shader in self.shaders:
            entry, size = shader.entry_point, self.required_size(shader)
            lacking += shader.missing(device, size)
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


def require_ray_tracing(device: DeviceBase) -> None:
    """Raise `Unsupported` where a device has no ray-tracing pipelines."""
    if "rayTracingPipeline" not in device.capabilities.features:
        raise Unsupported(
            f"{device.capabilities.name} lacks: rayTracingPipeline (VK_KHR_ray_tracing_pipeline).",
            ["rayTracingPipeline"],
        )
