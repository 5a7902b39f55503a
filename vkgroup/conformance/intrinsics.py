"""GL_EXT_spirv_intrinsics: GLSL declarations of SPIR-V features that GLSL compilers lack.

Subgroup functions without GLSL, execution modes, and vectors of eight components (SPV_EXT_long_vector): their
type, the instructions that construct one and extract components, and each group operation. `OLDER` has the
instructions, built-ins and functions of the older ballot and vote extensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vkgroup.programs.glsl_types import is_long
from vkgroup.spec.operations import Operation
from vkgroup.spec.types import GlslType
from vkgroup.spirv import grammar

EXTENSION = "GL_EXT_spirv_intrinsics"

MAXIMAL_RECONVERGENCE = "SPV_KHR_maximal_reconvergence"
QUAD_CONTROL = ("QuadControlKHR", "SPV_KHR_quad_control")
"""Capability and extension of votes of quads and of full quads."""

_LONG_VECTOR = ("LongVectorEXT", "SPV_EXT_long_vector")

BALLOT, VOTE = "SPV_KHR_shader_ballot", "SPV_KHR_subgroup_vote"

EXAMPLE = "dynamic_instances"
"""The operation of the cases that run the document's example (issue 5)."""

FORMS = {
    "declared": "as it declares the extension",
    "lowered": "lowered to the instructions of SPIR-V 1.3, in a module of SPIR-V 1.5",
    "lowered_1_3": "lowered to the instructions of SPIR-V 1.3, in a module of that version",
}
"""The forms of a module. In the last form, an index that is not a constant is read by another
instruction."""

_SCALARS = ("int", "uint", "float")
_READ = _SCALARS + tuple(f"{prefix}vec{count}" for prefix in ("i", "u", "") for count in (2, 3, 4))


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


def declaration_of(operation: Operation, type_: GlslType, count: int) -> str:
    """Return the declaration of a function that GLSL lacks: of a value of a type and `count` - 1 integers.

    Returns "" for a function of GLSL and for long vectors, whose functions are macros.
    """
    if not operation.by_instruction or is_long(type_):
        return ""
    declared, scoped = _instruction_of(operation, type_)
    types = ", ".join(["uint"] * scoped + [type_.name] + ["uint"] * (count - 1))
    result = type_.name if operation.result == "value" else str(operation.result)
    return f"{declared} {result} {operation.name}_({types});"


def call_of(operation: Operation, type_: GlslType, arguments: Sequence[str]) -> str:
    """Return a call of an operation on a type in GLSL, or of the function or macro that replaces it."""
    if not operation.by_instruction or is_long(type_):
        return f"{_macro(operation, type_) if is_long(type_) else operation.name}({', '.join(arguments)})"
    scope = [_subgroup()] if _instruction_of(operation, type_)[1] else []
    return f"{operation.name}_({', '.join([*scope, *arguments])})"


def _macro(operation: Operation, type_: GlslType) -> str:
    """Return the name of the macro of an operation on long vectors."""
    return f"{operation.name}_{type_.name}"


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
    name = _macro(operation, type_)
    call = f"instruction_{name}({', '.join(arguments.values())})"
    return [
        f"{declared} {result} instruction_{name}({', '.join(arguments)});",
        # A macro, so that constant arguments remain constants.
        f"#define {name}({', '.join(['value', *others])}) {call}",
    ]


@dataclass(frozen=True)
class Older:
    """One older instruction, built-in, function or variable."""

    name: str  # SPIR-V's name, or ARB's
    core: str  # the built-in of KHR_shader_subgroup of the same meaning
    call: str  # GLSL of its result as the core's type, with {0} and {1} for the arguments
    types: tuple[str, ...]  # GLSL types of its value, or of the variable
    extension: str = BALLOT  # the SPIR-V extension that it needs
    glsl: str = ""  # the GLSL extension that it needs; "" if declared by SPIR-V numbers
    wide: bool = False  # whether its result is a uint64_t
    declaration: str = ""  # GLSL declarations that it needs, mostly by SPIR-V numbers
    alone: bool = False  # whether its programs ask for nothing else

    @property
    def is_variable(self) -> bool:
        """Whether it is a built-in variable."""
        return self.core.startswith("gl_")


def _instruction(name: str, core: str, types: tuple[str, ...], result: str = "", second: str = "") -> Older:
    """Return an instruction, declared through GL_EXT_spirv_intrinsics for each type."""
    vote = core in ("subgroupAll", "subgroupAny", "subgroupAllEqual")
    capability, extension = ("SubgroupVoteKHR", VOTE) if vote else ("SubgroupBallotKHR", BALLOT)
    function = "older" + name.removeprefix("OpSubgroup")
    declared = instruction(name, capability, extension)
    declaration = "\n".join(
        f"{declared} {result or type_} {function}({type_} value{second});" for type_ in types
    )
    call = f"{function}({{0}}, {{1}})" if second else f"{function}({{0}})"
    return Older(name, core, call, types, extension, declaration=declaration)


def _built_in(name: str, core: str, type_: str) -> Older:
    """Return a built-in, read together with a ballot, which makes the module declare the extension.

    GLSL has it with 32-bit integers under the core's name alone; the number is the same.
    """
    ballot = _instruction("OpSubgroupBallotKHR", "subgroupBallot", ("bool",), result="uvec4")
    call = f"({ballot.call.format('true')}, {core})"
    return Older(name, core, call, (type_,), declaration=ballot.declaration)


def _arb(name: str, core: str, call: str, types: tuple[str, ...], wide: bool = False) -> Older:
    vote = name.startswith("a")
    extension, glsl = (VOTE, "GL_ARB_shader_group_vote") if vote else (BALLOT, "GL_ARB_shader_ballot")
    return Older(name, core, call, types, extension, glsl, wide)


def _arb_lane(name: str, core: str) -> Older:
    """Return a variable; a module must not also have the core's variable of the same built-in.

    The whole program uses it, under the core's name.
    """
    row = _arb(name, core, name, ("uint",))
    return replace(row, declaration=f"#define {core} {name}", alone=True)


def _masks() -> list[Older]:
    rows = []
    for relation in ("Eq", "Ge", "Gt", "Le", "Lt"):
        core = f"gl_Subgroup{relation}Mask"
        rows.append(_built_in(f"Subgroup{relation}MaskKHR", core, "uvec4"))
        name = f"gl_SubGroup{relation}MaskARB"
        rows.append(_arb(name, core, f"uvec4(unpackUint2x32({name}), 0u, 0u)", ("uvec4",), wide=True))
    return rows


_ROWS = (
    _instruction("OpSubgroupBallotKHR", "subgroupBallot", ("bool",), result="uvec4"),
    _instruction("OpSubgroupFirstInvocationKHR", "subgroupBroadcastFirst", _SCALARS),
    _instruction("OpSubgroupReadInvocationKHR", "subgroupBroadcast", _SCALARS, second=", uint index"),
    _instruction("OpSubgroupAllKHR", "subgroupAll", ("bool",)),
    _instruction("OpSubgroupAnyKHR", "subgroupAny", ("bool",)),
    _instruction("OpSubgroupAllEqualKHR", "subgroupAllEqual", ("bool",)),
    _built_in("SubgroupSize", "gl_SubgroupSize", "uint"),
    _built_in("SubgroupLocalInvocationId", "gl_SubgroupInvocationID", "uint"),
    *_masks(),
    _arb(
        "ballotARB", "subgroupBallot", "uvec4(unpackUint2x32(ballotARB({0})), 0u, 0u)", ("bool",), wide=True
    ),
    _arb("readFirstInvocationARB", "subgroupBroadcastFirst", "readFirstInvocationARB({0})", _READ),
    _arb("readInvocationARB", "subgroupBroadcast", "readInvocationARB({0}, {1})", _READ),
    _arb("anyInvocationARB", "subgroupAny", "anyInvocationARB({0})", ("bool",)),
    _arb("allInvocationsARB", "subgroupAll", "allInvocationsARB({0})", ("bool",)),
    _arb("allInvocationsEqualARB", "subgroupAllEqual", "allInvocationsEqualARB({0})", ("bool",)),
    _arb_lane("gl_SubGroupSizeARB", "gl_SubgroupSize"),
    _arb_lane("gl_SubGroupInvocationARB", "gl_SubgroupInvocationID"),
)

OLDER: dict[str, Older] = {row.name: row for row in _ROWS}
"""All older instructions, built-ins, functions and variables by name."""
