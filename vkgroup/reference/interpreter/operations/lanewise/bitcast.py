"""OpBitcast: the same bits as another type. SPIR-V 3.52.11."""

from __future__ import annotations

import math

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Function,
    dims_of,
    dtype_of,
    spread,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, single


def regroup(data: Data, dtype: DType, dims: tuple[int, ...]) -> Data:
    """Return the bits of a scalar's or vector's components as `dims` components of another width.

    The lower-numbered component has the lower bits.
    """
    n = data.shape[-1]
    together = np.ascontiguousarray(data.reshape(-1, n).T)
    return np.ascontiguousarray(together.view(dtype).T).reshape(*dims, n)


def regroup_cause(cause: Causes, before: tuple[int, ...], after: tuple[int, ...]) -> Causes:
    """Return the causes of regrouped components: of all whose bits are in one, or that share one's."""
    old, new = math.prod(before), math.prod(after)
    whole = spread(cause, before).reshape(old, cause.shape[-1])
    whole = whole.reshape(new, old // new, -1).max(axis=1) if old > new else whole.repeat(new // old, axis=0)
    return whole.reshape(*after, cause.shape[-1])


def bitcast(site: Site) -> Function:
    """Return the function of an OpBitcast; pointers are numbers of 64 bits."""
    source, before = dtype_of(site.operand_types[0]), dims_of(site.operand_types[0])
    result, after = dtype_of(site.type), dims_of(site.type)
    if source == result:
        return lambda value: value
    if before == after:
        return lambda value: single(value.data.view(result), value.cause)

    def run(value: Value) -> Value:
        cause = None if value.cause is None else regroup_cause(value.cause, before, after)
        return single(regroup(value.data, result, after), cause)

    return run
