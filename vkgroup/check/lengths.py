"""How long arrays without length are made: by how far the shader reaches.

One element for each invocation is right for most shaders. One that reads three for each reaches three times
as far, which says how the array was meant; one that reaches a little beyond the end is wrong.
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

_MOST = 64
_TRIES = 3
_SIZE = 32


def fitted(dispatch: Dispatch, make: Callable[..., Inputs]) -> Dispatch:
    """Return the dispatch with arrays as long as the shader seems to want them.

    Parameters
    ----------
    make : makes the inputs; takes `each`, the elements for each invocation by place.
    """
    each: dict[tuple[int, int], int] = {}
    for _ in range(_TRIES):
        wanted = _wanted(dispatch)
        if not any(number > each.get(place, 1) for place, number in wanted.items()):
            break
        each.update(wanted)
        dispatch = replace(dispatch, inputs=make(each=each))
    return dispatch


def _wanted(dispatch: Dispatch) -> dict[tuple[int, int], int]:
    """Return how many elements for each invocation would do, of arrays that are too short by multiples."""
    resources = dispatch.inputs.resources()
    try:
        dispatch.execute(Configuration(_SIZE), resources, races=False)
    except DispatchTimeout:
        return {}
    total = math.prod(dispatch.program.local_size) * math.prod(dispatch.groups)
    found = {}
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
        if entry.each < multiple <= _MOST:
            found[entry.place] = multiple
    return found
