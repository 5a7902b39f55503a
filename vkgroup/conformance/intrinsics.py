"""Subgroup functions that glslang does not have, declared by their instructions (GL_EXT_spirv_intrinsics)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

EXTENSION = "GL_EXT_spirv_intrinsics"

_SUBGROUP = "3u"  # SPIR-V, Scope


@dataclass(frozen=True)
class Intrinsic:
    """What it takes to declare an instruction as a function.

    Attributes
    ----------
    extension, capability : what the module declares.
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
        return (
            f'spirv_instruction(extensions = ["{self.extension}"], capabilities = [{self.capability}], '
            f"id = {self.opcode}) {result} {name}_({types});"
        )

    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Return a call of the function that `declaration` declares."""
        return f"{name}_({', '.join([_SUBGROUP, *arguments] if self.scoped else arguments)})"


_ROTATE = Intrinsic("SPV_KHR_subgroup_rotate", 6026, 4431, scoped=True)

INTRINSICS: dict[str, Intrinsic] = {
    "subgroupRotate": _ROTATE,
    "subgroupClusteredRotate": _ROTATE,
    "subgroupQuadAll": Intrinsic("SPV_KHR_quad_control", 5087, 5110),
    "subgroupQuadAny": Intrinsic("SPV_KHR_quad_control", 5087, 5111),
    "ballotARB": Intrinsic("SPV_KHR_shader_ballot", 4423, 4421),
    "readInvocationARB": Intrinsic("SPV_KHR_shader_ballot", 4423, 4432),
    "readFirstInvocationARB": Intrinsic("SPV_KHR_shader_ballot", 4423, 4422),
    "allInvocationsARB": Intrinsic("SPV_KHR_subgroup_vote", 4431, 4428),
    "anyInvocationARB": Intrinsic("SPV_KHR_subgroup_vote", 4431, 4429),
    "allInvocationsEqualARB": Intrinsic("SPV_KHR_subgroup_vote", 4431, 4430),
}
"""By the GLSL name of the function: those that glslang 13 lacks, or has with other types."""
