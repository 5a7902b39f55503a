"""Differences of the interfaces of two shaders that are to run on the same inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import fields_of
from vkgroup.spirv import Binding, ImageType, Module, SampledImageType, StructType

COMPARED = 1 << 16
"""Bytes of a block whose layout is compared; runtime arrays repeat."""


def interface_differences(first: Module, second: Module) -> list[str]:
    """Return what differs in the bindings and push constants of two modules, in words."""
    ours, theirs = (
        {entry.place: entry for entry in module.reflection.bindings} for module in (first, second)
    )
    problems = []
    for place in sorted(ours.keys() | theirs.keys()):
        name = f"set {place[0]}, binding {place[1]}"
        if place not in theirs or place not in ours:
            which = "first" if place in ours else "second"
            problems.append(
                f"{name} ({(ours.get(place) or theirs[place]).name}) is only in the {which} shader"
            )
        elif (one := _form(ours[place])) != (two := _form(theirs[place])):
            problems.append(f"{name} ({ours[place].name}) is {one} in the first, {two} in the second shader")
        elif len(formats := {_format(side[place]) for side in (ours, theirs)} - {"Unknown", ""}) > 1:
            problems.append(f"{name} ({ours[place].name}) has the formats {' and '.join(sorted(formats))}")
        elif not np.array_equal(_layout(ours[place].type), _layout(theirs[place].type)):
            problems.append(f"{name} ({ours[place].name}): the members have other offsets or widths")
    one_block, other = (module.reflection.push_constants for module in (first, second))
    if not np.array_equal(_layout(one_block and one_block.type), _layout(other and other.type)):
        problems.append("the push constants have other offsets or widths")
    return problems


def _form(binding: Binding) -> str:
    """Return the kind of a binding in words: of an image, with its dimensions."""
    kind = binding.type.image if isinstance(binding.type, SampledImageType) else binding.type
    words = [binding.kind.replace("_", " ")]
    if isinstance(kind, ImageType):
        words += [kind.dimension, *["array"] * kind.arrayed, *["multisampled"] * kind.multisampled]
    return " ".join(words) + (f", {binding.count} descriptors" if binding.count != 1 else "")


def _format(binding: Binding) -> str:
    """Return the format of a storage image; empty for something else."""
    return binding.type.format if isinstance(binding.type, ImageType) and binding.type.storage else ""


def _layout(block: Any) -> npt.NDArray[np.int64]:
    """Return offset and width of each number of a block in order; none of something else."""
    fields = fields_of(block, COMPARED) if isinstance(block, StructType) else []
    parts = [
        np.stack([field.offsets.reshape(-1), np.full(field.offsets.size, field.dtype.itemsize)], axis=1)
        for field in fields
    ]
    whole = np.concatenate([np.zeros((0, 2), np.int64), *parts])
    whole = whole[whole.sum(axis=1) <= COMPARED]
    ordered: npt.NDArray[np.int64] = whole[np.lexsort(whole.T[::-1])]
    return ordered
