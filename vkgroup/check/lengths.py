"""Lengths of generated runtime arrays, from the largest offset that the shader accesses.

One element for each invocation fits most shaders. A shader that reads three elements for each invocation
accesses three times as many, so its array gets three times the length. A shader that accesses only a few
elements beyond the end keeps the short array and gets a bounds finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from vkgroup.check.findings import Configuration
from vkgroup.check.inputs import Inputs, memory_of
from vkgroup.check.runs import Dispatch
from vkgroup.errors import DispatchTimeout
from vkgroup.spirv import ArrayType, StructType

Each = Mapping[tuple[int, int], int]

_MAX_MULTIPLE = 64
_MAX_ROUNDS = 3
_SUBGROUP_SIZE = 32


def fitted(dispatch: Dispatch, make: Callable[..., Inputs]) -> Dispatch:
    """Return the dispatch with runtime arrays of the lengths that the shader accesses.

    Parameters
    ----------
    make : function that returns the inputs; its argument `each` holds elements for each invocation, by
        (set, binding).
    """
    each: dict[tuple[int, int], int] = {}
    for _ in range(_MAX_ROUNDS):
        needed = _needed(dispatch)
        if not any(number > each.get(place, 1) for place, number in needed.items()):
            break
        each.update(needed)
        dispatch = replace(dispatch, inputs=make(each=each))
    return dispatch


def _needed(dispatch: Dispatch) -> dict[tuple[int, int], int]:
    """Return the elements for each invocation that are needed by arrays too short by a multiple."""
    resources = dispatch.inputs.resources()
    try:
        dispatch.execute(Configuration(_SUBGROUP_SIZE), resources, races=False)
    except DispatchTimeout:
        return {}
    total = math.prod(dispatch.program.local_size) * math.prod(dispatch.groups)
    multiples = {}
    for entry in dispatch.inputs.bindings:
        block = entry.binding.type
        if not entry.generated or not isinstance(block, StructType) or block.runtime_array is None:
            continue
        kind, start = block.runtime_array.type, block.runtime_array.offset or 0
        memories = [memory_of(resource) for resource in resources[entry.place]]
        reached = max(memory.reached if memory is not None else 0 for memory in memories)
        if not isinstance(kind, ArrayType) or not kind.stride or not reached:
            continue
        multiple = round(((reached - 1 - start) // kind.stride + 1) / total)
        if entry.each < multiple <= _MAX_MULTIPLE:
            multiples[entry.place] = multiple
    return multiples
