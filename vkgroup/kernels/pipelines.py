"""Cache of kernel pipelines, by device, macros and specialization constants."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from vkgroup import resources
from vkgroup.dispatch import Device, Pipeline
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.kernels.types import GLSL
from vkgroup.spirv import Module

_MOST = 256
"""Maximum number of cached pipelines per device; the least recently used pipeline is removed first."""

_WORKGROUP, _SUBGROUPS = 0, 2
"""Specialization constants of all kernels: invocations and maximum number of subgroups per workgroup."""


class Pipelines:
    """The cached pipelines of one device.

    If the device supports subgroup size control, all pipelines use one subgroup size. If it supports full
    subgroups, they use these. A kernel then knows the maximum number of subgroups per workgroup.
    """

    def __init__(self, device: Device) -> None:
        self._user = ref(device)
        self._kept: OrderedDict[Any, Pipeline] = OrderedDict()
        self._modules: dict[Any, Module] = {}

    @classmethod
    def of(cls, device: Device) -> Pipelines:
        """Return the pipelines of a device."""
        if device not in _all:
            _all[device] = cls(device)
        return _all[device]

    @property
    def _device(self) -> Device:
        device = self._user()
        assert device is not None, "the caller holds the device"
        return device

    def get(
        self,
        path: str,
        macros: Mapping[str, Any],
        workgroup: int | None,
        specialization: Mapping[int | str, Any],
    ) -> Pipeline:
        """Return a pipeline, as `Planner.kernel` describes it."""
        defines = tuple(sorted((name, str(value)) for name, value in macros.items()))
        values = tuple((name, np.asarray(value).item()) for name, value in specialization.items())
        key = (path, defines, workgroup, values)
        cache = self._kept
        pipeline = cache.pop(key, None)
        if pipeline is None or pipeline.closed:
            module = self._module(path, defines)
            pipeline = self._make(module, workgroup, dict(values))
        cache[key] = pipeline
        if len(cache) > _MOST:
            cache.popitem(last=False)
        return pipeline

    def _module(self, path: str, defines: tuple[tuple[str, str], ...]) -> Module:
        modules = self._modules
        if (path, defines) not in modules:
            modules[path, defines] = self._device.compile(resources.kernel(path), defines=dict(defines))
        return modules[path, defines]

    def _make(self, module: Module, workgroup: int | None, specialization: dict[int | str, Any]) -> Pipeline:
        device, constants = self._device, module.reflection.specialization_constants
        size = subgroup_size(device)
        full = full_subgroups(device)
        defaults = {constant.id: constant.default for constant in constants}
        if workgroup is not None:
            specialization[_WORKGROUP] = workgroup
        total = int(specialization.get(_WORKGROUP, defaults.get(_WORKGROUP, 1)))
        if _SUBGROUPS in defaults and not {_SUBGROUPS, "SUBGROUPS"} & specialization.keys():
            specialization[_SUBGROUPS] = -(-total // size) if full else total
        return device.pipeline(
            module,
            specialization=specialization,
            subgroup_size=size if device.capabilities.size_control.supported else None,
            full_subgroups=full and total % size == 0,
        )


_all: WeakKeyDictionary[Device, Pipelines] = WeakKeyDictionary()


def subgroup_size(device: Device) -> int:
    """Return the subgroup size at which kernels run on a device."""
    return device.subgroup_size or device.capabilities.subgroup.size


def full_subgroups(device: Device) -> bool:
    """Return whether the device supports full subgroups for workgroups that are a multiple of their size."""
    control = device.capabilities.size_control
    return control.supported and control.compute_full_subgroups


def choose(device: Device, implementation: str, *operations: str, kinds: tuple[str, ...] = ()) -> str:
    """Resolve ``"auto"`` to the subgroup version if the device supports it, otherwise to the shared version.

    Parameters
    ----------
    implementation : ``"auto"``, ``"subgroup"``, ``"shared"``, or one of `kinds`.
    operations : categories of subgroup operations that the subgroup version needs in compute shaders, as
        lower-case names of VkSubgroupFeatureFlagBits: ``"arithmetic"``, ``"ballot"``, ….
    kinds : other versions of the algorithm.

    Raises
    ------
    InvalidDispatch
        The version does not exist.
    Unsupported
        The subgroup version was requested and the device lacks an operation.
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


def type_macros(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the macros `T`, `T_BITS` and `T_FLOAT` of ``kernels/include/kernel.glsl`` for a dtype.

    Raises
    ------
    InvalidDispatch
        Kernels do not support the dtype.
    """
    if dtype not in GLSL:
        known = ", ".join(str(kind) for kind in GLSL)
        raise InvalidDispatch(f"Kernels work on {known}; {dtype} was given. Convert it with .astype.")
    return {"T": GLSL[dtype], "T_BITS": dtype.itemsize * 8, "T_FLOAT": int(dtype.kind == "f")}
