"""Axes of case names."""

from __future__ import annotations

import re

from vkgroup.spec.categories import Category
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spec.types import LONG_TYPES, TYPES

_ALL_TYPES = {**TYPES, **LONG_TYPES}

Axes = dict[str, str]
"""The values of a case by axis, in the order of its name."""

TABLE_AXES = ("category", "stage", "operation", "type", "pattern", "data")
"""Axes of cases of subgroup operations; the name then has an operand, a shape and a size where they apply."""

_AXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys([*(category.value for category in Category), "hlsl"], TABLE_AXES),
    "legacy_ballot": TABLE_AXES[:-1],
    "quad_control": ("category", "stage", "operation", "pattern"),
}
"""Axes of the categories whose names begin with them."""
_SHAPES = frozenset({"2d", "3d", "framebuffer"})
_SIZE = re.compile(r"size\d+")


def axes_of(name: str) -> Axes:
    """Return the axes of a case by its name. Parts without a common meaning are named by their position."""
    parts = name.split(".")
    labels = _AXES.get(parts[0], ())
    if not labels or len(parts) < len(labels) or (parts[0] == "quad_control" and "Quad" not in parts[2]):
        positions = ("stage" if part in STAGE_NAMES else f"part {at}" for at, part in enumerate(parts[1:], 1))
        return dict(zip(["category", *positions], parts, strict=True))
    axes = dict(zip(labels, parts, strict=False))
    for part in parts[len(labels) :]:
        axis = "size" if _SIZE.fullmatch(part) else "shape" if part in _SHAPES else "operand"
        axes[axis] = f"{axes[axis]}.{part}" if axis in axes else part
    return axes


def complexity(name: str) -> tuple[object, ...]:
    """Return a sort key by which the simplest case comes first."""
    axes = axes_of(name)
    type_ = _ALL_TYPES.get(axes.get("type", ""))
    return (
        list(STAGE_NAMES).index(axes["stage"]) if axes.get("stage", "compute") != "compute" else -1,
        axes.get("pattern", "all") != "all",
        type_.components if type_ else 0,
        type_.scalar.bits if type_ else 0,
        axes.get("data", "exact") != "exact",
        "size" in axes,
        "shape" in axes,
        len(name),
        name,
    )
