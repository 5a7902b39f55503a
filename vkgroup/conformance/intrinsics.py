"""GL_EXT_spirv_intrinsics: GLSL declarations of SPIR-V features that GLSL compilers lack.

Subgroup functions without GLSL, execution modes, and vectors of eight components (SPV_EXT_long_vector): their
type, the instructions that construct one and extract components, and each group operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from vkgroup.programs.glsl_types import is_long
from vkgroup.spec.operations import EXTENDED_OPERATIONS, SUBGROUP_OPERATIONS, Operation
from vkgroup.spec.types import GlslType
from vkgroup.spirv import grammar

EXTENSION = "GL_EXT_spirv_intrinsics"

MAXIMAL_RECONVERGENCE = "SPV_KHR_maximal_reconvergence"
QUAD_CONTROL = ("QuadControlKHR", "SPV_KHR_quad_control")
"""Capability and extension of votes of quads and of full quads."""

_LONG_VECTOR = ("LongVectorEXT", "SPV_EXT_long_vector")


def _needs(capability: str, extension: str) -> str:
    """Return the part of a declaration that requires a capability and an extension, each "" for none."""
    extensions = f'extensions = ["{extension}"], ' if extension else ""
    capabilities = f"capabilities = [{grammar().number('Capability', capability)}], " if capability else ""
    return extensions + capabilities


def instruction(name: str, capability: str = "", extension: str = "") -> str:
    """Return the beginning of a declaration of a SPIR-V instruction as a GLSL function."""
    return f"spirv_instruction({_needs(capability, extension)}id = {grammar().opcodes[name]})"


def execution_mode(name: str, *operands: int, capability: str = "", extension: str = "") -> str:
    """Return the declaration of a SPIR-V execution mode."""
    numbers = ", ".join(map(str, (grammar().number("ExecutionMode", name), *operands)))
    return f"spirv_execution_mode({_needs(capability, extension)}{numbers});"


def float_modes(widths: set[int], denormals: frozenset[int]) -> list[str]:
    """Return the declarations that preserve special values and denormals of floats of these widths."""
    modes = []
    for width in sorted(widths):
        for name in ("SignedZeroInfNanPreserve", *(["DenormPreserve"] if width in denormals else [])):
            modes.append(execution_mode(name, width, capability=name, extension="SPV_KHR_float_controls"))
    return [f"#extension {EXTENSION} : require", *modes] if modes else []


def _instruction_of(operation: Operation, type_: GlslType) -> tuple[str, bool]:
    """Return the first part of an operation's declaration, and whether its first operand is the scope."""
    name, category = operation.opcode(type_), operation.category
    spec = grammar().instruction(grammar().opcodes[name])
    scoped = spec is not None and spec.operands[0].kind == "IdScope"
    return instruction(name, category.capability, category.spirv_extension), scoped


def _subgroup() -> str:
    """Return the GLSL of SPIR-V's scope Subgroup."""
    return f"{grammar().number('Scope', 'Subgroup')}u"


@dataclass(frozen=True)
class SpirvIntrinsic:
    """A function that GLSL lacks."""

    instruction: str  # the beginning of its declaration
    scoped: bool  # whether the instruction's first operand is the scope

    def declaration(self, name: str, result: str, operands: Sequence[str]) -> str:
        """Return the declaration of a function that replaces the GLSL function `name`."""
        types = ", ".join(["uint", *operands] if self.scoped else operands)
        return f"{self.instruction} {result} {name}_({types});"

    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Return a call of the function that `declaration` declares."""
        return f"{name}_({', '.join([_subgroup(), *arguments] if self.scoped else arguments)})"


@cache
def intrinsic_of(operation: str) -> SpirvIntrinsic | None:
    """Return the declaration of a function that GLSL compilers lack; None for others and for variables."""
    row = EXTENDED_OPERATIONS.get(operation) or SUBGROUP_OPERATIONS.get(operation)
    if row is None or not row.by_instruction:
        return None
    return SpirvIntrinsic(*_instruction_of(row, row.types[0]))


def function_of(operation: Operation, type_: GlslType) -> str:
    """Return the name of the GLSL function or macro of an operation on a type."""
    return f"{operation.name}_{type_.name}" if is_long(type_) else operation.name


def long_vector_declarations(uses: Iterable[tuple[Operation, GlslType]]) -> list[str]:
    """Return the declarations of types of long vectors, of access to components, and of operations."""
    uses = list(dict.fromkeys(uses))
    types = dict.fromkeys(type_ for _, type_ in uses)
    lines = [line for type_ in types for line in _long_type(type_)]
    return lines + [line for operation, type_ in uses for line in _long_operation(operation, type_)]


def _long_type(type_: GlslType) -> list[str]:
    scalar, name = type_.scalar.name, type_.name
    parts = ", ".join(f"{scalar} c{index}" for index in range(type_.components))
    vector = f"{_needs(*_LONG_VECTOR)}id = {grammar().opcodes['OpTypeVector']}, {scalar}, {type_.components}"
    extract = instruction("OpCompositeExtract")
    return [
        f"#define {name} spirv_type({vector})",
        f"{instruction('OpCompositeConstruct')} {name} make_{name}({parts});",
        f"{extract} {scalar} get_{name}_at({name} v, spirv_literal uint index);",
    ]


def _long_operation(operation: Operation, type_: GlslType) -> list[str]:
    """Return the declaration of an operation's instruction, and a function that passes the scope to it."""
    declared, scoped = _instruction_of(operation, type_)
    result = type_.name if operation.result == "value" else str(operation.result)
    others = {
        f"other_{place}": operand.type.name if operand.type is not None else type_.name
        for place, operand in enumerate(operation.operands[1:])
    }
    arguments: dict[str, str] = {}  # by parameter
    if scoped:
        arguments["uint scope"] = _subgroup()
    if operation.group_operation is not None:
        kind = grammar().number("GroupOperation", operation.group_operation)
        arguments["spirv_literal uint kind"] = f"{kind}u"
    arguments[f"{type_.name} value"] = "value"
    if operation.direction is not None:
        arguments["uint direction"] = f"{operation.direction}u"
    arguments |= {f"{kind} {name}": name for name, kind in others.items()}
    name = function_of(operation, type_)
    call = f"instruction_{name}({', '.join(arguments.values())})"
    return [
        f"{declared} {result} instruction_{name}({', '.join(arguments)});",
        # A macro, so that constant arguments remain constants.
        f"#define {name}({', '.join(['value', *others])}) {call}",
    ]
