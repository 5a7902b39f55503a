"""The shader of a case: one array of descriptors, used in one way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.descriptor_indexing.kinds import (
    INVOCATIONS,
    KINDS,
    READ_CELL,
    READ_ROW,
    WIDTH,
    WRITE_ROW,
)
from vkgroup.conformance.descriptor_indexing.ways import WAYS, Way
from vkgroup.spec.categories import Category

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
// binding 0: the descriptor that each invocation wants. binding 1: the descriptor that it used, and the word
// that it read there. binding 2: the descriptors.
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


WRITTEN = "(index * 16u + 5u)"
"""GLSL of the word that an invocation writes; `written` is the same in NumPy."""

COUNTED_CELLS = 64
"""Cells that are counted up."""


def written(place: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the word that each invocation writes."""
    return (place * 16 + 5).astype(np.uint32)


def _access(kind: str, access: str, way: Way) -> str:
    table, i = KINDS[kind], "nonuniformEXT(i)" if way.nonuniform else "i"
    if access == "read":
        word = table.read.format(i=i, k=f"({READ_ROW}u * INVOCATIONS + {READ_CELL})")
        return f"found[index] = uvec2(i, {word});"
    if access == "write":
        done = table.write.format(i=i, k=f"({WRITE_ROW}u * INVOCATIONS + index)", v=WRITTEN)
    else:
        done = table.atomic.format(i=i, k=f"({WRITE_ROW}u * INVOCATIONS + index % {COUNTED_CELLS}u)")
    return f"{done} found[index] = uvec2(i, 0u);"


def source_of(stage: str, kind: str, access: str, name: str) -> str:
    """Return the GLSL of a case, by the keys of its tables."""
    way = WAYS[name]
    extensions = [Category(need).extension for need in sorted({"basic", "ballot", *way.needs})]
    if way.nonuniform:
        extensions.append("GL_EXT_nonuniform_qualifier")
    declarations, start = _STAGES[stage]
    return _TEMPLATE.format(
        title=f"An array of {kind.replace('_', ' ')} descriptors; {SENTENCES[access]}.",
        extensions="\n".join(f"#extension {extension} : require" for extension in extensions),
        stage=declarations,
        invocations=INVOCATIONS,
        count=KINDS[kind].count,
        declaration=KINDS[kind].declaration,
        start=start,
        code=way.code.replace("@ACCESS", _access(kind, access, way)),
    )
