"""Checks that the shaders of a ray-tracing pipeline fit together and fit the scene; else drivers crash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.shader import Shader
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.spirv import ArrayType, ScalarType, StructType, Type, VectorType
from vkgroup.spirv.constants import Constant
from vkgroup.spirv.instruction_uses import Trace

_BARYCENTRICS = VectorType(ScalarType("float", 32), 2)
"""The attribute of hits on triangles."""

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Group:
    """A shader group: indices of a pipeline's shaders, None where it has none of a stage.

    Attributes
    ----------
    general : a ray-generation, miss or callable shader.
    closest_hit, any_hit, intersection : the shaders of a hit group.
    """

    general: int | None = None
    closest_hit: int | None = None
    any_hit: int | None = None
    intersection: int | None = None

    @property
    def kind(self) -> str:
        """Of which geometry a hit group is."""
        return "triangles" if self.intersection is None else "boxes"


# --- indices of the shader binding table ------------------------------------------------------------------


def check_links(
    shaders: Sequence[Shader],
    miss: Sequence[Group],
    hit_groups: Sequence[Group],
    callables: Sequence[Group],
) -> None:
    """Check that the shaders which others start exist, where their indices are constants.

    Raises
    ------
    InvalidDispatch
        A shader traces rays that could start nothing, or names a miss or callable shader that does not exist.
    Unsupported
        A shader reads shader records, which the shader binding table here has none of.
    """
    for shader in shaders:
        rays, stage = shader.module.reflection.rays, _words(shader)
        if rays.has_record:
            raise Unsupported(
                f"The {stage} shader reads a shader record (shaderRecordEXT), and vkgroup makes none; take a"
                " buffer, and gl_InstanceCustomIndexEXT for the place in it.",
                ["shader records"],
            )
        if rays.traces and not miss and not hit_groups:
            raise InvalidDispatch(
                f"The {stage} shader traces rays, and nothing is there that they could start: give miss"
                " shaders or hit_groups."
            )
        for trace in rays.traces:
            number = _number(trace.miss_index, shader, 0xFFFF)
            # A table without miss shaders has one record that runs nothing.
            if number is not None and (miss or number):
                _check_index(number, miss, f"The {stage} shader's rays have the miss index", "miss shaders")
        for call in rays.calls:
            number = _number(call.index, shader, 0xFFFFFFFF)
            if not callables or number is not None:
                what = f"The {stage} shader calls callable shader"
                _check_index(number or 0, callables, what, "callable shaders")


def _check_index(number: int, groups: Sequence[Group], what: str, kind: str) -> None:
    if number >= len(groups):
        raise InvalidDispatch(f"{what} {number}; the number of {kind} given is {len(groups)}.")


def _number(constant: Constant | None, shader: Shader, mask: int) -> int | None:
    """Return the number that an instruction takes; None where that is known at run time alone."""
    return None if constant is None else int(constant.evaluate(shader.specialization)) & mask


def recursion_of(shaders: Sequence[Shader], wanted: int | None) -> int:
    """Return how deep rays may start rays.

    Raises
    ------
    InvalidDispatch
        Closest-hit or miss shaders start rays, and no depth was given; or they need more than was given.
    """
    starting = [shader for shader in shaders if shader.module.reflection.rays.traces]
    deeper = [shader for shader in starting if shader.entry_point.stage != "raygen"]
    least = 2 if deeper else 1 if starting else 0
    if wanted is None and not deeper:
        return 1
    if wanted is None or wanted < least:
        stage, said = _words((deeper or starting)[0]), "nothing" if wanted is None else wanted
        raise InvalidDispatch(
            f"The {stage} shader traces rays: give max_recursion, at least {least}, and let no ray be deeper"
            f" than that ({said} was given)."
        )
    return int(wanted)


# --- payloads, callable data, attributes ------------------------------------------------------------------


def check_data(shaders: Sequence[Shader], hit_groups: Sequence[Group]) -> None:
    """Check that what shaders are started with is what those that start them hand on.

    Raises
    ------
    InvalidDispatch
        A type that a shader takes is none of those that are given.
    """
    rays = [(shader, shader.module.reflection.rays) for shader in shaders]
    payloads = [trace.payload for _, uses in rays for trace in uses.traces]
    data = [call.data for _, uses in rays for call in uses.calls]
    for shader, uses in rays:
        _check_taken(shader, "payload", uses.payload, payloads)
        _check_taken(shader, "callable data", uses.callable_data, data)
    for group in hit_groups:
        given: Type | None = _BARYCENTRICS
        if group.intersection is not None:
            given = shaders[group.intersection].module.reflection.rays.attribute
        for number in (group.closest_hit, group.any_hit):
            if number is not None:
                taken = shaders[number].module.reflection.rays.attribute
                _check_taken(shaders[number], "hit attribute", taken, [given])


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


# --- the scene --------------------------------------------------------------------------------------------


def check_scenes(
    shaders: Sequence[Shader],
    hit_groups: Sequence[Group],
    scenes: Mapping[tuple[int, int], Sequence[AccelerationStructure]],
) -> None:
    """Check that every instance's geometry has a hit group of its kind, where constants name it.

    The record is the instance's offset, and the ray's offset, and the geometry's index times the ray's stride
    (Vulkan 1.4, "Ray Tracing", "Hit Shaders" of the shader binding table).

    Parameters
    ----------
    scenes : what is bound, by set and binding.

    Raises
    ------
    InvalidDispatch
        An instance names a hit group that does not exist, or one for other geometry.
    """
    for shader in shaders:
        for trace in shader.module.reflection.rays.traces:
            structures = scenes.get(trace.structure, ()) if trace.structure is not None else ()
            for structure in structures:
                _check_scene(shader, trace, structure, hit_groups)


def _check_scene(
    shader: Shader, trace: Trace, structure: AccelerationStructure, hit_groups: Sequence[Group]
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
    """Return width, height and depth of a launch.

    Raises
    ------
    InvalidDispatch
        They are no whole numbers from 0 on.
    Unsupported
        The device traces no more at once (VUID-vkCmdTraceRaysKHR-width-03638 to 03641).
    """
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
