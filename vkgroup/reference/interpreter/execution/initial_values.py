"""Initial values of the variables of a slice: built-in variables, stage inputs, initializers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.reference.interpreter.operations.accessor import Slice
from vkgroup.reference.interpreter.operations.state import SliceState
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.interface import StageInputs, with_declared_types
from vkgroup.reference.interpreter.program.layout import numbers
from vkgroup.reference.interpreter.values.value import Data, Value, single, undefined
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import BUILTIN_VARIABLES
from vkgroup.spirv import ScalarType


def _three(number: Data, extent: tuple[int, int, int]) -> Data:
    x, y, _ = extent
    return np.stack([number % x, number // x % y, number // (x * y)]).astype(np.uint32)


def _uniform(*numbers: int) -> Data:
    return np.array(numbers, np.uint32)[:, None]


def _workgroup_id(slice_: Slice) -> Data:
    return _three(slice_.first_workgroup + slice_.workgroup, slice_.arrangement.groups)


def _local_id(slice_: Slice) -> Data:
    return _three(slice_.local_index, slice_.arrangement.local_size)


def _global_id(slice_: Slice) -> Data:
    size = np.array(slice_.arrangement.local_size, np.uint32)[:, None]
    return _workgroup_id(slice_) * size + _local_id(slice_)


SM_COUNT, WARPS_PER_SM = 4, 64
"""Values of built-ins of NV_shader_sm_builtins, which the reference device executes but does not declare."""


def _sm_id(slice_: Slice) -> Data:
    return ((slice_.first_workgroup + slice_.workgroup) % SM_COUNT).astype(np.uint32)


_PLAIN: dict[str, Callable[[Slice], Data]] = {
    "NumWorkgroups": lambda slice_: _uniform(*slice_.arrangement.groups),
    "WorkgroupSize": lambda slice_: _uniform(*slice_.arrangement.local_size),
    "WorkgroupId": _workgroup_id,
    "LocalInvocationId": _local_id,
    "GlobalInvocationId": _global_id,
    "LocalInvocationIndex": lambda slice_: slice_.local_index.astype(np.uint32),
    "DeviceIndex": lambda slice_: np.zeros(1, np.uint32),
    "ViewIndex": lambda slice_: np.zeros(1, np.uint32),
    "NumSubgroups": lambda slice_: np.array([slice_.arrangement.subgroups], np.uint32),
    "SMCountNV": lambda slice_: _uniform(SM_COUNT)[0],
    "WarpsPerSMNV": lambda slice_: _uniform(WARPS_PER_SM)[0],
    "SMIDNV": _sm_id,
    "WarpIDNV": lambda slice_: (slice_.row % WARPS_PER_SM).astype(np.uint32),
    "SubgroupId": lambda slice_: (slice_.row % slice_.arrangement.subgroups).astype(np.uint32),
}

#: The grammar lists the names of SPV_KHR_shader_ballot as aliases.
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
"""By stage: the built-in variables that a draw sets."""


def check_built_in(name: str, stage: str = "compute") -> None:
    """Raise `Unsupported` for a built-in variable that the reference device lacks."""
    known = name in _PLAIN or name.removesuffix("KHR") in _FROM_SEMANTICS
    if not known and name not in OF_STAGES[stage]:
        raise Unsupported(f"The reference device does not support the built-in variable {name}.", [name])


def built_in(name: str, slice_: Slice) -> Value:
    """Return a built-in variable's value in all invocations of a slice."""
    if name in _PLAIN:
        return single(_PLAIN[name](slice_))
    variable = _FROM_SEMANTICS[name.removesuffix("KHR")]
    subgroups = slice_.subgroups_of(slice_.lanes)
    # Inactive lanes hold zeros; `collect` omits them.
    value = reference_of(variable.name)(subgroups.active).value
    dims = (4,) if variable.type.name == "uvec4" else ()
    return single(subgroups.collect(np.ascontiguousarray(value), dims))


def initialise(machine: SliceState, program: ProgramForm, inputs: StageInputs) -> None:
    """Write the initial values of all variables of the module."""
    machine.helpers, machine.interpolate = inputs.helpers, inputs.interpolate
    variables, lanes = program.variables, machine.lanes
    for name, cell in program.built_ins.items():
        value = inputs.built_ins.get(name) or built_in(name, machine)
        # A module may declare integers of either signedness.
        machine.cells[cell].write(with_declared_types(value, program.cells[cell]), lanes)
    for cell, value in inputs.variables.items():
        machine.cells[cell].write(value, lanes)
    for cell in variables.private_cells:
        slot = variables.initializers.get(cell)
        if slot is not None:
            initial = program.constants[slot]
        else:
            initial = undefined(variables.cell_types[cell], variables.private_causes[cell])
        machine.cells[cell].write(initial, lanes)
    for identifier, slot in variables.shared_initializers.items():
        _fill_shared(machine, program, identifier, program.constants[slot])
    if machine.order is not None:
        for memory in machine.shared.values():
            memory.record_accesses(machine.order)


def _fill_shared(machine: SliceState, program: ProgramForm, identifier: int, value: Value) -> None:
    """Write the initial value of a shared variable in every workgroup."""
    _, laid_out, size = program.shared[identifier]
    memory = machine.shared[identifier]
    starts = np.arange(machine.workgroups) * size
    for part, data in zip(numbers(laid_out), value.leaves, strict=True):
        offset = part.offsets[..., None] + starts
        stored = data.astype(np.uint32) if part.is_bool else data
        dtype = part.scalar.dtype if isinstance(part.scalar, ScalarType) else stored.dtype
        positions = offset[..., None] + np.arange(dtype.itemsize)
        spread = np.ascontiguousarray(np.broadcast_to(stored.astype(dtype), offset.shape))
        memory.data[positions] = spread[..., None].view(np.uint8)
        memory.mark(offset, dtype.itemsize, None)
