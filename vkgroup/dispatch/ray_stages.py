"""Ray-tracing pipelines: hit groups, and shaders, checked against the scene; else drivers crash."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.stages import Shader, Stages, check_subgroup_size, stage_shader
from vkgroup.spirv import ArrayType, Module, ScalarType, StructType, Type, VectorType
from vkgroup.spirv.constants import Constant
from vkgroup.spirv.instruction_uses import TraceInstruction

_BARYCENTRICS = VectorType(ScalarType("float", 32), 2)
"""The attribute of hits on triangles."""

Size = tuple[int, int, int]

HIT_STAGES = ("closest_hit", "any_hit", "intersection")

Source = Module | str | os.PathLike[str]


@dataclass(frozen=True)
class ShaderGroup:
    """A shader group, as indices of a pipeline's shaders: a `general` shader, or those of a hit group."""

    general: int | None = None
    closest_hit: int | None = None
    any_hit: int | None = None
    intersection: int | None = None

    @property
    def kind(self) -> str:
        """Of which geometry a hit group is."""
        return "triangles" if self.intersection is None else "boxes"


def _check_index(number: int, groups: Sequence[ShaderGroup], what: str, kind: str) -> None:
    if number >= len(groups):
        raise InvalidDispatch(f"{what} {number}; the number of {kind} given is {len(groups)}.")


def _number(constant: Constant | None, shader: Shader, mask: int) -> int | None:
    """Return the number that an instruction takes; None where that is known at run time alone."""
    return None if constant is None else int(constant.evaluate(shader.specialization)) & mask


def _check_taken(shader: Shader, what: str, taken: Type | None, given: Iterable[Type | None]) -> None:
    known = [kind for kind in given if kind is not None]
    if taken is None or any(_shape(kind) == _shape(taken) for kind in known):
        return
    names = ", ".join(dict.fromkeys(kind.glsl for kind in known)) or "none"
    raise InvalidDispatch(
        f"The {_words(shader)} shader takes a {what} of type {taken.glsl}; of the types given to it none is"
        f" the same: {names}."
    )


def _shape(kind: Type) -> Any:
    """Return what types of several modules have in common where they are the same: all but names."""
    if isinstance(kind, StructType):
        return tuple(_shape(member.type) for member in kind.members)
    if isinstance(kind, ArrayType):
        return (_shape(kind.element), kind.length)
    return kind


def _words(shader: Shader) -> str:
    return shader.entry_point.stage.replace("_", "-")


def _check_scene(
    shader: Shader,
    trace: TraceInstruction,
    structure: AccelerationStructure,
    hit_groups: Sequence[ShaderGroup],
) -> None:
    # Of both numbers four bits count (SPIR-V, OpTraceRayKHR).
    offset = _number(trace.record_offset, shader, 0xF)
    stride = _number(trace.record_stride, shader, 0xF)
    if offset is None or stride is None:
        return
    # A table without hit groups has one record that runs nothing.
    there = [group.kind for group in hit_groups] or [""]
    for (first, kinds), number in structure.records.items():
        for index, kind in enumerate(kinds):
            record = first + offset + index * stride
            if record < len(there) and there[record] in (kind, ""):
                continue
            problem = f"is for {there[record]}" if record < len(there) else f"is none of {len(hit_groups)}"
            raise InvalidDispatch(
                f"Rays of the {_words(shader)} shader that hit geometry {index} of instance {number}, which"
                f" is of {kind}, run hit group {record}; that {problem}. The number is the instance's"
                f" sbt_offset {first} + the ray's offset {offset} + {index} × its stride {stride}."
            )


def launch_size(given: Any, device: DeviceBase) -> Size:
    """Return width, height and depth of a launch (VUID-vkCmdTraceRaysKHR-width-03638 to 03641)."""
    several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    sizes = tuple(given) if several else (given,)
    whole = [isinstance(size, int | np.integer) and not isinstance(size, bool) for size in sizes]
    if not 1 <= len(sizes) <= 3 or not all(whole) or min(sizes) < 0:
        raise InvalidDispatch(f"The size of a launch is one to three numbers from 0 on; {given!r} was given.")
    x, y, z = (int(size) for size in (*sizes, 1, 1)[:3])
    limits, name = device.capabilities.limits, device.capabilities.name
    counts, locals_ = limits["maxComputeWorkGroupCount"], limits["maxComputeWorkGroupSize"]
    lacking = [
        f"maxComputeWorkGroupCount × maxComputeWorkGroupSize of {size} (it is {count * local})"
        for size, count, local in zip((x, y, z), counts, locals_, strict=True)
        if size > count * local
    ]
    most = limits["maxRayDispatchInvocationCount"]
    if x * y * z > most:
        lacking.append(f"maxRayDispatchInvocationCount of {x * y * z} (it is {most})")
    if lacking:
        raise Unsupported(f"{name} lacks: {'; '.join(lacking)}. Trace in parts.", lacking)
    return x, y, z


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
    """The shaders of a ray-tracing pipeline, each once.

    The content of the shader binding table (`raygen`, `miss`, `hit_groups`, `callables`) is in indices of
    `shaders`. `max_recursion` is the depth to which rays may start rays, 1 where only the ray-generation
    shader starts any; it is known after `check_links`.
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
        self.raygen = ShaderGroup(general=self._number("raygen", raygen))
        self.miss = tuple(ShaderGroup(general=self._number("miss", module)) for module in miss)
        self.hit_groups = tuple(
            ShaderGroup(**{stage: self._number(stage, module) for stage, module in group.sources()})
            for group in hit_groups
        )
        self.callables = tuple(ShaderGroup(general=self._number("callable", module)) for module in callables)
        self.shaders = tuple(stage_shader(module, stage, specialization) for stage, module in self._numbers)

    @property
    def groups(self) -> tuple[ShaderGroup, ...]:
        """All groups in the order of the shader binding table."""
        return (self.raygen, *self.miss, *self.hit_groups, *self.callables)

    def check_links(self) -> None:
        """Check what the shaders start, the data that they hand to each other, and the depth of rays."""
        for shader in self.shaders:
            rays, stage = shader.module.reflection.rays, _words(shader)
            if rays.has_record:
                raise Unsupported(
                    f"The {stage} shader reads a shader record (shaderRecordEXT), and vkgroup makes none;"
                    " take a buffer, and gl_InstanceCustomIndexEXT for the place in it.",
                    ["shader records"],
                )
            if rays.traces and not self.miss and not self.hit_groups:
                raise InvalidDispatch(
                    f"The {stage} shader traces rays, and nothing is there that they could start: give miss"
                    " shaders or hit_groups."
                )
            for trace in rays.traces:
                number = _number(trace.miss_index, shader, 0xFFFF)
                # A table without miss shaders has one record that runs nothing.
                if number is not None and (self.miss or number):
                    what = f"The {stage} shader's rays have the miss index"
                    _check_index(number, self.miss, what, "miss shaders")
            for call in rays.calls:
                number = _number(call.index, shader, 0xFFFFFFFF)
                if not self.callables or number is not None:
                    what = f"The {stage} shader calls callable shader"
                    _check_index(number or 0, self.callables, what, "callable shaders")
        self._check_data()
        self.max_recursion = self._recursion()

    def _check_data(self) -> None:
        """Check that every payload, callable data and attribute type taken is one of those that are given."""
        rays = [(shader, shader.module.reflection.rays) for shader in self.shaders]
        payloads = [trace.payload for _, uses in rays for trace in uses.traces]
        data = [call.data for _, uses in rays for call in uses.calls]
        for shader, uses in rays:
            _check_taken(shader, "payload", uses.payload, payloads)
            _check_taken(shader, "callable data", uses.callable_data, data)
        for group in self.hit_groups:
            given: Type | None = _BARYCENTRICS
            if group.intersection is not None:
                given = self.shaders[group.intersection].module.reflection.rays.attribute
            for number in (group.closest_hit, group.any_hit):
                if number is not None:
                    taken = self.shaders[number].module.reflection.rays.attribute
                    _check_taken(self.shaders[number], "hit attribute", taken, [given])

    def _recursion(self) -> int:
        """Return how deep rays may start rays; refuses a given depth that is missing or too small."""
        wanted = self._given_recursion
        starting = [shader for shader in self.shaders if shader.module.reflection.rays.traces]
        deeper = [shader for shader in starting if shader.entry_point.stage != "raygen"]
        least = 2 if deeper else 1 if starting else 0
        if wanted is None and not deeper:
            return 1
        if wanted is None or wanted < least:
            stage, said = _words((deeper or starting)[0]), "nothing" if wanted is None else wanted
            raise InvalidDispatch(
                f"The {stage} shader traces rays: give max_recursion, at least {least}, and let no ray be"
                f" deeper than that ({said} was given)."
            )
        return int(wanted)

    def check_scenes(self, scenes: Mapping[tuple[int, int], Sequence[AccelerationStructure]]) -> None:
        """Check that every instance's geometry has a hit group of its kind, where constants name it.

        The scenes are by set and binding. The record is the instance's offset, and the ray's offset, and the
        geometry's index times the ray's stride (Vulkan 1.4, "Ray Tracing", "Hit Shaders" of the shader
        binding table).
        """
        for shader in self.shaders:
            for trace in shader.module.reflection.rays.traces:
                structures = scenes.get(trace.structure, ()) if trace.structure is not None else ()
                for structure in structures:
                    _check_scene(shader, trace, structure, self.hit_groups)

    def _number(self, stage: str, module: Any) -> int:
        """Return a shader's index; the same for the same module."""
        if not isinstance(module, Module):
            raise InvalidDispatch(
                f"A ray-tracing pipeline is made of modules, and its {stage} shader is {module!r};"
                " Device.compile makes them."
            )
        return self._numbers.setdefault((stage, module), len(self._numbers))

    def lacking(self, device: DeviceBase) -> list[str]:
        """List what the shaders need and the device does not have, by Vulkan's names."""
        lacking, max_recursion = super().lacking(device), self._given_recursion
        if max_recursion is not None:
            whole = isinstance(max_recursion, int | np.integer) and not isinstance(max_recursion, bool)
            if not whole or max_recursion < 0:
                raise InvalidDispatch(f"max_recursion is a number from 0 on; {max_recursion!r} was given.")
            most = device.capabilities.limits.get("maxRayRecursionDepth", 0)
            if max_recursion > most:
                lacking.append(f"maxRayRecursionDepth of {max_recursion} (it is {most})")
        return lacking


def require_ray_tracing(device: DeviceBase) -> None:
    """Raise `Unsupported` where a device has no ray-tracing pipelines."""
    if "rayTracingPipeline" not in device.capabilities.features:
        raise Unsupported(
            f"{device.capabilities.name} lacks: rayTracingPipeline (VK_KHR_ray_tracing_pipeline).",
            ["rayTracingPipeline"],
        )
