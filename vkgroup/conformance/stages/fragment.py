"""The fragment stage: pixels under one triangle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.stages.base import (
    GROUP_OF_BLOCK,
    LANES,
    STORAGE,
    Around,
    Indices,
    Recorded,
    Words,
    group_of_block,
    places_of_block,
)

WIDTH, HEIGHT = 32, 16
"""Pixels of a whole target of fragment cases; partial ones lack a column and a row."""


def quad_of(pixel: Indices) -> Indices:
    """Return the number of a pixel's quad, counted along the rows of quads."""
    return np.asarray(pixel // (2 * WIDTH) * (WIDTH // 2) + pixel % WIDTH // 2)


QUAD = "uint block = subgroup / (2u * WIDTH) * (WIDTH / 2u) + subgroup % WIDTH / 2u;"
"""GLSL of `quad_of`."""


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
    extensions: tuple[str, ...] = ()
    record_planes: int = 7
    invocations: int = WIDTH * HEIGHT
    stride: int = WIDTH * HEIGHT
    own_numbers: int = WIDTH * HEIGHT
    group_places: int = LANES
    cell_stride: int = 0

    @property
    def declarations(self) -> str:
        """The size of the grid in which pixels are counted, which has room for helper invocations."""
        return f"const uint WIDTH = {WIDTH}u;\nconst uint LANES = {LANES}u;"

    def storage(self, planes: int) -> str:
        """Return a buffer."""
        return STORAGE

    @property
    def start(self) -> str:
        """Numbers from the pixels; beside the record of lanes it keeps who is a helper invocation."""
        return f"""uint index = uint(gl_FragCoord.y) * WIDTH + uint(gl_FragCoord.x);
    uint own = index;
    uint subgroup = subgroupBroadcastFirst(index);
    {QUAD}
    {GROUP_OF_BLOCK}
    uvec4 helpers = subgroupBallot(gl_HelperInvocation);
    for (uint word = 0u; word < 4u; ++word) outputs[index + (3u + word) * INVOCATIONS] = helpers[word];"""

    def finish(self, planes: int) -> str:
        """Return nothing."""
        return ""

    def recorded(self, record: Words) -> Recorded:
        """Return the pixels of the target."""
        y, x = np.divmod(np.arange(self.invocations), WIDTH)
        index = np.flatnonzero((x < self.width) & (y < self.height))
        lane, subgroup, size = record[:3, index].astype(np.int64)
        group = group_of_block(quad_of(subgroup))
        return Recorded(index, lane, subgroup, size, group, subgroup, record[3:7, index].T)

    def places(self, group: Indices, number: Indices, member: Indices) -> Indices:
        """Return places by lane, recorded or not."""
        return places_of_block(group, quad_of(number), member.shape[1])

    def cells(self, size: int) -> int:
        """Return cells for a subgroup at each pixel."""
        return self.invocations * size

    def subgroup_name(self, group: int, number: int) -> str:
        """Name the pixel of the first active lane."""
        return f"subgroup from pixel ({number % WIDTH}, {number // WIDTH})"

    def around(self, planes: int) -> Around:
        """Return a draw of nothing but a triangle."""
        return Around({}, {"size": (self.width, self.height)})
