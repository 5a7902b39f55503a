"""A program as GLSL, and the words that its dispatch reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.reconvergence.nodes import (
    Block,
    Call,
    Condition,
    DataBit,
    Elect,
    Fixed,
    If,
    IndexFrom,
    LaneIn,
    Leave,
    Loop,
    Not,
    Number,
    Observe,
    OfData,
    OfLane,
    OfSubgroup,
    Program,
    Promise,
    Statement,
    SubgroupOdd,
    Switch,
    TripIs,
    Uniform,
    Vote,
    Work,
    walk,
)

Words = NDArray[np.uint32]

CONSTANTS = 256
"""Words of the inputs before the data: word n is n, so that no compiler knows it."""

HEADS = ("subgroup", "lane", "size", "entries", "glances", "strays")
"""Planes of the heads: where an invocation is, how many entries it has in the log, how many loose
observations it made, and how many of their ballots lacked itself."""

MODES = {
    Promise.MAXIMAL: ("SPV_KHR_maximal_reconvergence", 6023),
    Promise.SUBGROUP: ("SPV_KHR_subgroup_uniform_control_flow", 4421),
}
"""Execution modes that ask for what a device promises: extension and number (SPIR-V, "Execution Mode")."""

WORK = {
    "store": "scratch[index] = scratch[index] * 3u + 1u;",
    "atomic": "atomicAdd(scratch[INVOCATIONS], 1u);",
    "exchange": "scratch[index] = atomicExchange(scratch[INVOCATIONS + 1u], lane);",
    "own_atomic": "atomicXor(scratch[index], data);",
    "barrier": "subgroupMemoryBarrier();",
    "spin": "while (!subgroupElect()) {}",
    "spin_storing": "do { scratch[index] = data; } while (!subgroupElect());",
    "never": "if (constants[0] == 12345u) { for (;;) { glance(@WHO); } }",
}
"""What a program may do that has no effect on where anybody goes, by name, as GLSL."""


class _Writer:
    """Writes the statements of one program."""

    def __init__(self, program: Program) -> None:
        self.who = "subgroupElect()" if program.elect else "subgroupBallot(true)"

    def condition(self, c: Condition) -> str:
        if isinstance(c, LaneIn):
            words = ", ".join(f"0x{c.mask >> 32 * word & 0xFFFFFFFF:x}u" for word in range(4))
            return f"has_bit(uvec4({words}), lane)"
        if isinstance(c, DataBit):
            return f"(data >> {c.bit}u & 1u) == 1u"
        if isinstance(c, IndexFrom):
            return f"gl_LocalInvocationIndex >= constants[{c.index}]"
        if isinstance(c, SubgroupOdd):
            return "(gl_SubgroupID & 1u) == 1u"
        if isinstance(c, Uniform):
            return f"constants[3] == {3 if c.value else 4}u"
        if isinstance(c, TripIs):
            return f"trip{c.loop} == {'lane' if c.value is None else f'{c.value}u'}"
        if isinstance(c, Elect):
            return "subgroupElect()"
        if isinstance(c, Vote):
            other = "== subgroupBallot(true)" if c.every else "!= uvec4(0u)"
            return f"subgroupBallot({self.condition(c.condition)}) {other}"
        assert isinstance(c, Not)
        return f"!({self.condition(c.condition)})"

    def number(self, n: Number) -> str:
        if isinstance(n, Fixed):
            return f"constants[{n.value}]"
        if isinstance(n, OfLane):
            rest = f"lane % {n.modulus}u"
            return f"{n.base}u + {rest}" if n.base else rest
        if isinstance(n, OfData):
            return f"(data >> {n.shift}u & 3u)"
        if isinstance(n, OfSubgroup):
            return f"gl_SubgroupID % {n.modulus}u"
        return f"trip{n.loop}"

    def observe(self, o: Observe) -> str:
        return f"glance({self.who})" if o.loose else f"record({o.place}u, {self.who})"

    def block(self, block: Block, depth: int) -> list[str]:
        return [line for statement in block for line in self.statement(statement, depth)]

    def statement(self, s: Statement, depth: int) -> list[str]:
        pad = "    " * depth
        if isinstance(s, Observe):
            return [f"{pad}{self.observe(s)};"]
        if isinstance(s, Work):
            return [pad + WORK[s.kind].replace("@WHO", self.who)]
        if isinstance(s, If):
            lines = [f"{pad}if ({self.condition(s.condition)}) {{", *self.block(s.then, depth + 1)]
            if s.otherwise:
                lines += [f"{pad}}} else {{", *self.block(s.otherwise, depth + 1)]
            return [*lines, f"{pad}}}"]
        if isinstance(s, Loop):
            return self.loop(s, depth)
        if isinstance(s, Switch):
            return self.switch(s, depth)
        if isinstance(s, Leave):
            return [f"{pad}{s.kind};"]
        assert isinstance(s, Call)
        return [f"{pad}function{s.function}();"]

    def loop(self, s: Loop, depth: int) -> list[str]:
        pad, trip = "    " * depth, f"trip{s.number}"
        body, end = self.block(s.body, depth + 1), f"{pad}}}"
        more = "" if s.trips is None else f"{trip} < {self.number(s.trips)}"
        step = f"++{trip}" + (f", {self.observe(s.between)}" if s.between is not None else "")
        if s.form == "for":
            return [f"{pad}for (uint {trip} = 0u; {more}; {step}) {{", *body, end]
        if s.form in ("endless", "elect"):
            leave = [f"{pad}    if (!({more})) break;"]
            if s.form == "elect":
                farewell = self.block(s.farewell, depth + 2)
                leave = [
                    f"{pad}    if (subgroupElect()) {{", *farewell, f"{pad}        {s.exit};", f"{pad}    }}"
                ]  # fmt: skip
            rest = self.block(s.rest, depth + 1)
            return [f"{pad}for (uint {trip} = 0u; ; {step}) {{", *body, *leave, *rest, end]
        begin, raised = f"{pad}uint {trip} = 0u;", f"{pad}    ++{trip};"
        if s.form == "while":
            return [begin, f"{pad}while ({more}) {{", raised, *body, end]
        return [begin, f"{pad}do {{", raised, *body, f"{pad}}} while ({more});"]

    def switch(self, s: Switch, depth: int) -> list[str]:
        pad = "    " * depth
        lines = [f"{pad}switch ({self.number(s.selector)}) {{"]
        for case in s.cases:
            labels = [f"case {label}u:" for label in case.labels] + ["default:"] * case.default
            lines += [f"{pad}{label} {{" if label == labels[-1] else f"{pad}{label}" for label in labels]
            ending = [] if case.falls else [f"{pad}    break;"]
            lines += [*self.block(case.body, depth + 1), *ending, f"{pad}}}"]
        return [*lines, f"{pad}}}"]


_TEMPLATE = """#version 460
// {title}
//
// binding 0: words that are their own number, then a word of data for each invocation.
// binding 1: planes of heads: {heads}.
// binding 2: the log. Entry by entry, planes of {words} word(s): its place{what}.
// binding 3: scratch, which nobody reads afterwards.
#extension GL_KHR_shader_subgroup_basic : require
{extensions}
{mode}
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) readonly buffer Inputs {{ uint constants[]; }};
layout(std430, binding = 1) buffer Heads {{ uint heads[]; }};
layout(std430, binding = 2) writeonly buffer Log {{ uint entries[]; }};
layout(std430, binding = 3) coherent buffer Scratch {{ uint scratch[]; }};
const uint INVOCATIONS = {invocations}u;
// Entries behind the last place of the log all go there.
const uint CAPACITY = {capacity}u;
const uint SALT = {salt}u;

uint index;
uint lane;
uint data;
uint count = 0u;
uint glances = 0u;

bool has_bit(uvec4 mask, uint bit) {{ return (mask[bit / 32u] >> bit % 32u & 1u) == 1u; }}

{recording}
{functions}
void main() {{
    index = gl_WorkGroupID.x * {local}u + gl_LocalInvocationIndex;
    lane = gl_SubgroupInvocationID;
    data = constants[{constants}u + index];
    heads[index] = gl_SubgroupID;
    heads[index + INVOCATIONS] = lane;
    heads[index + 2u * INVOCATIONS] = gl_SubgroupSize;
    heads[index + 3u * INVOCATIONS] = 0u;
    heads[index + 4u * INVOCATIONS] = 0u;
    heads[index + 5u * INVOCATIONS] = 0u;

{body}
}}
"""

_RECORD_BALLOT = """void record(uint place, uvec4 mask) {{
    uint at = min(count, CAPACITY) * {words}u * INVOCATIONS + index;
    entries[at] = SALT + place;
{planes}
    heads[index + 3u * INVOCATIONS] = ++count;
}}

void glance(uvec4 mask) {{
    if (!has_bit(mask, lane)) ++heads[index + 5u * INVOCATIONS];
    heads[index + 4u * INVOCATIONS] = ++glances;
}}
"""

_RECORD_ELECT = """void record(uint place, bool elected) {
    entries[min(count, CAPACITY) * INVOCATIONS + index] = SALT + place + (elected ? 0x8000u : 0u);
    heads[index + 3u * INVOCATIONS] = ++count;
}

void glance(bool elected) {
    if (elected) atomicAdd(scratch[INVOCATIONS], 1u);
    heads[index + 4u * INVOCATIONS] = ++glances;
}
"""

ELECTED = 0x8000
"""Added to the place of an entry whose invocation was elected; places are below it."""


def words_of(program: Program, size: int) -> int:
    """Return the words of an entry in the log."""
    return 1 if program.elect else 1 + -(-size // 32)


def salt_of(program: Program) -> int:
    """Return what is added to all places, so that nothing that another program left behind looks right."""
    return (program.seed & 0xFFFF) << 16


def render(program: Program, *, size: int, capacity: int, title: str) -> str:
    """Return a program as GLSL.

    Parameters
    ----------
    size : the subgroup size that the dispatch will have.
    capacity : entries that an invocation has in the log.
    title : what the comment at its top says.
    """
    writer, words = _Writer(program), words_of(program, size)
    functions = [
        "\n".join((f"\nvoid function{number}() {{", *writer.block(body, 1), "}"))
        for number, body in enumerate(program.functions)
    ]
    mode, names = "", set[str]()
    if program.promise in MODES:
        extension, number = MODES[program.promise]
        mode = f'spirv_execution_mode(extensions = ["{extension}"], {number});'
        names.add("GL_EXT_spirv_intrinsics")
    if not program.elect or any(isinstance(node, Vote) for node in walk((program.functions, program.body))):
        names.add("GL_KHR_shader_subgroup_ballot")
    planes = [f"    entries[at + {n + 1}u * INVOCATIONS] = mask.{'xyzw'[n]};" for n in range(words - 1)]
    record = _RECORD_ELECT if program.elect else _RECORD_BALLOT.format(words=words, planes="\n".join(planes))
    x, y, z = program.local_size
    return _TEMPLATE.format(
        title=title,
        heads=", ".join(HEADS),
        words=words,
        what=" and whether it was elected" if program.elect else ", and the ballot of all",
        extensions="\n".join(f"#extension {name} : require" for name in sorted(names)),
        mode=mode,
        x=x, y=y, z=z,
        invocations=program.invocations,
        capacity=capacity,
        salt=salt_of(program),
        recording=record,
        functions="\n".join(functions),
        local=program.local_invocations,
        constants=CONSTANTS,
        body="\n".join(writer.block(program.body, 1)),
    )  # fmt: skip


def data_of(program: Program) -> Words:
    """Return each invocation's word: any, a few bits, or the same for many, by workgroup."""
    # A hash of our own: the same words with every version of NumPy.
    index = np.arange(program.invocations, dtype=np.uint64) + np.uint64(program.seed * 0x9E3779B1 % 2**32)
    mixed = index * np.uint64(0xD6E8FEB86659FD93)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    words = (mixed >> np.uint64(32)).astype(np.uint32).reshape(program.groups, program.local_invocations)
    for group in range(program.groups):
        clumps = np.arange(program.local_invocations) // 32 * 32
        kinds = (words[group], words[group][clumps], words[group] & np.uint32(0x11111111))
        words[group] = kinds[(program.seed + group) % 3]
    return words.reshape(-1)


def inputs_of(program: Program) -> Words:
    """Return the words of binding 0."""
    return np.concatenate([np.arange(CONSTANTS, dtype=np.uint32), data_of(program)])
