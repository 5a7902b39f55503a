"""GLSL of a batch of microbenchmarks: chains of a function, of its alternative, and of feedback only.

Buffers
-------
binding 0, inputs : words. Each case has planes of ``CHAINS × SIZE + 1`` words: the operands of each chain by
    lane, then the identity of the case's operator.
binding 1, outputs : words. Each chain has the planes of its last result, for all invocations.
binding 2, clocks : (samples, subgroups) begin and end times, 64 bits each.

The constant `THROUGHPUT` selects the measurement: one chain in one subgroup (latency), or several chains at
once in many subgroups (throughput).

Feedback
--------
Each operand of a chain is ``base ^ (result & zero)`` in bits, where `zero` is a push constant and is 0. The
compiler does not know this value, so every step depends on the previous one. All steps have the same
operands, so one application of the function gives the expected result of the whole chain. In a second run of
the same shader, all bits of `zero` are set. Then every step depends on the values of all previous steps,
which proves that no step was skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import Template

from vkgroup.bench import micro_shared
from vkgroup.bench.micro_cases import SUBSETS, MicroCase
from vkgroup.conformance.intrinsics import EXTENSION, call_of, declaration_of
from vkgroup.programs.glsl_types import planes, reader, writer
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OperandKind
from vkgroup.spec.types import GlslType

KINDS = ("subgroup", "shared", "feed")
"""Kinds of chains: the function, its alternative through shared memory, or feedback only."""


@dataclass(frozen=True)
class ChainShape:
    """Numbers of unrolled steps and of chains."""

    #: Steps of a single chain per round; even, so that the compiler knows which half of the memory is used.
    unroll: int = 8
    chains: int = 4  # number of chains for throughput
    throughput_unroll: int = 4  # steps of these chains per round


@dataclass(frozen=True)
class MicroEntry:
    """One function of the shader: a case and the kind of its chain."""

    case: MicroCase
    kind: str  # one of `KINDS`
    at: int  # index of the first word of the case in the inputs


_SHADER = Template("""#version 460
$extensions
// Generated: chains of subgroup functions, each result feeding the next operand; see vkgroup.bench.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 1u;
layout(constant_id = 10) const bool THROUGHPUT = false;
const uint SIZE = ${size}u;      // of a subgroup
const uint CHAINS = ${chains}u;  // side by side where throughput is measured
const uint INPUT_STRIDE = CHAINS * SIZE + 1u;
#define GROUPS (WORKGROUP / SIZE)
#define INVOCATIONS WORKGROUP
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) writeonly buffer Outputs { uint outputs[]; };
layout(std430, binding = 2) writeonly buffer Clocks { uvec4 clocks[]; };
// zero is 0 where time is taken; the compiler cannot know.
layout(push_constant) uniform Push { uint which; uint rounds; uint samples; uvec2 zero; } push;
uint place, lane;                // in the workgroup, in the subgroup
uint side = 0u, turn = 0u;       // which part of the shared memory is next
uvec4 subsets;                   // the lane's subset of a partition
uvec2 now() { return $now; }
void note(uint sample_, uvec2 begin, uvec2 end) {
    if (lane == 0u) clocks[sample_ * GROUPS + place / SIZE] = uvec4(begin, end);
}
$declarations
$functions
void main() {
    switch (push.which) {
$cases
    }
}
""")

_ENTRY = Template("""
// $comment
$R apply_$n($T x) {$apply
}
void run_$n() {
$prologue
$bases
    if (THROUGHPUT) {
$operands
$results
        for (uint s = 0u; s < push.samples; ++s) {
            barrier();
            uvec2 begin = now();
            for (uint n = 0u; n < push.rounds; ++n) {
$many
            }
            note(s, begin, now());
        }
$stores
    } else {
        $T x = base_0;
        $R r = $R(0);
        for (uint s = 0u; s < push.samples; ++s) {
            uvec2 begin = now();
            for (uint n = 0u; n < push.rounds; ++n) {
$one
            }
            note(s, begin, now());
        }
        put(place, r);
    }
}""")

_BY_SUBGROUP = """    lane = gl_SubgroupInvocationID;
    place = gl_SubgroupID * gl_SubgroupSize + lane;"""
_BY_INDEX = """    place = gl_LocalInvocationIndex;
    lane = place % SIZE;"""


def _call(case: MicroCase, size: int) -> str:
    """Return the GLSL of the function applied to ``x``."""
    arguments = [argument.glsl(size) for argument in case.arguments]
    if not case.operation.operands:
        # A function without operands becomes part of a chain only if the chain decides whether it is called.
        return f"x && {case.operation.name}()"
    return call_of(case.operation, case.type, ["x", *arguments])


def _apply(entry: MicroEntry, size: int) -> str:
    case = entry.case
    if entry.kind == "shared":
        return micro_shared.body(case, [argument.glsl(size) for argument in case.arguments])
    if entry.kind == "subgroup":
        return f"\n    return {_call(case, size)};"
    if not case.operation.operands:
        return "\n    return x && lane == 0u;"
    return f"\n    return {_substitute(case.type, case.result, 'x')};"


def _prologue(entry: MicroEntry) -> str:
    lines = [_BY_INDEX if entry.kind == "shared" else _BY_SUBGROUP]
    case = entry.case
    if entry.kind == "shared":
        if micro_shared.has_votes(case):
            lines.append("    clear_votes();")
        lines += [
            f"    identity_{micro_shared.combine_name(operator, case.type)} = "
            f"get_{case.type}({entry.at}u + INPUT_STRIDE - 1u);"
            for operator in micro_shared.operators(case)
        ]
    elif entry.kind == "subgroup" and any(
        one.kind is OperandKind.BALLOT for one in case.operation.operands[1:]
    ):
        lines.append(f"    subsets = subgroupPartitionNV(lane % {SUBSETS}u);")
    return "\n".join(lines)


def _function(entry: MicroEntry, number: int, size: int, shape: ChainShape) -> str:
    type_, result, chains = entry.case.type, entry.case.result, range(shape.chains)

    def following(chain: int | str, turn: int) -> str:
        at = f"_{chain}" if chain != "" else ""
        zero = f"push.zero.{'xy'[turn % 2]}"
        feed = _next_operand(type_, result, f"base{at or '_0'}", f"r{at}", zero)
        return f"x{at} = {feed};"

    many = [
        line
        for turn in range(shape.throughput_unroll)
        for line in (
            *(f"r_{chain} = apply_{number}(x_{chain});" for chain in chains),
            *(following(chain, turn) for chain in chains),
        )
    ]
    one = [f"r = apply_{number}(x); {following('', turn)}" for turn in range(shape.unroll)]
    stride = f"{planes(result)}u * INVOCATIONS"
    return _ENTRY.substitute(
        n=number,
        comment=f"{entry.case.name}: {entry.kind}",
        T=type_.name,
        R=result.name,
        apply=_apply(entry, size),
        prologue=_prologue(entry),
        bases=_lines(
            1, (f"{type_} base_{k} = get_{type_}({entry.at}u + {k}u * SIZE + lane);" for k in chains)
        ),
        operands=_lines(2, (f"{type_} x_{k} = base_{k};" for k in chains)),
        results=_lines(2, (f"{result} r_{k} = {result}(0);" for k in chains)),
        many=_lines(4, many),
        one=_lines(4, one),
        stores=_lines(2, (f"put({k}u * {stride} + place, r_{k});" for k in chains)),
    )


def _lines(depth: int, lines: Iterable[str]) -> str:
    return "\n".join("    " * depth + line for line in lines)


def _declarations(entries: Sequence[MicroEntry]) -> str:
    """Return the declarations that the functions share, each once."""
    type_ = entries[0].case.type
    shared = [entry.case for entry in entries if entry.kind == "shared"]
    results = dict.fromkeys(entry.case.result for entry in entries)
    lines = [reader(type_), *(writer(result) for result in results)]
    lines += [_feed(type_), _feed_word(type_)]
    if shared:
        lines.append(micro_shared.EXCHANGE.substitute(T=type_.name))
        if any(micro_shared.has_votes(case) for case in shared):
            lines.append(micro_shared.GATHER)
    for operator in dict.fromkeys(name for case in shared for name in micro_shared.operators(case)):
        lines.append(f"{type_} identity_{micro_shared.combine_name(operator, type_)};")
        lines.append(micro_shared.combine(operator, type_))
    cases = [entry.case for entry in entries if entry.kind == "subgroup"]
    declared = (declaration_of(case.operation, case.type, 1 + len(case.arguments)) for case in cases)
    lines += dict.fromkeys(filter(None, declared))
    return "\n".join(lines)


def _extensions(entries: Sequence[MicroEntry], clock: bool) -> str:
    names = {"GL_KHR_shader_subgroup_basic"}
    names |= {"GL_ARB_shader_clock"} if clock else set()
    for entry in entries:
        case = entry.case
        types: tuple[GlslType, ...] = (case.type, case.result)
        for type_ in types:
            names |= {*type_.scalar.extensions, *type_.scalar.subgroup_extensions}
            if type_.scalar.name == "float16_t":
                # Feedback changes the bits of floats.
                names.add("GL_EXT_shader_explicit_arithmetic_types_int16")
        if case.operation.by_instruction:
            names.add(EXTENSION)
        elif entry.kind == "subgroup":
            names.add(case.operation.category.extension)
            if case.operation.category is Category.PARTITIONED:
                names.add("GL_KHR_shader_subgroup_ballot")
    return "\n".join(f"#extension {name} : require" for name in sorted(names))


def source(entries: Sequence[MicroEntry], size: int, shape: ChainShape, *, clock: bool) -> str:
    """Return the shader of a batch, whose functions have one type; without a clock it writes no times."""
    functions = [_function(entry, number, size, shape) for number, entry in enumerate(entries)]
    cases = [f"    case {number}u: run_{number}(); break;" for number in range(len(entries))]
    return _SHADER.substitute(
        extensions=_extensions(entries, clock),
        size=size,
        chains=shape.chains,
        now="clock2x32ARB()" if clock else "uvec2(0u)",
        declarations=_declarations(entries),
        functions="\n".join(functions),
        cases="\n".join(cases),
    )


_SIGNED = {8: "int8_t", 16: "int16_t", 32: "int", 64: "int64_t"}

#: By the size of a float: functions to and from its bits, and casts of `zero` and of a word to these bits.
_FLOAT_BITS = {
    16: ("float16BitsToUint16", "uint16BitsToFloat16", "uint16_t(zero)", "uint16_t(word & zero)"),
    32: ("floatBitsToUint", "uintBitsToFloat", "zero", "(word & zero)"),
    64: ("unpackDouble2x32", "packDouble2x32", "zero", "uvec2(word & zero, 0u)"),
}


def _feed_component(type_: GlslType, suffix: str) -> str:
    """Return the GLSL of the next operand of one component."""
    scalar = type_.scalar
    base, result = f"base{suffix}", f"result{suffix}"
    if scalar.kind == "bool":
        return f"({base} != ({result} && zero != 0u))"
    if scalar.kind == "float":
        to_bits, from_bits, mask, _ = _FLOAT_BITS[scalar.bits]
        return f"{from_bits}({to_bits}({base}) ^ ({to_bits}({result}) & {mask}))"
    mask = f"{_SIGNED[scalar.bits]}(int(zero))"
    mask = mask if scalar.kind == "int" else f"{scalar.name}({mask})"
    return f"({base} ^ ({result} & {mask}))"


def _feed(type_: GlslType) -> str:
    """Return the GLSL function ``T feed(T base, T result, uint zero)``."""
    name = type_.name
    value = _feed_component(type_, "")
    if type_.components > 1:
        components = (_feed_component(type_, f".{axis}") for axis in "xyzw"[: type_.components])
        value = f"{name}({', '.join(components)})"
    return f"{name} feed({name} base, {name} result, uint zero) {{ return {value}; }}"


def _feed_word(type_: GlslType) -> str:
    """Return ``T feed_word(T base, uint word, uint zero)`` for results of a type other than the operand's."""
    first = "next.x" if type_.components > 1 else "next"
    scalar = type_.scalar
    if scalar.kind == "bool":
        changed = f"({first} != ((word & zero) != 0u))"
    elif scalar.kind == "float":
        to_bits, from_bits, _, word = _FLOAT_BITS[scalar.bits]
        changed = f"{from_bits}({to_bits}({first}) ^ {word})"
    else:
        changed = f"({first} ^ {scalar.name}(word & zero))"
    name = type_.name
    return f"{name} feed_word({name} next, uint word, uint zero) {{ {first} = {changed}; return next; }}"


def _next_operand(operand: GlslType, result: GlslType, base: str, value: str, zero: str) -> str:
    """Return the GLSL of the next operand of a chain."""
    if operand == result:
        return f"feed({base}, {value}, {zero})"
    first = f"{value}.x" if result.components > 1 else value
    word = first if result.scalar.name == "uint" else f"uint({first})"
    return f"feed_word({base}, {word}, {zero})"


def _substitute(operand: GlslType, result: GlslType, value: str) -> str:
    """Return the GLSL that replaces a function in the chain that measures the cost of feedback."""
    if operand == result:
        return value
    first = f"{value}.x" if operand.components > 1 else value
    if result.scalar.kind == "bool":
        return f"({first} != {operand.scalar.name}(0))"
    return f"{result.name}(uint({first}))"
