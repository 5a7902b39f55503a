"""Built-in variables: their values in every invocation of a slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.execution.arrangement import Arranged
from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.subgroups import Subgroups
from vkgroup.reference.interpreter.values.value import Data, Value, single
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import BUILTIN_VARIABLES


class Slice(Protocol):
    """The invocations of a slice, as `Machine` describes them."""

    @property
    def arrangement(self) -> Arranged:
        """The lanes and subgroups of the invocations."""

    @property
    def first_workgroup(self) -> int:
        """Number in the dispatch of the first workgroup of the slice."""

    @property
    def workgroup(self) -> npt.NDArray[np.int64]:
        """Workgroup of each invocation, counted in the slice."""

    @property
    def row(self) -> npt.NDArray[np.int64]:
        """Subgroup of each invocation, counted in the slice."""

    @property
    def local_index(self) -> npt.NDArray[np.int64]:
        """gl_LocalInvocationIndex of each invocation."""

    @property
    def lanes(self) -> LaneSet:
        """The invocations, by index in the slice."""

    def subgroups_of(self, lanes: LaneSet) -> Subgroups:
        """Return the subgroups that some invocations form."""


def _three(number: Data, extent: tuple[int, int, int]) -> Data:
    x, y, _ = extent
    return np.stack([number % x, number // x % y, number // (x * y)]).astype(np.uint32)


def _uniform(*numbers: int) -> Data:
    return np.array(numbers, np.uint32)[:, None]


def _workgroup_id(slice_: Slice) -> Data:
    return _three(slice_.first_workgroup + slice_.workgroup, slice_.arrangement.groups)


def _local_id(slice_: Slice) -> Data:
    return _three(slice_.local_index, slice_.arrangement.local_size)


def _global_id(slice_: Slice) -> Data:
    size = np.array(slice_.arrangement.local_size, np.uint32)[:, None]
    return _workgroup_id(slice_) * size + _local_id(slice_)


SM_COUNT, WARPS_PER_SM = 4, 64
"""Values of built-ins of NV_shader_sm_builtins, which the reference device executes but does not declare."""


def _sm_id(slice_: Slice) -> Data:
    return ((slice_.first_workgroup + slice_.workgroup) % SM_COUNT).astype(np.uint32)


_PLAIN: dict[str, Callable[[Slice], Data]] = {
    "NumWorkgroups": lambda slice_: _uniform(*slice_.arrangement.groups),
    "WorkgroupSize": lambda slice_: _uniform(*slice_.arrangement.local_size),
    "WorkgroupId": _workgroup_id,
    "LocalInvocationId": _local_id,
    "GlobalInvocationId": _global_id,
    "LocalInvocationIndex": lambda slice_: slice_.local_index.astype(np.uint32),
    "DeviceIndex": lambda slice_: np.zeros(1, np.uint32),
    "ViewIndex": lambda slice_: np.zeros(1, np.uint32),
    "NumSubgroups": lambda slice_: np.array([slice_.arrangement.subgroups], np.uint32),
    "SMCountNV": lambda slice_: _uniform(SM_COUNT)[0],
    "WarpsPerSMNV": lambda slice_: _uniform(WARPS_PER_SM)[0],
    "SMIDNV": _sm_id,
    "WarpIDNV": lambda slice_: (slice_.row % WARPS_PER_SM).astype(np.uint32),
    "SubgroupId": lambda slice_: (slice_.row % slice_.arrangement.subgroups).astype(np.uint32),
}

#: The legacy names of SPV_KHR_shader_ballot are aliases in the grammar, of the same meaning.
_FROM_SEMANTICS = {
    variable.builtin.removesuffix("KHR"): variable
    for variable in BUILTIN_VARIABLES.values()
    if variable.builtin not in _PLAIN
}


OF_STAGES = {
    "compute": frozenset[str](),
    "vertex": frozenset({"VertexIndex", "InstanceIndex", "BaseVertex", "BaseInstance", "DrawIndex"}),
    "fragment": frozenset(
        {
            "FragCoord",
            "FrontFacing",
            "HelperInvocation",
            "SampleId",
            "SamplePosition",
            "SampleMask",
            "PrimitiveId",
            "PointCoord",
            "Layer",
            "ViewportIndex",
        }
    ),
}
"""By stage: the built-in variables that a draw sets."""


def check_built_in(name: str, stage: str = "compute") -> None:
    """Raise `Unsupported` for a built-in variable that the reference device lacks."""
    known = name in _PLAIN or name.removesuffix("KHR") in _FROM_SEMANTICS
    if not known and name not in OF_STAGES[stage]:
        raise Unsupported(f"The built-in variable {name} is not known to the reference device.", [name])


def built_in(name: str, slice_: Slice) -> Value:
    """Return a built-in variable's value in all invocations of a slice."""
    if name in _PLAIN:
        return single(_PLAIN[name](slice_))
    variable = _FROM_SEMANTICS[name.removesuffix("KHR")]
    subgroups = slice_.subgroups_of(slice_.lanes)
    # Inactive lanes hold zeros, and `collect` leaves them out.
    value = reference_of(variable.name)(subgroups.active).value
    dims = (4,) if variable.type.name == "uvec4" else ()
    return single(subgroups.collect(np.ascontiguousarray(value), dims))
