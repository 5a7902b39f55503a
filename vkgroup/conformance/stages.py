"""Where a batch's invocations come from: workgroups of a dispatch, or pixels of a draw.

A stage says in GLSL and in NumPy which invocation is which. All of its invocations are numbered (`index`),
and each takes its value from a *place* in the data. In compute the place is the invocation's own index. In
fragment shaders it depends on the subgroup and the lane alone, so that the values of helper invocations,
which leave no record, are known as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.shapes import SHAPES, WORKGROUPS

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

GROUP_CELLS = 256
"""Cells of barrier cases in a workgroup: subgroup times size, which workgroups of 128 stay below."""

WIDTH, HEIGHT = 32, 16
"""Pixels of a whole target of fragment cases; partial ones lack a column and a row."""

LANES = 128
"""Lanes of the largest subgroup; so many places has each group of the data of fragment cases."""


class Stage(Protocol):
    """The invocations of one batch."""

    @property
    def name(self) -> str:
        """The shader stage."""

    @property
    def declarations(self) -> str:
        """GLSL outside of `main`."""

    @property
    def start(self) -> str:
        """GLSL that begins `main`, where `lane` and `size` are known.

        It sets `index`; `group`, the group of the data that is read; `subgroup`, a number that all
        invocations of a subgroup share with no other subgroup of the group; `turn`, one that varies from
        subgroup to subgroup; and `place`. What it records goes behind the first three planes of the outputs.
        """

    @property
    def record_planes(self) -> int:
        """Planes of the record of lanes: lane, subgroup, subgroup size, and what `start` records."""

    @property
    def invocations(self) -> int:
        """Words of a plane."""

    @property
    def group_places(self) -> int:
        """Places of each of the `WORKGROUPS` groups of the data."""

    def executing(self) -> Indices:
        """Return the indices of the invocations that exist and record something, ascending."""

    def group(self, index: Indices, subgroup: Indices) -> Indices:
        """Return the group of invocations."""

    def places(self, subgroup: Indices, member: Indices) -> Indices:
        """Return the place of each lane, (rows, size), of subgroups (rows,) with members (rows, size)."""

    def cells(self, size: int) -> int:
        """Return how many cells barrier cases need for subgroups of a size."""

    @property
    def cell_stride(self) -> int:
        """Cells of barrier cases between those of one group and the next; 0 where all count together."""

    def whereabouts(self, group: int, subgroup: int) -> str:
        """Say in words where a subgroup is."""


@dataclass(frozen=True)
class ComputeStage:
    """Workgroups of one shape; each has data of another kind."""

    local_size: tuple[int, int, int]
    name: str = "compute"
    record_planes: int = 3
    cell_stride: int = GROUP_CELLS

    @property
    def group_places(self) -> int:
        """One place for each invocation of a workgroup."""
        return int(np.prod(self.local_size))

    @property
    def invocations(self) -> int:
        """The invocations of the whole dispatch."""
        return WORKGROUPS * self.group_places

    @property
    def declarations(self) -> str:
        """The local size."""
        x, y, z = self.local_size
        return (
            f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;\n"
            f"const uint WORKGROUP_INVOCATIONS = {self.group_places}u;"
        )

    @property
    def start(self) -> str:
        """Numbers from the built-in variables."""
        return """uint group = gl_WorkGroupID.x;
    uint index = group * WORKGROUP_INVOCATIONS + gl_LocalInvocationIndex;
    uint subgroup = gl_SubgroupID;
    uint turn = subgroup;
    uint place = index;"""

    def executing(self) -> Indices:
        """Return all."""
        return np.arange(self.invocations)

    def group(self, index: Indices, subgroup: Indices) -> Indices:
        """Return the workgroup."""
        return index // self.group_places

    def places(self, subgroup: Indices, member: Indices) -> Indices:
        """Return the invocations themselves."""
        return member

    def cells(self, size: int) -> int:
        """Return the same for all sizes; see `GROUP_CELLS`."""
        return WORKGROUPS * GROUP_CELLS

    def whereabouts(self, group: int, subgroup: int) -> str:
        """Name the workgroup."""
        return f"workgroup {group} subgroup {subgroup}"


@dataclass(frozen=True)
class FragmentStage:
    """Pixels under one triangle that covers the whole target.

    A subgroup is known by the pixel of its first active lane, which all its invocations learn at the start.
    Subgroups take turns with the groups of the data and begin at every fourth place of them.

    Attributes
    ----------
    width, height : the target's; the pixels of a partial one make incomplete quads at its right and lower
        edge, whose missing pixels are helper invocations (KHR_shader_subgroup: "If the neighbors of a
        fragment are not covered by the primitive, fragment shader invocations will still be generated").
    """

    width: int
    height: int
    name: str = "fragment"
    record_planes: int = 7
    invocations: int = WIDTH * HEIGHT
    group_places: int = LANES
    cell_stride: int = 0

    @property
    def declarations(self) -> str:
        """The size of the grid in which pixels are counted, which has room for helper invocations."""
        return f"const uint WIDTH = {WIDTH}u;\nconst uint LANES = {LANES}u;"

    @property
    def start(self) -> str:
        """Numbers from the pixels; beside the record of lanes it keeps who is a helper invocation."""
        return """uint index = uint(gl_FragCoord.y) * WIDTH + uint(gl_FragCoord.x);
    uint subgroup = subgroupBroadcastFirst(index);
    uint quad = subgroup / (2u * WIDTH) * (WIDTH / 2u) + subgroup % WIDTH / 2u;
    uint group = (quad + (quad >> 2) + (quad >> 4) + (quad >> 6)) & 3u;
    uint turn = (quad & ~3u) + group;
    uint place = group * LANES + ((quad & ~3u) + lane) % LANES;
    uvec4 helpers = subgroupBallot(gl_HelperInvocation);
    for (uint word = 0u; word < 4u; ++word) outputs[index + (3u + word) * INVOCATIONS] = helpers[word];"""

    def executing(self) -> Indices:
        """Return the pixels of the target."""
        y, x = np.divmod(np.arange(self.invocations), WIDTH)
        return np.flatnonzero((x < self.width) & (y < self.height))

    def _quad(self, subgroup: Indices) -> Indices:
        return subgroup // (2 * WIDTH) * (WIDTH // 2) + subgroup % WIDTH // 2

    def group(self, index: Indices, subgroup: Indices) -> Indices:
        """Return the group whose data the subgroup reads: digits of its quad's number, summed."""
        quad = self._quad(subgroup)
        return np.asarray((quad + (quad >> 2) + (quad >> 4) + (quad >> 6)) & 3)

    def places(self, subgroup: Indices, member: Indices) -> Indices:
        """Return places by lane, recorded or not."""
        first = self._quad(subgroup) & ~np.int64(3)
        lane = np.arange(member.shape[1])
        group = self.group(member[:, 0], subgroup)
        return np.asarray(group[:, None] * LANES + (first[:, None] + lane) % LANES)

    def cells(self, size: int) -> int:
        """Return cells for a subgroup at each pixel."""
        return self.invocations * size

    def whereabouts(self, group: int, subgroup: int) -> str:
        """Name the pixel of the first active lane."""
        return f"subgroup from pixel ({subgroup % WIDTH}, {subgroup // WIDTH})"


def stage_of(name: str, shape: str, partial: bool) -> Stage:
    """Return the invocations of a batch by its cases' stage, shape and whether they are partial."""
    if name == "fragment":
        return FragmentStage(WIDTH - partial, HEIGHT - partial)
    return ComputeStage(SHAPES[shape].local_size(partial))
