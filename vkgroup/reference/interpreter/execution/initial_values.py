"""Initial values of the variables of a slice: built-in variables, stage inputs, initializers."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.execution.built_ins import built_in
from vkgroup.reference.interpreter.execution.machine import Machine
from vkgroup.reference.interpreter.execution.memory_order import Order
from vkgroup.reference.interpreter.execution.races import Accesses
from vkgroup.reference.interpreter.program.interface import StageInputs, with_declared_types
from vkgroup.reference.interpreter.program.layout import numbers
from vkgroup.reference.interpreter.values.value import Value, undefined
from vkgroup.spirv import ScalarType


def initialise(machine: Machine, inputs: StageInputs, order: Order | None) -> None:
    """Write the initial values of all variables of the module."""
    program = machine.program
    machine.helpers, machine.interpolate = inputs.helpers, inputs.interpolate
    variables, lanes = program.variables, machine.lanes
    for name, cell in program.built_ins.items():
        given = inputs.built_ins.get(name)
        if given is None:
            machine.cells[cell].write(built_in(name, machine), lanes)
        else:
            machine.cells[cell].write(with_declared_types(given, program.cells[cell]), lanes)
    for cell, value in inputs.variables.items():
        machine.cells[cell].write(value, lanes)
    for cell in variables.private_cells:
        slot = variables.initializers.get(cell)
        if slot is not None:
            machine.cells[cell].write(program.constants[slot], lanes)
        else:
            nothing = undefined(variables.cell_types[cell], variables.private_causes[cell])
            machine.cells[cell].write(nothing, lanes)
    for identifier, slot in variables.shared_initializers.items():
        _fill_shared(machine, identifier, program.constants[slot])
    if order is not None:
        for memory in machine.shared.values():
            memory.accesses = Accesses(order, memory.granules)


def _fill_shared(machine: Machine, identifier: int, value: Value) -> None:
    """Write the initial value of a shared variable in every workgroup."""
    _, laid_out, size = machine.program.shared[identifier]
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
