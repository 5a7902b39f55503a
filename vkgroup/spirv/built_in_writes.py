"""Built-in outputs that a module writes, as opposed to those that it only declares in ``gl_PerVertex``."""

from __future__ import annotations

from vkgroup.spirv.annotations import Decorations
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.module import Module
from vkgroup.spirv.types import StructType

_ACCESS_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")


def writes_built_in(module: Module, name: str) -> bool:
    """Return whether a module stores to the built-in output of a name (SPIR-V's: ``"PointSize"``).

    Static use only: an instruction in a branch never taken counts, and so does a pointer to it.
    """
    declared = Declarations(module)
    whole: set[int] = set()
    members: set[tuple[int, int]] = set()
    for variable in declared.variables:
        if variable.storage_class != "Output":
            continue
        if _is(declared.decorations.get(variable.id, {}), name):
            whole.add(variable.id)
        if isinstance(variable.type, StructType):
            block = next((key for key, kind in declared.types.items() if kind is variable.type), 0)
            for index in range(len(variable.type.members)):
                if _is(declared.member_decorations.get((block, index), {}), name):
                    members.add((variable.id, index))
    blocks = {variable for variable, _ in members}
    for instruction in module.instructions:
        operands = instruction.operands
        if instruction.name == "OpStore" and operands[0] in whole | blocks:
            return True
        if instruction.name in _ACCESS_CHAINS and len(operands) > 1:
            chosen = declared.constants.get(operands[1])
            if chosen is not None and (operands[0], chosen.value) in members:
                return True
    return False


def _is(decorations: Decorations, name: str) -> bool:
    """Return whether a variable or member is the built-in."""
    number = decorations.get("BuiltIn")
    return number is not None and grammar().enumerant("BuiltIn", number[0]) == name
