"""Fragment shader of a termination case, and the layout of what it records."""

from __future__ import annotations

from vkgroup.conformance.fragment.scenes import GRID, Scene
from vkgroup.conformance.reconvergence.termination import SELECTIONS, TESTS, TerminationCase, Test
from vkgroup.programs.glsl import MODES

PLANES = {
    "started": 0, "lane": 1, "subgroup": 2, "size": 3, "elected": 4, "before": 5, "real": 9,
    "ended": 13, "after": 14, "left": 18, "probe": 22,
}  # fmt: skip
"""First plane of each value that a fragment records: before it may leave, and from "ended" on afterwards."""

COUNT = 23
"""Number of planes."""

WILD = 0xFFFFFFFF
"""Index at which fragments that left would read."""

VALUE = 7
"""Value that the remaining fragments read."""

FLOWS = {
    "plain": "if (leaves) {{ {leave} }}",
    # They diverge four ways, through loops that elected fragments leave one by one.
    "switch": """if (leaves) {{
        switch (lane & 3u) {{
        case 0u:
            for (;;) {{ subgroupMemoryBarrier(); if (subgroupElect()) break; }}
            {leave}
            break;
        case 1u:
            do {{ subgroupMemoryBarrierBuffer(); }} while (!subgroupElect());
            {leave}
            break;
        case 2u:
            while (values[1] != 12345u) {{ if (subgroupElect()) break; }}
            {leave}
            break;
        case 3u:
            if (values[0] == 7u) {{ {leave} }}
            break;
        }}
    }}""",
    "elect": """if (elected) {{
        color = 1u;
    }} else if (!leaves) {{
        color = 2u;
    }} else {{
        {leave}
    }}""",
}
"""Control flow before fragments leave, as GLSL with ``{leave}``."""

LEAVES = {"demote": "demote;", "terminate": "terminateInvocation;", "discard": "discard;"}
"""Statements by which fragments leave."""

_EXTENSIONS = {
    "demote": "GL_EXT_demote_to_helper_invocation",
    "terminate": "GL_EXT_terminate_invocation",
}
_PROBES = {
    "": "0u",
    "read": f"values[leaves ? {WILD}u : 0u]",
    "quad_any": "uint(quad_any(gl_HelperInvocation))",
    "any_left": "uint(subgroupAny(leaves))",
}

_TEMPLATE = """#version 460
// Fragments that leave: {title}.
// binding 0: planes of a word for each pixel; binding 1: values that no invocation writes.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
{extensions}
{modes}
layout(location = 0) out uint color;
layout(std430, binding = 0) writeonly buffer Outputs {{ uint outputs[]; }};
layout(std430, binding = 1) readonly buffer Values {{ uint values[]; }};
const uint GRID = {grid}u;
const uint PIXELS = {pixels}u;

void keep(uint index, uint plane, uvec4 mask) {{
    for (uint word = 0u; word < 4u; ++word) outputs[index + (plane + word) * PIXELS] = mask[word];
}}

void main() {{
    uint x = uint(gl_FragCoord.x);
    uint y = uint(gl_FragCoord.y);
    uint index = y * GRID + x;
    uint lane = gl_SubgroupInvocationID;
    uint place = (x & 1u) + 2u * (y & 1u);
    uint quad = x / 2u + y / 2u * 32u;
    bool helper = gl_HelperInvocation;
    bool leaves = {selected};
    uvec4 before = subgroupBallot(true);
    uvec4 real = subgroupBallot(!helper);
    bool elected = subgroupElect();
    outputs[index] = 1u;
    outputs[index + {lane}u * PIXELS] = lane;
    outputs[index + {subgroup}u * PIXELS] = subgroupBroadcastFirst(index);
    outputs[index + {size}u * PIXELS] = gl_SubgroupSize;
    outputs[index + {elected}u * PIXELS] = uint(elected);
    keep(index, {before}u, before);
    keep(index, {real}u, real);

    {flow}

    uvec4 after = subgroupBallot(true);
    uvec4 left = subgroupBallot(!{now_helper});
    uint probe = {probe_code};
    outputs[index + {ended}u * PIXELS] = 1u;
    keep(index, {after}u, after);
    keep(index, {left}u, left);
    outputs[index + {probe}u * PIXELS] = probe;
    color = index + 1u;
}}
"""

_QUADS = 'extensions = ["SPV_KHR_quad_control"], capabilities = [5087]'  # QuadControlKHR
_QUAD_ANY = 5111  # OpGroupNonUniformQuadAnyKHR
_FULL_QUADS = 5089  # RequireFullQuadsKHR


def pixels(scene: Scene) -> int:
    """Return the number of words of a plane."""
    return scene.layers * GRID * GRID


def source_of(case: TerminationCase) -> str:
    """Return the GLSL of a case."""
    axes, test = case.axes, TESTS[case.axes.test]
    return _TEMPLATE.format(
        title=case.name,
        extensions="\n".join(
            f"#extension {name} : require" for name in sorted(_names(test, bool(axes.full_quads)))
        ),
        modes="\n".join(_modes(test, bool(axes.full_quads))),
        grid=GRID,
        pixels=pixels(axes.scene),
        selected=SELECTIONS[test.selection].glsl,
        flow=FLOWS[test.flow].format(leave=LEAVES[test.verb]),
        now_helper="helperInvocationEXT()" if test.verb == "demote" else "gl_HelperInvocation",
        probe_code=_PROBES[test.probe],
        **PLANES,
    )


def _names(test: Test, full_quads: bool) -> set[str]:
    """Return the GLSL extensions that a case needs."""
    names = {_EXTENSIONS[test.verb]} if test.verb in _EXTENSIONS else set()
    if test.probe == "any_left":
        names.add("GL_KHR_shader_subgroup_vote")
    if test.promise is not None or full_quads:
        names.add("GL_EXT_spirv_intrinsics")
    return names


def _modes(test: Test, full_quads: bool) -> list[str]:
    """Return the declarations of execution modes and instructions that a case uses."""
    modes = []
    if test.promise is not None:
        extension, number = MODES[test.promise]
        modes.append(f'spirv_execution_mode(extensions = ["{extension}"], {number});')
    if full_quads:
        modes.append(f"spirv_execution_mode({_QUADS}, {_FULL_QUADS});")
    if test.probe == "quad_any":
        modes.append(f"spirv_instruction({_QUADS}, id = {_QUAD_ANY}) bool quad_any(bool predicate);")
    return modes
