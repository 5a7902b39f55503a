"""Specialization constants that are lengths of arrays."""

from __future__ import annotations

from vkgroup.check.influence import influence_of
from vkgroup.check.inputs import SpecializationValue
from vkgroup.check.request import values_of
from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import Module


def constants_of_lengths(module: Module, position: int) -> list[SpecializationValue]:
    """Return the specialization constants in the lengths of arrays that an instruction accesses."""
    influence = influence_of(module)
    entries = {entry.result_id: entry for entry in module.instructions if entry.result_id}
    accesses = (entry for entry in influence.body if entry.position == position)
    variables = {
        influence.roots[value][0]
        for entry in accesses
        for value in sort_operands(entry).values
        if value in influence.roots
    }
    types = [entries[variable].result_type for variable in variables if variable in entries]
    sources: set[int] = set()
    while types:
        entry = entries[types.pop()]
        if entry.name == "OpTypeArray":
            sources |= {source for source, _ in influence.on_value(entry.result_id)}
        inner = {"OpTypePointer": 1, "OpTypeArray": 0, "OpTypeRuntimeArray": 0}
        if entry.name in inner:
            types.append(entry.operands[inner[entry.name]])
        elif entry.name == "OpTypeStruct":
            types += entry.operands
    ids = {influence.declared.decoration(source, "SpecId") for source in sources}
    return [value for value in values_of(module) if value.id in ids]
