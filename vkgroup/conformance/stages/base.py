"""Stages: the invocations of a batch, their numbers and places in the data; compute, task and mesh shaders.

A stage defines in GLSL and in NumPy the number of each invocation (`index`, the position of its record) and
the *place* in the data of its value. In workgroups the place is the invocation's index. In other stages it
depends only on the subgroup and the lane, so that the values of invocations without a record are also
known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Indices, Words
from vkgroup.conformance.patterns import WORKGROUPS

GROUP_CELLS = 256
"""Cells of barrier cases in a workgroup, which has no more invocations."""

LANES = 128
"""Lanes of the largest subgroup, and number of places of each group of the data outside of workgroups."""

_STORAGE = "layout(std430, binding = 1) writeonly buffer Outputs { uint outputs[]; };"
"""GLSL of the outputs of a stage that may write to buffers."""

GROUP_OF_BLOCK = """uint group = (block + (block >> 2) + (block >> 4) + (block >> 6)) & 3u;
    uint turn = (block & ~3u) + group;
    uint place = group * LANES + ((block & ~3u) + lane) % LANES;"""
"""GLSL that assigns groups of the data to subgroups in turn. Subgroups begin at blocks of four invocations,
and at every fourth place of a group; `group_of_block` and `BatchStage.places` are the same in NumPy."""


def group_of_block(block: Indices) -> Indices:
    """Return the group whose data the subgroups read: digits of the blocks' numbers, summed."""
    return np.asarray((block + (block >> 2) + (block >> 4) + (block >> 6)) & 3)


def turn_of_block(block: Indices) -> Indices:
    """Return the turns of the subgroups that begin at blocks."""
    return np.asarray((block & ~np.int64(3)) + group_of_block(block))


@dataclass(frozen=True)
class Recorded:
    """The invocations with a record; each array has one element per invocation."""

    index: Indices  # index of each record, ascending
    #: `lane`, `subgroup`, `size`: the recorded values.
    lane: Indices
    subgroup: Indices
    size: Indices
    group: Indices  # the group of the data that it reads
    number: Indices  # the argument of `BatchStage.places` for its subgroup
    unseen: Words  # (invocations, 4) ballot of the lanes of its subgroup that may be active without a record
    faults: tuple[str, ...] = ()  # violations of the specification in the records, one sentence each
    turn: Indices | None = None  # as in `BatchStage.start`; None if it follows from `subgroup`
    own: Indices | None = None  # as in `BatchStage.start`; None if it is `index`; -1 where not recorded


@dataclass(frozen=True)
class PipelineRest:
    """The other shaders of a stage's pipeline, and the arguments of its command."""

    #: GLSL of the other shaders by stage; a dispatch has none.
    sources: Mapping[str, str] = field(default_factory=dict)
    #: Arguments of the command; see `vkgroup.conformance.execute.run_stages`.
    arguments: Mapping[str, Any] = field(default_factory=dict)


class BatchStage:
    """The invocations of one batch."""

    name: str  # the shader stage
    #: Planes of the record of lanes: lane, subgroup, subgroup size, and what `start` records.
    record_planes: int = 3
    cell_stride: int = 0  # cells of barrier cases per group; 0 if all groups share one numbering

    @property
    def extensions(self) -> tuple[str, ...]:
        """GLSL extensions that the stage needs."""
        return ()

    @property
    def declarations(self) -> str:
        """GLSL outside of `main`."""
        raise NotImplementedError

    def storage(self, planes: int) -> str:
        """Return the GLSL that declares `outputs`: planes of INVOCATIONS words each."""
        return _STORAGE

    @property
    def start(self) -> str:
        """GLSL that begins `main`, where `lane` and `size` are known.

        It sets `index`; `own`, which is `index` or a number below `own_numbers` that identifies the
        invocation independently of the order in which they run; `group`, the group of the data that is read;
        `subgroup`, a number that all invocations of a subgroup share with no other subgroup of the group;
        `turn`, a number that varies from subgroup to subgroup; and `place`. Its records follow the first
        three planes of the outputs.
        """
        raise NotImplementedError

    @property
    def extent(self) -> str:
        """What is executed, in words."""
        return f"{self.invocations} invocations"

    def finish(self, planes: int) -> str:
        """Return the GLSL that ends `main`."""
        return ""

    @property
    def invocations(self) -> int:
        """Number of words in a plane."""
        raise NotImplementedError

    @property
    def stride(self) -> int:
        """INVOCATIONS in GLSL: number of words in a plane of the shader's outputs."""
        return self.invocations

    @property
    def own_numbers(self) -> int:
        """Upper limit of `own`, exclusive."""
        return self.invocations

    @property
    def table_seed(self) -> int:
        """Number from which random tables are made; a part of a stage has that of the whole stage."""
        return self.invocations

    @property
    def group_places(self) -> int:
        """Number of places in each of the `WORKGROUPS` groups of the data."""
        return LANES

    def used_inputs(self, words: Words) -> Words:
        """Return a table of the inputs with zeros where no invocation reads it, if that is known."""
        return words

    def recorded(self, record: Words) -> Recorded:
        """Return the invocations with a record, from the planes (record_planes, invocations)."""
        raise NotImplementedError

    def block(self, number: Indices) -> Indices:
        """Return the block of four invocations at which the subgroups of these numbers begin."""
        raise NotImplementedError

    def places(self, group: Indices, number: Indices, member: Indices) -> Indices:
        """Return the place of each lane, (rows, size), of subgroups (rows,) with members (rows, size)."""
        first = self.block(number) & ~np.int64(3)
        return np.asarray(group[:, None] * LANES + (first[:, None] + np.arange(member.shape[1])) % LANES)

    #: GLSL of the cells in barrier cases of an invocation and of the active lane `next`.
    cell_glsl: tuple[str, ...] = (
        "uint own = subgroup * size + lane;",
        "uint other = subgroup * size + next;",
    )

    def cell(self, subgroup: Indices, member: Indices) -> Indices:
        """Return the cells of all lanes, (rows, size), of subgroups, (rows,)."""
        size = member.shape[1]
        return np.asarray(subgroup[:, None] * size + np.arange(size))

    def cells(self, size: int) -> int:
        """Return the number of cells that barrier cases need for subgroups of a size."""
        return self.invocations * size

    def subgroup_name(self, group: int, number: int) -> str:
        """Return a phrase for a subgroup."""
        raise NotImplementedError

    def around(self, planes: int) -> PipelineRest:
        """Return the other shaders of the pipeline, and the arguments of its command."""
        raise NotImplementedError


_EMPTY_FRAGMENT = "#version 460\nvoid main() {}"
_EMPTY_MESH = """#version 460
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 1) in;
layout(triangles, max_vertices = 3, max_primitives = 1) out;
void main() { SetMeshOutputsEXT(0u, 0u); }"""


@dataclass(frozen=True)
class WorkgroupStage(BatchStage):
    """Workgroups of one shape; each has data of a different kind."""

    local_size: tuple[int, int, int]  # of a workgroup, in x, y and z
    #: Compute, task or mesh. A task shader starts no mesh shaders, a mesh shader makes no primitives.
    name: str = "compute"

    cell_stride = GROUP_CELLS
    # Subgroups need not be full, so that their number times their size may exceed the cells.
    cell_glsl = (
        "uint own = gl_LocalInvocationIndex;",
        "uint other = 0u;",
        "for (uint bit = 0u; bit < 8u; ++bit) {",
        "    uvec4 set = subgroupBallot((own >> bit & 1u) != 0u);",
        "    other |= uint(subgroupBallotBitExtract(set, next)) << bit;",
        "}",
    )

    def cell(self, subgroup: Indices, member: Indices) -> Indices:
        """Return the local indices of all lanes."""
        return np.asarray(member % self.group_places)

    @property
    def group_places(self) -> int:
        """Number of invocations in a workgroup, each with one place."""
        return int(np.prod(self.local_size))

    @property
    def invocations(self) -> int:
        """Number of invocations in the whole dispatch."""
        return WORKGROUPS * self.group_places

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extension of mesh shading, for task and mesh shaders."""
        return () if self.name == "compute" else ("GL_EXT_mesh_shader",)

    @property
    def declarations(self) -> str:
        """GLSL of the local size."""
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
        """GLSL that reads the numbers from built-in variables."""
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
        """Return GLSL that ends a task shader; empty for other stages."""
        return "EmitMeshTasksEXT(0u, 0u, 0u);" if self.name == "task" else ""

    def recorded(self, record: Words) -> Recorded:
        """Return all invocations."""
        index = np.arange(self.invocations)
        lane, subgroup, size = record[:3].astype(np.int64)
        group = index // self.group_places
        return Recorded(index, lane, subgroup, size, group, subgroup, np.zeros((len(index), 4), np.uint32))

    def places(self, group: Indices, number: Indices, member: Indices) -> Indices:
        """Return the members: the place of an invocation is its index."""
        return member

    def cells(self, size: int) -> int:
        """Return the number of cells, which is the same for all sizes; see `GROUP_CELLS`."""
        return WORKGROUPS * GROUP_CELLS

    def subgroup_name(self, group: int, number: int) -> str:
        """Return the names of the workgroup and the subgroup."""
        return f"workgroup {group} subgroup {number}"

    def around(self, planes: int) -> PipelineRest:
        """Return a dispatch, or the rest of a pipeline of mesh shaders."""
        sources = {"fragment": _EMPTY_FRAGMENT} if self.name in ("task", "mesh") else {}
        if self.name == "task":
            sources["mesh"] = _EMPTY_MESH
        return PipelineRest(sources, {"groups": WORKGROUPS})
