"""The shader of a batch: one array of descriptors, used in one way after another."""

from __future__ import annotations

from collections.abc import Sequence

from vkgroup.conformance.descriptor_indexing.kinds import INVOCATIONS, KINDS, READ_CELL, READ_ROW, WIDTH
from vkgroup.conformance.descriptor_indexing.ways import WAYS, Way
from vkgroup.reference.operations import Category

GROUPS = 4
"""Workgroups of a compute shader."""

_STAGES = {
    "compute": (
        f"layout(local_size_x = {INVOCATIONS // GROUPS}) in;",
        "uint index = gl_GlobalInvocationID.x;\n    uint turn = gl_SubgroupID + 3u * gl_WorkGroupID.x;",
    ),
    "fragment": (
        "layout(location = 0) out uint color;",
        f"uint index = uint(gl_FragCoord.y) * {WIDTH}u + uint(gl_FragCoord.x);\n"
        "    uint turn = subgroupBroadcastFirst(index) / 4u;\n    color = index;",
    ),
}

_TEMPLATE = """#version 460
// {title}
// binding 0: the descriptor that each invocation wants. binding 1: for each way and invocation the descriptor
// that it used, and the word that it read there. binding 2: the descriptors.
{extensions}
{stage}
const uint INVOCATIONS = {invocations}u;
const uint COUNT = {count}u;
layout(std430, binding = 0) readonly buffer Wanted {{ uint wants[]; }};
layout(std430, binding = 1) writeonly buffer Found {{ uvec2 found[]; }};
{declaration}

void main() {{
    {start}
    uint wanted = wants[index];
    {code}
}}
"""

SENTENCES = {
    "read": "what it holds is read",
    "write": "each invocation writes a cell of its own",
    "atomic": "cells are counted up by atomics",
}
"""What is done through a descriptor, by name."""


def written_word(way: str) -> str:
    """Return the GLSL of the word that an invocation writes: its own number, and the way's."""
    return f"(index * 16u + {list(WAYS).index(way)}u + 1u)"


def _access(kind: str, access: str, way: Way) -> str:
    row = list(WAYS).index(way.name)
    table = KINDS[kind]
    i = "nonuniformEXT(i)" if way.nonuniform else "i"
    if access == "read":
        word = table.read.format(i=i, k=f"({READ_ROW}u * INVOCATIONS + {READ_CELL})")
        return f"found[{row}u * INVOCATIONS + index] = uvec2(i, {word});"
    if access == "write":
        done = table.write.format(i=i, k=f"({row}u * INVOCATIONS + index)", v=written_word(way.name))
    else:
        done = table.atomic.format(i=i, k=f"({row}u * INVOCATIONS + index % 64u)")
    return f"{done} found[{row}u * INVOCATIONS + index] = uvec2(i, 0u);"


def source_of(stage: str, kind: str, access: str, ways: Sequence[str]) -> str:
    """Return the GLSL of a batch."""
    categories = {"basic", "ballot", *(need for way in ways for need in WAYS[way].needs)}
    extensions = [Category(name).extension for name in sorted(categories)]
    if any(WAYS[way].nonuniform for way in ways):
        extensions.append("GL_EXT_nonuniform_qualifier")
    blocks = [
        "{\n        " + WAYS[way].code.replace("@ACCESS", _access(kind, access, WAYS[way])) + "\n    }"
        for way in ways
    ]
    declarations, start = _STAGES[stage]
    return _TEMPLATE.format(
        title=f"An array of {kind.replace('_', ' ')} descriptors; {SENTENCES[access]}.",
        extensions="\n".join(f"#extension {name} : require" for name in extensions),
        stage=declarations,
        invocations=INVOCATIONS,
        count=KINDS[kind].count,
        declaration=KINDS[kind].declaration,
        start=start,
        code="\n    ".join(blocks),
    )
