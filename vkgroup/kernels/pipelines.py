"""Cache of kernel pipelines, choice of a kernel's version, and sizes of workgroups and grids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from vkgroup.base import files
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Device, Pipeline
from vkgroup.spirv import Module

_MOST = 256
"""Maximum number of cached pipelines per device; the least recently used pipeline is removed first."""

_WORKGROUP, _SUBGROUPS = 0, 2
"""Specialization constants of all kernels: invocations and maximum number of subgroups per workgroup."""


class Pipelines:
    """The cached pipelines of one device.

    If compute pipelines may require a subgroup size, all of them require the same. If it supports full
    subgroups, they use these. A kernel then knows the maximum number of subgroups per workgroup.
    """

    def __init__(self, device: Device) -> None:
        self._device = ref(device)
        self._pipelines: OrderedDict[Any, Pipeline] = OrderedDict()
        self._modules: dict[Any, Module] = {}

    def get(
        self,
        path: str,
        macros: Mapping[str, Any],
        workgroup: int | None,
        specialization: Mapping[str, Any],
    ) -> Pipeline:
        """Return a pipeline, as `Planner.kernel` describes it."""
        device = self._device()
        assert device is not None, "the caller holds the device"
        defines = tuple(sorted((name, str(value)) for name, value in macros.items()))
        values = tuple((name, np.asarray(value).item()) for name, value in specialization.items())
        key = (path, defines, workgroup, values)
        cache = self._pipelines
        pipeline = cache.pop(key, None)
        if pipeline is None or pipeline.closed:
            if (path, defines) not in self._modules:
                self._modules[path, defines] = device.compile(files.kernel(path), defines=dict(defines))
            pipeline = _make(device, self._modules[path, defines], workgroup, dict(values))
        cache[key] = pipeline
        if len(cache) > _MOST:
            cache.popitem(last=False)
        return pipeline


def _make(
    device: Device, module: Module, workgroup: int | None, specialization: dict[int | str, Any]
) -> Pipeline:
    size = subgroup_size(device)
    full = full_subgroups(device)
    defaults = {constant.id: constant.default for constant in module.reflection.specialization_constants}
    if workgroup is not None:
        specialization[_WORKGROUP] = workgroup
    total = int(specialization.get(_WORKGROUP, defaults.get(_WORKGROUP, 1)))
    if _SUBGROUPS in defaults and not {_SUBGROUPS, "SUBGROUPS"} & specialization.keys():
        specialization[_SUBGROUPS] = -(-total // size) if full else total
    return device.pipeline(
        module,
        specialization=specialization,
        subgroup_size=required_size(device),
        full_subgroups=full and total % size == 0,
    )


_all: WeakKeyDictionary[Device, Pipelines] = WeakKeyDictionary()


def pipelines_of(device: Device) -> Pipelines:
    """Return the cached pipelines of a device."""
    if device not in _all:
        _all[device] = Pipelines(device)
    return _all[device]


def subgroup_size(device: Device) -> int:
    """Return the subgroup size at which kernels run on a device."""
    return device.subgroup_size or device.capabilities.subgroup.size


def required_size(device: Device) -> int | None:
    """Return the subgroup size that compute pipelines require; None if the device cannot control it."""
    control = device.capabilities.size_control
    can_require = control.supported and "compute" in control.required_size_stages
    return subgroup_size(device) if can_require else None


def full_subgroups(device: Device) -> bool:
    """Return whether the device supports full subgroups for workgroups that are a multiple of their size."""
    control = device.capabilities.size_control
    return control.supported and control.compute_full_subgroups


def choose(device: Device, implementation: str, *operations: str, kinds: tuple[str, ...] = ()) -> str:
    """Resolve ``"auto"`` to the subgroup version if the device supports it, otherwise to the shared version.

    Parameters
    ----------
    implementation : ``"auto"``, ``"subgroup"``, ``"shared"``, or one of `kinds`, other versions.
    operations : categories of subgroup operations that the subgroup version needs in compute shaders, as
        lower-case names of VkSubgroupFeatureFlagBits: ``"arithmetic"``, ``"ballot"``, ….
    """
    if implementation not in ("auto", "subgroup", "shared", *kinds):
        names = ", ".join(repr(name) for name in ("auto", "subgroup", "shared", *kinds))
        raise InvalidDispatch(f"implementation must be one of {names}; {implementation!r} was given.")
    subgroup = device.capabilities.subgroup
    lacking = [name for name in operations if name not in subgroup.supported_operations]
    if "compute" not in subgroup.supported_stages:
        lacking.append("subgroup operations in compute shaders")
    if implementation == "subgroup" and lacking:
        raise Unsupported(
            f"{device.name} lacks: {', '.join(lacking)}. Use implementation='shared' or 'auto'.", lacking
        )
    if implementation != "auto":
        return implementation
    return "shared" if lacking else "subgroup"


def choose_full(device: Device, implementation: str, *operations: str, kinds: tuple[str, ...] = ()) -> str:
    """Resolve ``"auto"`` as `choose`, for kernels that require full subgroups.

    If the device does not guarantee full subgroups (`computeFullSubgroups`), the shared version is selected.
    """
    version = choose(device, implementation, *operations, kinds=kinds)
    return "shared" if implementation == "auto" and not full_subgroups(device) else version


def require_full(device: Device, implementation: str, workgroup: int) -> None:
    """Raise `InvalidDispatch` if a subgroup version's workgroup is not a multiple of the subgroup size."""
    size = subgroup_size(device)
    if implementation == "subgroup" and workgroup % size:
        raise InvalidDispatch(f"workgroup must be a multiple of the subgroup size {size}, not {workgroup}.")


def parts(size: int, each: int) -> int:
    """Return the number of parts of size `each` that cover `size`."""
    return -(-size // each)


def possible_workgroup(device: Device, invocations: int) -> int:
    """Return a number of invocations per workgroup, limited by the device."""
    return min(invocations, int(device.capabilities.limits["maxComputeWorkGroupInvocations"]))


def largest_workgroup(device: Device) -> int:
    """Return the maximum size of a workgroup that is a power of two, at most 1024."""
    most = possible_workgroup(device, 1024)
    control = device.capabilities.size_control
    if required_size(device) is not None:
        most = min(most, control.max_compute_workgroup_subgroups * subgroup_size(device))
    return 1 << most.bit_length() - 1


def possible_groups(device: Device, count: int, most: int | None = None) -> int:
    """Return a number of workgroups, at least 1, limited by the device; kernels loop over the rest."""
    limit = int(device.capabilities.limits["maxComputeWorkGroupCount"][0])
    return max(1, min(count, limit, limit if most is None else most))


def line(device: Device, count: int) -> tuple[int, int]:
    """Return a two-dimensional grid of at least `count` workgroups, numbered row by row.

    A workgroup's number is ``gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x``. Workgroups with
    numbers of `count` or more return at once. Raise `Unsupported` if the grid is too large for the device.
    """
    across, down, _ = device.capabilities.limits["maxComputeWorkGroupCount"]
    rows = parts(count, across)
    if rows > down:
        raise Unsupported(
            f"{device.name} does not support a grid of {count} workgroups; use larger tiles, or split"
            " the input.",
            [f"maxComputeWorkGroupCount of {count} (it is {across} × {down})"],
        )
    return min(count, across), rows
