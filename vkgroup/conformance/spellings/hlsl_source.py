"""A program of cases, written in GLSL, as HLSL.

The two languages are near enough that names and a few lines make the difference. Everything that the program
asks its wave for, to know where a lane is, it asks in HLSL as well.
"""

from __future__ import annotations

import re

from vkgroup.conformance.stages import Stage, WorkgroupStage

_TYPES = "\n".join(
    f"#define {prefix}vec{count} {scalar}{count}"
    for prefix, scalar in (("i", "int"), ("u", "uint"), ("", "float"), ("d", "double"), ("b", "bool"))
    for count in (2, 3, 4)
)

_NAMES = """#define uintBitsToFloat asfloat
#define floatBitsToUint asuint
#define packDouble2x32(words) asdouble((words).x, (words).y)
#define gl_SubgroupSize WaveGetLaneCount()
#define gl_SubgroupInvocationID WaveGetLaneIndex()
#define subgroupBallot WaveActiveBallot
#define subgroupBroadcastFirst WaveReadLaneFirst
#define gl_HelperInvocation false
"""

_FUNCTIONS = """RWStructuredBuffer<uint> inputs : register(u0);
RWStructuredBuffer<uint> outputs : register(u1);
static uint3 gl_WorkGroupID;
static uint gl_LocalInvocationIndex;
static float4 gl_FragCoord;

// The words of zero or of a number in float's range, from sign, exponent and mantissa: glslang has no asuint
// of doubles. Rounding to float may have carried the exponent.
uint2 unpackDouble2x32(double value) {
    double size = value < 0.0 ? -value : value;
    uint exponent = (asuint(float(size)) >> 23) + 896u;
    double mantissa = size * asdouble(0u, (2046u - exponent) << 20);
    if (mantissa < 1.0) {
        mantissa *= 2.0;
        --exponent;
    }
    double upper = (mantissa - 1.0) * 1048576.0;
    uint high = uint(upper);
    uint low = uint((upper - double(high)) * 4294967296.0);
    uint2 words = uint2(low, (value < 0.0 ? 0x80000000u : 0u) | (exponent << 20) | high);
    return value == 0.0 ? uint2(0u, 0u) : words;
}
uint bitfieldExtract(uint word, uint first, uint bits) {
    return (word >> first) & ((1u << bits) - 1u);
}

// The sum of a word over lanes, from how many of them have each bit set.
uint counted(uint word) {
    uint sum = 0u;
    [loop] for (uint bit = 0u; bit < 32u; ++bit)
        sum += WaveActiveCountBits(((word >> bit) & 1u) != 0u) << bit;
    return sum;
}
uint counted_below(uint word) {
    uint sum = 0u;
    [loop] for (uint bit = 0u; bit < 32u; ++bit)
        sum += WavePrefixCountBits(((word >> bit) & 1u) != 0u) << bit;
    return sum;
}
"""

_COMPUTE_ENTRY = """
[numthreads({0}, {1}, {2})]
void main(uint3 group : SV_GroupID, uint local : SV_GroupIndex) {{
    gl_WorkGroupID = group;
    gl_LocalInvocationIndex = local;
    judged();
}}
"""

_PIXEL_ENTRY = """
void main(float4 position : SV_Position) {
    gl_FragCoord = position;
    judged();
}
"""

#: HLSL numbers no waves: the index of its first lane tells one from another.
_SUBGROUP = (
    "uint subgroup = gl_SubgroupID;\n    uint turn = subgroup;",
    "uint subgroup = WaveReadLaneFirst(gl_LocalInvocationIndex);\n    uint turn = subgroup / size;",
)

_DROPPED = re.compile(r"^(#version|#extension|layout\().*\n", re.MULTILINE)
_CONSTANT = re.compile(r"^const uint\b", re.MULTILINE)


def hlsl_of(source: str, stage: Stage) -> str:
    """Return the HLSL of a program whose calls are HLSL's already (see `Spelling`)."""
    body = _CONSTANT.sub("static const uint", _DROPPED.sub("", source))
    body = body.replace("void main() {", "void judged() {").replace(*_SUBGROUP)
    entry = _COMPUTE_ENTRY.format(*stage.local_size) if isinstance(stage, WorkgroupStage) else _PIXEL_ENTRY
    return "\n".join((_TYPES, _NAMES, _FUNCTIONS, body, entry))
