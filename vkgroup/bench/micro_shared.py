"""The same exchanges through shared memory: GLSL without any subgroup function.

An exchange writes each invocation's value, waits at a barrier, and reads another's. Two halves of memory take
turns, so one barrier an exchange is enough: who writes a half again has passed the barrier after which the
other half was read. Ballots take turns with three words, one being cleared while another is filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from vkgroup.bench.micro_cases import Case
from vkgroup.spec.types import GlslType

#: Where a lane reads from, over ``lane``, ``SIZE`` and the arguments {0} and {1}.
_SOURCES: Mapping[str, str] = {
    "subgroupBroadcast": "{0}",
    "subgroupBroadcastFirst": "0u",
    "subgroupShuffle": "{0}",
    "subgroupShuffleXor": "lane ^ {0}",
    "subgroupShuffleUp": "lane - min({0}, lane)",
    "subgroupShuffleDown": "min(lane + {0}, SIZE - 1u)",
    "subgroupQuadBroadcast": "(lane & ~3u) + {0}",
    "subgroupQuadSwapHorizontal": "lane ^ 1u",
    "subgroupQuadSwapVertical": "lane ^ 2u",
    "subgroupQuadSwapDiagonal": "lane ^ 3u",
    "subgroupRotate": "(lane + {0}) & (SIZE - 1u)",
    "subgroupClusteredRotate": "(lane & ~({1} - 1u)) + ((lane + {0}) & ({1} - 1u))",
    "readInvocationARB": "{0}",
    "readFirstInvocationARB": "0u",
}

#: The votes, over ``x``: `gathered` gives the ballot of its argument.
_VOTES: Mapping[str, str] = {
    "subgroupAll": "gathered(!x) == uvec4(0)",
    "subgroupAny": "gathered(x) != uvec4(0)",
    "subgroupBallot": "gathered(x)",
    "allInvocationsARB": "gathered(!x) == uvec4(0)",
    "anyInvocationARB": "gathered(x) != uvec4(0)",
    "ballotARB": "gathered(x)",
}
_EQUALITIES = ("subgroupAllEqual", "allInvocationsEqualARB")
_QUADS = {"subgroupQuadAll": "And", "subgroupQuadAny": "Or"}

_OPERATORS = {"Add": "a + b", "Mul": "a * b", "Min": "min(a, b)", "Max": "max(a, b)"}
_BITS = {"And": "&", "Or": "|", "Xor": "^"}
_LOGIC = {"And": "&&", "Or": "||", "Xor": "^^"}

_EXCHANGE = Template("""
shared $T memory_$T[2u * WORKGROUP];
$T exchanged($T x, uint source) {
    memory_$T[side * WORKGROUP + place] = x;
    barrier();
    $T result = memory_$T[side * WORKGROUP + place - lane + source];
    side ^= 1u;
    return result;
}""")

_GATHER = """
shared uint votes[3u * GROUPS * 4u];
uvec4 gathered(bool x) {
    uint at = (turn * GROUPS + place / SIZE) * 4u;
    uint following = turn == 2u ? 0u : turn + 1u;
    for (uint k = lane; k < 4u; k += SIZE) votes[(following * GROUPS + place / SIZE) * 4u + k] = 0u;
    if (x) atomicOr(votes[at + (lane >> 5)], 1u << (lane & 31u));
    barrier();
    turn = following;
    return uvec4(votes[at], votes[at + 1u], votes[at + 2u], votes[at + 3u]);
}
void clear_votes() {
    for (uint k = place; k < 3u * GROUPS * 4u; k += WORKGROUP) votes[k] = 0u;
    barrier();
}"""

# The neighbours at 1, 2, 4, … lanes: after each exchange a lane has the result of twice as many.
_REDUCE = Template("""
    for (uint m = 1u; m < $cluster; m <<= 1u) x = $combine(x, exchanged(x, lane ^ m));
    return x;""")
_SCAN = Template("""
    for (uint m = 1u; m < SIZE; m <<= 1u) {
        $T below = exchanged(x, lane - min(m, lane));
        x = lane >= m ? $combine(below, x) : x;
    }""")
_SHIFT = Template("""
    $T below = exchanged(x, lane - min(1u, lane));
    return lane == 0u ? identity_$combine : below;""")


def has_alternative(case: Case) -> bool:
    """Whether shared memory is another way to the same result.

    It is not where no value goes from one lane to another (subgroupElect, the functions of a ballot's bits),
    and for partitions, whose alternative is an algorithm and no exchange.
    """
    name, group = case.operation.name, case.operation.group_operation
    if case.type.name == "uvec4" and len(case.operation.types) == 1:
        return False
    known = name in _SOURCES or name in _VOTES or name in _EQUALITIES or name in _QUADS
    arithmetic = case.operation.operator is not None and "Partitioned" not in (group or "")
    return known or arithmetic


def has_votes(case: Case) -> bool:
    """Whether the alternative of a case gathers ballots."""
    return case.operation.name in _VOTES or case.operation.name in _EQUALITIES


def combine_name(operator: str, type_: GlslType) -> str:
    """Return the name of the GLSL function that applies an operator to two values of a type."""
    return f"{operator.lower()}_{type_.name}"


def combine(operator: str, type_: GlslType) -> str:
    """Return that function."""
    name = type_.name
    if operator in _OPERATORS:
        value = _OPERATORS[operator]
    elif type_.scalar.kind != "bool":
        value = f"a {_BITS[operator]} b"
    elif type_.components == 1:
        value = f"a {_LOGIC[operator]} b"
    else:
        parts = (f"a.{at} {_LOGIC[operator]} b.{at}" for at in "xyzw"[: type_.components])
        value = f"{name}({', '.join(parts)})"
    result = name if type_.scalar.bits >= 32 or type_.scalar.kind == "bool" else f"{name}({value})"
    value = value if result == name else result
    return f"{name} {combine_name(operator, type_)}({name} a, {name} b) {{ return {value}; }}"


def operators(case: Case) -> tuple[str, ...]:
    """Return the operators that the alternative of a case applies itself."""
    if case.operation.name in _QUADS:
        return (_QUADS[case.operation.name],)
    return (case.operation.operator,) if case.operation.operator is not None else ()


def memory(type_: GlslType) -> str:
    """Return the declarations of the memory of exchanges of a type, and of ballots."""
    return _EXCHANGE.substitute(T=type_.name)


def votes() -> str:
    """Return the declarations of the memory of ballots."""
    return _GATHER


def bytes_an_invocation(type_: GlslType) -> int:
    """Return the shared memory that one invocation's exchanges take."""
    components = 4 if type_.components == 3 else type_.components
    return 2 * components * (4 if type_.scalar.kind == "bool" else type_.scalar.bits // 8)


def body(case: Case, arguments: list[str]) -> str:
    """Return the GLSL after ``R alternative(T x) {`` up to the ``}``."""
    name = case.operation.name
    if name in _SOURCES:
        source = _SOURCES[name].format(*arguments)
        return f"\n    return exchanged(x, {source});"
    if name in _VOTES:
        return f"\n    return {_VOTES[name]};"
    if name in _EQUALITIES:
        return "\n    return gathered(x != exchanged(x, 0u)) == uvec4(0);"
    operator = operators(case)[0]
    combine_ = combine_name(operator, case.type)
    if name in _QUADS:
        return _REDUCE.substitute(cluster="min(4u, SIZE)", combine=combine_)
    group = case.operation.group_operation
    if group in ("Reduce", "ClusteredReduce"):
        return _REDUCE.substitute(cluster=arguments[0] if arguments else "SIZE", combine=combine_)
    scan = _SCAN.substitute(T=case.type.name, combine=combine_)
    if group == "InclusiveScan":
        return f"{scan}\n    return x;"
    return scan + _SHIFT.substitute(T=case.type.name, combine=combine_)
