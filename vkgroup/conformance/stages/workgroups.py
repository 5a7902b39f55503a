"""Stages that run in workgroups: compute, task and mesh shaders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.arrays import Indices, Words
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.conformance.stages.base import GROUP_CELLS, Around, Recorded, Stage

_EMPTY_FRAGMENT = "#version 460\nvoid main() {}"
_EMPTY_MESH = """#version 460
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 1) in;
layout(triangles, max_vertices = 3, max_primitives = 1) out;
void main() { SetMeshOutputsEXT(0u, 0u); }"""


@dataclass(frozen=True)
class WorkgroupStage(Stage):
    """Workgroups of one shape; each has data of another kind."""

    local_size: tuple[int, int, int]  # of a workgroup, in x, y and z
    #: Compute, task or mesh. A task shader starts no mesh shaders, a mesh shader makes no primitives.
    name: str = "compute"

    cell_stride = GROUP_CELLS

    @property
    def group_places(self) -> int:
        """One place for each invocation of a workgroup."""
        return int(np.prod(self.local_size))

    @property
    def invocations(self) -> int:
        """The invocations of the whole dispatch."""
        return WORKGROUPS * self.group_places

    @property
    def extensions(self) -> tuple[str, ...]:
        """Mesh shading."""
        return () if self.name == "compute" else ("GL_EXT_mesh_shader",)

    @property
    def declarations(self) -> str:
        """The local size."""
        x, y, z = self.local_size
        lines = [
            f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;",
            f"const uint WORKGROUP_INVOCATIONS = {self.group_places}u;",
        ]
        if self.name == "mesh":
            lines.append("layout(triangles, max_vertices = 3, max_primitives = 1) out;")
        return "\n".join(lines)

    @property
    def start(self) -> str:
        """Numbers from the built-in variables."""
        outputs = "SetMeshOutputsEXT(0u, 0u);\n    " if self.name == "mesh" else ""
        return (
            outputs
            + """uint group = gl_WorkGroupID.x;
    uint index = group * WORKGROUP_INVOCATIONS + gl_LocalInvocationIndex;
    uint own = index;
    uint subgroup = gl_SubgroupID;
    uint turn = subgroup;
    uint place = index;"""
        )

    def finish(self, planes: int) -> str:
        """Return nothing, or how a task shader ends."""
        return "EmitMeshTasksEXT(0u, 0u, 0u);" if self.name == "task" else ""

    def recorded(self, record: Words) -> Recorded:
        """Return all invocations."""
        index = np.arange(self.invocations)
        lane, subgroup, size = record[:3].astype(np.int64)
        group = index // self.group_places
        return Recorded(index, lane, subgroup, size, group, subgroup, np.zeros((len(index), 4), np.uint32))

    def places(self, group: Indices, number: Indices, member: Indices) -> Indices:
        """Return the invocations themselves."""
        return member

    def cells(self, size: int) -> int:
        """Return the same for all sizes; see `GROUP_CELLS`."""
        return WORKGROUPS * GROUP_CELLS

    def subgroup_name(self, group: int, number: int) -> str:
        """Name the workgroup."""
        return f"workgroup {group} subgroup {number}"

    def around(self, planes: int) -> Around:
        """Return a dispatch, or the rest of a pipeline of mesh shaders."""
        sources = {"fragment": _EMPTY_FRAGMENT} if self.name in ("task", "mesh") else {}
        if self.name == "task":
            sources["mesh"] = _EMPTY_MESH
        return Around(sources, {"groups": WORKGROUPS})
