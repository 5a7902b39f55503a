"""Ray-tracing methods of a device: acceleration structures, pipelines, and traces in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch.acceleration import (
    AccelerationStructure,
    Boxes,
    Instance,
    Triangles,
    require_acceleration,
)
from vkgroup.dispatch.blocks import checked_mapping
from vkgroup.dispatch.pipeline import Pipeline, PipelineCache
from vkgroup.dispatch.ray_stages import HitGroup, RayStages, require_ray_tracing
from vkgroup.dispatch.resource_device import ResourceDevice, Source
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.stages import PipelineOptions, check_specialization
from vkgroup.spirv import Module

Part = Triangles | Boxes | Instance | AccelerationStructure


class Tracing(ResourceDevice):
    """The methods of a device that trace rays."""

    _structures: type[AccelerationStructure]
    _ray_pipelines: PipelineCache

    def acceleration_structure(self, parts: Part | Iterable[Part]) -> AccelerationStructure:
        """Build an acceleration structure.

        Parameters
        ----------
        parts : `Triangles` or `Boxes`, one or several of a kind, for a bottom level; or bottom levels and
            `Instance`s of them for a top level, which is what shaders are given. An empty list makes a top
            level that no ray hits.

        Raises
        ------
        InvalidDispatch
            The parts do not fit together, or have invalid values.
        Unsupported, OutOfMemory
            The device has no ray tracing, or not for as much; there is no memory for it.

        Examples
        --------
        >>> bottom = device.acceleration_structure(Triangles(np.float32([[[0, 0, 1], [1, 0, 1], [0, 1, 1]]])))
        >>> scene = device.acceleration_structure([bottom, Instance(bottom, transform, custom_index=7)])
        """
        require_acceleration(self._base)
        return self._structures(self._base, parts)

    def ray_pipeline(
        self,
        raygen: Module,
        *,
        miss: Sequence[Module] = (),
        hit_groups: Sequence[HitGroup] = (),
        callable: Sequence[Module] = (),
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        varying_subgroup_size: bool = False,
        max_recursion: int | None = None,
    ) -> Pipeline:
        """Make a ray-tracing pipeline; errors are those of `pipeline`.

        Parameters
        ----------
        raygen : the ray-generation shader.
        miss, callable : shaders in the order of their indices in ``traceRayEXT`` and ``executeCallableEXT``.
        hit_groups : of modules, in the order that instances, geometries and ``traceRayEXT`` count them.
        specialization, subgroup_size, varying_subgroup_size : as for `graphics_pipeline`.
        max_recursion : how deep rays may start rays. None is 1, for ray-generation shaders alone; closest-hit
            and miss shaders that trace rays need it said.
        """
        require_ray_tracing(self._base)
        groups, callables, misses = (
            _groups(hit_groups),
            _several(callable, "callable"),
            _several(miss, "miss"),
        )
        hit_shaders = [source for group in groups for _, source in group.sources()]
        modules = [raygen, *misses, *callables, *hit_shaders]
        if all(isinstance(module, Module) for module in modules):
            check_specialization(tuple(modules), checked_mapping(specialization, "specialization"))
        self._base.require_open()
        options = PipelineOptions(None, specialization, subgroup_size, False, varying_subgroup_size)
        stages = RayStages(
            raygen,
            miss=misses,
            hit_groups=groups,
            callables=callables,
            options=self._with_size(options),
            max_recursion=max_recursion,
        )
        return self._new_pipeline(stages)

    def trace(
        self,
        raygen: Source,
        size: int | Sequence[int],
        bindings: Mapping[Any, Any],
        *,
        miss: Source | Sequence[Source] = (),
        hit_groups: HitGroup | Sequence[HitGroup] = (),
        callable: Source | Sequence[Source] = (),
        push: Any = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        varying_subgroup_size: bool = False,
        max_recursion: int | None = None,
        repeat: int = 1,
        timeout: float | None = 10.0,
    ) -> RunResult:
        """Trace rays through a scene, and return what the shaders wrote; errors are those of `run`.

        Parameters
        ----------
        raygen : the ray-generation shader, a module or what `compile` takes; as are all others.
        size : width, height and depth of the grid of its invocations; one or two numbers leave the others 1.
            Zero runs nothing.
        bindings : of all stages, as for `Device.run`. For an acceleration structure a top
            level, or an array of triangles (n, 3, 3) or boxes (n, 2, 3).
        miss, hit_groups, callable : as for `ray_pipeline`; one alone needs no list.
        specialization, subgroup_size, varying_subgroup_size, max_recursion : as for `ray_pipeline`.
        push : push constants: bytes, an array, or values by name.
        repeat : how many times to trace, one after the other on the same memory.
        timeout : seconds for all of it; None waits without limit.

        Returns
        -------
        Arrays of every writable binding that was given an array, and the GPU time.

        Examples
        --------
        >>> arrays = {"scene": triangles, "hits": np.zeros((64, 64), np.uint32)}
        >>> found = device.trace("a.rgen", (64, 64), arrays, miss="a.rmiss", hit_groups=HitGroup("a.rchit"))
        >>> found["hits"]
        """
        require_ray_tracing(self._base)
        groups = tuple(
            HitGroup(**{stage: self._compiled(source, stage) for stage, source in group.sources()})
            for group in _groups(hit_groups)
        )
        module = self._compiled(raygen, "raygen")
        misses = tuple(self._compiled(source, "miss") for source in _several(miss, "miss"))
        callables = tuple(self._compiled(source, "callable") for source in _several(callable, "callable"))
        options = PipelineOptions(None, specialization, subgroup_size, False, varying_subgroup_size)
        pipeline = self._ray_pipelines.get_or_make(
            (module, misses, groups, callables, *options.key(), max_recursion),
            lambda: self.ray_pipeline(
                module,
                miss=misses,
                hit_groups=groups,
                callable=callables,
                specialization=specialization,
                subgroup_size=subgroup_size,
                varying_subgroup_size=varying_subgroup_size,
                max_recursion=max_recursion,
            ),
        )
        with pipeline.bind(bindings) as work:
            return work.run_result(work.timed(size, push, timeout, repeat=repeat))


def _groups(given: Any) -> tuple[HitGroup, ...]:
    """Return the hit groups that were given alone or in a list."""
    groups = _several(given, "hit_groups")
    for group in groups:
        if not isinstance(group, HitGroup):
            raise InvalidDispatch(f"hit_groups are HitGroups; {group!r} was given.")
    return groups


def _several(given: Any, what: str) -> tuple[Any, ...]:
    """Return the values of an argument that takes one value or a list."""
    if isinstance(given, Module | HitGroup | str | os.PathLike):
        return (given,)
    if not isinstance(given, Sequence):
        raise InvalidDispatch(f"{what} is one or a list of several; {given!r} was given.")
    return tuple(given)
