"""Common parts of the semantics: results of lanes, reading other lanes, ballots, registration of functions.

A ballot has one bit for each lane (KHR_shader_subgroup, section 3.8, "uvec4 as used in"). Lane 0 is bit 0 of
the first component, lane 32 is bit 0 of the second. Bits from gl_SubgroupSize on are ignored in ballots that
are read and zero in ballots that are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint32]


class Lanes(NamedTuple):
    """One result for each lane of some subgroups. The arrays may be read-only views."""

    value: Values  # (subgroups, size, components), in the NumPy type of the result
    #: Bool, the same shape. False where the lane is inactive or the specification leaves the component
    #: undefined; `value` is arbitrary there.
    defined: Flags


def lane_index(size: int) -> npt.NDArray[np.int64]:
    """Return gl_SubgroupInvocationID of each lane of a subgroup, (size,)."""
    return np.arange(size, dtype=np.int64)


def everywhere(value: Values, active: Flags) -> Lanes:
    """Return `value` (subgroups, size, components) as defined in all components of every active lane."""
    return Lanes(value, np.broadcast_to(active[:, :, None], value.shape))


def uniform(value: Values, active: Flags) -> Lanes:
    """Return the one result (subgroups, components) of each subgroup in all of its active lanes."""
    shape = (*active.shape, value.shape[-1])
    return everywhere(np.broadcast_to(value[:, None, :], shape), active)


def first_active(active: Flags) -> npt.NDArray[np.int64]:
    """Return the lowest active lane of each subgroup, (subgroups,); 0 where no lane is active."""
    return np.asarray(active.argmax(axis=1))


def before(scan: Values, first: Any) -> Values:
    """Return the inclusive `scan` moved one lane up, with `first` in lane 0."""
    moved = np.empty_like(scan)
    moved[:, 1:] = scan[:, :-1]
    moved[:, 0] = first
    return moved


def same_in_all(value: Values, active: Flags) -> Flags:
    """Return whether the active lanes of each subgroup agree in `value`, (subgroups,), of integers."""
    first = value[np.arange(len(value)), first_active(active)]
    equal = value == first[:, None]
    if equal.ndim == 3:
        equal = equal.all(axis=2)
    return np.asarray((equal | ~active).all(axis=1))


def read(value: Values, source: npt.NDArray[np.int64], active: Flags) -> Lanes:
    """Return the `value` that each active lane reads from lane `source` of its subgroup.

    The sources, (subgroups, size) or (size,), may be any integers. The result is undefined for a source
    outside of the subgroup and for an inactive lane.
    """
    subgroups, size = active.shape
    rows = np.arange(subgroups)[:, None]
    exists = (source >= 0) & (source < size)
    lane = np.where(exists, source, 0)
    result = value[rows, lane]
    defined = active & exists & active[rows, lane]
    return Lanes(result, np.broadcast_to(defined[:, :, None], result.shape))


def scalar(value: Any, active: Flags) -> Lanes:
    """Return a uint in each lane: `value` is broadcast to (subgroups, size)."""
    value = np.broadcast_to(np.asarray(value, dtype=np.uint32), active.shape)
    return everywhere(value[:, :, None], active)


_BYTES = 16  # of a uvec4


def pack(bit: Flags) -> Words:
    """Return the ballots of `bit` (subgroups, size): (subgroups, 4)."""
    octets = np.zeros((len(bit), _BYTES), dtype=np.uint8)
    packed = np.packbits(bit, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u4").astype(np.uint32, copy=False)


def unpack(ballot: Words, size: int) -> Flags:
    """Return the bits of `ballot` (subgroups, size, 4) that stand for lanes: (subgroups, size, size)."""
    octets = np.ascontiguousarray(ballot, dtype="<u4").view(np.uint8)
    return np.unpackbits(octets, axis=2, count=size, bitorder="little").view(np.bool_)


Reference = Callable[..., Lanes]
"""``function(value, active, operand, …)``, without the operands that the built-in lacks.

`vkgroup.reference.semantics` describes the arrays.
"""

Function = TypeVar("Function", bound=Reference)

DEFINITIONS: dict[str, Reference] = {}
"""Every function that `defines` a built-in, by the built-in's name."""

SHARED: dict[str, Reference] = {}
"""Functions that compute several built-ins, by the built-ins' names; `vkgroup.spec` has their sentences."""


def defines(name: str) -> Callable[[Function], Function]:
    """Return a decorator that registers a function as the definition of a built-in of `SENTENCES`."""

    def register(function: Function) -> Function:
        DEFINITIONS[name] = function
        return function

    return register
