"""Values of the built-in variables in every invocation of a slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.values import Data, Value, single
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import BUILTIN_VARIABLES

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.machine import Machine


def _three(number: Data, extent: tuple[int, int, int]) -> Data:
    x, y, _ = extent
    return np.stack([number % x, number // x % y, number // (x * y)]).astype(np.uint32)


def _uniform(*numbers: int) -> Data:
    return np.array(numbers, np.uint32)[:, None]


def _workgroup_id(machine: Machine) -> Data:
    return _three(machine.first_workgroup + machine.workgroup, machine.arrangement.groups)


def _local_id(machine: Machine) -> Data:
    return _three(machine.local_index, machine.arrangement.local_size)


def _global_id(machine: Machine) -> Data:
    size = np.array(machine.arrangement.local_size, np.uint32)[:, None]
    return _workgroup_id(machine) * size + _local_id(machine)


SM_COUNT, WARPS_PER_SM = 4, 64
"""Of the built-ins of NV_shader_sm_builtins, which the reference device executes and does not declare."""


def _sm_id(machine: Machine) -> Data:
    return ((machine.first_workgroup + machine.workgroup) % SM_COUNT).astype(np.uint32)


_PLAIN: dict[str, Callable[[Machine], Data]] = {
    "NumWorkgroups": lambda machine: _uniform(*machine.arrangement.groups),
    "WorkgroupSize": lambda machine: _uniform(*machine.arrangement.local_size),
    "WorkgroupId": _workgroup_id,
    "LocalInvocationId": _local_id,
    "GlobalInvocationId": _global_id,
    "LocalInvocationIndex": lambda machine: machine.local_index.astype(np.uint32),
    "DeviceIndex": lambda machine: np.zeros(1, np.uint32),
    "ViewIndex": lambda machine: np.zeros(1, np.uint32),
    "NumSubgroups": lambda machine: np.array([machine.arrangement.subgroups], np.uint32),
    "SMCountNV": lambda machine: _uniform(SM_COUNT)[0],
    "WarpsPerSMNV": lambda machine: _uniform(WARPS_PER_SM)[0],
    "SMIDNV": _sm_id,
    "WarpIDNV": lambda machine: (machine.row % WARPS_PER_SM).astype(np.uint32),
    "SubgroupId": lambda machine: (machine.row % machine.arrangement.subgroups).astype(np.uint32),
}

#: The legacy names of SPV_KHR_shader_ballot are aliases in the grammar, of the same meaning.
_FROM_SEMANTICS = {
    variable.builtin.removesuffix("KHR"): variable
    for variable in BUILTIN_VARIABLES.values()
    if variable.builtin not in _PLAIN
}


OF_STAGES = {
    "compute": frozenset[str](),
    "vertex": frozenset({"VertexIndex", "InstanceIndex", "BaseVertex", "BaseInstance", "DrawIndex"}),
    "fragment": frozenset(
        {
            "FragCoord",
            "FrontFacing",
            "HelperInvocation",
            "SampleId",
            "SamplePosition",
            "SampleMask",
            "PrimitiveId",
            "PointCoord",
            "Layer",
            "ViewportIndex",
        }
    ),
}
"""By stage: the built-in variables that a draw gives its invocations."""


def check(name: str, stage: str = "compute") -> None:
    """Raise `Unsupported` for a built-in that the reference device lacks."""
    known = name in _PLAIN or name.removesuffix("KHR") in _FROM_SEMANTICS
    if not known and name not in OF_STAGES[stage]:
        raise Unsupported(f"The built-in variable {name} is not known to the reference device.", [name])


def built_in(name: str, machine: Machine) -> Value:
    """Return a built-in variable's value in all invocations of a slice."""
    if name in _PLAIN:
        return single(_PLAIN[name](machine))
    variable = _FROM_SEMANTICS[name.removesuffix("KHR")]
    subgroups = machine.subgroups_of(None)
    # Inactive lanes hold zeros, which is what `collect` leaves out.
    value = reference_of(variable.name)(subgroups.active).value
    dims = (4,) if variable.type.name == "uvec4" else ()
    return single(subgroups.collect(np.ascontiguousarray(value), dims))
