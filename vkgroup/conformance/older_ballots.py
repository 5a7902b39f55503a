"""Older ballots and votes: instructions, built-ins and ARB's GLSL, each with its counterpart in the core.

The counterpart is the built-in of KHR_shader_subgroup of the same meaning
(`vkgroup.reference.semantics.ballot`); a case must have the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vkgroup.conformance.intrinsics import instruction

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
