"""Shared-memory alternatives of subgroup functions: GLSL without any subgroup function.

An exchange writes each invocation's value, waits at a barrier, and reads another invocation's value.
Exchanges alternate between two halves of memory, so one barrier per exchange is sufficient: an invocation
that writes a half again has passed the barrier of the exchange in between, and all reads of that half come
before this barrier. Ballots alternate between three words; one word is cleared while another is filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from vkgroup.bench.micro_cases import MicroCase
from vkgroup.spec.types import GlslType

#: The lane to read from, as an expression of ``lane``, ``SIZE`` and the arguments {0} and {1}.
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

#: The votes, as expressions of ``x``; `gathered` returns the ballot of its argument.
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

EXCHANGE = Template("""
shared $T memory_$T[2u * WORKGROUP];
$T exchanged($T x, uint source) {
    memory_$T[side * WORKGROUP + place] = x;
    barrier();
    $T result = memory_$T[side * WORKGROUP + place - lane + source];
    side ^= 1u;
    return result;
}""")
"""Shared memory and function for exchanges of a type."""

GATHER = """
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
"""Shared memory and functions for ballots."""

# Exchanges at distances of 1, 2, 4, … lanes; each one doubles the number of lanes in a lane's result.
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


def has_alternative(case: MicroCase) -> bool:
    """Return whether a case has an alternative through shared memory.

    Functions that exchange no values between lanes (subgroupElect, functions of a ballot's bits) have none.
    Partitioned functions have none either, since their alternative would be an algorithm instead of an
    exchange.
    """
    name, group = case.operation.name, case.operation.group_operation
    if case.type.name == "uvec4" and len(case.operation.types) == 1:
        return False
    known = name in _SOURCES or name in _VOTES or name in _EQUALITIES or name in _QUADS
    arithmetic = case.operation.operator is not None and "Partitioned" not in (group or "")
    return known or arithmetic


def has_votes(case: MicroCase) -> bool:
    """Return whether the alternative of a case gathers ballots."""
    return case.operation.name in _VOTES or case.operation.name in _EQUALITIES


def combine_name(operator: str, type_: GlslType) -> str:
    """Return the name of the GLSL function that applies an operator to two values of a type."""
    return f"{operator.lower()}_{type_.name}"


def combine(operator: str, type_: GlslType) -> str:
    """Return the GLSL of the function that applies an operator to two values of a type."""
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


def operators(case: MicroCase) -> tuple[str, ...]:
    """Return the operators that the alternative of a case applies."""
    if case.operation.name in _QUADS:
        return (_QUADS[case.operation.name],)
    return (case.operation.operator,) if case.operation.operator is not None else ()


def bytes_an_invocation(type_: GlslType) -> int:
    """Return the bytes of shared memory that one invocation's exchanges use."""
    components = 4 if type_.components == 3 else type_.components
    return 2 * components * (4 if type_.scalar.kind == "bool" else type_.scalar.bits // 8)


def body(case: MicroCase, arguments: list[str]) -> str:
    """Return the GLSL of the body of ``R alternative(T x)``."""
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
