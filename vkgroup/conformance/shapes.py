"""Shapes of workgroups: 1-D, 2-D and 3-D, each in a whole and a partial version.

Every device allows 128 invocations per workgroup (Vulkan 1.4, Required Limits,
maxComputeWorkGroupInvocations), and no subgroup has more than 128. A partial shape has
123 = 3 × 41 invocations, which is odd, so it is not a multiple of any subgroup size above 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

WORKGROUPS = 4
"""Number of workgroups in a dispatch; each has data of a different kind."""


@dataclass(frozen=True)
class WorkgroupShape:
    """A workgroup's extent, whole and partial."""

    name: str
    whole: tuple[int, int, int]
    partial: tuple[int, int, int]

    def local_size(self, partial: bool) -> tuple[int, int, int]:
        """Return the workgroup's size in x, y and z."""
        return self.partial if partial else self.whole

    def invocations(self, partial: bool) -> int:
        """Return the number of invocations in one workgroup."""
        return prod(self.local_size(partial))


SHAPES: dict[str, WorkgroupShape] = {
    shape.name: shape
    for shape in (
        WorkgroupShape("1d", (128, 1, 1), (123, 1, 1)),
        WorkgroupShape("2d", (16, 8, 1), (41, 3, 1)),
        WorkgroupShape("3d", (8, 4, 4), (41, 1, 3)),
    )
}
"""All shapes by name."""
