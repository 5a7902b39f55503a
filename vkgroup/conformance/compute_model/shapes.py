"""Shapes of dispatches: local sizes and numbers of workgroups, and the limits that they must keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from vkgroup.device import Capabilities

Size = tuple[int, int, int]

LOCAL_SIZES: dict[str, Size | str] = {
    **{
        f"{x}x{y}x{z}": (x, y, z)
        for x, y, z in (
            (1, 1, 1), (7, 1, 1), (64, 1, 1), (1, 13, 1), (8, 8, 1), (31, 3, 1), (4, 4, 4), (3, 5, 7),
            (1, 1, 17),
        )
    },
    **{f"max_{dimension}": dimension for dimension in ("x", "y", "z", "all")},
}  # fmt: skip
"""Local sizes by name: three numbers, or the dimension in which they are a device's largest."""

DISPATCHES: dict[str, tuple[Size, tuple[str, ...]]] = {
    "1_group": ((1, 1, 1), tuple(LOCAL_SIZES)),
    "13_groups": ((13, 1, 1), ("1x1x1", "7x1x1", "64x1x1", "max_x", "max_all")),
    "5x7_groups": ((5, 7, 1), ("7x1x1", "8x8x1", "31x3x1", "max_y")),
    "3x4x5_groups": ((3, 4, 5), ("1x1x1", "7x1x1", "4x4x4", "3x5x7", "1x1x17")),
    "1x1x11_groups": ((1, 1, 11), ("1x13x1", "4x4x4", "max_z")),
    "1x23x1_groups": ((1, 23, 1), ("1x13x1", "8x8x1")),
    "65535_groups": ((65535, 1, 1), ("1x1x1",)),
    "1x65535_groups": ((1, 65535, 1), ("1x1x1",)),
    "1x1x65535_groups": ((1, 1, 65535), ("1x1x1",)),
}
"""Numbers of workgroups by name, and the local sizes that each is combined with. Every device takes 65,535 in
each dimension (ARB_compute_shader, table 6.50)."""


@dataclass(frozen=True)
class Shape:
    """A local size and a number of workgroups."""

    local: Size
    groups: Size

    @property
    def in_group(self) -> int:
        """Invocations of a workgroup."""
        return prod(self.local)

    @property
    def total(self) -> int:
        """Invocations of the dispatch."""
        return self.in_group * prod(self.groups)


def invocations_limit(limits: Mapping[str, Any]) -> int:
    """Return the largest number of invocations of a 1-D workgroup on a device."""
    return min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))


def local_size(name: str, limits: Mapping[str, Any]) -> Size:
    """Return a local size on a device with these limits."""
    size = LOCAL_SIZES[name]
    if not isinstance(size, str):
        return size
    most = int(limits["maxComputeWorkGroupInvocations"])
    widest = [min(int(limit), most) for limit in limits["maxComputeWorkGroupSize"]]
    if size != "all":
        x, y, z = (widest[n] if size == axis else 1 for n, axis in enumerate("xyz"))
        return x, y, z
    # As many invocations as a workgroup may have, in three dimensions.
    x = min(widest[0], 16)
    y = min(widest[1], 8, most // x)
    return x, y, min(widest[2], most // (x * y))


def exceeded(shape: Shape, limits: Mapping[str, Any]) -> list[str]:
    """Return the limits that a shape exceeds, by Vulkan's names."""
    needs = []
    if any(a > b for a, b in zip(shape.local, limits["maxComputeWorkGroupSize"], strict=True)):
        needs.append(f"maxComputeWorkGroupSize of at least {shape.local}")
    if shape.in_group > limits["maxComputeWorkGroupInvocations"]:
        needs.append(f"maxComputeWorkGroupInvocations of at least {shape.in_group}")
    if any(a > b for a, b in zip(shape.groups, limits["maxComputeWorkGroupCount"], strict=True)):
        needs.append(f"maxComputeWorkGroupCount of at least {shape.groups}")
    return needs


def lacking_invocations(count: int, capabilities: Capabilities) -> list[str]:
    """Return the limit that workgroups with this number of invocations exceed; empty if none."""
    most = capabilities.limits["maxComputeWorkGroupInvocations"]
    return [f"maxComputeWorkGroupInvocations of at least {count}"] if most < count else []
