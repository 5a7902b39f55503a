"""Instructions of GLSL.std.450 that kernels use: each must have a conformance case of its type."""

from __future__ import annotations

from vkgroup.conformance.extended_instructions.instructions import INSTRUCTIONS
from vkgroup.reference.interpreter.program.site import extended_name
from vkgroup.spec.types import TYPES
from vkgroup.spirv import Module, ScalarType
from vkgroup.spirv.binary import text_of
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.types import Type, VectorType

SET = "GLSL.std.450"
WITH_A_CASE = {(row.name, kind) for row in INSTRUCTIONS.values() for kind in row.types}
"""The instructions that have a case, each with the type of its result."""

_NAMES = {(kind.scalar.kind, kind.scalar.bits, kind.components): kind.name for kind in TYPES.values()}


def _type_name(kind: Type) -> str:
    scalar, count = (kind.component, kind.count) if isinstance(kind, VectorType) else (kind, 1)
    assert isinstance(scalar, ScalarType)
    return _NAMES[scalar.kind, scalar.bits, count]


def used(module: Module) -> set[tuple[str, str]]:
    """Return the instructions of GLSL.std.450 in a module, each with GLSL's name of its result's type."""
    types = Declarations(module).types
    sets = {
        entry.result_id
        for entry in module.instructions
        if entry.name == "OpExtInstImport" and text_of(entry.operands) == SET
    }
    return {
        (extended_name(SET, entry.operands[1]).removeprefix(f"{SET} "), _type_name(types[entry.result_type]))
        for entry in module.instructions
        if entry.name == "OpExtInst" and entry.operands[0] in sets
    }


def check_used(path: str, module: Module) -> None:
    """Fail if a kernel's module uses an instruction of GLSL.std.450, or a type of it, without a case."""
    missing = sorted(used(module) - WITH_A_CASE)
    assert not missing, (
        f"{path} uses {missing} of {SET}, which have no case: add them to "
        "vkgroup/conformance/extended_instructions/instructions.py, with the sentence that requires them."
    )
