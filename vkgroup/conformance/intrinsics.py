"""Subgroup functions that glslang lacks, declared by their SPIR-V instructions (GL_EXT_spirv_intrinsics)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from vkgroup.spec.extended_operations import EXTENDED_OPERATIONS, SUBGROUP_OPERATIONS
from vkgroup.spirv import grammar

EXTENSION = "GL_EXT_spirv_intrinsics"

_SUBGROUP = "3u"  # SPIR-V, Scope


@dataclass(frozen=True)
class Intrinsic:
    """The declaration of an instruction as a GLSL function.

    Attributes
    ----------
    extension, capability : the SPIR-V extension and the number of the capability; "" for no extension.
    opcode : the instruction's number.
    scoped : whether its first operand is the scope.
    """

    extension: str
    capability: int
    opcode: int
    scoped: bool = False

    def declaration(self, name: str, result: str, operands: Sequence[str]) -> str:
        """Return the declaration of a function.

        Parameters
        ----------
        name : the GLSL name of the function that it stands for.
        result, operands : GLSL types.
        """
        types = ", ".join(["uint", *operands] if self.scoped else operands)
        extensions = f'extensions = ["{self.extension}"], ' if self.extension else ""
        return (
            f"spirv_instruction({extensions}capabilities = [{self.capability}], "
            f"id = {self.opcode}) {result} {name}_({types});"
        )

    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Return a call of the function that `declaration` declares."""
        return f"{name}_({', '.join([_SUBGROUP, *arguments] if self.scoped else arguments)})"


@cache
def intrinsic_of(operation: str) -> Intrinsic | None:
    """Return the declaration of a function that GLSL compilers lack; None for others and for variables."""
    row = EXTENDED_OPERATIONS.get(operation) or SUBGROUP_OPERATIONS.get(operation)
    if row is None or not row.by_instruction:
        return None
    opcode = grammar().opcodes[row.opcode(row.types[0])]
    instruction = grammar().instruction(opcode)
    assert instruction is not None
    return Intrinsic(
        row.category.spirv_extension,
        grammar().number("Capability", row.category.capability),
        opcode,
        scoped=instruction.operands[0].kind == "IdScope",
    )
