"""The greatest or least elements of rows: topk and its plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.histogram_keys import key_type, macros
from vkgroup.kernels.pipelines import (
    choose_full,
    full_subgroups,
    line,
    parts,
    possible_workgroup,
    require_full,
)
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.radix_sort import MOST_KEYS, add_sort
from vkgroup.kernels.sort import widened
from vkgroup.kernels.tuning import TABLES, Allowed, checked_values, kinds
from vkgroup.kernels.types import NUMBERS, check_axis, dtype_of, element_count, is_whole, sizes_of

TABLES["topk"] = {
    # `row`: elements up to which a row has one workgroup. `groups`: most workgroups of long rows together.
    # `block`: elements of a block that the sort of the result begins with.
    # `merge`: elements up to which the result is sorted by merges; more are sorted by the radix sort.
    "any": {"workgroup": 256, "items": 8, "row": 16384, "groups": 528, "block": 256, "merge": 32768},
    "cpu": {"workgroup": 128, "items": 8, "row": 65536, "groups": 16, "block": 64, "merge": 8192},
}

_RESULTS = ("values", "indices")
_OPERATIONS = ("basic", "ballot", "shuffle", "arithmetic")
_MOST = (1 << 31) - 1
_DIGITS, _DIGIT_BITS = 256, 8
_ALLOWED: dict[str, Allowed] = {"workgroup": range(1, 2048)}


def topk(
    x: Given,
    k: int,
    largest: bool = True,
    axis: int = -1,
    sorted: bool = True,
    *,
    device: Device | None = None,
    implementation: str = "auto",
) -> tuple[Result, Result]:
    """Return the k greatest or least elements along an axis and their indices, as `torch.topk`.

    NaN is greater than all numbers, and all NaNs are equal; -0 equals 0. Of equal elements, those with the
    lowest indices are returned, in the order of their indices. (torch does not define which are returned.)

    Parameters
    ----------
    x : an array of real numbers with at least one axis, or a buffer of float32, float64, float16, or integers
        of 32 or 64 bits; fewer than 2**32 elements, and at most 2**31 - 1 along the axis.
    k : number of elements to return, from 0 to the length of the axis.
    largest : return the greatest elements instead of the least.
    axis : the axis of an array; a buffer has only its last axis, -1.
    sorted : return the greatest (or least) element first; False returns elements in the order of their
        indices.

    Returns
    -------
    Values and indices: two arrays (the indices int64), or two buffers (the indices uint32) if `x` is a
    buffer. The axis has the length k. If there are no elements to return, the results are empty arrays.

    Examples
    --------
    >>> vkgroup.kernels.topk(np.array([3, 1, 7, 7], np.uint32), 3)
    (array([7, 7, 3], dtype=uint32), array([2, 3, 0]))
    """
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    rank = len(given.shape)
    check_axis(axis, rank)
    if isinstance(given, Buffer):
        if axis % rank != rank - 1:
            raise InvalidDispatch(f"A buffer has only its last axis, -1; {axis!r} was given.")
    else:
        arguments.given = {"x": widened(np.moveaxis(given, axis, -1))}
    shape = tuple(arguments["x"].shape)
    _check_k(k, shape[-1])
    if not k or not math.prod(shape):
        empty = [np.empty((*shape[:-1], k), dtype) for dtype in (given.dtype, np.int64)]
        return np.moveaxis(empty[0], -1, axis), np.moveaxis(empty[1], -1, axis)
    plan = planned(
        plan_topk,
        arguments.device,
        shape,
        arguments["x"].dtype,
        int(k),
        largest=bool(largest),
        sorted=bool(sorted),
        implementation=implementation,
    )
    values, indices = arguments.run(plan, "values", "indices")
    if isinstance(values, Buffer) or isinstance(indices, Buffer):
        return values, indices
    values, indices = values.astype(given.dtype, copy=False), indices.astype(np.int64)
    return np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis)


def plan_topk(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    k: int,
    *,
    largest: bool = True,
    sorted: bool = True,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a selection with the input ``x`` and the outputs ``values`` and ``indices``, uint32.

    Parameters
    ----------
    shape : of `x`, with fewer than 2**32 elements; rows are along the last axis. The outputs have k columns.
    dtype : float32, float64, float16, or integers of 32 or 64 bits.
    k, largest, sorted : as for `topk`; k is at least 1.
    implementation : ``"subgroup"``, ``"shared"``, or ``"auto"``: the subgroup version if the device has its
        operations and guarantees full subgroups, but the faster shared version on NVIDIA's GPUs.
    **tuning : ``workgroup`` (a multiple of the subgroup size in the subgroup version), ``items`` (elements of
        an invocation), ``row`` (rows with more elements are divided among workgroups), ``groups`` (the
        maximum number of workgroups among which rows are divided), ``block`` (elements of a block with which
        a merge sort of the result begins), ``merge`` (the longest result of one row that is sorted by merges
        instead of the radix sort).
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    if kind not in NUMBERS:
        known = ", ".join(map(str, NUMBERS))
        raise InvalidDispatch(f"A selection works on {known}; {kind} was given. Convert it with .astype.")
    check_axis(-1, len(sizes))
    count, length = element_count(sizes), sizes[-1]
    if length > _MOST:
        raise Unsupported(
            f"A selection takes at most {_MOST} elements of a row; {length} were given. Select in parts.",
            [f"rows of {length} elements"],
        )
    _check_k(k, length)
    if k < 1:
        raise InvalidDispatch("A plan selects at least one element; k is 0.")
    if implementation == "auto" and "nvidia" in kinds(device):
        implementation = "shared"  # 1.5 to 2 times as fast on an H200 (docs/kernels-search.md)
    version = choose_full(device, implementation, *_OPERATIONS)
    values = checked_values(device, "topk", version, tuning, _ALLOWED)
    values["workgroup"] = possible_workgroup(device, values["workgroup"])
    values["block"] = possible_workgroup(device, values["block"])
    require_full(device, version, values["workgroup"])
    planner = Planner(device, "topk", version)
    planner.input("x", kind, sizes)
    for name, result in zip(_RESULTS, (kind, np.dtype(np.uint32)), strict=True):
        planner.output(name, result, (*sizes[:-1], int(k)))
    selection = _Selection(planner, kind, count // length, length, int(k), bool(largest), values)
    selection.add_steps(sort=bool(sorted))
    return planner.plan()


def _check_k(k: int, length: int) -> None:
    if not is_whole(k) or not 0 <= k <= length:
        raise InvalidDispatch(
            f"k must be a whole number from 0 to {length}, the length of the axis; {k!r} was given."
        )


@dataclass(frozen=True)
class _Selection:
    """One selection, with all its parameters."""

    planner: Planner
    dtype: np.dtype[Any]
    rows: int
    length: int
    k: int
    largest: bool
    tuning: Mapping[str, Any]

    def add_steps(self, sort: bool) -> None:
        """Add the steps to the plan: the selection, and the sort of the selected elements."""
        if not sort:
            self._add_selection(*_RESULTS)
        elif self._has_radix_sort():
            self._add_radix_sort()
        else:
            self._add_merge_sort()

    def _pair(self, number: int) -> tuple[str, str]:
        """Declare scratch memory for values and indices."""
        count = self.rows * self.k
        values = self.planner.scratch(f"values_{number}", count * self.dtype.itemsize)
        return values, self.planner.scratch(f"indices_{number}", 4 * count)

    @property
    def _macros(self) -> dict[str, Any]:
        return {**macros(self.dtype), "LARGEST": int(self.largest)}

    # --- selection

    def _add_selection(self, values: str, indices: str) -> None:
        """Add the radix select: one dispatch, or for long rows one per digit and two more."""
        bindings = {0: "x", 1: values, 2: indices}
        chunks, size = self._chunks()
        if chunks == 1:
            self._add_phase("ROW", bindings, chunks, size)
            return
        passes = 8 * self.dtype.itemsize // _DIGIT_BITS
        histograms = self.planner.scratch("histograms", 4 * self.rows * passes * _DIGITS)
        # A state is a key and a number: two words, or four if keys have two.
        state = 16 if self.dtype.itemsize == 8 else 8
        work = {3: histograms, 4: self.planner.scratch("prefixes", state * self.rows * (passes + 1))}
        tallies = {5: self.planner.scratch("tallies", 8 * self.rows * chunks)}
        self.planner.fill(histograms)
        for number in range(passes):
            self._add_phase("COUNT", {0: "x"} | work, chunks, size, number)
        self._add_phase("TALLY", {0: "x"} | work | tallies, chunks, size)
        self._add_phase("WRITE", bindings | {4: work[4]} | tallies, chunks, size)

    def _chunks(self) -> tuple[int, int]:
        """Return the number of parts of a row, and the elements of a part: whole tiles."""
        tile = self.tuning["workgroup"] * self.tuning["items"]
        tiles = parts(self.length, tile)
        short = self.length <= self.tuning["row"]
        most = 1 if short else max(1, min(tiles, self.tuning["groups"] // self.rows))
        size = parts(tiles, most) * tile
        return parts(self.length, size), size

    def _add_phase(
        self, phase: str, bindings: dict[int, str], chunks: int, size: int, number: int = 0
    ) -> None:
        kernel = self.planner.kernel(
            f"topk/{self.planner.implementation}.comp",
            macros={**self._macros, "PHASE": phase},
            workgroup=self.tuning["workgroup"],
            specialization={"ITEMS": self.tuning["items"]},
        )
        push = {"length": self.length, "k": self.k, "rows": self.rows}
        push |= {"parts": chunks, "part_size": size, "pass": number}
        self.planner.dispatch(kernel, line(self.planner.device, self.rows * chunks), bindings, push)

    # --- merge sort

    def _add_merge_sort(self) -> None:
        """Add the selection and a merge sort; if k is the length of a row, only the sort."""
        whole, widths = self.k == self.length, [0, *self._widths()]
        pairs = [("x", "") if whole and i == 0 else self._pair(i % 2) for i in range(len(widths))]
        if not whole:
            self._add_selection(*pairs[0])
        block = self.tuning["block"]
        grid = line(self.planner.device, self.rows * parts(self.k, block))
        for width, (source, target) in zip(widths, pairwise([*pairs, _RESULTS]), strict=True):
            kernel = self.planner.kernel(
                "topk/merge.comp", macros={**self._macros, "IOTA": int(not source[1])}, workgroup=block
            )
            bindings = {0: source[0], 2: target[0], 3: target[1]} | ({1: source[1]} if source[1] else {})
            push = {"length": self.k, "rows": self.rows, "width": width}
            self.planner.dispatch(kernel, grid, bindings, push)

    def _widths(self) -> list[int]:
        """Return the widths of the blocks that are merged."""
        widths, width = [], self.tuning["block"]
        while width < self.k:
            widths.append(width)
            width *= 2
        return widths

    # --- radix sort

    def _has_radix_sort(self) -> bool:
        """Whether one long row is sorted by the radix sort, which needs full subgroups."""
        full = self.planner.implementation == "shared" or full_subgroups(self.planner.device)
        return full and self.rows == 1 and self.tuning["merge"] < self.k and self.length <= MOST_KEYS

    def _add_radix_sort(self) -> None:
        """Add the selection and a radix sort; if k is more than half of the row, a sort of the whole row."""
        whole = 2 * self.k > self.length
        source = ("x", "") if whole else self._pair(0)
        if not whole:
            self._add_selection(*source)
        count, dtype = self.length if whole else self.k, key_type(self.dtype)
        keys = self.planner.scratch("keys", count * dtype.itemsize)
        self._add_elementwise("keys", self._macros, {0: source[0], 1: keys}, count)
        add_sort(self.planner, count, dtype, keys, indices=True)
        bindings = {0: source[0], 2: "order", 3: _RESULTS[0], 4: _RESULTS[1]}
        if source[1]:
            bindings[1] = source[1]
        macros_of_gather = {**macros(self.dtype), "IOTA": int(whole)}
        self._add_elementwise("gather", macros_of_gather, bindings, self.k)

    def _add_elementwise(
        self, name: str, defines: dict[str, Any], bindings: dict[int, str], count: int
    ) -> None:
        workgroup = self.tuning["workgroup"]
        kernel = self.planner.kernel(f"topk/{name}.comp", macros=defines, workgroup=workgroup)
        grid = line(self.planner.device, parts(count, workgroup))
        self.planner.dispatch(kernel, grid, bindings, {"count": count})
