"""Shader of a program that records observations, and the words that its dispatch reads."""

from __future__ import annotations

import numpy as np

from vkgroup.conformance.arrays import Words
from vkgroup.programs.generator import random_words
from vkgroup.programs.glsl import MODES, GlslWriter
from vkgroup.programs.nodes import Loop, RandomProgram, SameAsFirst, Vote
from vkgroup.programs.traversal import nodes_of

CONSTANTS = 256
"""Number of input words before the data: word n has the value n, which compilers cannot know."""

HEADS = ("subgroup", "lane", "size", "entries", "glances", "strays")
"""Planes of the heads: the position of an invocation, its number of entries in the log, its number of
unpredictable observations, and the number of these whose ballot lacked the invocation itself."""

_TEMPLATE = """#version 460
// {title}
//
// binding 0: words whose value is their index, then a data word for each invocation.
// binding 1: planes of heads: {heads}.
// binding 2: the log. Entry by entry, planes of {words} word(s): its place{what}.
// binding 3: scratch memory, which is not read afterwards.
#extension GL_KHR_shader_subgroup_basic : require
{extensions}
{mode}
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) readonly buffer Inputs {{ uint constants[]; }};
layout(std430, binding = 1) buffer Heads {{ uint heads[]; }};
layout(std430, binding = 2) writeonly buffer Log {{ uint entries[]; }};
layout(std430, binding = 3) coherent buffer Scratch {{ uint scratch[]; }};
const uint INVOCATIONS = {invocations}u;
// Entries that do not fit overwrite the last one.
const uint CAPACITY = {capacity}u;
const uint SALT = {salt}u;

uint index;
uint lane;
uint data;
uint count = 0u;
uint glances = 0u;
{kept}
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


def words_of(program: RandomProgram, size: int) -> int:
    """Return the words of an entry in the log."""
    return 1 if program.elect else 1 + -(-size // 32)


def salt_of(program: RandomProgram) -> int:
    """Return the number added to all places, so that entries left by other programs are detected."""
    return (program.seed & 0xFFFF) << 16


def render(program: RandomProgram, *, size: int, capacity: int, title: str) -> str:
    """Return a program as GLSL; the log has `capacity` entries per invocation."""
    writer, words = GlslWriter(program), words_of(program, size)
    functions = ["\n" + "\n".join(writer.function(function)) for function in program.functions]
    mode, names = "", set[str]()
    if program.promise in MODES:
        extension, number = MODES[program.promise]
        mode = f'spirv_execution_mode(extensions = ["{extension}"], {number});'
        names.add("GL_EXT_spirv_intrinsics")
    if not program.elect or any(isinstance(node, Vote | SameAsFirst) for node in nodes_of(program)):
        names.add("GL_KHR_shader_subgroup_ballot")
    planes = [f"    entries[at + {n + 1}u * INVOCATIONS] = mask.{'xyzw'[n]};" for n in range(words - 1)]
    record = _RECORD_ELECT if program.elect else _RECORD_BALLOT.format(words=words, planes="\n".join(planes))
    x, y, z = program.local_size
    keeps = any(isinstance(node, Loop) and node.carried for node in nodes_of(program))
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
        kept="uvec4 kept;\n" if keeps else "",
        functions="\n".join(functions),
        local=program.local_invocations,
        constants=CONSTANTS,
        body="\n".join(writer.block(program.body, 1)),
    )  # fmt: skip


def data_of(program: RandomProgram) -> Words:
    """Return the data words: by workgroup random, equal for 32 neighbours, or with few bits set."""
    words = random_words(program)
    for group in range(program.groups):
        first_of_32 = np.arange(program.local_invocations) // 32 * 32
        kinds = (words[group], words[group][first_of_32], words[group] & np.uint32(0x11111111))
        words[group] = kinds[(program.seed + group) % 3]
    return words.reshape(-1)


def inputs_of(program: RandomProgram) -> Words:
    """Return the words of binding 0."""
    return np.concatenate([np.arange(CONSTANTS, dtype=np.uint32), data_of(program)])
