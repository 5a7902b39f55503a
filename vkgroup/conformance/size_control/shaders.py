"""Shaders of every stage that record the subgroup size.

All shaders of a pipeline are here; those of the observed stages record the words of `records` into
a buffer or, through flat outputs, into the pixels of attachments. Each vertex, point of a patch or primitive
has a separate pixel.
"""

from __future__ import annotations

from collections.abc import Collection

from vkgroup.conformance.stages.interfaces import RAY_INTERFACES
from vkgroup.conformance.subgroup.cases import STAGES
from vkgroup.spec.stages import WORKGROUP_STAGES

SIDE = 32
"""Pixels of the target in x and y; one point is drawn per pixel."""

POINTS = SIDE * SIDE

MOST_RECORDS = 1 << 14
"""Capacity of the buffer in records; stages before the rasterizer may run more often than necessary."""

_EXTENSIONS = """#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require"""

_RECORD = """// What this invocation sees: size, lane, whether all active ones have that size, the stage.
uvec4 seen() {{
    uint size = gl_SubgroupSize;
    bool same = subgroupBallot(size == subgroupBroadcastFirst(size)) == subgroupBallot(true);
    return uvec4(size, gl_SubgroupInvocationID, same ? 1u : 0u, {number}u);
}}"""

_KEEP = """// binding 0: how many records there are; then the records, of three vectors each.
layout(std430, binding = 0) buffer Records {{ uint count; uint unused[3]; uvec4 records[]; }};
void keep(uvec4 first, uvec4 mask, uvec4 place) {{
    uint at = atomicAdd(count, 1u);
    if (at < {most}u) {{
        records[3u * at] = first;
        records[3u * at + 1u] = mask;
        records[3u * at + 2u] = place;
    }}
}}"""

_WORKGROUP = "uvec4(gl_WorkGroupID.x + {first}, gl_NumSubgroups, gl_SubgroupID, gl_LocalInvocationIndex)"

_PLACE = f"""vec4 placed(uint index) {{
    return vec4((vec2(index % {SIDE}u, index / {SIDE}u) + 0.5) / {SIDE // 2}.0 - 1.0, 0.0, 1.0);
}}"""

NUMBERS = {stage: number for number, stage in enumerate(STAGES)}
"""Number of each stage in the records."""


def _observing(stage: str, framebuffer: bool) -> tuple[str, str]:
    """Return the declarations of an observed stage, and its first statements."""
    declarations = [_RECORD.format(number=NUMBERS[stage])]
    if framebuffer:
        return "\n".join(declarations), ""
    declarations.append(_KEEP.format(most=MOST_RECORDS))
    workgroups = stage in WORKGROUP_STAGES
    first = "first_group" if stage == "compute" else "0u"
    place = _WORKGROUP.format(first=first) if workgroups else "uvec4(0u)"
    return "\n".join(declarations), f"keep(seen(), subgroupBallot(true), {place});"


_NO_TRIANGLES = "layout(triangles, max_vertices = 3, max_primitives = 1) out;"


def workgroup_shader(stage: str, local_size: tuple[int, int, int]) -> str:
    """Return a compute, task or mesh shader whose invocations all write a record.

    Workgroups of compute shaders are counted from the push constant `first_group` on.
    """
    declarations, observe = _observing(stage, False)
    x, y, z = local_size
    extension = "" if stage == "compute" else "#extension GL_EXT_mesh_shader : require"
    own, end = {
        "compute": ("layout(push_constant) uniform Push { uint first_group; };", ""),
        "task": ("", "EmitMeshTasksEXT(0u, 0u, 0u);"),
        "mesh": (_NO_TRIANGLES, "SetMeshOutputsEXT(0u, 0u);"),
    }[stage]
    return f"""#version 460
// Every invocation of workgroups of {x} x {y} x {z} records what it sees of its subgroup.
{_EXTENSIONS}
{extension}
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
{own}
{declarations}
void main() {{
    {observe}
    {end}
}}
"""


def ray_shader(stage: str) -> str:
    """Return a shader of a stage whose invocations write records."""
    interface = RAY_INTERFACES[stage](False)
    declarations, observe = _observing(stage, False)
    extensions = "\n".join(f"#extension {name} : require" for name in interface.extensions)
    end = "reportIntersectionEXT(0.5, 0u);" if stage == "intersection" else ""
    return f"""#version 460
// Every invocation of the {stage} stage records what it sees of its subgroup.
{extensions}
{_EXTENSIONS}
{interface.layout}
{declarations}
void main() {{
    {observe}
    {end}
}}
"""


EMPTY_MESH = f"""#version 460
// The mesh shader behind a task shader that starts none.
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 1) in;
{_NO_TRIANGLES}
void main() {{ SetMeshOutputsEXT(0u, 0u); }}
"""

WHITE = """#version 460
layout(location = 0) out uint color;
void main() { color = 1u; }
"""


def graphics_shaders(
    stages: Collection[str], observed: Collection[str], *, framebuffer: bool, point_size: bool
) -> dict[str, str]:
    """Return the shaders of a pipeline that draws `POINTS` points, by stage.

    The `observed` stages record; with `framebuffer` it is one stage, which writes to attachments.
    `point_size`: stages after the vertex shader must give points size 1
    (``shaderTessellationAndGeometryPointSize``).
    """
    shaders = {}
    for stage in stages:
        declarations, observe = _observing(stage, framebuffer) if stage in observed else ("", "")
        body = _MAIN[stage](_Flow(stage, stages, observed, framebuffer), observe, segments(observed))
        size = "" if stage != "vertex" and not point_size else "gl_PointSize = 1.0;"
        lines = [
            "#version 460",
            f"// The {stage} shader of a pipeline that records what {', '.join(observed)} sees.",
            *([_EXTENSIONS] if stage in observed else []),
        ]
        shaders[stage] = "\n".join([*lines, _PLACE, declarations, body.replace("@SIZE", size)])
    return shaders


def segments(observed: Collection[str]) -> int:
    """Return the number of line segments of each patch: many if only the evaluation stage is observed."""
    return SIDE * 2 - 1 if set(observed) == {"tessellation_evaluation"} else 1


class _Flow:
    """GLSL that passes a record from the observed stage to the fragment shader, for the attachments."""

    def __init__(
        self, stage: str, stages: Collection[str], observed: Collection[str], framebuffer: bool
    ) -> None:
        order = [name for name in NUMBERS if name in stages]
        (source,) = observed if framebuffer else ("",)
        at = order.index(source) if source else len(order)
        own = order.index(stage)
        self.begins, self.passes = own == at, own > at

    def ins(self, suffix: str = "") -> str:
        """Return the declarations of inputs from the previous stage."""
        return self._ports("in", "came", suffix) if self.passes else ""

    def outs(self, suffix: str = "") -> str:
        """Return the declarations of outputs to the next stage."""
        return self._ports("out", "goes", suffix) if self.begins or self.passes else ""

    def _ports(self, way: str, prefix: str, suffix: str) -> str:
        return (
            f"layout(location = 0) {way} flat uvec4 {prefix}_first{suffix};\n"
            f"layout(location = 1) {way} flat uvec4 {prefix}_mask{suffix};"
        )

    def send(self, to: str = "", of: str = "") -> str:
        """Return the statements that pass the record to the next stage."""
        if self.begins:
            return f"goes_first{to} = seen(); goes_mask{to} = subgroupBallot(true);"
        return f"goes_first{to} = came_first{of}; goes_mask{to} = came_mask{of};" if self.passes else ""


def _vertex(flow: _Flow, observe: str, segments: int) -> str:
    return f"""{flow.outs()}
void main() {{
    {observe}
    {flow.send()}
    gl_Position = placed(uint(gl_VertexIndex));
    @SIZE
}}
"""


def _control(flow: _Flow, observe: str, segments: int) -> str:
    return f"""layout(vertices = 2) out;
{flow.ins("[]")}
{flow.outs("[]")}
void main() {{
    {observe}
    {flow.send("[gl_InvocationID]", "[gl_InvocationID]")}
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    if (gl_InvocationID == 0) {{
        gl_TessLevelOuter[0] = 1.0;
        gl_TessLevelOuter[1] = {segments}.0;
    }}
}}
"""


def _evaluation(flow: _Flow, observe: str, segments: int) -> str:
    return f"""layout(isolines, equal_spacing, point_mode) in;
{flow.ins("[]")}
{flow.outs()}
void main() {{
    {observe}
    uint nearest = uint(gl_TessCoord.x * {segments}.0 + 0.5);
    {flow.send("", "[min(nearest, 1u)]")}
    gl_Position = placed(uint(gl_PrimitiveID) * {segments + 1}u + nearest);
    @SIZE
}}
"""


def _geometry(flow: _Flow, observe: str, segments: int) -> str:
    return f"""layout(points) in;
layout(points, max_vertices = 1) out;
{flow.ins("[]")}
{flow.outs()}
void main() {{
    {observe}
    {flow.send("", "[0]")}
    gl_Position = gl_in[0].gl_Position;
    @SIZE
    EmitVertex();
    EndPrimitive();
}}
"""


def _fragment(flow: _Flow, observe: str, segments: int) -> str:
    if not (flow.begins or flow.passes):
        return f"""layout(location = 0) out uint color;
void main() {{
    {observe}
    color = 1u;
}}
"""
    first, mask = ("seen()", "subgroupBallot(true)") if flow.begins else ("came_first", "came_mask")
    return f"""{flow.ins()}
layout(location = 0) out uvec4 first;
layout(location = 1) out uvec4 mask;
void main() {{
    {observe}
    first = {first};
    mask = {mask};
}}
"""


_MAIN = {
    "vertex": _vertex,
    "tessellation_control": _control,
    "tessellation_evaluation": _evaluation,
    "geometry": _geometry,
    "fragment": _fragment,
}
"""Stage → its output interface and `main`."""
